// runtime/app.ts — from a request to a response: route, authenticate, one message at a time, finish.

import {
  isLegacyRequest,
  preloadSchemas,
  type Implementation,
  type ServerNotifier,
} from '@modelcontextprotocol/server'

import { closeReceipt } from './capabilities/boundary.ts'
import { readDefinitions } from './capabilities/definitions.ts'
import type { DefinedTool } from './capabilities/define.ts'
import type { DefinedPrompt } from './capabilities/define-prompt.ts'
import type { DefinedResource } from './capabilities/define-resource.ts'
import type { CodeOptions } from './capabilities/options.ts'
import { resolveEnvironment, type EnvironmentOverrides, type EnvironmentVariables } from './environment.ts'
import { ChumboError, refusal } from './errors.ts'
import { createDigest } from './gate/digest.ts'
import { createDirectGate } from './gate/direct.ts'
import type { Gate } from './gate/gate.ts'
import { createRestGate } from './gate/rest.ts'
import { readBackground, readVariables } from './hosts/detect.ts'
import { createAuthenticator, type AuthenticationEvent, type AuthOptions } from './identity/authenticate.ts'
import type { Identity } from './identity/principal.ts'
import { createMessageReader } from './message.ts'
import { shellOf } from './protocol.ts'
import { unwrapCall } from './proxied-call.ts'
import { createReceiptQueue } from './receipts.ts'
import { readBody, withBody, type RequestBody } from './request/body.ts'
import { sessionRevoked } from './request/challenge.ts'
import { preflightResponse, type CorsOptions } from './request/cors.ts'
import { metadataResponse } from './request/metadata.ts'
import { acceptsEventStream, negotiate, toEventStream, toJson } from './request/negotiate.ts'
import { createPublicUrls, type PublicUrls } from './request/public-url.ts'
import { errorResponse, finishResponse, toChumboError } from './request/respond.ts'
import { route } from './request/route.ts'
import { readResultMiddleware, type ResultMiddleware } from './results/middleware.ts'
import { createServers, type Server, type ServerOfCode } from './servers.ts'

/** What happened inside, for a log. Never a token, a key, an argument or a result. */
export type ChumboEvent = AuthenticationEvent & { readonly traceId?: string }

/** What one server offers from code. */
export interface CodeOfServer {
  /** Tools defined at module scope with `defineTool`. */
  readonly tools?: readonly DefinedTool[]
  /** Resources and templates defined at module scope with `defineResource`. */
  readonly resources?: readonly DefinedResource[]
  /** Prompts defined at module scope with `definePrompt`. */
  readonly prompts?: readonly DefinedPrompt[]
  /** Adds content around the results of TypeScript tools that succeeded; up to sixteen, run in order. */
  readonly resultMiddleware?: ResultMiddleware | readonly ResultMiddleware[]
  /** Registers with the official API, once per request and caller. */
  readonly register?: CodeOptions['register']
  readonly instructions?: CodeOptions['instructions']
}

/** Everything an application decides. Only `server` is needed. */
export interface SupabaseMcpOptions extends CodeOfServer {
  /** Name and version shown to clients, and the slug of the row in `chumbo.servers`; the row's own name wins. */
  readonly server: Implementation & { readonly slug?: string }
  /**
   * Code of further servers, by slug, each at `/<slug>` behind the path of the function. A server that a migration has
   * registered needs nothing here: it is served from its rows as soon as they exist.
   */
  readonly servers?: Readonly<Record<string, CodeOfServer & { readonly server?: Implementation }>>
  /** The URL clients use; wins over `CHUMBO_PUBLIC_URL` and what the platform says. */
  readonly resourceUrl?: string | URL
  /** Default: `{ mode: 'oauth' }`. */
  readonly auth?: AuthOptions & { readonly issuer?: string }
  readonly access?: { readonly resolveScopes?: CodeOptions['resolveScopes'] }
  readonly context?: { readonly extend?: CodeOptions['extend'] }
  readonly cors?: CorsOptions
  readonly limits?: { readonly bodyBytes?: number }
  /** Default: `direct` when `CHUMBO_DB_URL` is set, else `rest`. */
  readonly gate?: 'rest' | 'direct'
  /** Replaces the variables of the process. */
  readonly env?: EnvironmentVariables
  readonly supabase?: {
    readonly env?: EnvironmentOverrides
    /** Carries what the gate over the Data API and `ctx.supabase` send; the platform's own by default. */
    readonly fetch?: typeof fetch
  }
  readonly onEvent?: (event: ChumboEvent) => void
  readonly onError?: (failure: { readonly error: unknown; readonly traceId: string }) => void
}

/** A web-standard handler. */
export interface SupabaseMcpApp {
  readonly fetch: (request: Request) => Promise<Response>
  /** Sends what is waiting and closes connections. */
  readonly close: () => Promise<void>
  readonly notify: ServerNotifier
}

/** Most messages one legacy batch may hold. */
const longestBatch = 50

/**
 * Builds the MCP endpoint of a Supabase application.
 *
 * @throws {ChumboError} `server_misconfigured`, naming the option or variable.
 * @example
 * ```ts
 * const app = createSupabaseMcp({ server: { name: 'acme', version: '1.0.0' } })
 * export default { fetch: app.fetch }
 * ```
 */
export function createSupabaseMcp(options: SupabaseMcpOptions): SupabaseMcpApp {
  const { server, auth = { mode: 'oauth' }, cors, limits = {} } = options
  const { slug = 'default', ...serverInfo } = server
  const environment = resolveEnvironment(options.env ?? readVariables(), options.supabase?.env)
  const {
    onError = ({ error, traceId }) => {
      console.error(`chumbo: ${describe(error)} (trace ${traceId})`)
    },
    onEvent = (event) => {
      // Every client's first request comes without a credential: that is how it learns where to sign in.
      const isDiscovery = event.type === 'credential_refused' && event.credential === 'none'
      if (!isDiscovery) console.warn(`chumbo: ${JSON.stringify(event)}`)
    },
  } = options
  const report = safely((error: unknown, traceId: string) => onError({ error: unwrap(error), traceId }))
  const log = safely((event: AuthenticationEvent) => onEvent(event))

  const gate: Gate =
    (options.gate ?? (environment.databaseUrl === undefined ? 'rest' : 'direct')) === 'direct'
      ? createDirectGate({ url: requireDatabaseUrl(environment.databaseUrl) })
      : createRestGate({ environment, fetch: options.supabase?.fetch })
  const receipts = createReceiptQueue({
    gate,
    background: readBackground(),
    onError: (error) => report(error, 'receipts'),
  })
  const codeOf = ({ register, instructions, resultMiddleware, ...defined }: CodeOfServer): CodeOptions => ({
    ...readDefinitions(defined),
    resultMiddleware: readResultMiddleware(resultMiddleware),
    register,
    instructions,
    resolveScopes: options.access?.resolveScopes,
    extend: options.context?.extend,
  })
  const servers = createServers({
    mainSlug: slug,
    main: { info: serverInfo, code: codeOf(options) },
    others: new Map(
      Object.entries(options.servers ?? {}).map(([other, { server: info = serverInfo, ...code }]) => {
        const entry: ServerOfCode = { info, code: codeOf(code) }
        return [other, entry]
      }),
    ),
    shared: { environment, fetch: options.supabase?.fetch, gate, receipts, onError: report },
  })
  // Moves the building of the SDK's wire schemas out of the first request.
  preloadSchemas()

  const resolveUrls = createPublicUrls({
    environment,
    resourceUrl: options.resourceUrl,
    issuer: auth.issuer,
  })
  const authenticator = createAuthenticator({ auth, environment, log })
  const reader = createMessageReader({ digest: createDigest(environment) })
  const routeOptions = {
    resourceUrl: options.resourceUrl === undefined ? environment.publicUrl : String(options.resourceUrl),
  }

  async function answer(request: Request, traceId: string): Promise<Response> {
    const target = route(request, routeOptions)
    if (target.kind === 'unknown') throw refusal('not_found')
    const isMetadata = target.kind === 'metadata'
    if (request.method === 'OPTIONS')
      return preflightResponse(isMetadata ? ['GET', 'OPTIONS'] : ['POST', 'OPTIONS'])

    const asked = target.slug === undefined ? servers.main : await servers.find(target.slug)
    if (asked === undefined) throw refusal('not_found')
    const urls = resolveUrls(request, target.functionName, target.slug)
    if (isMetadata) {
      if (!authenticator.hasDiscovery) throw refusal('not_found')
      return metadataResponse(request, { urls, resourceName: asked.info.title ?? asked.info.name })
    }
    if (request.method !== 'POST')
      throw refusal('method_not_allowed', { headers: { Allow: 'POST, OPTIONS' } })

    const identity = await authenticator.authenticate(request, urls)
    const accept = request.headers.get('accept')
    const format = negotiate(accept)
    if (format === 'none') throw refusal('not_acceptable')
    const body = await readBody(request, limits.bodyBytes)
    const response = await answerBody(body, { request, identity, traceId, urls, server: asked })
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
    if (format === 'sse') return isJson && response.ok ? toEventStream(response) : response
    return isJson || acceptsEventStream(accept) ? response : toJson(response)
  }

  interface Arrival {
    readonly request: Request
    readonly identity: Identity
    readonly traceId: string
    readonly urls: PublicUrls
    readonly server: Server
  }

  async function answerBody(body: RequestBody, arrival: Arrival): Promise<Response> {
    const {
      request,
      server: { protocol },
    } = arrival
    // What is not JSON, or not sent as JSON, is the SDK's to refuse.
    if (body.kind === 'invalid') return protocol.modern(withBody(request, body.text), undefined)
    if (!Array.isArray(body.value)) return answerMessage(body, body.value, arrival)

    // Batches exist in the 2025-03-26 revision only. Each message is admitted and answered by itself.
    const messages: unknown[] = body.value
    const shell = shellOf(request)
    if (
      messages.length === 0
      || messages.length > longestBatch
      || !(await isLegacyRequest(shell, messages))
    ) {
      return protocol.modern(shell, messages)
    }
    const replies: string[] = []
    for (const [index, message] of messages.entries()) {
      const reply = await answerMessage(
        { ...body, exact: () => (body.exact() as unknown[])[index] },
        message,
        arrival,
        messages.length === 1,
      )
      // A refusal of the first refuses them all, challenge included. Later on it is that message's answer: what ran
      // before it has taken effect, and its caller must hear of it.
      if (!reply.ok && index === 0) return reply
      if (reply.status !== 202) replies.push(await reply.text())
    }
    if (replies.length === 0) return new Response(null, { status: 202 })
    // Joined as text: parsing them would round numbers.
    return new Response(`[${replies.join(',')}]`, { headers: { 'Content-Type': 'application/json' } })
  }

  async function answerMessage(
    body: RequestBody & { readonly kind: 'json' },
    message: unknown,
    { request, identity, traceId, urls, server: { slug: asked, protocol } }: Arrival,
    isAlone = true,
  ): Promise<Response> {
    const call = unwrapCall({ message, request: shellOf(request), exact: body.exact })
    const exchange = await reader.read(call.message, {
      server: asked,
      request: call.request,
      identity,
      traceId,
      exact: call.exact,
      via: call.via,
      // One header cannot mean one call of several; a batch names its keys in _meta.
      idempotencyHeader: isAlone ? request.headers.get('idempotency-key') : null,
    })
    const response = await protocol.serve(exchange, call.message)
    const { httpError, retryAfter, opened } = exchange
    if (opened?.hasStarted !== true) {
      // A call that was admitted and never ran was refused by the SDK: its arguments were no object, or its headers lied.
      closeReceipt(exchange, receipts, { outcome: 'refused', code: httpError?.code ?? 'invalid_request' })
    }
    if (httpError !== undefined) {
      if (httpError.status >= 500) report(httpError, traceId)
      const metadataUrl = authenticator.hasDiscovery ? urls.metadata : undefined
      const shown = httpError.code === 'session_revoked' ? sessionRevoked({ metadataUrl }) : httpError
      return errorResponse(shown, { traceId, id: idOf(message) })
    }
    if (retryAfter !== undefined) response.headers.set('Retry-After', String(retryAfter))
    return response
  }

  return {
    async fetch(request) {
      const traceId = crypto.randomUUID()
      let response: Response
      try {
        response = await answer(request, traceId)
      } catch (thrown) {
        const error = toChumboError(thrown)
        if (error.status >= 500) report(error, traceId)
        response = errorResponse(error, { traceId })
      }
      return finishResponse(response, { request, traceId, cors })
    },
    async close() {
      await servers.close()
      await receipts.drain()
      await gate.close()
    },
    notify: servers.main.protocol.notify,
  }
}

function idOf(message: unknown): string | number | null | undefined {
  if (typeof message !== 'object' || message === null || !('id' in message)) return undefined
  const { id } = message
  return typeof id === 'string' || typeof id === 'number' ? id : null
}

function requireDatabaseUrl(url: string | undefined): string {
  if (url !== undefined) return url
  throw refusal('server_misconfigured', {
    sentence: 'The direct gate has no connection.',
    hint: 'Set CHUMBO_DB_URL to a login that is a member of anon, authenticated and chumbo_runtime.',
  })
}

/** A sink of the application must never change an answer. */
function safely<Parameters extends unknown[]>(
  sink: (...parameters: Parameters) => unknown,
): (...parameters: Parameters) => void {
  return (...parameters) => {
    try {
      // An async function passes for a sink, and its rejection would end a Node process.
      const done = sink(...parameters)
      if (done instanceof Promise) done.catch(() => {})
    } catch {
      // Nobody is left to tell.
    }
  }
}

/** `internal_error` says nothing that its cause does not; every other code is the news. */
function unwrap(error: unknown): unknown {
  const isWrapper = error instanceof ChumboError && error.code === 'internal_error'
  return isWrapper ? (error.cause ?? error) : error
}

/** For the default log: codes, which are ours or standard, and no driver text, which may hold values. */
function describe(error: unknown): string {
  if (error instanceof ChumboError)
    return error.cause === undefined ? error.code : `${error.code} ← ${describe(error.cause)}`
  const code = typeof error === 'object' && error !== null && 'code' in error ? ` ${String(error.code)}` : ''
  if (!(error instanceof Error)) return `${typeof error}${code}`
  // Where it was thrown, which says what to look at; the message may hold values.
  const frame = /^\s+at .*/m.exec(error.stack ?? '')?.[0].trim()
  return `${error.name}${code}${frame === undefined ? '' : ` ${frame}`}`
}
