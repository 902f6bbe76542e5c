// cli/commands/sync.ts — `chumbo sync`: the definitions of a module as a migration that makes them rows.

import { mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'

import { type Command, InvalidArgumentError, Option } from 'commander'

import { HISTORY_MIGRATION, readAppliedVersions, readRegistrations } from '../capabilities/catalog.ts'
import { type CapabilityDifference, compareCatalogs, describeDifferences } from '../capabilities/compare.ts'
import { readManifest, type Registration } from '../capabilities/registration.ts'
import { databaseOption, withDatabase } from '../database.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { type LoadedManifest, loadManifest } from '../load-manifest.ts'
import { newestVersion, nextVersion } from '../migration-version.ts'
import type { Output } from '../output.ts'
import { requireProject } from '../project.ts'
import { findEarlierSync, writeMigration } from '../sync/migration.ts'

export interface SyncOptions {
  readonly project: string
  readonly from?: string
  readonly function: string
  readonly server: string
  readonly runtime?: 'deno' | 'node'
  /** Only the flag: a file must not come out differently for a variable that happens to be set. */
  readonly dbUrl?: string
  readonly dryRun?: boolean
  readonly check?: boolean
  readonly allowBreaking?: boolean
}

/** Adds the verb. `finish` receives the exit code. */
export function addSyncCommand(program: Command, output: Output, finish: (code: ExitCode) => void): void {
  program
    .command('sync')
    .description('Write a migration that registers what the code defines.')
    .option('--project <dir>', 'folder that holds supabase/', '.')
    .option('--from <file>', 'module that exports tools, resources or prompts')
    .option('--function <name>', 'function whose capabilities.ts is read', 'mcp')
    .option('--server <slug>', 'server the definitions belong to', slug, 'default')
    .addOption(
      new Option(
        '--runtime <name>',
        'where the module is loaded (default: Deno below supabase/functions)',
      ).choices(['deno', 'node']),
    )
    .addOption(databaseOption('database to compare with instead of the newest migration'))
    .option('--dry-run', 'print the plan and write nothing')
    .option('--check', 'write nothing, and end with 3 when a migration is missing')
    .option('--allow-breaking', 'write it although clients may run into the change')
    .option('--json', 'print one JSON document instead of text')
    .action(async (options: SyncOptions) => {
      finish(await runSync(options, output))
    })
}

/** Plans, prints the plan, and writes the migration unless nothing changed, it is refused, or it is not to be written. */
export async function runSync(options: SyncOptions, output: Output, now = new Date()): Promise<ExitCode> {
  const { dryRun = false, check = false } = options
  const root = resolve(options.project)
  await requireProject(root)
  const plan = await planSync(root, options, now)
  const writes = plan.action === 'create' && !dryRun && !check
  if (writes) await writeWhole(join(root, plan.path), plan.text)

  const { action, path, comparedWith, source, differences } = plan
  output.answer(
    {
      dryRun: dryRun || check,
      written: writes,
      action,
      path: action === 'keep' ? null : path,
      comparedWith,
      source,
      differences,
    },
    describePlan(plan, writes),
  )
  return action === 'refuse' || (check && action !== 'keep') ? EXIT.difference : EXIT.done
}

export interface SyncPlan {
  /** keep: the newest migration, or the database, says the same already. refuse: it would break clients. */
  readonly action: 'create' | 'keep' | 'refuse'
  /** Path below the project. */
  readonly path: string
  readonly text: string
  readonly source: string
  readonly comparedWith: string
  readonly differences: readonly CapabilityDifference[]
}

async function planSync(root: string, options: SyncOptions, now: Date): Promise<SyncPlan> {
  const { server, allowBreaking = false } = options
  const loaded = await loadManifest({
    root,
    from: options.from,
    function: options.function,
    runtime: options.runtime,
  })
  const folder = join('supabase', 'migrations')
  const base = await findBase(join(root, folder), options, loaded)
  const differences = compareCatalogs(base.registrations, readManifest(loaded.manifest))
  const isBreaking = differences.some(({ breaking }) => breaking)
  const present = await readdir(join(root, folder)).catch(() => [])
  const version = nextVersion(newestVersion([...present, ...base.applied], now))
  const suffix = server === 'default' ? '' : `_${server.replaceAll('-', '_')}`
  return {
    action:
      base.isUpToDate || differences.length === 0
        ? 'keep'
        : isBreaking && !allowBreaking
          ? 'refuse'
          : 'create',
    path: join(folder, `${version}_chumbo_sync${suffix}.sql`),
    text: writeMigration(loaded.manifest, server, loaded.source),
    source: loaded.source,
    comparedWith: base.comparedWith,
    differences,
  }
}

interface Base {
  readonly registrations: readonly Registration[]
  readonly comparedWith: string
  /** A migration that says the same is there and waits to be pushed. */
  readonly isUpToDate: boolean
  readonly applied: readonly string[]
}

async function findBase(
  folder: string,
  { dbUrl, server }: SyncOptions,
  { manifest }: LoadedManifest,
): Promise<Base> {
  const earlier = await findEarlierSync(folder, server)
  const registered = earlier === undefined ? [] : readManifest(earlier.manifest)
  if (dbUrl === undefined) {
    return {
      registrations: registered,
      comparedWith: earlier?.name ?? 'nothing',
      isUpToDate: false,
      applied: [],
    }
  }
  return withDatabase({ dbUrl }, { migration: HISTORY_MIGRATION }, async (sql) => {
    const applied = await readAppliedVersions(sql)
    const isWaiting = earlier !== undefined && !applied.includes(earlier.name.split('_')[0] ?? '')
    return {
      registrations: await readRegistrations(sql, server, 'typescript'),
      comparedWith: 'the database',
      isUpToDate: isWaiting && compareCatalogs(registered, readManifest(manifest)).length === 0,
      applied,
    }
  })
}

/** Written under another name first: a half-written migration must never be there to be pushed. */
async function writeWhole(target: string, text: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true })
  await writeFile(`${target}.partial`, text)
  await rename(`${target}.partial`, target)
}

function describePlan(
  { action, path, source, comparedWith, differences }: SyncPlan,
  isWritten: boolean,
): string {
  const heading = `${source}, compared with ${comparedWith}:`
  const changes = differences.length === 0 ? 'no difference' : describeDifferences(differences)
  const plan = action === 'keep' ? [] : ['', `${action.padEnd(7)} ${path}`]
  return [heading, changes, ...plan, '', nextStep(action, isWritten)].join('\n')
}

function nextStep(action: SyncPlan['action'], isWritten: boolean): string {
  if (action === 'keep')
    return 'Everything is registered already, here or in a migration that waits to be pushed.'
  if (action === 'refuse') {
    return 'Nothing was written: clients may run into what is marked breaking. Change it back, or accept it with --allow-breaking.'
  }
  return isWritten ? 'Next: npx supabase db push, then deploy the function.' : 'Nothing was written.'
}

function slug(value: string): string {
  if (/^[a-z0-9][a-z0-9-]{0,62}$/.test(value)) return value
  throw new InvalidArgumentError('It must be the slug of a server: lower-case letters, digits and -.')
}
