// cli/stack/data-api/function-catalog.ts — the functions one may call and the roles' own settings, kept in memory.

import type postgres from 'postgres'

import { inTransaction } from '../postgres/pool.ts'

export interface FunctionParameter {
  readonly name: string
  /** As `format_type` writes it with an empty search path, so it can stand in a cast. */
  readonly type: string
  readonly isRequired: boolean
  readonly isVariadic: boolean
}

export interface ApiFunction {
  readonly schema: string
  readonly name: string
  readonly parameters: readonly FunctionParameter[]
  readonly returns: 'void' | 'scalar' | 'row'
  readonly isSet: boolean
  /** Name of the only table or out column: Postgres would call it by the alias and lose the name. */
  readonly soleColumn: string | undefined
  readonly isVolatile: boolean
  /** Settings PostgREST applies before the call because they would come too late inside it. */
  readonly hoistedSettings: readonly Setting[]
}

export type Setting = readonly [name: string, value: string]

export interface Catalog {
  /** Grows with every reload; part of statement texts, so that none survives a change of what it calls. */
  readonly version: number
  readonly functions: ReadonlyMap<string, readonly ApiFunction[]>
  readonly roleSettings: ReadonlyMap<string, readonly Setting[]>
  /** `alter role authenticator set pgrst.db_pre_request = 'schema.function'`. */
  readonly preRequest: string | undefined
}

export interface CatalogCache {
  /** What is known now. */
  current(): Catalog
  /** Resolves once no reload is under way. */
  settled(): Promise<void>
  reload(): Promise<void>
}

const HOISTED = ['statement_timeout', 'plan_filter.statement_cost_limit', 'default_transaction_isolation']

/** Key of an overload set in the catalog. */
export function functionKey(schema: string, name: string): string {
  return JSON.stringify([schema, name])
}

/** Loads the catalog and keeps it fresh through `NOTIFY pgrst`. */
export async function watchCatalog(sql: postgres.Sql, schemas: readonly string[]): Promise<CatalogCache> {
  let catalog = await loadCatalog(sql, schemas, 1)
  let pending: Promise<void> = Promise.resolve()

  const reload = () => {
    // One after the other: a reload that began before the change must not overwrite a later one.
    pending = pending
      .then(() => loadCatalog(sql, schemas, catalog.version + 1))
      .then(
        (fresh) => {
          catalog = fresh
        },
        // The database is away; the listener reloads when it is back.
        () => undefined,
      )
    return pending
  }
  // The third argument runs at every (re)connection: what was notified while we were away is lost otherwise.
  await sql.listen(
    'pgrst',
    () => void reload(),
    () => void reload(),
  )
  await pending
  return { current: () => catalog, settled: () => pending, reload }
}

async function loadCatalog(sql: postgres.Sql, schemas: readonly string[], version: number): Promise<Catalog> {
  const [functions, settings] = await Promise.all([
    inTransaction(sql, (tx) => readFunctions(tx, schemas)),
    readSettings(sql),
  ])
  const byKey = new Map<string, ApiFunction[]>()
  for (const found of functions) {
    const key = functionKey(found.schema, found.name)
    byKey.set(key, [...(byKey.get(key) ?? []), found])
  }
  const roleSettings = new Map<string, readonly Setting[]>()
  for (const { role, settings: list } of settings) {
    roleSettings.set(
      role,
      list.filter(([name]) => !name.startsWith('pgrst.') && name !== 'search_path'),
    )
  }
  const authenticator = settings.find(({ role }) => role === 'authenticator')
  const preRequest = authenticator?.settings.find(([name]) => name === 'pgrst.db_pre_request')?.[1]
  return { version, functions: byKey, roleSettings, preRequest: preRequest === '' ? undefined : preRequest }
}

async function readFunctions(tx: postgres.ReservedSql, schemas: readonly string[]): Promise<ApiFunction[]> {
  await tx`set local search_path = ''`
  const rows = await tx`
    select n.nspname as schema, p.proname as name, p.proretset as is_set, p.provolatile = 'v' as is_volatile,
           p.proconfig as config, p.provariadic <> 0 as is_variadic,
           case
             when p.prorettype = 'pg_catalog.void'::pg_catalog.regtype then 'void'
             when result.typtype = 'c' or base.typtype = 'c' then 'row'
             -- A table or out column makes an object of the answer, even when it is the only one.
             when p.proargmodes && array['t', 'b', 'o']::"char"[] then 'row'
             else 'scalar'
           end as returns,
           coalesce((
             select pg_catalog.json_agg(pg_catalog.json_build_object(
                      'name', coalesce(a.name, ''),
                      'type', pg_catalog.format_type(a.type, null)) order by a.position)
             from unnest(
                    coalesce(p.proallargtypes, p.proargtypes::oid[]), p.proargnames, p.proargmodes
                  ) with ordinality as a(type, name, mode, position)
             where a.mode is null or a.mode in ('i', 'b', 'v')
           ), '[]') as inputs,
           (
             select case when count(*) = 1 then min(a.name) end
             from unnest(p.proargnames, p.proargmodes) as a(name, mode)
             where a.mode in ('t', 'b', 'o')
           ) as sole_column,
           p.pronargdefaults as defaults
    from pg_catalog.pg_proc as p
    join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
    join pg_catalog.pg_type as result on result.oid = p.prorettype
    left join pg_catalog.pg_type as base on base.oid = result.typbasetype
    where p.prokind = 'f' and n.nspname = any(${[...schemas]}::text[])
      -- Triggers cannot be called, and PostgREST does not list them either.
      and p.prorettype not in ('pg_catalog.trigger'::pg_catalog.regtype, 'pg_catalog.event_trigger'::pg_catalog.regtype)
    order by n.nspname, p.proname, p.oid`
  return rows.map(toFunction)
}

// The columns are those of the query above.
function toFunction(row: postgres.Row): ApiFunction {
  const inputs = row['inputs'] as readonly { name: string; type: string }[]
  const required = inputs.length - Number(row['defaults'])
  const variadicAt = row['is_variadic'] === true ? inputs.length - 1 : -1
  const parameters = inputs.map(({ name, type }, position) => ({
    name,
    type,
    isRequired: position < required,
    isVariadic: position === variadicAt,
  }))
  return {
    schema: String(row['schema']),
    name: String(row['name']),
    parameters,
    returns: row['returns'] as ApiFunction['returns'],
    isSet: row['is_set'] === true,
    soleColumn: typeof row['sole_column'] === 'string' ? row['sole_column'] : undefined,
    isVolatile: row['is_volatile'] === true,
    hoistedSettings: splitSettings(row['config']).filter(([name]) => HOISTED.includes(name)),
  }
}

async function readSettings(sql: postgres.Sql): Promise<{ role: string; settings: readonly Setting[] }[]> {
  const rows =
    await sql`select rolname as role, rolconfig as config from pg_catalog.pg_roles where rolconfig is not null`
  return rows.map((row) => ({ role: String(row['role']), settings: splitSettings(row['config']) }))
}

function splitSettings(config: unknown): readonly Setting[] {
  if (!Array.isArray(config)) return []
  return config.map((entry: unknown) => {
    const text = String(entry)
    const equals = text.indexOf('=')
    return [text.slice(0, equals), text.slice(equals + 1)] as const
  })
}
