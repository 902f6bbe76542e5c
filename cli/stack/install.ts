// cli/stack/install.ts — brings the project's migrations and seed into the database.

import { spawn } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

import type postgres from 'postgres'

import { CliError } from '../cli-error.ts'

/** Runs the real Supabase CLI: `supabase db push --include-seed`. It keeps its own history, so a second run is quiet. */
export async function installWithSupabaseCli(project: string, databaseUrl: string): Promise<void> {
  // `--db-url` is deprecated since version 3 in favour of `--remote=<url>`, which version 2 does not know.
  const args = ['db', 'push', '--db-url', databaseUrl, '--include-seed', '--yes', '--workdir', project]
  const child = spawn(process.execPath, [findSupabase(), ...args], {
    cwd: project,
    env: { ...process.env, SUPABASE_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1', NO_COLOR: '1', CI: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8')
    stream.on('data', (chunk: string) => {
      output += chunk
    })
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  if (code === 0) return
  throw new CliError(`supabase db push failed.\n${withoutPassword(output, databaseUrl).trim()}`, {
    code: 'install_failed',
    hint: 'correct the migration named above and start again',
  })
}

/** Applies supabase/migrations/*.sql in order, each in one transaction, then supabase/seed.sql. Keeps no history. */
export async function installDirectly(project: string, sql: postgres.Sql): Promise<void> {
  const folder = join(project, 'supabase', 'migrations')
  const names = await readdir(folder).catch(() => [])
  const files = names.filter((name) => name.endsWith('.sql')).sort()
  for (const file of files) await applyFile(sql, join(folder, file))
  const seed = join(project, 'supabase', 'seed.sql')
  const hasSeed = await readFile(seed, 'utf8').then(
    () => true,
    () => false,
  )
  if (hasSeed) await applyFile(sql, seed)
}

async function applyFile(sql: postgres.Sql, file: string): Promise<void> {
  const text = await readFile(file, 'utf8')
  try {
    await sql.begin((tx) => tx.unsafe(text).simple())
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new CliError(`${file} failed: ${reason}`, { code: 'install_failed', cause })
  }
}

function findSupabase(): string {
  try {
    const root = dirname(createRequire(import.meta.url).resolve('supabase/package.json'))
    return join(root, 'dist', 'supabase.js')
  } catch (cause) {
    throw new CliError('The Supabase CLI is not installed.', {
      code: 'supabase_cli_missing',
      hint: 'npm install --save-dev supabase',
      cause,
    })
  }
}

function withoutPassword(text: string, databaseUrl: string): string {
  const { password } = new URL(databaseUrl)
  return password === '' ? text : text.replaceAll(password, '…')
}
