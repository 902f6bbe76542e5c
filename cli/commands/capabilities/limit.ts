// cli/commands/capabilities/limit.ts — `chumbo capabilities limit`

import { HISTORY_MIGRATION } from '../../capabilities/catalog.ts'
import { withDatabase } from '../../database.ts'
import { EXIT, type ExitCode } from '../../exit-codes.ts'
import type { Output } from '../../output.ts'
import type { CommonOptions } from './index.ts'

export interface LimitOptions extends CommonOptions {
  readonly server: string
  readonly capability?: string
  readonly per: string
  readonly requests: number
  readonly window: number
  readonly weight: number
  readonly method: string
}

/** Counts from the next call on; what was counted so far stays counted. */
export async function runLimit(name: string, options: LimitOptions, output: Output): Promise<ExitCode> {
  const { server, capability = null, per, requests, window, weight, method } = options
  await withDatabase(
    options,
    { migration: HISTORY_MIGRATION },
    (sql) =>
      sql`select chumbo.set_rate_limit(${name}, ${server}, ${capability}, ${per}, ${requests}, ${window}, ${weight}, ${method})`,
  )
  const what = capability ?? 'every capability'
  output.answer(
    { limit: name, server, capability, per, requests, window, weight, method },
    `${name}: ${requests} requests in ${window} s per ${per}, for ${what} of ${server}.`,
  )
  return EXIT.done
}
