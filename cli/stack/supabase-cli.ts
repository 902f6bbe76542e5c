// cli/stack/supabase-cli.ts — hands over to the Supabase CLI where Docker exists.

import { execFile, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'

import { CliError } from '../cli-error.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Output } from '../output.ts'

/**
 * Runs `supabase start`, then `supabase functions serve` until a signal ends it.
 *
 * @throws CliError `docker_missing` at once when no container engine answers: the CLI itself would wait.
 */
export async function runSupabaseStack(
  { project }: { readonly project: string },
  output: Output,
): Promise<ExitCode> {
  await assertDocker()
  const cwd = resolve(project)
  const start = await runCli(['start'], cwd)
  if (start !== 0) {
    throw new CliError('supabase start failed; its own output above says why.', {
      code: 'supabase_start_failed',
      hint: 'npx supabase stop && npx supabase start',
    })
  }
  output.note('Supabase runs in containers; `npx supabase stop` ends it. Serving the functions until Ctrl-C.')
  const served = await runCli(['functions', 'serve'], cwd)
  return served === 0 || served === null ? EXIT.interrupted : EXIT.failed
}

/** @throws CliError `docker_missing` */
export async function assertDocker(
  probe: () => Promise<unknown> = () => promisify(execFile)('docker', ['info'], { timeout: 5000 }),
): Promise<void> {
  try {
    await probe()
  } catch (cause) {
    throw new CliError('--stack supabase needs Docker, and no Docker daemon answers here.', {
      code: 'docker_missing',
      hint: 'chumbo dev --stack local (needs no containers), or start Docker and repeat',
      cause,
    })
  }
}

/** stdout stays ours: the CLI's own words go to stderr. Answers null when a signal ended it. */
function runCli(args: readonly string[], cwd: string): Promise<number | null> {
  const root = dirname(createRequire(import.meta.url).resolve('supabase/package.json'))
  const child = spawn(process.execPath, [join(root, 'dist', 'supabase.js'), ...args], {
    cwd,
    stdio: ['inherit', 2, 2],
    env: { ...process.env, SUPABASE_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1' },
  })
  // The terminal has told the child as well; we stay to report how it ended.
  const ignore = () => undefined
  process.on('SIGINT', ignore)
  return new Promise((done, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => {
      process.removeListener('SIGINT', ignore)
      done(code)
    })
  })
}
