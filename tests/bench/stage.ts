// tests/bench/stage.ts — one stack, one Deno, everything under measurement in both.
import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import postgres from 'postgres'

import { createFunctionRunner } from '../../cli/stack/functions/runner.ts'
import { startStack } from '../../cli/stack/index.ts'
import { createUser } from '../../cli/stack/postgres/bootstrap.ts'
import { startReaper } from '../../cli/stack/reaper.ts'
import { repositoryRoot } from '../support/repository.ts'
import { startRoundTripProxy, type RoundTripProxy } from '../support/round-trip-proxy.ts'
import { signIn } from '../support/sign-in.ts'

/** Slug → entry, all served by one Deno, so that no variant has a process to itself. */
const functions = {
  direct: 'tests/bench/chumbo/direct.ts',
  rest: 'tests/bench/chumbo/rest.ts',
  growth: 'tests/bench/chumbo/growth.ts',
  'floor-mcp': 'tests/bench/floor/mcp.ts',
  'floor-plain': 'tests/bench/floor/plain.ts',
  'floor-gated': 'tests/bench/floor/gated.ts',
}

/** Somebody signed in through an OAuth client of their own. */
export interface Principal {
  readonly id: string
  readonly token: string
}

export interface Stage {
  /** Where a function answers without the gateway in front of it. */
  readonly functionUrl: (slug: keyof typeof functions) => Promise<string>
  /** The `direct` function behind the stack's gateway. */
  readonly gatewayUrl: string
  readonly directUrl: string
  readonly principals: readonly Principal[]
  /** As the owner of the tables. */
  readonly owner: postgres.Sql
  readonly proxy: RoundTripProxy
  /** From now on the direct gates reach Postgres through the proxy. */
  readonly routeThroughProxy: () => Promise<void>
  readonly postgresVersion: string
  readonly close: () => Promise<void>
}

export interface StageOptions {
  readonly people: number
  /** Commits reach the disk, as in production; otherwise they do not, as in every test. */
  readonly isDurable: boolean
  readonly note: (line: string) => void
}

/** Starts everything. What was started until a failure is stopped again. */
export async function openStage(options: StageOptions): Promise<Stage> {
  const cleanups: (() => Promise<unknown> | void)[] = []
  const close = async (): Promise<void> => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  }
  try {
    return { ...(await assemble(options, cleanups)), close }
  } catch (error) {
    await close()
    throw error
  }
}

async function assemble(
  { people, isDurable, note }: StageOptions,
  cleanups: (() => Promise<unknown> | void)[],
): Promise<Omit<Stage, 'close'>> {
  const dataDir = isDurable ? await temporaryFolder(cleanups) : undefined
  const stack = await startStack({
    project: repositoryRoot,
    dataDir,
    gate: 'direct',
    install: 'direct',
    functions: { mcp: functions.direct },
    log: note,
  })
  cleanups.push(() => stack.stop())

  const databasePort = Number(new URL(stack.directUrl).port)
  const proxy = await startRoundTripProxy(databasePort)
  cleanups.push(() => proxy.stop())
  const owner = postgres(stack.databaseUrl, { max: 1, onnotice: () => {} })
  cleanups.push(() => owner.end({ timeout: 1 }))
  const users = await createUsers(stack.adminUrl, people)
  await owner.unsafe(await readFile(new URL('schema.sql', import.meta.url), 'utf8')).simple()

  const runner = createFunctionRunner({
    project: repositoryRoot,
    functions: Object.fromEntries(
      Object.entries(functions).map(([slug, file]) => [slug, join(repositoryRoot, file)]),
    ),
    allowedPorts: [Number(new URL(stack.origin).port), databasePort, proxy.port],
    workDir: await temporaryFolder(cleanups),
    env: {
      SUPABASE_URL: stack.origin,
      SUPABASE_PUBLISHABLE_KEYS: JSON.stringify({ default: stack.publishableKey }),
      SUPABASE_SECRET_KEYS: JSON.stringify({ default: stack.secretKey }),
      SUPABASE_JWKS: await (await fetch(`${stack.origin}/auth/v1/.well-known/jwks.json`)).text(),
      CHUMBO_HMAC_KEY: randomBytes(32).toString('hex'),
      CHUMBO_DB_URL: stack.directUrl,
    },
    log: note,
    onChange: () => reaper.watch([runner.pid() ?? 0].filter((pid) => pid > 0)),
  })
  const reaper = startReaper({})
  cleanups.push(() => reaper.dismiss())
  cleanups.push(() => runner.stop())
  await runner.start()

  const principals: Principal[] = []
  for (const user of users) {
    const { wallet, close } = await signIn(stack, user, { name: `Bench client of ${user.email}` })
    await close()
    principals.push({ id: user.id, token: wallet.accessToken })
  }
  const [version] = await owner`show server_version`

  return {
    functionUrl: async (slug) => `http://127.0.0.1:${await runner.port()}/${slug}`,
    gatewayUrl: stack.mcpUrl,
    directUrl: stack.directUrl,
    principals,
    owner,
    proxy,
    async routeThroughProxy() {
      const url = new URL(stack.directUrl)
      url.port = String(proxy.port)
      await runner.start({ CHUMBO_DB_URL: url.href })
    },
    postgresVersion: String(version?.['server_version']),
  }
}

async function createUsers(adminUrl: string, count: number): ReturnType<typeof createUserList> {
  const admin = postgres(adminUrl, { max: 1, onnotice: () => {} })
  return createUserList(admin, count).finally(() => admin.end({ timeout: 1 }))
}

async function createUserList(admin: postgres.Sql, count: number) {
  const users = []
  for (let i = 1; i <= count; i += 1) {
    users.push(await createUser(admin, { email: `person-${i}@example.test`, password: 'bench-password' }))
  }
  return users
}

async function temporaryFolder(cleanups: (() => Promise<unknown> | void)[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'chumbo-bench-'))
  cleanups.push(() => rm(folder, { recursive: true, force: true }))
  // Postgres may run under another account, which has to pass through here to its own folder.
  await chmod(folder, 0o711)
  return folder
}
