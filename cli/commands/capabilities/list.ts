// cli/commands/capabilities/list.ts — `chumbo capabilities list`

import { HISTORY_MIGRATION, type ListedCapability, listCapabilities } from '../../capabilities/catalog.ts'
import { withDatabase } from '../../database.ts'
import { EXIT, type ExitCode } from '../../exit-codes.ts'
import type { Output } from '../../output.ts'
import { alignColumns } from '../../text-table.ts'
import type { CommonOptions } from './index.ts'

export interface ListOptions extends CommonOptions {
  readonly server?: string
  readonly kind?: string
}

/** Prints everything there is and what each server makes a client read. */
export async function runList(options: ListOptions, output: Output): Promise<ExitCode> {
  const capabilities = await withDatabase(options, { migration: HISTORY_MIGRATION }, (sql) =>
    listCapabilities(sql, options),
  )
  const servers = Map.groupBy(capabilities, ({ server }) => server)
  const totals = [...servers].map(([server, listed]) => ({ server, ...sum(listed) }))
  output.answer({ capabilities, totals }, describe(capabilities, totals))
  return EXIT.done
}

interface Totals {
  readonly capabilities: number
  /** Of all entries that are listed: what is disabled costs a client nothing. */
  readonly bytes: number
}

function sum(listed: readonly ListedCapability[]): Totals {
  const enabled = listed.filter((one) => one.enabled)
  return { capabilities: listed.length, bytes: enabled.reduce((bytes, one) => bytes + one.bytes, 0) }
}

function describe(
  capabilities: readonly ListedCapability[],
  totals: readonly (Totals & { readonly server: string })[],
): string {
  if (capabilities.length === 0) return 'Nothing is registered.'
  const header = ['SERVER', 'KIND', 'NAME', 'HANDLER', 'SCOPES', 'STATE', 'VERSION', 'BYTES']
  const rows = capabilities.map(({ server, kind, name, handler, scopes, enabled, version, bytes }) => [
    ...[server, kind, name, handler, scopes.length === 0 ? '-' : scopes.join(' ')],
    ...[enabled ? 'enabled' : 'disabled', `v${version}`, String(bytes)],
  ])
  const lines = totals.map(
    ({ server, capabilities: count, bytes }) =>
      `${server}: ${count} registered, ${bytes} bytes when all are listed`,
  )
  return [alignColumns([header, ...rows]), '', ...lines].join('\n')
}
