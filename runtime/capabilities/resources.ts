// runtime/capabilities/resources.ts — a read that a row answers: one round trip, no SDK registration.

import type { McpServer, ReadResourceResult } from '@modelcontextprotocol/server'

import type { ReadAnswer } from '../gate/gate.ts'
import { newServer } from './assemble.ts'
import { cacheHint } from './cache-hint.ts'
import type { Exchange } from './exchange.ts'
import type { ServeOptions } from './options.ts'
import { askRow, guarded, settle, type Timeout } from './row-answer.ts'

/** Asks the rows for a URI. With `mayBeCode`, one that no row answers comes back `unmatched`, uncounted. */
export function readRow(
  exchange: Exchange,
  options: ServeOptions,
  { mayBeCode }: { readonly mayBeCode: boolean },
): Promise<ReadAnswer | Timeout> {
  const { facts } = exchange
  // A URI that Postgres could not take was rejected when the message was read.
  const uri = facts['rejection'] === undefined ? uriOf(exchange) : ''
  return askRow(exchange, options, () =>
    options.gate.read(uri, mayBeCode ? { ...facts, may_be_code: true } : facts),
  )
}

/** A server that answers one read from rows; from `answer`, when the rows were asked before. */
export function resourceServer(
  exchange: Exchange,
  options: ServeOptions,
  answer?: ReadAnswer | Timeout,
): McpServer {
  const server = newServer(options, null)
  server.server.registerCapabilities({ resources: { listChanged: false } })
  server.server.setRequestHandler('resources/read', () =>
    guarded(exchange, async () => {
      const given = answer ?? (await readRow(exchange, options, { mayBeCode: false }))
      return toResult(settle(given, { kind: 'resource', name: '' }, { exchange, options }), exchange)
    }),
  )
  return server
}

export function uriOf({ params }: Exchange): string {
  return typeof params['uri'] === 'string' ? params['uri'] : ''
}

function toResult({ contents, cache_ttl_ms: ttlMs }: ReadAnswer, exchange: Exchange): ReadResourceResult {
  return {
    // The gate has checked what the type of the protocol asks: each has a URI, and a text or a blob.
    contents: (contents ?? []) as ReadResourceResult['contents'],
    ...cacheHint(ttlMs, exchange),
  }
}
