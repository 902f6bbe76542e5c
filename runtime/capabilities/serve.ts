// runtime/capabilities/serve.ts — rows and code become one official server per request, holding what that request needs.

import { ProtocolError, type McpServer } from '@modelcontextprotocol/server'

import type { EnterAnswer } from '../gate/gate.ts'
import { toChumboError } from '../request/respond.ts'
import { assemble, newServer } from './assemble.ts'
import { closeReceipt, createBoundary } from './boundary.ts'
import { completeNothing, completeRow, completionServer } from './completion.ts'
import { describeAll, uncounted } from './describe.ts'
import { enter } from './enter.ts'
import type { Exchange } from './exchange.ts'
import type { CodeKind, Registration } from './facade.ts'
import type { ServeOptions } from './options.ts'
import { promptServer } from './prompts.ts'
import { isReservedName } from './reserved-names.ts'
import { readRow, resourceServer, uriOf } from './resources.ts'
import { listServer } from './row-list.ts'
import { serveSearch } from './search.ts'
import { serveSqlCall } from './sql-tool.ts'
import { serveToolList } from './tool-list.ts'

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
  const { method, name } = exchange
  switch (method) {
    case 'tools/list':
      return listTools(exchange, options)
    case 'tools/call':
      return callTool(exchange, name, options)
    case 'prompts/get':
      return getPrompt(exchange, name, options)
    case 'resources/read':
      return readResource(exchange, options)
    case 'resources/list':
      return listServer(exchange, 'resource', options)
    case 'resources/templates/list':
      return listServer(exchange, 'resource_template', options)
    case 'prompts/list':
      return listServer(exchange, 'prompt', options)
    case 'completion/complete':
      return complete(exchange, options)
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
  // By name only: through the proxy, neither of the two is there.
  if (isReservedName(name) && exchange.facts['via'] === undefined) {
    const server = newServer(options, null)
    server.server.setRequestHandler('tools/call', () => serveSearch(exchange, options))
    return server
  }
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
    options.cache.learnSql(name, kind)
    if (kind === 'prompt') return promptServer(exchange, name, options)
    return kind === 'tool' ? sqlServer(exchange, name, options) : resourceServer(exchange, options)
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
  if (exchange.facts['via'] !== undefined) {
    // A client that calls through the proxy cannot know which arguments this tool wants in headers as well.
    mcp.toolInputSchemaJson = () => undefined
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

async function getPrompt(exchange: Exchange, name: string, options: ServeOptions): Promise<McpServer> {
  const { code, cache, catalog } = options
  const isDefined = code.register !== undefined || catalog.names(['prompt']).includes(name)
  return isDefined && !cache.isSql(name, 'prompt')
    ? admitCall(exchange, { kind: 'prompt', name }, options)
    : promptServer(exchange, name, options)
}

/** A URI that code is known to answer goes to code, any other to the rows; what they do not know, code may still. */
async function readResource(exchange: Exchange, options: ServeOptions): Promise<McpServer> {
  const { catalog, code } = options
  // What was refused on arrival is the database's to answer, with a receipt; code is not asked about it.
  if (exchange.facts['rejection'] !== undefined) return resourceServer(exchange, options)
  const uri = uriOf(exchange)
  const known = catalog.findResource(uri)
  if (known !== undefined) return admitCall(exchange, known, options)
  if (code.register === undefined) return resourceServer(exchange, options)

  if (catalog.isComplete()) {
    const answer = await readRow(exchange, options, { mayBeCode: true })
    if (answer.outcome !== 'unmatched') return resourceServer(exchange, options, answer)
  }
  await describe(exchange, ['resource', 'resource_template'], options, uncounted)
  if (exchange.httpError !== undefined) return newServer(options, null)
  const found = catalog.findResource(uri)
  return found === undefined ? resourceServer(exchange, options) : admitCall(exchange, found, options)
}

async function complete(exchange: Exchange, options: ServeOptions): Promise<McpServer> {
  const kinds: readonly CodeKind[] = ['resource', 'resource_template', 'prompt']
  if (exchange.facts['rejection'] !== undefined) return completionServer(exchange, options)
  if (options.code.register === undefined && options.catalog.names(kinds).length === 0)
    return completionServer(exchange, options)
  const answer = await completeRow(exchange, options, { mayBeCode: true })
  if (answer.outcome !== 'unmatched') return completionServer(exchange, options, answer)
  return completeNothing(await describe(exchange, kinds, options))
}

/** A request that shows or completes: every registration this caller may use is built, and what rows offer is announced. */
async function describe(
  exchange: Exchange,
  kinds: readonly CodeKind[],
  options: ServeOptions,
  attempt = 1,
): Promise<McpServer> {
  const described = await describeAll(exchange, kinds, options, { operation: 'describe', attempt }, null)
  if (described === undefined) return newServer(options, null)
  const { mcp } = described.facade
  const { resources = false, prompts = false, completions = false } = described.answer.offers ?? {}
  mcp.server.registerCapabilities({
    ...(resources ? { resources: { listChanged: false } } : {}),
    ...(prompts ? { prompts: { listChanged: false } } : {}),
    ...(completions ? { completions: {} } : {}),
  })
  return mcp
}

async function listTools(exchange: Exchange, options: ServeOptions): Promise<McpServer> {
  const server = newServer(options, null)
  server.server.setRequestHandler('tools/list', async (request) => {
    try {
      return await serveToolList(request.params?.cursor, {
        cache: options.cache,
        exchange,
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
