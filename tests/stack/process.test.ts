// tests/stack/process.test.ts — `chumbo dev` as a process: what it prints, how it ends, and that nothing outlives it.
import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createClient } from '@supabase/supabase-js'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'

import { findDatabaseUrl } from '../../cli/database.ts'
import { repositoryRoot } from '../support/repository.ts'
import { createTestProject, type TestProject } from './support/project.ts'

interface Summary {
  readonly mcpUrl: string
  readonly origin: string
  readonly publishableKey: string
  readonly databaseUrl: string
  readonly users: { readonly alice: { readonly email: string; readonly password: string } }
  readonly pids: { readonly postgres: number; readonly deno: number }
  readonly seconds: number
}

let project: TestProject
/** Temporary files of the processes under test: empty again once they are gone. */
let temporaryDir: string
const started: ChildProcess[] = []

beforeAll(async () => {
  project = await createTestProject()
  temporaryDir = await mkdtemp(join(tmpdir(), 'process-'))
  await chmod(temporaryDir, 0o711)
})

afterEach(() => {
  for (const child of started.splice(0)) if (child.exitCode === null) child.kill('SIGKILL')
})

afterAll(async () => {
  await project.remove()
  await rm(temporaryDir, { recursive: true, force: true })
})

describe('chumbo dev', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 0],
  ] as const)('takes everything down on %s and ends with %i', async (signal, code) => {
    const { child, summary } = await startDev()

    child.kill(signal)

    expect(await exitCode(child)).toBe(code)
    await expectGone(summary)
    expect(await readdir(temporaryDir)).toEqual([])
  })

  it('leaves no process and no folder behind even when it is killed outright', async () => {
    const { child, summary } = await startDev()

    child.kill('SIGKILL')

    await exitCode(child)
    await expectGone(summary)
    await expect.poll(() => readdir(temporaryDir), { timeout: 8000 }).toEqual([])
  })

  it('ends with 1 and says why when Postgres dies', async () => {
    const { child, summary, output } = await startDev()

    process.kill(summary.pids.postgres, 'SIGKILL')

    expect(await exitCode(child)).toBe(1)
    expect(output()).toContain('"code":"stack_crashed"')
    await expectGone(summary)
  })

  it('keeps data, users, keys and therefore tokens with --data', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'kept-'))
    await chmod(dataDir, 0o711)
    const first = await startDev(['--data', join(dataDir, 'stack')])
    const { port } = new URL(first.summary.origin)
    const session = await signIn(first.summary)
    first.child.kill('SIGTERM')
    await exitCode(first.child)

    const second = await startDev(['--data', join(dataDir, 'stack'), '--port', port, '--install', 'none'])
    const client = createClient(second.summary.origin, second.summary.publishableKey)
    const { data } = await client.auth.getUser(session?.access_token ?? '')
    const refreshed = await client.auth.refreshSession({ refresh_token: session?.refresh_token ?? '' })
    second.child.kill('SIGTERM')
    await exitCode(second.child)
    await rm(dataDir, { recursive: true })

    expect(second.summary.publishableKey).toBe(first.summary.publishableKey)
    expect(data.user?.email).toBe('alice@example.test')
    expect(refreshed.error).toBeNull()
  })

  it('is where the other commands of the project find a database, as long as it runs', async () => {
    const { child, summary } = await startDev()
    const find = () => findDatabaseUrl({ project: project.dir, environment: {} })

    const found = await find()
    child.kill('SIGTERM')
    await exitCode(child)

    expect(found).toBe(summary.databaseUrl)
    await expect(find()).rejects.toMatchObject({ code: 'no_database' })
  })

  it('says so when the port is taken, and starts nothing', async () => {
    const blocker = createServer()
    await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve))
    const address = blocker.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0

    const { child, output } = launch(['--port', String(port)])
    const code = await exitCode(child)
    blocker.close()

    expect(code).toBe(1)
    expect(JSON.parse(output())).toMatchObject({ error: { code: 'port_taken' } })
  })

  it('names the migration that failed', async () => {
    const broken = await createTestProject()
    await writeFile(join(broken.dir, 'supabase/migrations/20260102000000_bad.sql'), 'select 1/0;')

    const { child, output } = launch([], broken.dir)
    const code = await exitCode(child)
    await broken.remove()

    expect(code).toBe(1)
    expect(output()).toContain('20260102000000_bad.sql')
  })
})

// Helpers

function launch(args: readonly string[], dir = project.dir) {
  const install = args.includes('--install') ? [] : ['--install', 'direct']
  const main = join(repositoryRoot, 'cli', 'main.ts')
  const child = spawn(process.execPath, [main, 'dev', '--json', '--project', dir, ...install, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TMPDIR: temporaryDir },
  })
  started.push(child)
  let text = ''
  child.stdout.setEncoding('utf8')
  child.stdout.on('data', (chunk: string) => {
    text += chunk
  })
  child.stderr.resume()
  return { child, output: () => text }
}

async function startDev(args: readonly string[] = []) {
  const { child, output } = launch(args)
  await expect.poll(output, { timeout: 30_000 }).toMatch(/\n$/)
  return { child, output, summary: JSON.parse(output().split('\n')[0] ?? '{}') as Summary }
}

function exitCode(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode)
  return new Promise((resolve) => child.once('close', resolve))
}

async function expectGone({ pids }: Summary): Promise<void> {
  await expect.poll(() => [pids.postgres, pids.deno].filter(isAlive), { timeout: 8000 }).toEqual([])
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function signIn(summary: Summary) {
  const client = createClient(summary.origin, summary.publishableKey, { auth: { persistSession: false } })
  const { data } = await client.auth.signInWithPassword(summary.users.alice)
  return data.session
}
