// runtime/capabilities/sql-tool.ts — one round trip for a SQL tool, and its answer as the protocol's result.

import { ProtocolError, ProtocolErrorCode, type CallToolResult } from '@modelcontextprotocol/server'

import { parseExact } from '../exact-json.ts'
import type { CallAnswer } from '../gate/gate.ts'
import { toChumboError } from '../request/respond.ts'
import { toolError } from '../results/tool-error.ts'
import { notFound } from './boundary.ts'
import type { Exchange } from './exchange.ts'
import { httpErrorOf } from './enter.ts'
import type { ServeOptions } from './options.ts'

/** Calls a SQL tool. */
export async function serveSqlCall(
  exchange: Exchange,
  name: string,
  { gate, cache, code, onError }: Pick<ServeOptions, 'gate' | 'cache' | 'code' | 'onError'>,
): Promise<CallToolResult> {
  const { facts, traceId } = exchange
  try {
    const answer = await gate.call({
      capability: name,
      argumentsText: exchange.argumentsText(),
      request: facts,
    })
    cache.learn(answer.revision)
    if (answer.outcome !== 'refused' && answer.outcome !== 'moved') cache.learnSql(name)
    // The row says that code answers, and there is none: nothing of this name is offered here.
    if (answer.outcome === 'moved' && code.register === undefined) throw notFound('tool', name)
    return toResult(answer, { exchange, name })
  } catch (error) {
    if (error instanceof ProtocolError) throw error
    const failure = toChumboError(error)
    // A tool that ran out of time is the tool's failure; anything else stopped before or around it.
    if (failure.code === 'timeout') {
      onError(failure, traceId)
      return toolError({ code: 'timeout' }, traceId)
    }
    exchange.httpError = failure
    throw new ProtocolError(ProtocolErrorCode.InternalError, failure.message)
  }
}

function toResult(
  { outcome, result, is_whole: isWhole, error, truncated, row_cap: rowCap }: CallAnswer,
  { exchange, name }: { readonly exchange: Exchange; readonly name: string },
): CallToolResult {
  const { traceId } = exchange
  // The database has checked or written all of it; a failure too, where a tool reports one in a result of its own.
  if (isWhole === true && result != null) return parseExact(result) as CallToolResult
  if ((outcome === 'ok' || outcome === 'replayed') && result != null) {
    const cut =
      truncated === true
        ? [{ type: 'text' as const, text: `Cut after ${rowCap} rows; narrow the request to see others.` }]
        : []
    return {
      content: [{ type: 'text', text: result }, ...cut],
      // Nothing on the way to the client reads a number, so each one leaves with the digits Postgres wrote.
      structuredContent: parseExact(result),
    }
  }
  if (outcome === 'moved') {
    return toolError(
      { code: 'tool_unavailable', hint: 'Call it again: its registration changed a moment ago.' },
      traceId,
    )
  }
  const failure = error ?? { code: 'tool_failed' }
  // Only a refusal is the gate's own word. A tool's body may raise any slug, and must not be taken for the gate.
  if (outcome === 'refused') {
    const httpError = httpErrorOf(failure)
    if (httpError !== undefined) {
      exchange.httpError = httpError
      throw new ProtocolError(ProtocolErrorCode.InternalError, httpError.message)
    }
    if (failure.code === 'unknown_capability') throw notFound('tool', name)
    if (failure.retry_after != null) exchange.retryAfter = failure.retry_after
  }
  return toolError(failure, traceId)
}
