// cli/database.ts — how a command reaches the database: which one, as whom, and what is told when that fails.

import { resolve } from 'node:path'

import { Option } from 'commander'
import postgres from 'postgres'

import { CliError } from './cli-error.ts'
import { EXIT } from './exit-codes.ts'
import { findRunningStack } from './stack/running.ts'

export interface DatabaseOptions {
  /** Value of `--db-url`. */
  readonly dbUrl?: string | undefined
  /** Value of `--project`: where a running `chumbo dev` is looked for. */
  readonly project?: string | undefined
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** How long the first answer may take. */
  readonly reachWithinMs?: number
}

export interface DatabaseNeeds {
  /** The newest migration of ours the command relies on; without it any installed schema will do. */
  readonly migration?: number
}

/** The flag every command with a database has. */
export function databaseOption(): Option {
  return new Option(
    '--db-url <url>',
    'database to work on (default: DATABASE_URL, then a running chumbo dev)',
  )
}

/**
 * Runs `work` on the database of `--db-url`, of DATABASE_URL, or of the `chumbo dev` of this project, in this order.
 *
 * @throws {CliError} `no_database` and `invalid_database_url` (wrong usage), `database_unreachable`, `login_refused`,
 *   `not_installed`, `schema_outdated`, `not_permitted`, the slug our SQL raised, else `database_error`.
 * @example
 * ```ts
 * const tools = await withDatabase(options, { migration: 16 }, (sql) => sql`select name from chumbo.capabilities`)
 * ```
 */
export async function withDatabase<T>(
  options: DatabaseOptions,
  needs: DatabaseNeeds,
  work: (sql: postgres.Sql) => Promise<T>,
): Promise<T> {
  const sql = connect(await findDatabaseUrl(options))
  try {
    await inTime(requireSchema(sql, needs), options.reachWithinMs)
    return await work(sql)
  } catch (error) {
    throw describeFailure(error)
  } finally {
    // A connection that is gone cannot be closed politely.
    await sql.end({ timeout: 2 }).catch(() => undefined)
  }
}

/** @throws {CliError} `no_database` naming the flag, `invalid_database_url`. The URL itself is in no message. */
export async function findDatabaseUrl({
  dbUrl,
  project = '.',
  environment = process.env,
}: DatabaseOptions): Promise<string> {
  const named = [
    ['--db-url', dbUrl],
    ['DATABASE_URL', environment['DATABASE_URL']],
  ] as const
  for (const [source, url = ''] of named) {
    if (url.trim() === '') continue
    if (/^postgres(ql)?:$/.test(URL.parse(url)?.protocol ?? '')) return url
    throw new CliError(`${source} is not a postgresql:// URL.`, {
      code: 'invalid_database_url',
      hint: 'percent-encode special characters of the password',
      exitCode: EXIT.usage,
    })
  }
  const running = await findRunningStack(resolve(project))
  if (running !== undefined) return running.databaseUrl
  throw new CliError('It is not known which database is meant.', {
    code: 'no_database',
    hint: 'pass --db-url, set DATABASE_URL, or start one here with chumbo dev',
    exitCode: EXIT.usage,
  })
}

function connect(url: string): postgres.Sql {
  const { hostname, searchParams } = new URL(url)
  const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
  // Where the URL does not say, a login that owns the application's data is not sent over a network in the open.
  const isOpen = isHere || searchParams.has('sslmode') || searchParams.has('ssl')
  return postgres(url, {
    max: 1,
    prepare: false,
    connect_timeout: 10,
    onnotice: () => undefined,
    connection: { application_name: 'chumbo-cli' },
    ...(isOpen ? {} : { ssl: 'prefer' as const }),
  })
}

/** postgres.js knocks for ever at a port that accepts and hangs up. */
async function inTime(answer: Promise<void>, limitMs = 10_000): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(unreachable('no answer in time')), limitMs)
  })
  try {
    await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
    // Ending the connection rejects it once more, when nobody listens.
    answer.catch(() => undefined)
  }
}

/** Asked of the catalog first: a schema one may not use looks like none in every other way. */
async function requireSchema(sql: postgres.Sql, { migration }: DatabaseNeeds): Promise<void> {
  const [present] = await sql`
    select exists (
      select from pg_catalog.pg_class as c
      join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
      where n.nspname = 'chumbo' and c.relname = 'installed'
    ) as is_installed`
  if (present?.['is_installed'] !== true) {
    throw new CliError('Chumbo is not installed in this database.', { code: 'not_installed', hint: INSTALL })
  }
  if (migration === undefined) return
  const [installed] = await sql`select coalesce(max(number), 0)::integer as newest from chumbo.installed`
  const newest = Number(installed?.['newest'])
  if (newest >= migration) return
  throw new CliError(
    `The database has migration ${newest} of Chumbo; this command needs migration ${migration}.`,
    { code: 'schema_outdated', hint: INSTALL },
  )
}

const INSTALL = 'npx chumbo install, then npx supabase db push'

/** Tells an outage, a refused login and an answer of the database apart. Passes on what was worded before. */
export function describeFailure(cause: unknown): unknown {
  if (cause instanceof CliError || !(cause instanceof Error)) return cause
  const code = 'code' in cause ? String(cause.code) : ''
  if (isLoginRefusal(code, cause.message)) {
    return new CliError('The database refused this login.', {
      code: 'login_refused',
      hint: 'check user, password and database name of the URL',
      cause,
    })
  }
  if (isOutage(code)) return unreachable(code, cause)
  if (!(cause instanceof postgres.PostgresError)) return cause
  if (code === '42501') {
    return new CliError(`This login may not do that: ${cause.message}.`, {
      code: 'not_permitted',
      hint: 'use the login your migrations run under, which is postgres on Supabase',
      cause,
    })
  }
  // Ours raises the slug as message, the sentence as detail, the next step as hint.
  if (/^PT\d{3}$/.test(code) && cause.detail !== undefined) {
    return new CliError(cause.detail, { code: cause.message, hint: cause.hint, cause })
  }
  return new CliError(`The database answered: ${cause.message} (SQLSTATE ${code}).`, {
    code: 'database_error',
    cause,
  })
}

function unreachable(reason: string, cause?: unknown): CliError {
  return new CliError(`The database cannot be reached (${reason}).`, {
    code: 'database_unreachable',
    hint: 'check that it runs and that host and port of the URL are right, then repeat the command',
    cause,
  })
}

function isLoginRefusal(code: string, message: string): boolean {
  // 28: authorization. 3D000: no such database. The pooler of Supabase says the third in words only.
  return code.startsWith('28') || code === '3D000' || /tenant or user not found/i.test(message)
}

function isOutage(code: string): boolean {
  // 08: connection. 53: out of connections, memory or disk. 57P: shutting down or starting up. Letters first: Node and the driver.
  return (
    /^(08|53|57P)/.test(code)
    || /^(CONNECT|CONNECTION)_/.test(code)
    || /^E(CONN|HOST|NET|PIPE|TIMEDOUT|NOTFOUND|AI_)/.test(code)
  )
}
