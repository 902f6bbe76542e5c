// tests/support/test-server.ts — one throw-away Postgres per test run, with the roles of a Supabase project.
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import postgres from 'postgres'

import { freePort } from '../../cli/stack/free-port.ts'
import { bootstrapDatabase } from '../../cli/stack/postgres/bootstrap.ts'
import { createCluster } from '../../cli/stack/postgres/cluster.ts'
import { startReaper } from '../../cli/stack/reaper.ts'
import { createSecrets } from '../../cli/stack/secrets.ts'

/** `supabase_admin` is the superuser; `postgres` is what a deploy tool logs in as. */
export type TestLogin = 'supabase_admin' | 'postgres'

export interface TestServer {
  url(database: string, login?: TestLogin): string
  /** Clones `template`, by default an empty Supabase project. Nobody may be connected to the template. */
  createDatabase(name: string, template?: string): Promise<void>
  dropDatabase(name: string): Promise<void>
  /** What a child process needs in its environment to find this server instead of starting its own. */
  readonly env: Readonly<Record<string, string>>
  /** Ends the server if this process started it. */
  stop(): Promise<void>
}

const VARIABLE = 'CHUMBO_TEST_SERVER'

interface Address {
  readonly port: number
  readonly passwords: Readonly<Record<TestLogin, string>>
}

/** Joins the server of the surrounding test run, or starts one of our own. */
export async function connectTestServer(): Promise<TestServer> {
  const inherited = process.env[VARIABLE]
  // Written by this module in the parent process.
  if (inherited !== undefined) return describeServer(JSON.parse(inherited) as Address, async () => {})
  return startTestServer()
}

async function startTestServer(): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), 'chumbo-test-'))
  // Postgres may run under another account, which has to pass through here to its own folder.
  await chmod(folder, 0o711)
  const reaper = startReaper({ temporaryDir: folder })
  const secrets = await createSecrets()
  const port = await freePort()
  const cluster = await createCluster({
    dir: join(folder, 'data'),
    port,
    adminPassword: secrets.passwords.supabase_admin,
    durable: false,
    onExit: (reason) => console.error(reason),
  })
  await cluster.start()
  reaper.watch([cluster.pid()])

  const server = describeServer({ port, passwords: secrets.passwords }, async () => {
    await cluster.stop()
    await rm(folder, { recursive: true, force: true })
    reaper.dismiss()
  })
  const admin = postgres(server.url('postgres'), { max: 1, onnotice: () => {} })
  await bootstrapDatabase(admin, secrets)
  await admin.end()
  return server
}

function describeServer({ port, passwords }: Address, stop: () => Promise<void>): TestServer {
  const url = (database: string, login: TestLogin = 'supabase_admin') =>
    `postgres://${login}:${passwords[login]}@127.0.0.1:${port}/${database}?sslmode=disable`

  // A statement about databases needs a connection outside of them; template1 is never cloned here.
  const run = async (statement: (sql: postgres.Sql) => Promise<unknown>) => {
    const sql = postgres(url('template1'), { max: 1, onnotice: () => {} })
    try {
      await statement(sql)
    } finally {
      await sql.end()
    }
  }

  return {
    url,
    createDatabase: (name, template = 'postgres') =>
      run((sql) => sql`create database ${sql(name)} template ${sql(template)} owner postgres`),
    dropDatabase: (name) => run((sql) => sql`drop database if exists ${sql(name)} with (force)`),
    env: {
      [VARIABLE]: JSON.stringify({
        port,
        passwords: { supabase_admin: passwords.supabase_admin, postgres: passwords.postgres },
      } satisfies Address),
    },
    stop,
  }
}
