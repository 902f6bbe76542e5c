// runtime/testing.ts — an application's endpoint inside a test: the whole runtime, and no network and no database.
//
// Everything on the way of a call is real: the token and its verification, the official protocol, schemas, scopes, the
// wording of failures. Only the database is not there. What lives in it is not imitated: SQL tools, the rows of
// `chumbo.capabilities`, row security, rate limits, idempotency keys. Test those with pgTAP, or on a `chumbo dev` stack.

import {
  CLIENT_CAPABILITIES_META_KEY,
  ProtocolError,
  PROTOCOL_VERSION_META_KEY,
  type CallToolResult,
  type ListToolsResult,
} from '@modelcontextprotocol/server'

import { createSupabaseMcp, type SupabaseMcpApp, type SupabaseMcpOptions } from './app.ts'
import { ChumboError } from './errors.ts'

/** The application under test, and what stands in for its project. */
export interface TestMcpOptions extends Omit<
  SupabaseMcpOptions,
  'server' | 'resourceUrl' | 'auth' | 'gate' | 'env' | 'supabase'
> {
  readonly server?: SupabaseMcpOptions['server']
  /**
   * Answers what handlers ask through `ctx.supabase`: a request to the Data API, Storage or Auth of the project, as it
   * would go out. Without it every such request fails, saying so.
   */
  readonly database?: (request: Request) => Response | Promise<Response>
}

/** Who calls, and what they may do. */
export interface TestCaller {
  /** A UUID, as in Supabase; the same person as in other calls when left out. */
  readonly userId?: string
  readonly email?: string
  /** A UUID. */
  readonly clientId?: string
  /** The application scopes that grants in the database would give. */
  readonly scopes?: readonly string[]
  /** Further claims of the token, `app_metadata` for one. */
  readonly claims?: Readonly<Record<string, unknown>>
}

/** An endpoint under test. */
export interface TestMcp {
  /** The endpoint itself, for a client or requests of your own; `url` and `signIn` go with it. */
  readonly app: SupabaseMcpApp
  readonly url: string
  /** An access token of a caller, which the endpoint accepts for an hour. */
  readonly signIn: (caller?: TestCaller) => Promise<string>
  /** Calls a tool. A tool that fails answers with `isError`, as it does to a client. */
  readonly callTool: (
    name: string,
    args?: Readonly<Record<string, unknown>>,
    caller?: TestCaller,
  ) => Promise<CallToolResult>
  readonly listTools: (caller?: TestCaller) => Promise<ListToolsResult['tools']>
  /**
   * Sends any other request: `resources/read`, `prompts/get` and so on.
   *
   * @throws {ProtocolError} what the protocol answers, an unknown name for one.
   * @throws {ChumboError} a refusal of the whole request.
   */
  readonly request: (
    method: string,
    params?: Readonly<Record<string, unknown>>,
    caller?: TestCaller,
  ) => Promise<Readonly<Record<string, unknown>>>
  /** What handlers have thrown so far, refusals of their own aside. Clients are never shown it; a failing test should be. */
  readonly failures: readonly unknown[]
  readonly close: () => Promise<void>
}

/**
 * Builds an endpoint whose tools are called without a network.
 *
 * @example
 * ```ts
 * const archive = defineTool(
 *   { name: 'archive', description: 'Archives a project.', inputSchema: z.object({ id: z.int() }), scopes: ['write'] },
 *   async ({ id }, ctx) => {
 *     await ctx.supabase.from('projects').update({ archived: true }).eq('id', id).throwOnError()
 *     return textResult(`Archived ${id} for ${ctx.user.id}.`)
 *   },
 * )
 *
 * const sent: string[] = []
 * const mcp = await createTestMcp({
 *   tools: [archive],
 *   database: (request) => {
 *     sent.push(`${request.method} ${new URL(request.url).pathname}`)
 *     return new Response(null, { status: 204 })
 *   },
 * })
 * const result = await mcp.callTool('archive', { id: 7 }, { scopes: ['write'] })
 * ```
 */
export async function createTestMcp({
  server = { name: 'test', version: '0.0.0' },
  database = refuseToAnswer,
  onError,
  ...options
}: TestMcpOptions): Promise<TestMcp> {
  const issuer = await createIssuer()
  const scopesOf = new Map<string, readonly string[]>()
  const failures: unknown[] = []

  const app = createSupabaseMcp({
    ...options,
    server,
    gate: 'rest',
    env: {
      SUPABASE_URL: projectUrl,
      SUPABASE_FUNCTION_SLUG: 'mcp',
      SUPABASE_PUBLISHABLE_KEYS: '{"default":"sb_publishable_test"}',
      SUPABASE_SECRET_KEYS: JSON.stringify({ default: secretKey }),
      SUPABASE_JWKS: JSON.stringify({ keys: [issuer.publicKey] }),
    },
    supabase: { fetch: createProject({ scopesOf, database }) },
    onError(failure) {
      failures.push(failure.error)
      onError?.(failure)
    },
  })

  async function signIn({ userId, email, clientId, scopes = [], claims }: TestCaller = {}): Promise<string> {
    const sessionId = crypto.randomUUID()
    scopesOf.set(sessionId, scopes)
    return issuer.sign({
      ...claims,
      sub: requireUuid('userId', userId ?? alice),
      email: email ?? 'alice@example.test',
      client_id: requireUuid('clientId', clientId ?? client),
      session_id: sessionId,
    })
  }

  async function request(
    method: string,
    params: Readonly<Record<string, unknown>> = {},
    caller: TestCaller = {},
  ): Promise<Readonly<Record<string, unknown>>> {
    const token = await signIn(caller)
    return readAnswer(await app.fetch(writeRequest({ method, params, token })))
  }

  return {
    app,
    url: endpoint,
    signIn,
    request,
    // The endpoint has checked both answers against these types of the protocol.
    async callTool(name, args = {}, caller) {
      return (await request('tools/call', { name, arguments: args }, caller)) as unknown as CallToolResult
    },
    async listTools(caller) {
      const tools: ListToolsResult['tools'] = []
      let cursor: string | undefined
      do {
        const page = (await request(
          'tools/list',
          cursor === undefined ? {} : { cursor },
          caller,
        )) as unknown as ListToolsResult
        tools.push(...page.tools)
        cursor = page.nextCursor
      } while (cursor !== undefined)
      return tools
    },
    failures,
    close: () => app.close(),
  }
}

const projectUrl = 'https://project.test'
const endpoint = `${projectUrl}/functions/v1/mcp`
const secretKey = 'sb_secret_test'
const alice = 'a11ce000-0000-4000-8000-000000000001'
const client = 'c11e0000-0000-4000-8000-000000000001'
const protocolVersion = '2026-07-28'

function refuseToAnswer({ method, url }: Request): Response {
  const message = `A handler sent ${method} ${new URL(url).pathname}; give createTestMcp a \`database\` that answers it.`
  return Response.json({ code: 'no_database', message, details: null, hint: null }, { status: 501 })
}

/** Anything else in a token is refused as the session of nobody, which would be a hard way to learn of a typo. */
function requireUuid(name: string, value: string): string {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value)) return value
  throw new TypeError(`createTestMcp: ${name} must be a UUID, and ${JSON.stringify(value)} is none.`)
}

interface ProjectOptions {
  readonly scopesOf: ReadonlyMap<string, readonly string[]>
  readonly database: NonNullable<TestMcpOptions['database']>
}

/** The project behind the endpoint. Only the gate holds the secret key, so nobody else is taken for it. */
function createProject({ scopesOf, database }: ProjectOptions): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    if (request.headers.get('apikey') !== secretKey) return database(request)
    const { pathname } = new URL(request.url)
    const body = (await request.json()) as { readonly request?: GateRequest }
    return Response.json(answerGate(pathname, body.request, scopesOf))
  }
}

/** What the gate asks, as far as it matters here. */
interface GateRequest {
  readonly operation?: string
  readonly session_id?: string
  readonly rejection?: unknown
  readonly may_be_code?: boolean
}

/** The answers of a database with no row in it: code is served as it is, and there is no SQL tool. */
function answerGate(
  pathname: string,
  { operation, session_id: sessionId = '', rejection, may_be_code: mayBeCode }: GateRequest = {},
  scopesOf: ProjectOptions['scopesOf'],
): unknown {
  if (pathname.endsWith('/chumbo_finish')) return 1
  if (pathname.endsWith('/chumbo_servers')) return []
  if (rejection !== undefined) return { outcome: 'refused', error: rejection }
  if (mayBeCode === true) return { outcome: 'unmatched' }
  if (/\/chumbo_(call|search|read|prompt|complete)$/.test(pathname))
    return { outcome: 'refused', error: { code: 'unknown_capability' }, revision: 1 }
  return {
    revision: 1,
    server: {
      name: null,
      version: null,
      title: null,
      instructions: null,
      unregistered: 'serve',
      catalog_mode: 'list',
      cache_seconds: 0,
    },
    scopes: scopesOf.get(sessionId) ?? [],
    ...(operation === 'call'
      ? {
          outcome: 'admitted',
          receipt: { id: crypto.randomUUID(), created_at: '2026-01-01T00:00:00+00:00' },
        }
      : { outcome: 'listed', entries: [], next: null, code: {} }),
  }
}

interface Message {
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
  readonly token: string
}

function writeRequest({ method, params, token }: Message): Request {
  const name = method === 'resources/read' ? params['uri'] : params['name']
  const meta = params['_meta'] as Readonly<Record<string, unknown>> | undefined // objects only, by the protocol
  return new Request(endpoint, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': protocolVersion,
      'Mcp-Method': method,
      ...(typeof name === 'string' ? { 'Mcp-Name': headerValue(name) } : {}),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method,
      params: {
        ...params,
        _meta: {
          [PROTOCOL_VERSION_META_KEY]: protocolVersion,
          [CLIENT_CAPABILITIES_META_KEY]: {},
          ...meta,
        },
      },
    }),
  })
}

/** The protocol's spelling of a name that a header cannot carry. */
function headerValue(name: string): string {
  if (/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(name)) return name
  return `=?base64?${base64(new TextEncoder().encode(name))}?=`
}

interface Answer {
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: {
    readonly code: number | string
    readonly message: string
    readonly hint?: string | null
    readonly data?: unknown
  }
}

/** The result in an answer: a JSON document, or the last message of a stream, after what the handler reported. */
async function readAnswer(response: Response): Promise<Readonly<Record<string, unknown>>> {
  const text = await response.text()
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  const messages = isStream ? [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => data) : [text]
  const { result, error } = JSON.parse(messages.at(-1) ?? '{}') as Answer
  if (result !== undefined) return result
  if (typeof error?.code === 'number') throw new ProtocolError(error.code, error.message, error.data)
  throw new ChumboError(error?.message ?? 'The endpoint gave no answer.', {
    code: error?.code ?? 'no_answer',
    status: response.status,
    hint: error?.hint ?? undefined,
  })
}

interface Issuer {
  readonly publicKey: JsonWebKey & { readonly kid: string }
  readonly sign: (claims: Readonly<Record<string, unknown>>) => Promise<string>
}

/** A key of its own for each endpoint, and tokens as Supabase Auth writes them for an OAuth client. */
async function createIssuer(): Promise<Issuer> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const { privateKey, publicKey } = await crypto.subtle.generateKey(algorithm, false, ['sign', 'verify'])
  const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', publicKey)
  const encode = (value: object): string => base64url(new TextEncoder().encode(JSON.stringify(value)))
  return {
    publicKey: { kty, crv, x, y, alg: 'ES256', kid: 'test' } as Issuer['publicKey'],
    async sign(claims) {
      const now = Math.floor(Date.now() / 1000)
      const payload = {
        ...claims,
        iss: `${projectUrl}/auth/v1`,
        aud: 'authenticated',
        role: 'authenticated',
        iat: now,
        exp: now + 3600,
      }
      const signed = `${encode({ alg: 'ES256', typ: 'JWT', kid: 'test' })}.${encode(payload)}`
      const signature = await crypto.subtle.sign(algorithm, privateKey, new TextEncoder().encode(signed))
      return `${signed}.${base64url(new Uint8Array(signature))}`
    },
  }
}

function base64url(bytes: Uint8Array): string {
  return base64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCodePoint(...bytes))
}
