// runtime/capabilities/completion.ts — what an argument could be: the function of a row knows, or code does.

import {
  ProtocolError,
  ProtocolErrorCode,
  type CompleteResult,
  type McpServer,
} from '@modelcontextprotocol/server'

import type { CompleteAnswer } from '../gate/gate.ts'
import { isRecord } from '../is-record.ts'
import { newServer } from './assemble.ts'
import { notFound } from './boundary.ts'
import type { Exchange } from './exchange.ts'
import type { ServeOptions } from './options.ts'
import { askRow, guarded, settle, type Asked, type Timeout } from './row-answer.ts'

/** Asks the rows. With `mayBeCode`, a reference that no row answers comes back `unmatched`, uncounted. */
export function completeRow(
  exchange: Exchange,
  options: ServeOptions,
  { mayBeCode }: { readonly mayBeCode: boolean },
): Promise<CompleteAnswer | Timeout> {
  const { params, facts } = exchange
  const isStorable = facts['rejection'] === undefined
  const read = (name: string): Readonly<Record<string, unknown>> | null =>
    isStorable && isRecord(params[name]) ? params[name] : null
  return askRow(exchange, options, () =>
    options.gate.complete({
      reference: read('ref') ?? {},
      argument: read('argument') ?? {},
      context: read('context'),
      request: mayBeCode ? { ...facts, may_be_code: true } : facts,
    }),
  )
}

/** A server that completes from rows; from `answer`, when the rows were asked before. */
export function completionServer(
  exchange: Exchange,
  options: ServeOptions,
  answer?: CompleteAnswer | Timeout,
): McpServer {
  const server = newServer(options, null)
  server.server.registerCapabilities({ completions: {} })
  server.server.setRequestHandler('completion/complete', ({ params: { ref } }) =>
    guarded(exchange, async () => {
      const given = answer ?? (await completeRow(exchange, options, { mayBeCode: false }))
      const asked: Asked =
        ref.type === 'ref/prompt'
          ? { kind: 'prompt', name: ref.name }
          : { kind: 'resource_template', name: '', notFound: () => templateNotFound(ref.uri) }
      return toResult(settle(given, asked, { exchange, options }))
    }),
  )
  return server
}

/** Lets a server of code that completes nothing say so, and not that the method is unknown. */
export function completeNothing(mcp: McpServer): McpServer {
  try {
    mcp.server.assertCanSetRequestHandler('completion/complete')
  } catch {
    return mcp
  }
  mcp.server.registerCapabilities({ completions: {} })
  mcp.server.setRequestHandler('completion/complete', ({ params: { ref } }) => {
    throw ref.type === 'ref/prompt' ? notFound('prompt', ref.name) : templateNotFound(ref.uri)
  })
  return mcp
}

function toResult({ values, total, has_more: hasMore }: CompleteAnswer): CompleteResult {
  return {
    completion: {
      values: values ?? [],
      ...(total == null ? {} : { total }),
      hasMore: hasMore === true,
    },
  }
}

/** Word for word what the SDK says. */
function templateNotFound(uri: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `Resource template ${uri} not found`)
}
