// cli/stack/data-api/rpc.ts — `/rest/v1/rpc/<function>`: one pipelined transaction as authenticator.

import type postgres from 'postgres'

import type { StackRequest, StackResponse } from '../http.ts'
import { isConnectionFault } from '../postgres/connection-fault.ts'
import { callSql, identifier, settingsParameters, settingsSql } from './call-sql.ts'
import type { Caller } from './caller.ts'
import { apiError, databaseError } from './errors.ts'
import { ambiguousFunction, findFunction, type FunctionSearch, missingFunction } from './find-function.ts'
import {
  type ApiFunction,
  type Catalog,
  type CatalogCache,
  functionKey,
  type Setting,
} from './function-catalog.ts'

export interface RpcOptions {
  /** Pool logged in as authenticator. */
  readonly sql: postgres.Sql
  readonly catalog: CatalogCache
  readonly extraSearchPath: readonly string[]
}

export interface RpcCall {
  readonly request: StackRequest
  readonly caller: Caller
  readonly schema: string
  readonly name: string
}

interface Arguments {
  readonly names: readonly string[]
  readonly style: 'json' | 'values'
  readonly values: readonly string[]
  readonly bodyType: string | undefined
}

/** Answers a call. Never rejects over what the database said. */
export async function callFunction(options: RpcOptions, call: RpcCall): Promise<StackResponse> {
  const { request, schema, name } = call
  const input = readArguments(request)
  if ('status' in input) return input
  const search: FunctionSearch = { schema, name, argumentNames: input.names, bodyType: input.bodyType }
  let catalog = options.catalog.current()
  let match = findFunction(catalog.functions.get(functionKey(schema, name)) ?? [], search)
  if ('missing' in match) {
    // A reload may be under way for the very migration this caller has just applied.
    await options.catalog.settled()
    catalog = options.catalog.current()
    match = findFunction(catalog.functions.get(functionKey(schema, name)) ?? [], search)
  }
  if ('missing' in match) {
    const { message, details } = missingFunction(search)
    return apiError(404, 'PGRST202', message, { details })
  }
  if ('ambiguous' in match) {
    return apiError(300, 'PGRST203', ambiguousFunction(match.ambiguous), {
      hint: 'Try renaming the parameters or the function itself in the database so function overloading can be resolved',
    })
  }
  const { found, unnamed } = match
  const text = callSql({
    fn: found,
    style: unnamed ? 'unnamed' : input.style,
    argumentNames: input.names,
    version: catalog.version,
  })
  const isReadOnly = request.method !== 'POST' || !found.isVolatile
  try {
    const row = await runTransaction(options.sql, {
      begin: `begin isolation level read committed read ${isReadOnly ? 'only' : 'write'}`,
      settings: requestSettings(options, call, catalog, found),
      preRequest: catalog.preRequest,
      text,
      // A call without arguments has no parameter to bind the body to.
      values: text.includes('$1') ? input.values : [],
    })
    return answer(request, found, row)
  } catch (error) {
    return databaseError(error, call.caller)
  }
}

interface Transaction {
  readonly begin: string
  readonly settings: readonly Setting[]
  readonly preRequest: string | undefined
  readonly text: string
  readonly values: readonly string[]
}

/**
 * Sends the whole transaction at once. Nothing is sent after a failure: `commit` closes a failed transaction as a
 * rollback, and a connection that died is neither written to nor given back (see postgres/pool.ts).
 */
async function runTransaction(sql: postgres.Sql, transaction: Transaction): Promise<postgres.Row> {
  const { begin, settings, preRequest, text, values } = transaction
  const connection = await sql.reserve()
  const call = connection.unsafe(text, [...values], { prepare: true })
  const statements = [
    connection.unsafe(begin).simple(),
    connection.unsafe(settingsSql(settings.length), settingsParameters(settings), { prepare: true }),
    ...(preRequest === undefined ? [] : [connection.unsafe(`select ${qualified(preRequest)}()`)]),
    call,
    connection.unsafe('commit').simple(),
  ]
  // When the connection dies, statements that were still waiting for their turn on it never settle.
  const death = new Promise<never>((_, reject) => {
    for (const statement of statements) {
      statement.catch((error: unknown) => {
        if (error instanceof Error && isConnectionFault(error)) reject(error)
      })
    }
  })
  const outcomes = await Promise.race([Promise.allSettled(statements), death])
  connection.release()
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  const [row] = await call
  if (row === undefined) throw new Error('The call answered no row.')
  return row
}

/** Transaction-local settings in PostgREST's order. */
function requestSettings(
  { extraSearchPath }: RpcOptions,
  { request, caller, schema }: RpcCall,
  catalog: Catalog,
  fn: ApiFunction,
): readonly Setting[] {
  const path = [schema, ...extraSearchPath.filter((extra) => extra !== schema)].map(identifier).join(', ')
  return [
    ['search_path', path],
    ...(catalog.roleSettings.get(caller.role) ?? []),
    ['role', caller.role],
    ['request.jwt.claims', JSON.stringify(caller.claims)],
    ['request.method', request.method],
    ['request.path', request.url.pathname],
    ['request.headers', JSON.stringify(request.headers)],
    ['request.cookies', JSON.stringify(cookies(request.headers['cookie']))],
    ...fn.hoistedSettings,
  ]
}

function answer(request: StackRequest, fn: ApiFunction, row: postgres.Row): StackResponse {
  const headers = responseHeaders(row['headers'])
  if (headers === undefined) {
    return apiError(
      500,
      'PGRST111',
      'response.headers guc must be a JSON array composed of objects with a single key and a string value',
    )
  }
  const custom = typeof row['status'] === 'string' && row['status'] !== '' ? Number(row['status']) : undefined
  if (custom !== undefined && !(custom >= 100 && custom <= 599)) {
    return apiError(500, 'PGRST112', 'response.status guc must be a valid status code')
  }
  if (fn.returns === 'void') return { status: custom ?? 204, headers }
  return {
    status: custom ?? 200,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    ...(request.method === 'HEAD' ? {} : { body: String(row['body']) }),
  }
}

function readArguments(request: StackRequest): Arguments | StackResponse {
  if (request.method === 'GET' || request.method === 'HEAD') {
    const entries = [...request.url.searchParams].filter(([name]) => name !== 'apikey')
    const values = entries.map(([, value]) => value)
    return { names: entries.map(([name]) => name), style: 'values', values, bodyType: undefined }
  }
  const bodyType = (request.headers['content-type'] ?? 'application/json').split(';')[0]?.trim() ?? ''
  const body = request.body.toString('utf8')
  if (bodyType !== 'application/json') return { names: [], style: 'json', values: [body], bodyType }
  const text = body.trim() === '' ? '{}' : body
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return apiError(400, 'PGRST102', 'Empty or invalid json')
  }
  // Only the names are read here; the text itself goes to Postgres, so that no number loses a digit.
  const names = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : []
  return { names, style: 'json', values: [text], bodyType }
}

function responseHeaders(value: unknown): Record<string, string> | undefined {
  if (typeof value !== 'string' || value === '') return {}
  try {
    const list: unknown = JSON.parse(value)
    if (!Array.isArray(list)) return undefined
    return Object.fromEntries(
      list.flatMap((entry: unknown) =>
        Object.entries({ ...(entry as object) }).map(([name, text]) => [name.toLowerCase(), String(text)]),
      ),
    )
  } catch {
    return undefined
  }
}

function cookies(header: string | undefined): Record<string, string> {
  const pairs = (header ?? '').split(';').map((pair) => pair.trim().split('='))
  return Object.fromEntries(pairs.flatMap(([name, ...rest]) => (name ? [[name, rest.join('=')]] : [])))
}

function qualified(name: string): string {
  return name.split('.').map(identifier).join('.')
}
