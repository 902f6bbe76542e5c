#!/usr/bin/env node
// cli/main.ts — the `chumbo` command. Each verb is a file in commands/; output.ts is the only one that prints.

import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import { Command, CommanderError } from 'commander'

import { addDevCommand } from './commands/dev.ts'
import { addDoctorCommand } from './commands/doctor.ts'
import { addInstallCommand } from './commands/install.ts'
import { EXIT, EXIT_CODES_HELP, type ExitCode } from './exit-codes.ts'
import { createOutput } from './output.ts'
import { version } from '../runtime/version.ts'
import { CliError } from './cli-error.ts'

/** Runs the command line and answers its exit code. */
export async function run(args: readonly string[]): Promise<ExitCode> {
  const output = createOutput({ json: args.includes('--json') })
  let code: ExitCode = EXIT.done
  const program = new Command('chumbo')
    .description('Offer your Supabase application to its users’ AI clients over MCP.')
    .version(version)
    .addHelpText('after', EXIT_CODES_HELP)
    .showHelpAfterError()
    .exitOverride()
  const finish = (result: ExitCode): void => {
    code = result
  }
  addInstallCommand(program, output, finish)
  addDevCommand(program, output, finish)
  addDoctorCommand(program, output, finish)
  try {
    await program.parseAsync([...args], { from: 'user' })
    return code
  } catch (error) {
    // Commander has printed its own message; help and version are no failure.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage
    output.failure(error)
    return error instanceof CliError ? error.exitCode : EXIT.failed
  }
}

// Imported by its tests, started by the shell through a link. Node 22 has no import.meta.main yet.
if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  process.exitCode = await run(process.argv.slice(2))
}
