// cli/doctor/database-checks.ts — what the doctor asks the database: is it there, is it ours and current, is it kept, is it safe.

import type postgres from 'postgres'

import { CliError } from '../cli-error.ts'
import { type DatabaseOptions, withDatabase } from '../database.ts'
import type { ShippedMigration } from '../shipped-migrations.ts'
import type { Check, Diagnosis, Finding, UpkeepReport } from './check.ts'

export interface DatabaseCheckOptions {
  readonly database: DatabaseOptions
  readonly shipped: readonly ShippedMigration[]
  /** Only this server's findings. */
  readonly server: string | undefined
  readonly now: Date
}

/** The migration that brought `chumbo.lint` and `chumbo.upkeep_report`. */
const LINT_MIGRATION = 17

const ids = ['database', 'schema', 'installed_hashes', 'upkeep', 'lint'] as const
type CheckId = (typeof ids)[number]

/**
 * Runs every check that the database allows for; what it does not is skipped, with the reason.
 *
 * @throws {CliError} `unknown_server` for a server that does not exist, `invalid_database_url`.
 */
export async function checkDatabase(options: DatabaseCheckOptions): Promise<Diagnosis> {
  const needed = options.shipped.at(-1)?.number ?? 0
  const nothing = { schema: { found: null, needed }, findings: [], upkeep: null }
  try {
    return await withDatabase(options.database, {}, (sql) => examine(sql, options, needed))
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    const told = { detail: error.message, fix: error.hint ?? null }
    switch (error.code) {
      case 'no_database':
        return { ...nothing, checks: [check('database', 'skipped', told), ...skipAfter('database')] }
      case 'not_installed':
        return {
          ...nothing,
          checks: [
            check('database', 'ok', { detail: 'The database answers.' }),
            check('schema', 'error', {
              detail: `${error.message} This package needs version ${needed}.`,
              fix: told.fix,
            }),
            ...skipAfter('schema'),
          ],
        }
      case 'database_unreachable':
      case 'login_refused':
      case 'not_permitted':
        return { ...nothing, checks: [check('database', 'failed', told), ...skipAfter('database')] }
      default:
        throw error
    }
  }
}

async function examine(
  sql: postgres.Sql,
  { shipped, server, now }: DatabaseCheckOptions,
  needed: number,
): Promise<Diagnosis> {
  const [facts] = await sql`select current_user as login, current_setting('server_version') as version`
  const installed = await sql<
    { number: number; name: string; hash: string }[]
  >`select number, name, hash from chumbo.installed order by number`
  const found = installed.at(-1)?.number ?? 0
  const checks = [
    check('database', 'ok', {
      detail: `Postgres ${String(facts?.['version'])} answers, as ${String(facts?.['login'])}.`,
    }),
    checkSchema(found, needed),
    checkHashes(installed, shipped),
  ]
  const schema = { found, needed }
  if (found < LINT_MIGRATION) {
    const tooOld = {
      detail: `It needs version ${LINT_MIGRATION} of the schema and found ${found}.`,
      fix: UPGRADE,
    }
    return {
      checks: [...checks, check('upkeep', 'skipped', tooOld), check('lint', 'skipped', tooOld)],
      schema,
      findings: [],
      upkeep: null,
    }
  }
  const [report] = await sql<{ report: UpkeepReport }[]>`select chumbo.upkeep_report() as report`
  const findings = await sql<Finding[]>`select * from chumbo.lint(${server ?? null})`
  const upkeep = report?.report ?? null
  return {
    checks: [...checks, checkUpkeep(upkeep, now), checkLint(findings)],
    schema,
    findings: [...findings],
    upkeep,
  }
}

const UPGRADE = 'npx chumbo install, then npx supabase db push'

function checkSchema(found: number, needed: number): Check {
  if (found === needed) {
    return check('schema', 'ok', {
      detail: `Version ${found} of the schema is installed, as this package needs.`,
    })
  }
  if (found < needed) {
    return check('schema', 'error', {
      detail: `This package needs version ${needed} of the schema and found version ${found}.`,
      fix: UPGRADE,
    })
  }
  return check('schema', 'warning', {
    detail: `The database has version ${found} of the schema, newer than the ${needed} of this package.`,
    fix: 'npm install chumbo@latest',
  })
}

/** The database remembers which text of each file ran; this package knows which one it ships. */
function checkHashes(
  installed: readonly { number: number; hash: string }[],
  shipped: readonly ShippedMigration[],
): Check {
  const newest = installed.at(-1)?.number ?? 0
  const faults = shipped
    .filter(({ number }) => number <= newest)
    .flatMap(({ number, name, hash }) => {
      const row = installed.find((other) => other.number === number)
      if (row === undefined) return [`${name} never ran`]
      return row.hash === hash ? [] : [`${name} ran with another text`]
    })
  return faults.length === 0
    ? check('installed_hashes', 'ok', { detail: 'What ran is what this package ships.' })
    : check('installed_hashes', 'error', {
        detail: `${faults.join('; ')}.`,
        fix: 'run the shipped files again, in order: each may run twice',
      })
}

const DAY_MS = 24 * 60 * 60 * 1000

function checkUpkeep(report: UpkeepReport | null, now: Date): Check {
  if (report === null)
    return check('upkeep', 'failed', { detail: 'The database said nothing about its upkeep.' })
  const { receipts, last_run: lastRun } = report
  const age = (time: string) => Math.floor((now.getTime() - Date.parse(time)) / DAY_MS)
  const size = `Receipts take ${megabytes(receipts.bytes)}`
  const oldest =
    receipts.oldest === null
      ? `${size} and there are none`
      : `${size}, the oldest is ${age(receipts.oldest)} days old`
  const detail = `${oldest}; the last pruning was ${lastRun === null ? 'never' : `${age(lastRun.ran_at)} days ago`}.`
  const fix = 'select chumbo.maintain(); once a day, by pg_cron or by hand'

  if (receipts.rest_rows > 0) {
    return check('upkeep', 'warning', {
      detail: `${detail} ${receipts.rest_rows > 100_000 ? 'More than 100000' : receipts.rest_rows} of them lie outside of any month, where they are pruned slowly.`,
      fix,
    })
  }
  const isDue =
    lastRun === null
      ? receipts.oldest !== null && age(receipts.oldest) > 7
      : age(lastRun.ran_at) > 7 && receipts.oldest !== null
  return check('upkeep', isDue ? 'warning' : 'ok', { detail, ...(isDue ? { fix } : {}) })
}

function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`
}

function checkLint(findings: readonly Finding[]): Check {
  const count = (level: Finding['level']) =>
    new Set(findings.filter((finding) => finding.level === level).map(({ key }) => key)).size
  const [errors, warnings, infos] = [count('error'), count('warning'), count('info')]
  const detail = `${plural(errors, 'error')}, ${plural(warnings, 'warning')}, ${plural(infos, 'remark')} about what is offered.`
  const status = errors > 0 ? 'error' : warnings > 0 ? 'warning' : 'ok'
  return check('lint', status, {
    detail,
    ...(status === 'ok' ? {} : { fix: 'each finding below says how to mend it' }),
  })
}

function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}

function skipAfter(id: CheckId): Check[] {
  return ids
    .slice(ids.indexOf(id) + 1)
    .map((skipped) => check(skipped, 'skipped', { detail: `It needs the check ${id} to pass.` }))
}

function check(
  id: CheckId,
  status: Check['status'],
  { detail, fix = null }: { detail: string; fix?: string | null },
): Check {
  return { id, status, detail, fix }
}
