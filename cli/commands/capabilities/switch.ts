// cli/commands/capabilities/switch.ts — `chumbo capabilities enable` and `disable`

import { findCapability, HISTORY_MIGRATION } from '../../capabilities/catalog.ts'
import { withDatabase } from '../../database.ts'
import { EXIT, type ExitCode } from '../../exit-codes.ts'
import type { Output } from '../../output.ts'
import type { CommonOptions } from './index.ts'

export interface SwitchOptions extends CommonOptions {
  readonly server: string
  readonly kind?: string
}

/** Takes effect with the next request. A second run changes nothing and says so. */
export async function runSwitch(
  action: 'enable' | 'disable',
  name: string,
  options: SwitchOptions,
  output: Output,
): Promise<ExitCode> {
  const { kind, changed } = await withDatabase(options, { migration: HISTORY_MIGRATION }, async (sql) => {
    const found = await findCapability(sql, { server: options.server, kind: options.kind, name })
    const [row] = await (action === 'enable'
      ? sql`select chumbo.enable(${name}, ${found.server}, ${found.kind}) as changed`
      : sql`select chumbo.disable(${name}, ${found.server}, ${found.kind}) as changed`)
    return { kind: found.kind, changed: row?.['changed'] === true }
  })
  const { server } = options
  output.answer(
    { server, kind, name, enabled: action === 'enable', changed },
    `${kind} ${name} of ${server} ${changed ? 'is' : 'was already'} ${action}d.`,
  )
  return EXIT.done
}
