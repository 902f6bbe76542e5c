// cli/stack/data-api/tables.ts — `/rest/v1/<table>` through @supabase/lite, held to the caller's own rights.
//
// Out of the box lite grants everything to everybody and, before the first policy exists, works as whoever it is
// connected as. Six of its methods are replaced so that it works as authenticator under PostgREST's rules instead.

import { AsyncLocalStorage } from 'node:async_hooks'

import type postgres from 'postgres'

import type { StackRequest, StackResponse } from '../http.ts'
import { guardReserve } from '../postgres/pool.ts'
import { settingsParameters, settingsSql } from './call-sql.ts'
import type { Caller } from './caller.ts'
import { apiError, databaseError } from './errors.ts'
import type { CatalogCache, Setting } from './function-catalog.ts'

export interface TablesOptions {
  /** Connection string of authenticator. */
  readonly url: string
  /** Connection string that may read information_schema; used for that alone. */
  readonly adminUrl: string
  readonly schemas: readonly string[]
  readonly catalog: CatalogCache
}

export interface Tables {
  handle(request: StackRequest, caller: Caller): Promise<StackResponse>
  close(): Promise<void>
}

/** What we use of a lite connection; its own types mark these members private. */
interface LiteConnection {
  introspect(options?: unknown): Promise<unknown>
  clearSchemaCache(): Promise<void>
  ensureRlsContext(): Promise<boolean>
  applyJwtSessionContext(db: unknown, vars: unknown): Promise<void>
  applyRpcRequestGucs(db: unknown, request: unknown): Promise<void>
  normalizeDbError(error: unknown): unknown
  close(): Promise<void>
}

interface LiteVars {
  readonly auth?: { readonly role?: string; readonly jwt?: Readonly<Record<string, unknown>> }
}

interface LiteRequest {
  readonly method: string
  readonly path: string
  readonly requestHeaders?: unknown
}

/** Loads lite and connects. Called at the first request for a table: most stacks never make one. */
export async function openTables({ url, adminUrl, schemas, catalog }: TablesOptions): Promise<Tables> {
  const [{ App }, { createPostgresConnection }] = await Promise.all([
    import('@supabase/lite'),
    import('@supabase/lite/postgres'),
  ])
  // A view of the real objects that names the private methods replaced below; checked by tests/stack/data-api.test.ts.
  const connection = createPostgresConnection({ url })
  // lite types its driver's parsers as any.
  const driver: unknown = connection.driver
  guardReserve(driver as postgres.Sql)
  const patched = connection as unknown as LiteConnection
  const introspector = createPostgresConnection({ url: adminUrl, postgresOptions: { max: 1 } })
  const callers = new AsyncLocalStorage<Caller>()
  let version = 0

  const apply = async (db: unknown, settings: readonly Setting[]) => {
    const text = settingsSql(settings.length)
    // Kysely's form of a raw query.
    const statement = {
      sql: text,
      parameters: settingsParameters(settings),
      query: { kind: 'RawNode', sqlFragments: [text], parameters: [] },
      queryId: { queryId: 'chumbo-settings' },
    }
    // lite hands its own Kysely or transaction through.
    await (db as { executeQuery(query: unknown): Promise<unknown> }).executeQuery(statement)
  }
  // authenticator sees nothing in information_schema.
  patched.introspect = (options) => introspector.introspect(options as undefined)
  patched.ensureRlsContext = () => Promise.resolve(true)
  patched.applyJwtSessionContext = async (db, vars) => {
    const { auth } = vars as LiteVars
    const role = auth?.role ?? 'anon'
    await apply(db, [
      ...(catalog.current().roleSettings.get(role) ?? []),
      ['role', role],
      ['request.jwt.claims', JSON.stringify(auth?.jwt ?? { role })],
    ])
  }
  patched.applyRpcRequestGucs = (db, request) => {
    const { method, path, requestHeaders } = request as LiteRequest
    return apply(db, [
      ['request.method', method],
      ['request.path', path],
      ['request.headers', JSON.stringify(requestHeaders ?? {})],
    ])
  }

  // lite maps half of the codes to 500 and prints every one; ours leaves through its server as a ready response.
  patched.normalizeDbError = (error) => {
    const caller = callers.getStore()
    if (caller === undefined || !(error instanceof Error)) return error
    if (error.name === 'PostgresError') throw new ReadyResponse(databaseError(error, caller))
    if ('relation' in error) throw new ReadyResponse(apiError(404, 'PGRST205', error.message))
    return error
  }

  const app = new App({
    connection,
    api: { schemas: [...schemas], enabled: true },
    auth: { enabled: false },
    options: {
      server: {
        disableStudio: true,
        // Only this module ever writes the key: it carries the claims our gateway has verified.
        apiKeys: {
          resolver: (key: string) =>
            Promise.resolve({ type: 'publishable' as const, claims: readClaims(key) }),
        },
      },
    },
  })

  return {
    async handle(request, caller) {
      const { version: current } = catalog.current()
      if (current !== version) {
        await introspector.clearSchemaCache()
        await patched.clearSchemaCache()
        version = current
      }
      const headers = new Headers(request.headers)
      for (const name of ['authorization', 'connection', 'content-length', 'transfer-encoding'])
        headers.delete(name)
      headers.set('apikey', writeClaims(caller.claims))
      const url = new URL(`/rest/v1${request.url.pathname}${request.url.search}`, request.url)
      const body = request.method === 'GET' || request.method === 'HEAD' ? null : new Uint8Array(request.body)
      const webRequest = new Request(url, { method: request.method, headers, body })
      const response = await callers.run(caller, async () => app.fetch(webRequest))
      return {
        status: response.status,
        headers: Object.fromEntries(response.headers),
        body: new Uint8Array(await response.arrayBuffer()),
      }
    },
    async close() {
      await Promise.all([patched.close(), introspector.close()])
    },
  }
}

/** The server under lite sends what `getResponse` of a thrown error gives. */
class ReadyResponse extends Error {
  override readonly name = 'ReadyResponse'
  readonly #response: StackResponse

  constructor(response: StackResponse) {
    super('answered')
    this.#response = response
  }

  getResponse(): Response {
    const { status, headers = {}, body = '' } = this.#response
    return new Response(String(body), { status, headers })
  }
}

function writeClaims(claims: Caller['claims']): string {
  return Buffer.from(JSON.stringify(claims)).toString('base64url')
}

function readClaims(key: string): Record<string, unknown> {
  const claims: unknown = JSON.parse(Buffer.from(key, 'base64url').toString('utf8'))
  return { ...(claims as object) }
}
