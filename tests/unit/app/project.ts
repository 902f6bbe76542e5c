// tests/unit/app/project.ts — a project in memory: its keys, its people, and a database that answers as the three RPCs do.
import {
  createSupabaseMcp,
  type SupabaseMcpApp,
  type SupabaseMcpOptions,
  type ChumboEvent,
} from '../../../runtime/index.ts'
import type {
  CallAnswer,
  EnterAnswer,
  FinishedReceipt,
  GateError,
  SearchAnswer,
  ServerFacts,
} from '../../../runtime/gate/gate.ts'
import { createAuthority, issuer } from '../identity/authority.ts'

export const origin = 'https://project.example'
export const endpoint = `${origin}/functions/v1/mcp`
export const secretKey = 'sb_secret_of-the-test'
export const alice = 'a11ce000-0000-4000-8000-000000000001'
export const bob = 'b0b00000-0000-4000-8000-000000000002'
const client = 'c11e0000-0000-4000-8000-000000000001'

/** What a SQL tool of the test gets: the parsed arguments, their text as it arrived, and the verified facts. */
export interface SqlCall {
  readonly args: Record<string, unknown>
  readonly text: string
  readonly facts: Record<string, unknown>
}

/** A row of `chumbo.capabilities`. */
export interface Row {
  readonly name: string
  readonly kind?: 'tool' | 'resource' | 'resource_template' | 'prompt'
  readonly scopes?: readonly string[]
  /** Of a resource or template: its URI. A URI that begins like a template up to its first brace is taken for one of it. */
  readonly uri?: string
  /** Present for a resource, template or prompt of SQL: what its answer holds beside the outcome. */
  readonly says?: Readonly<Record<string, unknown>>
  /** What a completion of it answers. */
  readonly values?: readonly string[]
  /** Present for a SQL tool; JSON text, or an answer that is not `ok`. */
  readonly run?: (call: SqlCall) => string | CallAnswer | Promise<string | CallAnswer>
  readonly isDisabled?: boolean
  readonly isPinned?: boolean
  readonly isAppOnly?: boolean
}

/** One round trip. */
export interface Trip {
  readonly rpc: string
  readonly body: Record<string, unknown>
  /** The body as it was sent, every digit included. */
  readonly text: string
}

/** The database, as far as the runtime can tell. Change it as a migration would, and raise the revision. */
export interface Database {
  rows: Row[]
  revision: number
  pageSize: number
  server: Partial<ServerFacts>
  /** Slugs of the servers registered beside the one of the code. */
  slugs: string[]
  /** Scopes a caller holds. */
  scopesOf: (facts: Record<string, unknown>) => readonly string[]
  /** Refuses everything. */
  refusal: GateError | undefined
  /** Takes the place of every answer; throw to be out of reach. */
  outage: ((trip: Trip) => Response) | undefined
  readonly trips: Trip[]
  readonly finished: FinishedReceipt[]
}

/** Who sends a request, and how. */
export interface Sending {
  readonly url?: string
  /** Default: Alice's. Null sends none. */
  readonly token?: string | null
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export interface Project {
  readonly database: Database
  readonly events: ChumboEvent[]
  readonly failures: { readonly error: unknown; readonly traceId: string }[]
  /** Answers of the Data API and the rest of the project to handlers. */
  serve: (request: Request) => Response | Promise<Response>
  start(options?: Partial<SupabaseMcpOptions>): SupabaseMcpApp
  sign(subject?: string, claims?: Record<string, unknown>): Promise<string>
  /** Sends a message in the 2026-07-28 revision. */
  modern(
    app: SupabaseMcpApp,
    method: string,
    params?: Record<string, unknown>,
    sending?: Sending,
  ): Promise<Response>
  /** Sends a body as it is, in no particular revision. */
  post(app: SupabaseMcpApp, body: unknown, sending?: Sending): Promise<Response>
}

export async function createProject(rows: Row[] = []): Promise<Project> {
  const authority = await createAuthority()
  const database: Database = {
    rows,
    revision: 1,
    pageSize: 100,
    server: {},
    slugs: [],
    scopesOf: () => [],
    refusal: undefined,
    outage: undefined,
    trips: [],
    finished: [],
  }
  const sign = (subject = alice, claims: Record<string, unknown> = {}) =>
    authority.sign({ sub: subject, client_id: client, session_id: crypto.randomUUID(), ...claims })
  const aliceToken = await sign()

  const send: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    const rpc = /\/rest\/v1\/rpc\/(chumbo_\w+)$/.exec(new URL(request.url).pathname)?.[1]
    if (rpc === undefined || request.headers.get('apikey') !== secretKey) return project.serve(request)
    const text = await request.text()
    const trip: Trip = { rpc, text, body: JSON.parse(text) as Record<string, unknown> }
    database.trips.push(trip)
    if (database.outage !== undefined) return database.outage(trip)
    return Response.json(await answer(database, trip))
  }

  const post: Project['post'] = (
    app,
    body,
    { url = endpoint, token = aliceToken, headers = {}, signal } = {},
  ) =>
    app.fetch(
      new Request(url, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          Accept: 'application/json, text/event-stream',
          ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
          ...headers,
        },
        body: typeof body === 'string' ? body : JSON.stringify(body),
        ...(signal === undefined ? {} : { signal }),
      }),
    )

  const project: Project = {
    database,
    events: [],
    failures: [],
    serve: ({ url }) => Response.json({ message: `Nothing answers ${url}.` }, { status: 501 }),
    start: (options = {}) =>
      createSupabaseMcp({
        server: { name: 'test', version: '1.0.0' },
        env: {
          SUPABASE_URL: origin,
          SUPABASE_FUNCTION_SLUG: 'mcp',
          SUPABASE_PUBLISHABLE_KEYS: '{"default":"sb_publishable_test"}',
          SUPABASE_SECRET_KEYS: JSON.stringify({ default: secretKey }),
          SUPABASE_JWKS: JSON.stringify(authority.jwks),
        },
        supabase: { fetch: send },
        onEvent: (event) => project.events.push(event),
        onError: (failure) => project.failures.push(failure),
        ...options,
      }),
    sign,
    modern: (app, method, params = {}, sending = {}) =>
      post(app, modernMessage(method, params), {
        ...sending,
        headers: { ...modernHeaders(method, params), ...sending.headers },
      }),
    post,
  }
  return project
}

/** A message of the 2026-07-28 revision. */
export function modernMessage(method: string, params: Record<string, unknown> = {}, id: unknown = 1) {
  const meta = params['_meta'] as Record<string, unknown> | undefined // the tests write objects
  return {
    jsonrpc: '2.0',
    id,
    method,
    params: {
      ...params,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
        ...meta,
      },
    },
  }
}

export function modernHeaders(method: string, params: Record<string, unknown> = {}): Record<string, string> {
  const name = params['name'] ?? params['uri']
  return {
    'MCP-Protocol-Version': '2026-07-28',
    'Mcp-Method': method,
    ...(typeof name === 'string' ? { 'Mcp-Name': name } : {}),
  }
}

/** A message without an envelope, as revisions up to 2025-11-25 write it. */
export function legacyMessage(method: string, params: unknown = {}, id: unknown = 1) {
  return { jsonrpc: '2.0', id, method, params }
}

/** The parts of an answer that tests look at. */
export interface Answer {
  readonly id?: unknown
  readonly result?: Record<string, unknown> & {
    readonly content?: readonly { readonly type: string; readonly text: string }[]
    readonly structuredContent?: unknown
    readonly isError?: boolean
    readonly tools?: readonly (Record<string, unknown> & { readonly name: string })[]
    readonly nextCursor?: string
    readonly _meta?: Record<string, unknown>
  }
  readonly error?: { readonly code: number | string; readonly message: string; readonly data?: unknown }
}

/** Reads an answer, from a JSON document or from a stream's last message. */
export async function read(response: Response): Promise<Answer> {
  const text = await response.text()
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  const data = isStream ? [...text.matchAll(/^data: (.*)$/gm)].at(-1)?.[1] : text
  return JSON.parse(data ?? 'null') as Answer
}

/** The error a tool call carries for programs. */
export function errorOf({ result }: Answer): Record<string, unknown> | undefined {
  return result?._meta?.['dev.chumbo/error'] as Record<string, unknown> | undefined
}

/** Waits for what happens after a response. */
export async function until<T>(read: () => T | undefined | false): Promise<T> {
  for (let turn = 0; turn < 500; turn += 1) {
    const found = read()
    if (found !== undefined && found !== false) return found
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  throw new Error('It never happened.')
}

/** What migration 0010 does, without limits, keys and receipts. */
async function answer(database: Database, { rpc, body, text }: Trip): Promise<unknown> {
  if (rpc === 'chumbo_finish') {
    database.finished.push(...(body['receipts'] as FinishedReceipt[]))
    return 1
  }
  if (rpc === 'chumbo_version') return 10
  if (rpc === 'chumbo_servers') return database.slugs
  const facts = body['request'] as Record<string, unknown>
  if (rpc === 'chumbo_search') return answerSearch(database, facts, String(body['query']))
  if (rpc === 'chumbo_list') return answerList(database, body['kind'], facts)
  if (/_(read|prompt|complete)$/.test(rpc)) return answerRow(database, { rpc, body, facts })
  return rpc === 'chumbo_call' ? answerCall(database, { body, text, facts }) : answerEnter(database, facts)
}

async function answerCall(
  { rows, revision, refusal, scopesOf, server }: Database,
  { body, text, facts }: { body: Record<string, unknown>; text: string; facts: Record<string, unknown> },
): Promise<CallAnswer> {
  const row = rows.find(({ name, kind = 'tool' }) => kind === 'tool' && name === body['capability'])
  const error =
    refusal
    ?? (facts['rejection'] as GateError | undefined)
    ?? judgeProxy(row, server, facts)
    ?? judge(row, scopesOf(facts))
  if (error !== undefined) return { outcome: 'refused', error, revision }
  if (row?.run === undefined) return { outcome: 'moved', revision }
  const result = await row.run({ args: body['arguments'] as Record<string, unknown>, text, facts })
  return typeof result === 'string' ? { outcome: 'ok', result, revision } : { revision, ...result }
}

/** A read, a prompt or a completion of SQL. */
function answerRow(
  { rows, revision, refusal, scopesOf }: Database,
  { rpc, body, facts }: { rpc: string; body: Record<string, unknown>; facts: Record<string, unknown> },
): unknown {
  const reference = body['reference'] as Record<string, unknown> | undefined
  const given = body['uri'] ?? reference?.['uri']
  const uri = typeof given === 'string' ? given : ''
  const name = body['name'] ?? reference?.['name']
  const isAsked = (row: Row): boolean =>
    row.says !== undefined
    && (row.kind === 'prompt'
      ? row.name === name
      : row.uri === uri || (row.uri?.includes('{') === true && uri.startsWith(row.uri.split('{')[0] ?? '')))
  const row = rows.find(isAsked)
  if (row === undefined && facts['may_be_code'] === true) return { outcome: 'unmatched' }
  const error = refusal ?? (facts['rejection'] as GateError | undefined) ?? judge(row, scopesOf(facts))
  if (error !== undefined) return { outcome: 'refused', error, revision }
  return rpc === 'chumbo_complete'
    ? { outcome: 'ok', revision, values: row?.values ?? [], total: row?.values?.length ?? 0, has_more: false }
    : { outcome: 'ok', revision, ...row?.says }
}

function answerList(database: Database, kind: unknown, facts: Record<string, unknown>): unknown {
  const answer = answerEnter(database, { ...facts, operation: kind === null ? 'describe' : 'list' }, kind)
  const isOffered = (test: (row: Row) => unknown): boolean =>
    database.rows.some((row) => row.says && test(row))
  return {
    ...answer,
    offers: {
      resources: isOffered((row) => row.kind !== 'prompt'),
      prompts: isOffered((row) => row.kind === 'prompt'),
      completions: isOffered((row) => row.values),
    },
  }
}

function answerEnter(database: Database, facts: Record<string, unknown>, listed?: unknown): EnterAnswer {
  const { rows, revision, pageSize, refusal, scopesOf } = database
  const kinds = String(facts['kind']).split(',')
  const ofKind = rows.filter(({ kind = 'tool' }) => kinds.includes(kind))
  const scopes = [...scopesOf(facts)]
  const server: ServerFacts = {
    name: null,
    version: null,
    title: null,
    instructions: null,
    unregistered: 'serve',
    catalog_mode: 'list',
    cache_seconds: 0,
    ...database.server,
  }
  const rejection = refusal ?? (facts['rejection'] as GateError | undefined)

  if (facts['operation'] === 'call') {
    const row = ofKind.find(({ name }) => name === facts['name'])
    if (row?.run !== undefined || row?.says !== undefined) return { outcome: 'sql', revision }
    const unknown = { code: 'unknown_capability' }
    const error =
      rejection
      ?? judgeProxy(row, server, facts)
      ?? (row === undefined ? (server.unregistered === 'refuse' ? unknown : undefined) : judge(row, scopes))
    if (error !== undefined) return { outcome: 'refused', error, revision, server, scopes }
    const receipt = { id: crypto.randomUUID(), created_at: '2026-01-01T00:00:00+00:00' }
    return { outcome: 'admitted', revision, server, scopes, receipt }
  }

  if (rejection !== undefined) return { outcome: 'refused', error: rejection }
  const after = typeof facts['after'] === 'string' ? facts['after'] : ''
  const usable = ofKind
    .map((row, index) => ({ ...row, id: index + 1 }))
    .filter(
      (row) => judge(row, scopes) === undefined && row.name > after && (listed ?? row.kind) === row.kind,
    )
    .filter((row) => row.isPinned === true || server.catalog_mode !== 'search' || facts['kind'] !== 'tool')
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  const page = usable.slice(0, pageSize)
  const withDefinitions = facts['known_revision'] !== revision
  const codeNames = (facts['code_names'] as string[] | undefined) ?? []
  return {
    outcome: 'listed',
    revision,
    server,
    scopes,
    ...(facts['operation'] === 'list'
      ? {
          entries: page.map(({ id, name, kind = 'tool', run, says, uri }) => ({
            id,
            name,
            kind,
            handler: (run ?? says) === undefined ? ('typescript' as const) : ('sql' as const),
            ...(says !== undefined
              ? {
                  definition: {
                    name,
                    ...(uri === undefined ? {} : { [uri.includes('{') ? 'uriTemplate' : 'uri']: uri }),
                  },
                }
              : withDefinitions
                ? { definition: { name, description: `Row ${name}.`, inputSchema: { type: 'object' } } }
                : {}),
          })),
          next: usable.length > pageSize ? (page.at(-1)?.name ?? null) : null,
        }
      : {}),
    code: Object.fromEntries(
      ofKind
        .filter(({ name }) => codeNames.includes(name))
        .map((row) => [row.name, (row.run ?? row.says) === undefined && judge(row, scopes) === undefined]),
    ),
  }
}

/** What migration 0015 does, with names in place of an index. */
function answerSearch(
  { rows, revision, refusal, scopesOf, server }: Database,
  facts: Record<string, unknown>,
  query: string,
): SearchAnswer {
  const rejection = facts['rejection'] as GateError | undefined
  const error = refusal ?? (server.catalog_mode === 'search' ? rejection : { code: 'unknown_capability' })
  if (error !== undefined) return { outcome: 'refused', error, revision }
  const found = rows.filter(
    (row) => row.isAppOnly !== true && row.name.includes(query) && judge(row, scopesOf(facts)) === undefined,
  )
  return {
    outcome: 'found',
    revision,
    scopes: [...scopesOf(facts)],
    entries: found.slice(0, 5).map(({ name, run }, index) => ({
      id: index,
      name,
      kind: 'tool',
      handler: run === undefined ? 'typescript' : 'sql',
      definition: { name, description: `Row ${name}.`, inputSchema: { type: 'object' } },
    })),
  }
}

/** Whether a call through call_tool reaches this row. */
function judgeProxy(
  row: Row | undefined,
  server: Partial<ServerFacts>,
  facts: Record<string, unknown>,
): GateError | undefined {
  const isRefused =
    facts['via'] === 'call_tool' && (server.catalog_mode !== 'search' || row?.isAppOnly === true)
  return isRefused ? { code: 'unknown_capability' } : undefined
}

/** Why a row is not for these scopes. Every scope of the test may be asked for, except those named `hidden`. */
function judge(row: Row | undefined, held: readonly string[]): GateError | undefined {
  if (row === undefined || row.isDisabled === true) return { code: 'unknown_capability' }
  const missing = (row.scopes ?? []).filter((scope) => !held.includes(scope))
  if (missing.length === 0) return undefined
  return missing.includes('hidden')
    ? { code: 'unknown_capability' }
    : { code: 'scope_required', scopes: missing }
}

export { issuer }
