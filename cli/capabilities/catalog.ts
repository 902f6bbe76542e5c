// cli/capabilities/catalog.ts — what a database says of its capabilities.

import type postgres from 'postgres'

import { CliError } from '../cli-error.ts'
import { EXIT } from '../exit-codes.ts'
import { readRow, type Registration } from './registration.ts'

/** The migration whose tables and functions these questions rely on. */
export const HISTORY_MIGRATION = 16

export interface ListedCapability {
  readonly server: string
  readonly kind: string
  readonly name: string
  readonly handler: string
  readonly target: string | null
  readonly scopes: readonly string[]
  readonly enabled: boolean
  readonly version: number
  readonly digest: string
  /** Of the entry a client sees in a list. */
  readonly bytes: number
}

export interface CapabilityFilter {
  readonly server?: string | undefined
  readonly kind?: string | undefined
  readonly name?: string | undefined
}

/** In the order of server, kind and name. Raises unknown_server for a slug that there is not. */
export async function listCapabilities(
  sql: postgres.Sql,
  { server, kind, name }: CapabilityFilter,
): Promise<readonly ListedCapability[]> {
  if (server !== undefined) await sql`select chumbo.server_id(${server})`
  return sql<ListedCapability[]>`
    select s.slug as server, c.kind, c.name, c.handler, c.target, c.required_scopes as scopes, c.is_enabled as enabled,
      c.version, c.digest, c.definition_bytes as bytes
    from chumbo.capabilities as c
    join chumbo.servers as s on s.id = c.server_id
    where (${server ?? null}::text is null or s.slug = ${server ?? null}::text)
      and (${kind ?? null}::text is null or c.kind = ${kind ?? null}::text)
      and (${name ?? null}::text is null or c.name = ${name ?? null}::text)
    order by s.slug, c.kind, c.name`
}

/** @throws {CliError} `unknown_capability`, or `ambiguous_capability` when the name is there in several kinds. */
export async function findCapability(
  sql: postgres.Sql,
  {
    server,
    kind,
    name,
  }: { readonly server: string; readonly kind?: string | undefined; readonly name: string },
): Promise<ListedCapability> {
  const found = await listCapabilities(sql, { server, kind, name })
  const [first] = found
  if (first === undefined) {
    throw new CliError(`The server ${server} has no ${kind ?? 'capability'} named ${name}.`, {
      code: 'unknown_capability',
      hint: `chumbo capabilities list --server ${server}`,
    })
  }
  if (found.length === 1) return first
  throw new CliError(`${name} is the name of a ${found.map((one) => one.kind).join(' and of a ')}.`, {
    code: 'ambiguous_capability',
    hint: `say which one with --kind ${first.kind}`,
    exitCode: EXIT.usage,
  })
}

/** All that is registered in code on a server; all of the server without `handler`. */
export async function readRegistrations(
  sql: postgres.Sql,
  server: string,
  handler: string | null = null,
): Promise<readonly Registration[]> {
  const rows = await sql<{ registration: Record<string, unknown> }[]>`
    select chumbo.registration(to_jsonb(c)) as registration
    from chumbo.capabilities as c
    where c.server_id = chumbo.server_id(${server}) and (${handler}::text is null or c.handler = ${handler}::text)
    order by c.kind, c.name`
  return rows.map(({ registration }) => readRow(registration))
}

export interface CapabilityDetails {
  readonly definition: Readonly<Record<string, unknown>>
  readonly scopes: readonly {
    readonly name: string
    readonly requestable: boolean
    readonly grants: readonly {
      readonly grantee: string
      readonly effect: string
      readonly user_id: string | null
      readonly client_id: string | null
      readonly claim: unknown
      readonly expires_at: string | null
    }[]
  }[]
  readonly limits: readonly {
    readonly name: string
    readonly capability: string | null
    readonly per: string
    readonly requests: number
    readonly window_seconds: number
    readonly weight: number
    readonly method: string
  }[]
  readonly changes: readonly {
    readonly change: string
    readonly version: number
    readonly changed_by: string | null
    readonly subject: string | null
    readonly changed_at: string
  }[]
}

/** What a client sees of it, who may use it and how often, and its last ten changes, newest first. */
export async function readDetails(
  sql: postgres.Sql,
  { server, kind, name }: Pick<ListedCapability, 'server' | 'kind' | 'name'>,
): Promise<CapabilityDetails> {
  const [row] = await sql<{ details: CapabilityDetails }[]>`
    select jsonb_build_object(
      'definition', chumbo.definition(c),
      'scopes', (
        select coalesce(jsonb_agg(jsonb_build_object(
          'name', wanted.name,
          'requestable', coalesce(p.is_requestable, false),
          'grants', (
            select coalesce(jsonb_agg(
              jsonb_build_object('grantee', g.grantee, 'effect', g.effect, 'user_id', g.user_id, 'client_id', g.client_id,
                'claim', g.claim, 'expires_at', g.expires_at)
              order by g.id), '[]')
            from chumbo.grants as g where g.scope = wanted.name)) order by wanted.name), '[]')
        from unnest(c.required_scopes) as wanted (name)
        left join chumbo.scopes as p on p.name = wanted.name),
      'limits', (
        select coalesce(jsonb_agg(
          jsonb_build_object('name', l.name, 'capability', l.capability, 'per', l.per, 'requests', l.requests,
            'window_seconds', l.window_seconds, 'weight', l.weight, 'method', l.method)
          order by l.id), '[]')
        from chumbo.rate_limits as l
        where l.server_id = c.server_id and (l.capability is null or l.capability = c.name)),
      'changes', (
        select coalesce(jsonb_agg(
          jsonb_build_object('change', h.change, 'version', h.version, 'changed_by', h.changed_by, 'subject', h.subject,
            'changed_at', h.changed_at)
          order by h.id desc), '[]')
        from (
          select h.* from chumbo.capability_changes as h
          where h.server = ${server} and h.kind = ${kind} and h.name = ${name}
          order by h.id desc limit 10
        ) as h)
    ) as details
    from chumbo.capabilities as c
    where c.server_id = chumbo.server_id(${server}) and c.kind = ${kind} and c.name = ${name}`
  if (row === undefined)
    throw new CliError(`${kind} ${name} was removed a moment ago.`, { code: 'unknown_capability' })
  return row.details
}

/** What was registered as this version. @throws {CliError} `unknown_version` */
export async function readVersion(
  sql: postgres.Sql,
  { server, kind, name }: Pick<ListedCapability, 'server' | 'kind' | 'name'>,
  version: number,
): Promise<Registration> {
  const [row] = await sql<{ registration: Record<string, unknown> }[]>`
    select h.registration
    from chumbo.capability_changes as h
    where h.server = ${server} and h.kind = ${kind} and h.name = ${name} and h.version = ${version}
      and h.registration is not null
    order by h.id desc limit 1`
  if (row !== undefined) return readRow(row.registration)
  throw new CliError(`${kind} ${name} of the server ${server} has no version ${version}.`, {
    code: 'unknown_version',
    hint: `chumbo capabilities show ${name} --server ${server}`,
  })
}

/** The versions the Supabase CLI has applied here; none where it keeps no history. */
export async function readAppliedVersions(sql: postgres.Sql): Promise<readonly string[]> {
  const [history] = await sql<{ is_there: boolean }[]>`
    select exists (
      select from pg_catalog.pg_class as c
      join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
      where n.nspname = 'supabase_migrations' and c.relname = 'schema_migrations'
    ) as is_there`
  if (history?.is_there !== true) return []
  const rows = await sql<
    { version: string }[]
  >`select version::text from supabase_migrations.schema_migrations`
  return rows.map(({ version }) => version)
}
