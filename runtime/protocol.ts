// runtime/protocol.ts — the official SDK in both eras: who answers a message, and what of a request it gets to see.

import {
  createMcpHandler,
  InMemoryServerEventBus,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
  type McpServer,
  type ServerNotifier,
} from '@modelcontextprotocol/server'

import type { Exchange } from './capabilities/exchange.ts'
import type { ServeOptions } from './capabilities/options.ts'
import { buildServer } from './capabilities/serve.ts'
import { acceptsEventStream } from './request/negotiate.ts'

/** Answers messages with the official SDK. */
export interface Protocol {
  /** Answers one message in the revision it was written in. */
  readonly serve: (exchange: Exchange, message: unknown, accept: string | null) => Promise<Response>
  /** The official handler, for what it is to refuse. */
  readonly modern: (request: Request, body: unknown, accept: string | null) => Promise<Response>
  readonly close: () => Promise<void>
  readonly notify: ServerNotifier
}

/** The official SDK, twice: the 2026-07-28 handler, and its stateless transport for the revisions before. */
export function createProtocol(
  serving: ServeOptions,
  report: (error: unknown, traceId: string) => void,
): Protocol {
  const exchanges = new WeakMap<Request, Exchange>()
  const bus = new InMemoryServerEventBus()
  const factory = async ({ requestInfo }: { readonly requestInfo?: Request }): Promise<McpServer> => {
    const exchange = requestInfo === undefined ? undefined : exchanges.get(requestInfo)
    if (exchange === undefined) throw new Error('The SDK built a server for a request that was not read.')
    return buildServer(exchange, serving)
  }
  const onerror = (error: Error): void => report(error, 'protocol')
  const streaming = createMcpHandler(factory, { legacy: 'reject', responseMode: 'auto', bus, onerror })
  // Built when first needed: the SDK prints a warning for this mode, which only a JSON-only client of a tool that
  // reports progress calls for.
  let plain: ReturnType<typeof createMcpHandler> | undefined
  const handlerFor = (accept: string | null): ReturnType<typeof createMcpHandler> =>
    acceptsEventStream(accept)
      ? streaming
      : (plain ??= createMcpHandler(factory, { legacy: 'reject', responseMode: 'json', bus, onerror }))

  async function legacy(exchange: Exchange, message: unknown): Promise<Response> {
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
    const server = await buildServer(exchange, serving)
    await server.connect(transport)
    return transport.handleRequest(exchange.request, { parsedBody: message })
  }

  return {
    async serve(exchange, message, accept) {
      if (await isLegacyRequest(exchange.request, message)) return legacy(exchange, message)
      exchanges.set(exchange.request, exchange)
      return handlerFor(accept).fetch(exchange.request, { parsedBody: message })
    },
    modern: (request, body, accept) =>
      handlerFor(accept).fetch(request, body === undefined ? {} : { parsedBody: body }),
    async close() {
      await streaming.close()
      await plain?.close()
    },
    notify: streaming.notify,
  }
}

/** The request as the SDK and handlers get it: no body, which was read, no credential, and both media types accepted. */
export function shellOf({ url, method, headers, signal }: Request): Request {
  const shown = new Headers(headers)
  for (const name of ['authorization', 'apikey', 'cookie', 'content-length']) shown.delete(name)
  // Which of the two goes out is decided by the negotiation before.
  shown.set('accept', 'application/json, text/event-stream')
  return new Request(url, { method, headers: shown, signal })
}
