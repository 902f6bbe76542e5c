// cli/commands/install.ts — `chumbo install`: our migrations as files of this project, where `supabase db push` finds them.

import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'

import type { Command } from 'commander'

import { CliError } from '../cli-error.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Output } from '../output.ts'
import { requireProject } from '../project.ts'
import { findMigrations } from '../shipped-migrations.ts'

export interface InstallOptions {
  readonly project: string
  readonly dryRun?: boolean
  readonly force?: boolean
}

/** What happens to one file. `refuse` is a copy that was edited here; only `--force` writes over it. */
export interface PlannedFile {
  readonly action: 'create' | 'change' | 'keep' | 'refuse'
  /** Path below the project. */
  readonly path: string
  readonly text: string
}

/** Adds the verb. `finish` receives the exit code. */
export function addInstallCommand(program: Command, output: Output, finish: (code: ExitCode) => void): void {
  program
    .command('install')
    .description('Copy the Chumbo migrations into supabase/migrations of this project.')
    .option('--project <dir>', 'folder that holds supabase/', '.')
    .option('--dry-run', 'print the plan and write nothing')
    .option('--force', 'write over copies that were edited')
    .option('--json', 'print one JSON document instead of text')
    .action(async (options: InstallOptions) => {
      finish(await runInstall(options, output))
    })
}

/** Plans, prints the plan, and carries it out unless something is refused or `--dry-run` was given. */
export async function runInstall(
  { project, dryRun = false, force = false }: InstallOptions,
  output: Output,
): Promise<ExitCode> {
  const root = resolve(project)
  const plan = await planInstall({ root, force, now: new Date() })
  const refused = plan.filter(({ action }) => action === 'refuse')
  if (!dryRun && refused.length === 0) await carryOut(root, plan)

  const files = plan.map(({ action, path }) => ({ action, path }))
  const lines = files.map(({ action, path }) => `${action.padEnd(7)} ${path}`)
  output.answer(
    { dryRun, written: !dryRun && refused.length === 0, files },
    [...lines, '', nextStep(plan, dryRun)].join('\n'),
  )
  return refused.length > 0 ? EXIT.difference : EXIT.done
}

function nextStep(plan: readonly PlannedFile[], dryRun: boolean): string {
  if (plan.some(({ action }) => action === 'refuse')) {
    return 'Nothing was written: files marked refuse were edited here. Undo the edits, or write over them with --force.'
  }
  if (plan.every(({ action }) => action === 'keep')) return 'Everything is installed already.'
  return dryRun
    ? 'Nothing was written (--dry-run).'
    : 'Next: npx chumbo dev to try it here, npx supabase db push to apply it to the linked project.'
}

export interface PlanOptions {
  readonly root: string
  readonly force: boolean
  readonly now: Date
}

/**
 * Plans the copies. A new file is named after the newest migration of the project and never before it, because the
 * Supabase CLI refuses a file that sorts before one it has applied.
 *
 * @throws {CliError} `no_project` when the folder has no `supabase/`.
 */
export async function planInstall({ root, force, now }: PlanOptions): Promise<PlannedFile[]> {
  await requireProject(root)
  const folder = join('supabase', 'migrations')
  const present = await readdir(join(root, folder)).catch(() => [])
  const source = await findMigrations()
  const names = (await readdir(source)).filter((name) => name.endsWith('.sql')).sort()

  let version = newestVersion(present, now)
  const plan: PlannedFile[] = []
  for (const name of names) {
    const text = await readFile(join(source, name), 'utf8')
    // By number, so that a copy keeps its place whatever timestamp it was given.
    const copy = present.find((file) => file.includes(`_chumbo_${name.slice(0, 4)}_`))
    if (copy === undefined) {
      version = nextVersion(version)
      plan.push({ action: 'create', path: join(folder, `${version}_chumbo_${name}`), text })
      continue
    }
    const isSame = (await readFile(join(root, folder, copy), 'utf8')) === text
    plan.push({ action: isSame ? 'keep' : force ? 'change' : 'refuse', path: join(folder, copy), text })
  }
  return plan
}

/** Written under another name first: a half-written migration must never be there to be pushed. */
async function carryOut(root: string, plan: readonly PlannedFile[]): Promise<void> {
  for (const { action, path, text } of plan) {
    if (action === 'keep') continue
    const target = join(root, path)
    await mkdir(dirname(target), { recursive: true })
    await writeFile(`${target}.partial`, text)
    await rename(`${target}.partial`, target)
  }
}

/** The version after which new files are counted: the newest present one, or a moment ago. */
function newestVersion(present: readonly string[], now: Date): string {
  const versions = present.flatMap((name) => /^(\d+)_.*\.sql$/.exec(name)?.[1] ?? [])
  return [stamp(new Date(now.getTime() - 1000)), ...versions].sort().at(-1) ?? stamp(now)
}

/** A second later; a version that is no time of day counts up as a number of the same length. */
function nextVersion(version: string): string {
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(version) ?? []
  const time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  if (!Number.isNaN(time)) return stamp(new Date(time + 1000))
  const next = (BigInt(version) + 1n).toString().padStart(version.length, '0')
  // The Supabase CLI compares versions as text, where one more digit sorts earlier.
  if (next.length === version.length) return next
  throw new CliError(`No migration can be named to come after ${version}.`, {
    code: 'no_version_left',
    hint: 'rename that migration to the time it was written',
  })
}

function stamp(time: Date): string {
  return time.toISOString().replace(/[-:T]/g, '').slice(0, 14)
}
