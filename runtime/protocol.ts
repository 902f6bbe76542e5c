// runtime/protocol.ts — the official SDK in both eras: who answers a message, and what of a request it gets to see.

import {
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
  type McpServer,
  type ServerNotifier,
} from '@modelcontextprotocol/server'

import type { Exchange } from './capabilities/exchange.ts'
import type { ServeOptions } from './capabilities/options.ts'
import { buildServer } from './capabilities/serve.ts'

/** Answers messages with the official SDK. */
export interface Protocol {
  /** Answers one message in the revision it was written in. */
  readonly serve: (exchange: Exchange, message: unknown) => Promise<Response>
  /** The official handler, for what it is to refuse. */
  readonly modern: (request: Request, body: unknown) => Promise<Response>
  readonly close: () => Promise<void>
  readonly notify: ServerNotifier
}

/** The official SDK, twice: the 2026-07-28 handler, and its stateless transport for the revisions before. */
export function createProtocol(serving: ServeOptions): Protocol {
  const exchanges = new WeakMap<Request, Exchange>()
  const factory = async ({ requestInfo }: { readonly requestInfo?: Request }): Promise<McpServer> => {
    const exchange = requestInfo === undefined ? undefined : exchanges.get(requestInfo)
    if (exchange === undefined) throw new Error('The SDK built a server for a request that was not read.')
    return buildServer(exchange, serving)
  }
  // It reports what it refuses, which is the client's business, and what building a server throws, which is nothing.
  const handler = createMcpHandler(factory, { legacy: 'reject', responseMode: 'auto' })

  async function legacy(exchange: Exchange, message: unknown): Promise<Response> {
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
    const server = await buildServer(exchange, serving)
    await server.connect(transport)
    return transport.handleRequest(exchange.request, { parsedBody: message })
  }

  return {
    async serve(exchange, message) {
      if (await isLegacyRequest(exchange.request, message)) return legacy(exchange, message)
      exchange.isModern = true
      exchanges.set(exchange.request, exchange)
      return handler.fetch(exchange.request, { parsedBody: message })
    },
    modern: (request, body) => handler.fetch(request, body === undefined ? {} : { parsedBody: body }),
    async close() {
      await handler.close()
    },
    notify: handler.notify,
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
