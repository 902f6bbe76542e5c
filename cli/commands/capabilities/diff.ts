// cli/commands/capabilities/diff.ts — `chumbo capabilities diff`

import { resolve } from 'node:path'

import {
  findCapability,
  HISTORY_MIGRATION,
  readRegistrations,
  readVersion,
} from '../../capabilities/catalog.ts'
import {
  type CapabilityDifference,
  compareCatalogs,
  compareRegistrations,
  describeDifferences,
} from '../../capabilities/compare.ts'
import { readManifest } from '../../capabilities/registration.ts'
import { CliError } from '../../cli-error.ts'
import { withDatabase } from '../../database.ts'
import { EXIT, type ExitCode } from '../../exit-codes.ts'
import { loadManifest } from '../../load-manifest.ts'
import type { Output } from '../../output.ts'
import type { CommonOptions } from './index.ts'

export interface DiffOptions extends CommonOptions {
  readonly server: string
  readonly kind?: string
  readonly from?: number
  readonly to?: number
  readonly code?: string
  readonly function: string
  readonly runtime?: 'deno' | 'node'
}

interface Comparison {
  readonly before: string
  readonly after: string
  readonly differences: readonly CapabilityDifference[]
}

/** Prints what differs, and ends with 3 when something does. */
export async function runDiff(
  name: string | undefined,
  options: DiffOptions,
  output: Output,
): Promise<ExitCode> {
  const { from, to } = options
  const { before, after, differences } =
    from === undefined && to === undefined
      ? await compareWithCode(name, options)
      : await compareVersions(name, options)
  const text = differences.length === 0 ? 'no difference' : describeDifferences(differences)
  output.answer({ before, after, differences }, `${before} → ${after}:\n${text}`)
  return differences.length === 0 ? EXIT.done : EXIT.difference
}

/** What is registered from code now, and what the code would register. */
async function compareWithCode(name: string | undefined, options: DiffOptions): Promise<Comparison> {
  const { server, kind, project, code, function: slug, runtime } = options
  const { manifest, source } = await loadManifest({
    root: resolve(project),
    from: code,
    function: slug,
    runtime,
  })
  const registered = await withDatabase(options, { migration: HISTORY_MIGRATION }, (sql) =>
    readRegistrations(sql, server, 'typescript'),
  )
  const differences = compareCatalogs(registered, readManifest(manifest)).filter(
    (one) => (name ?? one.name) === one.name && (kind ?? one.kind) === one.kind,
  )
  return { before: `the database, server ${server}`, after: source, differences }
}

async function compareVersions(name: string | undefined, options: DiffOptions): Promise<Comparison> {
  const { server, kind = 'tool', from, to } = options
  if (name === undefined || from === undefined) {
    throw new CliError('Versions are those of one capability, and have a beginning.', {
      code: 'incomplete_versions',
      hint: 'chumbo capabilities diff <name> --from <version>',
      exitCode: EXIT.usage,
    })
  }
  return withDatabase(options, { migration: HISTORY_MIGRATION }, async (sql) => {
    const newer = to ?? (await findCapability(sql, { server, kind, name })).version
    const key = { server, kind, name }
    const differences = compareRegistrations(
      await readVersion(sql, key, from),
      await readVersion(sql, key, newer),
    )
    return { before: `version ${from}`, after: `version ${newer}`, differences }
  })
}
