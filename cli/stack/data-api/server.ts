// cli/stack/data-api/server.ts — everything under `/rest/v1`.
//
// caller.ts (who) → rpc.ts for plain function calls, tables.ts for the rest: tables, views, and the few calls that
// filter or shape a function's rows.

import type postgres from 'postgres'

import type { Tokens } from '../auth/tokens.ts'
import type { StackHandler, StackRequest } from '../http.ts'
import { type ApiKeys, resolveCaller } from './caller.ts'
import { apiError } from './errors.ts'
import { type CatalogCache, watchCatalog } from './function-catalog.ts'
import { callFunction } from './rpc.ts'
import { openTables, type Tables } from './tables.ts'

export interface DataApiOptions {
  /** Pool logged in as authenticator. */
  readonly sql: postgres.Sql
  readonly url: string
  readonly adminUrl: string
  readonly tokens: Tokens
  readonly keys: ApiKeys
  /** Exposed schemas; the first is the default one. */
  readonly schemas: readonly string[]
  readonly extraSearchPath: readonly string[]
}

export interface DataApi {
  readonly handle: StackHandler
  readonly catalog: CatalogCache
  close(): Promise<void>
}

/** Query parameters that shape the rows of a function instead of naming an argument. */
const SHAPING = [
  'select',
  'order',
  'limit',
  'offset',
  'columns',
  'on_conflict',
  'and',
  'or',
  'not.and',
  'not.or',
]
const FILTER_VALUE =
  /^(not\.)?(eq|neq|gt|gte|lt|lte|like|ilike|match|imatch|in|is|isdistinct|fts|plfts|phfts|wfts|cs|cd|ov|sl|sr|nxr|nxl|adj)(\(\w+\))?\./

/** Starts the Data API. It sees paths without `/rest/v1`. */
export async function createDataApi(options: DataApiOptions): Promise<DataApi> {
  const { sql, tokens, keys, schemas, extraSearchPath } = options
  const catalog = await watchCatalog(sql, schemas)
  let tables: Promise<Tables> | undefined

  const handle: StackHandler = async (request) => {
    const caller = await resolveCaller(request, { tokens, keys })
    if ('refusal' in caller) return caller.refusal
    const schema = requestedSchema(request, schemas)
    if (schema === undefined) {
      return apiError(406, 'PGRST106', `Invalid schema: ${profile(request) ?? ''}`, {
        hint: `Only the following schemas are exposed: ${schemas.join(', ')}`,
      })
    }
    const name = /^\/rpc\/([^/]+)\/?$/.exec(request.url.pathname)?.[1]
    const isCall = name !== undefined && ['GET', 'HEAD', 'POST'].includes(request.method)
    if (isCall && !isShaped(request)) {
      return callFunction(
        { sql, catalog, extraSearchPath },
        { request, caller, schema, name: decodeURIComponent(name) },
      )
    }
    tables ??= openTables({ ...options, catalog })
    return (await tables).handle(request, caller)
  }

  return {
    handle,
    catalog,
    async close() {
      await tables?.then((open) => open.close())
    },
  }
}

function requestedSchema(request: StackRequest, schemas: readonly string[]): string | undefined {
  const asked = profile(request)
  if (asked === undefined) return schemas[0]
  return schemas.includes(asked) ? asked : undefined
}

function profile(request: StackRequest): string | undefined {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  return request.headers[isRead ? 'accept-profile' : 'content-profile']
}

function isShaped(request: StackRequest): boolean {
  if (
    (request.headers['accept'] ?? '').includes('vnd.pgrst')
    || (request.headers['accept'] ?? '').includes('text/csv')
  ) {
    return true
  }
  const parameters = [...request.url.searchParams].filter(([name]) => name !== 'apikey')
  if (request.method === 'POST') return parameters.length > 0
  return parameters.some(([name, value]) => SHAPING.includes(name) || FILTER_VALUE.test(value))
}
