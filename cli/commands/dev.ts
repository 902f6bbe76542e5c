// cli/commands/dev.ts — `chumbo dev`: the local stack with this project loaded, until Ctrl-C.

import { resolve } from 'node:path'

import { type Command, InvalidArgumentError, Option } from 'commander'

import { CliError } from '../cli-error.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Output } from '../output.ts'
import { endpointWarnings, requireProject } from '../project.ts'
import type { Stack } from '../stack/index.ts'
import { assertStackPackages } from '../stack/packages.ts'
import { noteRunningStack } from '../stack/running.ts'
import { runSupabaseStack } from '../stack/supabase-cli.ts'
import { connectionGuide } from './dev-guide.ts'

export interface DevOptions {
  readonly project: string
  readonly port?: number
  readonly data?: string
  readonly gate: 'rest' | 'direct'
  readonly stack: 'local' | 'supabase'
  readonly install: 'push' | 'direct' | 'none'
}

/** Adds the verb. `finish` receives the exit code. */
export function addDevCommand(program: Command, output: Output, finish: (code: ExitCode) => void): void {
  program
    .command('dev')
    .description('Run this project on a local Supabase, without containers.')
    .option('--project <dir>', 'folder that holds supabase/', '.')
    .option('--port <number>', 'port of the gateway (a free one by default)', port)
    .option('--data <dir>', 'keep data, users and keys in this folder between runs')
    .addOption(
      new Option('--gate <kind>', 'how the runtime reaches the database')
        .choices(['rest', 'direct'])
        .default('rest'),
    )
    .addOption(
      new Option('--stack <kind>', 'our own stack, or the containers of the Supabase CLI')
        .choices(['local', 'supabase'])
        .default('local'),
    )
    .addOption(
      new Option(
        '--install <how>',
        'how migrations are applied: supabase db push, our own connection, not at all',
      )
        .choices(['push', 'direct', 'none'])
        .default('push'),
    )
    .option('--json', 'print one JSON document instead of text')
    .action(async (options: DevOptions) => {
      finish(
        options.stack === 'supabase'
          ? await runSupabaseStack(options, output)
          : await runLocalStack(options, output),
      )
    })
}

/** Starts the stack, prints how to reach it, and stays until a signal or until a part of it ends. */
export async function runLocalStack(options: DevOptions, output: Output): Promise<ExitCode> {
  assertStackPackages()
  const project = resolve(options.project)
  await requireProject(project)
  // Loaded late, so that a missing package is told with the command that installs it.
  const { startStack } = await import('../stack/index.ts')
  const interrupted = untilSignal()
  let reportCrash: (reason: string) => void = () => undefined
  const crashed = new Promise<string>((done) => {
    reportCrash = done
  })
  const startedAt = performance.now()
  const starting = startStack({
    project,
    port: options.port,
    dataDir: options.data,
    gate: options.gate,
    install: options.install,
    log: (line) => output.note(line),
    onCrash: (reason) => reportCrash(reason),
  })
  // A signal during the start waits for it: half a stack cannot be taken down in order.
  const stack = await starting
  const seconds = (performance.now() - startedAt) / 1000
  // Only a convenience for other commands: a project that cannot be written to is served all the same.
  const forget = await noteRunningStack(project, { pid: process.pid, databaseUrl: stack.databaseUrl }).catch(
    () => undefined,
  )
  output.answer(summary(stack, seconds), connectionGuide(stack, seconds))
  for (const warning of await endpointWarnings(project)) output.note(`Warning: ${warning}`)
  const reason = await Promise.race([interrupted, crashed])
  await forget?.()
  await stack.stop()
  if (reason === 'SIGINT' || reason === 'SIGTERM' || reason === 'SIGHUP') {
    return reason === 'SIGINT' ? EXIT.interrupted : EXIT.done
  }
  throw new CliError(`The stack stopped: ${reason}`, { code: 'stack_crashed', hint: 'chumbo dev' })
}

function summary(stack: Stack, seconds: number): Record<string, unknown> {
  return {
    mcpUrl: stack.mcpUrl,
    origin: stack.origin,
    signInUrl: stack.signInUrl,
    publishableKey: stack.publishableKey,
    databaseUrl: stack.databaseUrl,
    users: stack.users,
    pids: stack.pids(),
    seconds: Number(seconds.toFixed(2)),
  }
}

function untilSignal(): Promise<string> {
  return new Promise((done) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => done(signal))
  })
}

function port(value: string): number {
  const number = Number(value)
  if (Number.isInteger(number) && number > 0 && number < 65_536) return number
  throw new InvalidArgumentError('It must be a port number between 1 and 65535.')
}
