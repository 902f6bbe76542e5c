// runtime/hosts/node.ts — serves an app under Node: a listener for node:http, and a server with the PORT convention.

import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'

import type { SupabaseMcpApp } from '../app.ts'

/** What a listener needs of an app. */
export type FetchApp = Pick<SupabaseMcpApp, 'fetch'>

/** Bridges an app onto `node:http`: bodies stream in, event streams out, a closed connection aborts the request. */
export function toNodeHandler(app: FetchApp): RequestListener {
  return (incoming, outgoing) => {
    void handle(app, incoming, outgoing)
  }
}

/** A running server. */
export interface NodeServer {
  readonly url: string
  readonly close: () => Promise<void>
}

/**
 * Serves an app; `port` 0 takes a free one. Rejects when the port cannot be had.
 *
 * @example
 * ```ts
 * const { url } = await serve(app, { port: Number(process.env.PORT ?? 8080) })
 * ```
 */
export async function serve(
  app: FetchApp,
  { port = 8080, hostname = '0.0.0.0' }: { readonly port?: number; readonly hostname?: string } = {},
): Promise<NodeServer> {
  const server = createServer(toNodeHandler(app))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, hostname, resolve)
  })
  const address = server.address() as AddressInfo
  return {
    url: `http://${hostname === '0.0.0.0' ? '127.0.0.1' : hostname}:${address.port}`,
    close() {
      server.closeAllConnections()
      return new Promise((resolve, reject) => server.close((error) => (error ? reject(error) : resolve())))
    },
  }
}

async function handle(app: FetchApp, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const abort = new AbortController()
  outgoing.once('close', () => {
    if (!outgoing.writableEnded) abort.abort()
  })
  try {
    const response = await app.fetch(toRequest(incoming, abort.signal))
    const headers: Record<string, string | string[]> = Object.fromEntries(response.headers)
    const cookies = response.headers.getSetCookie()
    outgoing.writeHead(response.status, cookies.length > 0 ? { ...headers, 'set-cookie': cookies } : headers)
    if (response.body === null) outgoing.end()
    else await pipeline(Readable.fromWeb(response.body as ReadableStream), outgoing)
  } catch {
    // The app words its own failures; what arrives here is a broken connection or a URL that is none.
    if (outgoing.headersSent) outgoing.destroy()
    else outgoing.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"bad_request"}')
  }
}

function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request {
  const headers = new Headers()
  for (const [name, value] of Object.entries(incoming.headers)) {
    for (const one of [value ?? []].flat()) headers.append(name, one)
  }
  const url = new URL(incoming.url ?? '/', `http://${incoming.headers.host ?? 'localhost'}`)
  const hasBody = incoming.method !== 'GET' && incoming.method !== 'HEAD'
  return new Request(url, {
    method: incoming.method ?? 'GET',
    headers,
    signal,
    ...(hasBody ? { body: Readable.toWeb(incoming) as BodyInit, duplex: 'half' } : {}),
  })
}
