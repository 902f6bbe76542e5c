// runtime/capabilities/serve.ts — rows and code become one official server per request, holding what that request needs.

import { McpServer, ProtocolError, type Implementation } from '@modelcontextprotocol/server'

import { createContext, type SupabaseMcpContext } from '../context.ts'
import type { Environment } from '../environment.ts'
import { refusal, type ChumboError } from '../errors.ts'
import type { CatalogCache } from '../gate/catalog-cache.ts'
import type { EnterAnswer, Gate, GateError } from '../gate/gate.ts'
import { schemaOutdated } from '../gate/gate-error.ts'
import type { ReceiptQueue } from '../receipts.ts'
import { toChumboError } from '../request/respond.ts'
import type { CodeCatalog } from './code-catalog.ts'
import type { DefinedTool } from './define.ts'
import type { Exchange } from './exchange.ts'
import { closeReceipt, createBoundary } from './boundary.ts'
import {
  createFacade,
  type CodeKind,
  type Facade,
  type Registration,
  type SupabaseMcpServer,
} from './facade.ts'
import { serveSqlCall } from './sql-tool.ts'
import { serveToolList } from './tool-list.ts'

/** What an application offers from code. */
export interface CodeOptions {
  readonly tools: readonly DefinedTool[]
  readonly register?:
    ((server: SupabaseMcpServer, ctx: SupabaseMcpContext) => void | Promise<void>) | undefined
  /** Scopes to use instead of those the database names. */
  readonly resolveScopes?:
    ((ctx: SupabaseMcpContext) => readonly string[] | Promise<readonly string[]>) | undefined
  /** What to add to the context as `ctx.extra`. */
  readonly extend?: ((ctx: SupabaseMcpContext) => object | Promise<object>) | undefined
  readonly instructions?:
    string | ((ctx: SupabaseMcpContext) => string | undefined | Promise<string | undefined>) | undefined
}

/** What serving needs; one object for the life of the app. */
export interface ServeOptions {
  readonly serverInfo: Implementation
  readonly environment: Environment
  readonly fetch?: typeof fetch | undefined
  readonly gate: Gate
  readonly cache: CatalogCache
  readonly code: CodeOptions
  readonly catalog: CodeCatalog
  readonly receipts: ReceiptQueue
  readonly onError: (error: unknown, traceId: string) => void
}

/** Milliseconds a repeated call waits for the first one with its key; well inside the platform's request limit. */
const longestWait = 10_000

/** Builds the official server that answers one message. Never rejects: what went wrong is noted on the exchange. */
export async function buildServer(exchange: Exchange, options: ServeOptions): Promise<McpServer> {
  try {
    return await chooseServer(exchange, options)
  } catch (error) {
    // The application's own part: registration, scopes, context, instructions.
    exchange.httpError ??= toChumboError(error)
    return newServer(options, null)
  }
}

async function chooseServer(exchange: Exchange, options: ServeOptions): Promise<McpServer> {
  const { method, params } = exchange
  const name = typeof params['name'] === 'string' ? params['name'] : ''
  switch (method) {
    case 'tools/list':
      return listTools(exchange, options)
    case 'tools/call':
      return callTool(exchange, name, options)
    case 'prompts/get':
      return admitCall(exchange, { kind: 'prompt', name }, options)
    case 'resources/read':
      return readResource(exchange, options)
    case 'resources/list':
    case 'resources/templates/list':
      return describe(exchange, ['resource', 'resource_template'], options)
    case 'prompts/list':
      return describe(exchange, ['prompt'], options)
    case 'completion/complete':
      return describe(exchange, ['resource', 'resource_template', 'prompt'], options)
    case 'initialize':
    case 'server/discover':
    case 'subscriptions/listen':
      return describe(exchange, ['tool', 'resource', 'resource_template', 'prompt'], options)
    default:
      // ping, notifications, and what the SDK will refuse: nothing of ours is involved.
      return newServer(options, null)
  }
}

async function callTool(exchange: Exchange, name: string, options: ServeOptions): Promise<McpServer> {
  const { code, cache } = options
  const isDefined = code.tools.some((tool) => tool.definition.name === name)
  const mayBeCode = isDefined || (code.register !== undefined && !cache.isSql(name))
  return mayBeCode ? admitCall(exchange, { kind: 'tool', name }, options) : sqlServer(exchange, name, options)
}

function sqlServer(exchange: Exchange, name: string, options: ServeOptions): McpServer {
  const server = newServer(options, null)
  // Low level, because Postgres validates the arguments and nothing else of the SDK's dispatch is needed.
  server.server.setRequestHandler('tools/call', () => serveSqlCall(exchange, name, options))
  return server
}

/** A call that code answers: admitted first, then only what was called is built. */
async function admitCall(
  exchange: Exchange,
  called: Registration,
  options: ServeOptions,
): Promise<McpServer> {
  const { kind, name } = called
  const answer = await enterCall(exchange, called, options)
  if (answer === undefined) return newServer(options, null)
  if (answer.outcome === 'sql') {
    options.cache.learnSql(name)
    return sqlServer(exchange, name, options)
  }
  if (answer.outcome === 'refused' || answer.outcome === 'replayed') {
    return refusingServer(exchange, called, answer, options)
  }

  if (answer.receipt != null) {
    exchange.opened = {
      handle: answer.receipt,
      startedAt: performance.now(),
      capability: name,
      isKeyed: exchange.facts['idempotency_key_hash'] !== undefined,
      hasStarted: false,
      isClosed: false,
    }
  }
  const built: Registration[] = []
  const { mcp } = await assemble(exchange, answer, options, (registration) => {
    const isCalled = registration.kind === kind && registration.name === name
    if (isCalled) built.push(registration)
    return isCalled
  })
  if (built.length === 0) {
    // Admitted because code might know the name, and it does not, or not for this caller.
    closeReceipt(exchange, options.receipts, { outcome: 'refused', code: 'unknown_capability' })
    return refusingServer(exchange, called, { ...answer, error: { code: 'unknown_capability' } }, options)
  }
  return mcp
}

/** A server whose one answer is the database's: a refusal, or the result of the call this one repeats. */
function refusingServer(
  exchange: Exchange,
  called: Registration,
  answer: EnterAnswer,
  options: ServeOptions,
): McpServer {
  const mcp = newServer(options, answer)
  const boundary = createBoundary(exchange, options)
  if (called.kind === 'tool') {
    mcp.server.setRequestHandler('tools/call', () => boundary.settledToolCall(called.name, answer))
    return mcp
  }
  mcp.server.registerCapabilities(called.kind === 'prompt' ? { prompts: {} } : { resources: {} })
  mcp.server.setRequestHandler(called.kind === 'prompt' ? 'prompts/get' : 'resources/read', () =>
    boundary.refuse(called, answer.error),
  )
  return mcp
}

async function enterCall(
  exchange: Exchange,
  { kind, name }: Registration,
  options: ServeOptions,
): Promise<EnterAnswer | undefined> {
  const startedAt = performance.now()
  for (let attempt = 1; ; attempt += 1) {
    const answer = await enter(exchange, options, {
      operation: 'call',
      kind,
      name,
      has_code: true,
      attempt,
      may_wait: performance.now() - startedAt < longestWait,
    })
    if (answer?.outcome !== 'wait') return answer
    await new Promise((resolve) => setTimeout(resolve, Math.min(25 * 2 ** attempt, 1_000)))
  }
}

async function readResource(exchange: Exchange, options: ServeOptions): Promise<McpServer> {
  const uri = typeof exchange.params['uri'] === 'string' ? exchange.params['uri'] : ''
  // The first read of a process learns what code registers; from then on a URI leads to its name at once.
  if (options.catalog.findResource(uri) === undefined)
    await describe(exchange, ['resource', 'resource_template'], options, uncounted)
  if (exchange.httpError !== undefined) return newServer(options, null)
  const found = options.catalog.findResource(uri)
  return admitCall(exchange, found ?? { kind: 'resource', name: '' }, options)
}

/** The attempt from which on limits do not count a question: it belongs to a request that was counted, or will be. */
const uncounted = 2

/** A request that shows or completes: every registration this caller may use is built. */
async function describe(
  exchange: Exchange,
  kinds: readonly CodeKind[],
  options: ServeOptions,
  attempt = 1,
): Promise<McpServer> {
  const described = await describeAll(exchange, kinds, options, { operation: 'describe', attempt })
  return described?.facade.mcp ?? newServer(options, null)
}

async function listTools(exchange: Exchange, options: ServeOptions): Promise<McpServer> {
  const server = newServer(options, null)
  server.server.setRequestHandler('tools/list', async (request) => {
    try {
      return await serveToolList(request.params?.cursor, {
        cache: options.cache,
        list: (after, knownRevision, attempt) =>
          describeAll(exchange, ['tool'], options, {
            operation: 'list',
            after,
            known_revision: knownRevision,
            attempt,
          }),
      })
    } catch (error) {
      if (error instanceof ProtocolError) throw error
      // The SDK would send the words of whatever the application threw.
      exchange.httpError ??= toChumboError(error)
      return { tools: [] }
    }
  })
  return server
}

/** A description of what this caller may use, with the code part registered. */
export interface Description {
  readonly answer: EnterAnswer
  readonly facade: BuiltFacade
}

interface Question {
  readonly operation: 'list' | 'describe'
  readonly attempt: number
  readonly after?: string | undefined
  readonly known_revision?: number | undefined
}

/** How often one request asks about names it had not asked about; code that makes up new ones each time gets no further. */
const mostRounds = 3

async function describeAll(
  exchange: Exchange,
  kinds: readonly CodeKind[],
  options: ServeOptions,
  question: Question,
): Promise<Description | undefined> {
  const { catalog } = options
  for (let round = 1; ; round += 1) {
    const asked = new Set(catalog.names(kinds))
    const answer = await enter(exchange, options, {
      ...question,
      kind: kinds.join(','),
      code_names: [...asked],
      attempt: round === 1 ? question.attempt : uncounted,
    })
    if (answer === undefined) return undefined
    if (answer.outcome === 'refused') {
      // Anything shown instead would pass for what there is.
      exchange.httpError = refusedDescription(answer.error)
      return undefined
    }
    const news = new Set<string>()
    const facade = await assemble(exchange, answer, options, ({ kind, name }) => {
      if (!kinds.includes(kind)) return false
      if (!asked.has(name)) news.add(name)
      return answer.code?.[name] ?? (asked.has(name) && answer.server?.unregistered !== 'refuse')
    })
    // A name seen for the first time may have a row that forbids it: ask once more, with that name.
    if (news.size === 0 || round === mostRounds) return { answer, facade }
  }
}

/** Sign-in, server and schema were looked at before; what is left is a limit. */
function refusedDescription(error: GateError | null | undefined): ChumboError {
  if (error?.code !== 'rate_limited') return refusal('internal_error')
  return refusal('rate_limited', error.retry_after == null ? {} : { retryAfterSeconds: error.retry_after })
}

/** The facade with the official server under it. */
export type BuiltFacade = Facade & { readonly mcp: McpServer }

async function assemble(
  exchange: Exchange,
  answer: EnterAnswer,
  options: ServeOptions,
  admits: (registration: Registration) => boolean,
): Promise<BuiltFacade> {
  const { code, catalog } = options
  const ctx = await buildContext(exchange, answer, options)
  const mcp = newServer(options, answer, await resolveInstructions(answer, ctx, code))
  const facade = createFacade({
    server: mcp,
    scopes: ctx.scopes,
    admits(registration) {
      catalog.learn(registration)
      return admits(registration)
    },
    wrap: createBoundary(exchange, options).wrap,
  })
  for (const { definition, handler } of code.tools) {
    const { name, scopes = [], ...config } = definition
    facade.server.withScopes(scopes).registerTool(name, config, (args: unknown) => handler(args, ctx))
  }
  await code.register?.(facade.server, ctx)
  // Registering says on its own that changes are announced; a server that lives for one request announces nothing.
  for (const kind of facade.kinds) {
    if (kind === 'tool') continue
    const capability = kind === 'prompt' ? 'prompts' : 'resources'
    mcp.server.registerCapabilities({ [capability]: { listChanged: false } })
  }
  return { ...facade, mcp }
}

async function buildContext(
  exchange: Exchange,
  answer: EnterAnswer,
  { environment, fetch, gate, code }: ServeOptions,
): Promise<SupabaseMcpContext> {
  const { request, identity, traceId } = exchange
  const build = (scopes: readonly string[]): SupabaseMcpContext =>
    createContext({ request, identity, environment, fetch, gate, scopes, traceId })
  let ctx = build(answer.scopes ?? [])
  if (code.resolveScopes !== undefined) ctx = build(await code.resolveScopes(Object.freeze(ctx)))
  if (code.extend === undefined) return Object.freeze(ctx)
  const extra: unknown = Object.freeze({ ...(await code.extend(Object.freeze(ctx))) })
  return Object.freeze(
    Object.create(ctx, { extra: { value: extra, enumerable: true } }) as SupabaseMcpContext,
  )
}

async function resolveInstructions(
  { server }: EnterAnswer,
  ctx: SupabaseMcpContext,
  { instructions }: CodeOptions,
): Promise<string | undefined> {
  if (server?.instructions != null) return server.instructions
  return typeof instructions === 'function' ? await instructions(ctx) : instructions
}

/** One round trip. An answer that must become an HTTP error is noted on the exchange, and nothing comes back. */
export async function enter(
  exchange: Exchange,
  { gate, cache }: Pick<ServeOptions, 'gate' | 'cache'>,
  question: Readonly<Record<string, unknown>>,
): Promise<EnterAnswer | undefined> {
  try {
    const answer = await gate.enter({ ...exchange.facts, ...question })
    cache.learn(answer.revision, answer.entries)
    const failed = httpErrorOf(answer.error)
    if (failed === undefined) return answer
    exchange.httpError = failed
  } catch (error) {
    exchange.httpError = toChumboError(error)
  }
  return undefined
}

/** Refusals that concern the whole request and not one capability. */
export function httpErrorOf(error: GateError | null | undefined): ChumboError | undefined {
  switch (error?.code) {
    case 'session_revoked':
      return refusal('session_revoked')
    case 'unknown_server':
      return refusal('not_found', {
        sentence: 'This server is switched off, or not registered in the database.',
        hint: "The application's operator can enable or register it.",
      })
    case 'schema_outdated':
      return schemaOutdated(error.found ?? null)
    default:
      return undefined
  }
}

function newServer(
  { serverInfo }: ServeOptions,
  answer: EnterAnswer | null,
  instructions?: string,
): McpServer {
  const { name, version, title } = answer?.server ?? {}
  return new McpServer(
    {
      ...serverInfo,
      ...(name == null ? {} : { name }),
      ...(version == null ? {} : { version }),
      ...(title == null ? {} : { title }),
    },
    {
      // Declared up front: a server built for one call still says that there are tools. Nothing is ever pushed.
      capabilities: { tools: { listChanged: false } },
      ...(instructions === undefined ? {} : { instructions }),
    },
  )
}
