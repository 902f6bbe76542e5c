// cli/commands/doctor.ts — `chumbo doctor`: what is wrong or risky about this project and its database, and how to mend it.

import { resolve } from 'node:path'

import type { Command } from 'commander'

import { type DatabaseOptions, databaseOption } from '../database.ts'
import { type Check, type Diagnosis, privilegedRules } from '../doctor/check.ts'
import { checkDatabase } from '../doctor/database-checks.ts'
import { checkProject } from '../doctor/project-checks.ts'
import { describeDiagnosis } from '../doctor/report.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Output } from '../output.ts'
import { readShippedMigrations } from '../shipped-migrations.ts'

export interface DoctorOptions extends DatabaseOptions {
  readonly project: string
  readonly server?: string
  /** Warnings count like errors. */
  readonly strict?: boolean
  readonly now?: Date
}

/** Adds the verb. `finish` receives the exit code. */
export function addDoctorCommand(program: Command, output: Output, finish: (code: ExitCode) => void): void {
  program
    .command('doctor')
    .description('Look for what is wrong or risky in this project and its database. Changes nothing.')
    .option('--project <dir>', 'folder that holds supabase/', '.')
    .addOption(databaseOption())
    .option('--server <slug>', 'only what this server offers')
    .option('--strict', 'warnings count like errors')
    .option('--json', 'print one JSON document instead of text')
    .action(async (options: DoctorOptions) => {
      finish(await runDoctor(options, output))
    })
}

/**
 * Runs every check that can be run here, and prints them.
 *
 * @throws {CliError} `unknown_server`, `invalid_database_url`, `broken_package`.
 */
export async function runDoctor(options: DoctorOptions, output: Output): Promise<ExitCode> {
  const now = options.now ?? new Date()
  const shipped = await readShippedMigrations()
  const ofDatabase = await checkDatabase({ database: options, shipped, server: options.server, now })
  const diagnosis: Diagnosis = {
    ...ofDatabase,
    checks: [...(await checkProject(resolve(options.project), now)), ...ofDatabase.checks],
  }

  const code = exitCode(diagnosis.checks, options.strict === true)
  output.answer(
    {
      ok: code === EXIT.done,
      ...diagnosis,
      privileged: diagnosis.findings.filter(({ rule }) => privilegedRules.includes(rule)),
    },
    describeDiagnosis(diagnosis),
  )
  return code
}

/** What could not be looked at is a failure; what was skipped for a reason is none. */
function exitCode(checks: readonly Check[], isStrict: boolean): ExitCode {
  const has = (status: Check['status']) => checks.some((check) => check.status === status)
  if (has('failed')) return EXIT.failed
  return has('error') || (isStrict && has('warning')) ? EXIT.difference : EXIT.done
}
