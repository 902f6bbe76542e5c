// cli/stack/index.ts — a local Supabase without containers.
//
//   const stack = await startStack({ project: process.cwd() })
//   stack.mcpUrl                      // http://127.0.0.1:PORT/functions/v1/mcp
//   await stack.stop()
//
// postgres/   a real Postgres 17 with Supabase's roles and auth schema (sql/*.sql)
// auth/       the authorization server         data-api/   PostgREST's rules: functions ours, tables by lite
// pages/      sign-in and consent              functions/  the Edge Functions in one Deno child
// gateway.ts  one port in front of them        reaper.ts   nothing outlives us

import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'

import type { AuthContext } from './auth/context.ts'
import { createAuthServer } from './auth/server.ts'
import { createTokens } from './auth/tokens.ts'
import { createDataApi } from './data-api/server.ts'
import { prepareDir } from './data-dir.ts'
import { freePort } from './free-port.ts'
import { findFunctions } from './functions/find-functions.ts'
import { createFunctionRunner } from './functions/runner.ts'
import { openGateway } from './gateway.ts'
import { installDirectly, installWithSupabaseCli } from './install.ts'
import { createSignInPage } from './pages/sign-in.ts'
import { bootstrapDatabase, createChumboLogin, createUser, type TestUser } from './postgres/bootstrap.ts'
import { createCluster } from './postgres/cluster.ts'
import { openPool } from './postgres/pool.ts'
import { readProjectConfig } from './project-config.ts'
import { startReaper } from './reaper.ts'
import { type DatabaseLogin, loadSecrets, publicJwk } from './secrets.ts'

export type { TestUser } from './postgres/bootstrap.ts'

export interface StackOptions {
  /** Folder that holds supabase/. */
  readonly project: string
  /** Port of the gateway; a free one by default. */
  readonly port?: number | undefined
  /** Folder that keeps data, users and keys between runs; without it everything is temporary. */
  readonly dataDir?: string | undefined
  /** How the runtime reaches the database; `direct` hands the functions CHUMBO_DB_URL. */
  readonly gate?: 'rest' | 'direct' | undefined
  /** How migrations and seed are applied: by the Supabase CLI, over our own connection, or not at all. */
  readonly install?: 'none' | 'push' | 'direct' | undefined
  /** Slug → entry file; by default every supabase/functions/<slug>/index.ts. */
  readonly functions?: Readonly<Record<string, string>> | undefined
  /** Further variables for the functions. */
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly log?: ((line: string) => void) | undefined
  /** Told when a part ended by itself and the stack has shut down because of it. */
  readonly onCrash?: ((reason: string) => void) | undefined
}

export interface Stack {
  /** Address of the gateway. */
  readonly origin: string
  readonly mcpUrl: string
  readonly signInUrl: string
  readonly publishableKey: string
  readonly secretKey: string
  /** As the superuser supabase_admin. */
  readonly adminUrl: string
  /** As postgres, the role migrations run under. */
  readonly databaseUrl: string
  /** As chumbo_login; usable once our migrations have made chumbo_runtime. */
  readonly directUrl: string
  readonly users: { readonly alice: TestUser; readonly bob: TestUser }
  /** Creates or refreshes chumbo_login; false while our migrations are not there. For callers that install by themselves. */
  prepareDirectLogin(): Promise<boolean>
  /** Starts the functions anew, with further variables when given. */
  restartFunctions(env?: Readonly<Record<string, string>>): Promise<void>
  /** SIGKILL; the next request or restartFunctions starts them again. */
  killFunctions(): Promise<void>
  /** A fast shutdown, or with `crash` an immediate one, as after a power cut. */
  stopPostgres(options?: { readonly crash?: boolean }): Promise<void>
  startPostgres(): Promise<void>
  pids(): { postgres: number; deno: number | null }
  stop(): Promise<void>
}

/**
 * Starts everything and resolves when it answers.
 *
 * @throws CliError with the reason and the next command; whatever was started until then is stopped again.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const cleanups: (() => Promise<void> | void)[] = []
  try {
    return await assemble(options, cleanups)
  } catch (error) {
    await unwind(cleanups)
    throw error
  }
}

async function assemble(options: StackOptions, cleanups: (() => Promise<void> | void)[]): Promise<Stack> {
  const { gate = 'rest', install = 'push', log = () => undefined } = options
  const project = resolve(options.project)
  const { dir, temporaryDir } = await prepareDir(options.dataDir)
  if (temporaryDir !== undefined) cleanups.push(() => rm(temporaryDir, { recursive: true, force: true }))
  const reaper = startReaper({ temporaryDir })
  cleanups.push(() => reaper.dismiss())

  const [secrets, config, functions] = await Promise.all([
    loadSecrets(dir),
    readProjectConfig(project),
    options.functions ?? findFunctions(project),
  ])
  const gateway = await openGateway({ port: options.port })
  cleanups.push(() => gateway.close())
  const { origin } = gateway

  // Postgres
  const port = await freePort()
  const watch = () => reaper.watch([cluster.pid(), runner.pid() ?? 0].filter((pid) => pid > 0))
  const cluster = await createCluster({
    dir: join(dir, 'postgres'),
    port,
    adminPassword: secrets.passwords.supabase_admin,
    durable: temporaryDir === undefined,
    onExit: (reason) => {
      log(reason)
      void stop().then(() => options.onCrash?.(reason))
    },
  })
  const url = (login: DatabaseLogin) =>
    `postgresql://${login}:${secrets.passwords[login]}@127.0.0.1:${port}/postgres?sslmode=disable`

  // Functions: prepared before Postgres runs, so that the watcher below knows both.
  const runner = createFunctionRunner({
    project,
    functions: Object.fromEntries(
      Object.entries(functions).map(([slug, file]) => [slug, resolve(project, file)]),
    ),
    allowedPorts: [Number(new URL(origin).port), port],
    workDir: dir,
    env: {
      SUPABASE_URL: origin,
      SUPABASE_PUBLISHABLE_KEYS: JSON.stringify({ default: secrets.publishableKey }),
      SUPABASE_SECRET_KEYS: JSON.stringify({ default: secrets.secretKey }),
      SUPABASE_JWKS: JSON.stringify({ keys: [publicJwk(secrets)] }),
      CHUMBO_HMAC_KEY: secrets.hmacKey,
      ...(gate === 'direct' ? { CHUMBO_DB_URL: url('chumbo_login') } : {}),
      ...options.env,
    },
    log,
    onChange: () => watch(),
  })

  await cluster.start()
  watch()
  cleanups.push(() => cluster.stop())
  cleanups.push(() => runner.stop())

  const admin = openPool(url('supabase_admin'), 4)
  cleanups.push(() => admin.end({ timeout: 1 }))
  if (cluster.isNew) await bootstrapDatabase(admin, secrets)
  const users = {
    alice: await createUser(admin, { email: 'alice@example.test', password: 'alice-password' }),
    bob: await createUser(admin, { email: 'bob@example.test', password: 'bob-password' }),
  }
  // Deno loads the functions while the migrations are applied: both are waiting for a process of their own.
  await together([
    async () => {
      await installProject()
      await createChumboLogin(admin, secrets)
    },
    async () => {
      if (Object.keys(functions).length > 0) await runner.start()
    },
  ])

  // Services
  const tokens = await createTokens(secrets)
  const authSql = openPool(url('supabase_auth_admin'), 10)
  cleanups.push(() => authSql.end({ timeout: 1 }))
  const context: AuthContext = {
    sql: authSql,
    tokens,
    issuer: `${origin}/auth/v1`,
    consentUrl: `${origin}/sign-in`,
    siteOrigins: [origin, origin.replace('127.0.0.1', 'localhost')],
    secretKey: secrets.secretKey,
    publishableKey: secrets.publishableKey,
  }
  const restSql = openPool(url('authenticator'), 20)
  cleanups.push(() => restSql.end({ timeout: 1 }))
  const dataApi = await createDataApi({
    sql: restSql,
    url: url('authenticator'),
    adminUrl: url('supabase_admin'),
    tokens,
    keys: secrets,
    schemas: config.schemas,
    extraSearchPath: config.extraSearchPath,
  })
  cleanups.push(() => dataApi.close())
  gateway.attach({
    auth: createAuthServer(context, publicJwk(secrets)),
    rest: dataApi.handle,
    signIn: createSignInPage(context),
    tokens,
    functionsPort: () => runner.port(),
    verifyJwt: config.verifyJwt,
    log,
  })

  async function installProject(): Promise<void> {
    if (install === 'push') await installWithSupabaseCli(project, url('postgres'))
    if (install !== 'direct') return
    const owner = openPool(url('postgres'), 1)
    await installDirectly(project, owner).finally(() => owner.end({ timeout: 1 }))
  }

  let stopping: Promise<void> | undefined
  function stop(): Promise<void> {
    stopping ??= unwind(cleanups)
    return stopping
  }

  return {
    origin,
    mcpUrl: `${origin}/functions/v1/mcp`,
    signInUrl: `${origin}/sign-in`,
    publishableKey: secrets.publishableKey,
    secretKey: secrets.secretKey,
    adminUrl: url('supabase_admin'),
    databaseUrl: url('postgres'),
    directUrl: url('chumbo_login'),
    users,
    prepareDirectLogin: () => createChumboLogin(admin, secrets),
    restartFunctions: (env) => runner.start(env),
    killFunctions: () => runner.kill(),
    async stopPostgres(how) {
      await cluster.stop(how)
      watch()
    },
    async startPostgres() {
      await cluster.start()
      watch()
    },
    pids: () => ({ postgres: cluster.pid(), deno: runner.pid() }),
    stop,
  }
}

/** Ends the parts in the reverse order of their start; one that fails does not keep the others alive. */
async function unwind(cleanups: (() => Promise<void> | void)[]): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) {
    try {
      await cleanup()
    } catch {
      // A connection to a server that is gone cannot be closed politely, and nobody is left to be told.
    }
  }
}

/** Runs all of them to their end before it reports the first failure, so that none works on behind the cleanup. */
async function together(tasks: readonly (() => Promise<void>)[]): Promise<void> {
  const outcomes = await Promise.allSettled(tasks.map((task) => task()))
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
}
