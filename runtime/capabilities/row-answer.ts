// runtime/capabilities/row-answer.ts — what a row answered to a read, a prompt or a completion, or the error it stands for.

import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'

import type { GateError } from '../gate/gate.ts'
import { toChumboError } from '../request/respond.ts'
import { createBoundary } from './boundary.ts'
import { httpErrorOf } from './enter.ts'
import type { Exchange } from './exchange.ts'
import type { CodeKind } from './facade.ts'
import type { ServeOptions } from './options.ts'

/** What the answers of the gate have in common here. */
export interface RowAnswer {
  readonly outcome: string
  readonly revision?: number | null | undefined
  readonly error?: GateError | null | undefined
}

/** A question to the gate, whose answer a handler settles later. A row that ran out of time is an answer as well. */
export async function askRow<Answer extends RowAnswer>(
  exchange: Exchange,
  { cache, onError }: Pick<ServeOptions, 'cache' | 'onError'>,
  ask: () => Promise<Answer>,
): Promise<Answer | Timeout> {
  try {
    const answer = await ask()
    cache.learn(answer.revision)
    return answer
  } catch (error) {
    const failure = toChumboError(error)
    if (failure.code !== 'timeout') throw failure
    onError(failure, exchange.traceId)
    return { outcome: 'timeout', error: { code: 'timeout' } }
  }
}

/** The answer of a row that ran out of time, which the gate itself cannot give. */
export type Timeout = RowAnswer & { readonly outcome: 'timeout' }

/** What is asked for, and how the protocol says that it does not exist. */
export interface Asked {
  readonly kind: CodeKind
  readonly name: string
  readonly notFound?: () => ProtocolError
}

/**
 * An answer that is one.
 *
 * @throws {ProtocolError} for every other: a refusal, a failure.
 */
export function settle<Answer extends RowAnswer>(
  answer: Answer | Timeout,
  { kind, name, notFound }: Asked,
  { exchange, options }: { readonly exchange: Exchange; readonly options: ServeOptions },
): Answer {
  if (answer.outcome === 'ok') return answer
  const error = answer.error ?? { code: 'tool_failed' }
  // Only a refusal is the gate's own word. A body may raise any slug, and must not be taken for the gate.
  if (answer.outcome === 'refused') {
    const httpError = httpErrorOf(error)
    if (httpError !== undefined) {
      exchange.httpError = httpError
      throw new ProtocolError(ProtocolErrorCode.InternalError, httpError.message)
    }
    if (error.code === 'unknown_capability' && notFound !== undefined) throw notFound()
  }
  return createBoundary(exchange, options).refuse({ kind, name }, error)
}

/** The handler of a low-level server: an outage becomes the HTTP error of the whole request. */
export async function guarded<Result>(exchange: Exchange, handle: () => Promise<Result>): Promise<Result> {
  try {
    return await handle()
  } catch (error) {
    if (error instanceof ProtocolError) throw error
    // The SDK would send the words of whatever was thrown.
    exchange.httpError ??= toChumboError(error)
    throw new ProtocolError(ProtocolErrorCode.InternalError, exchange.httpError.message)
  }
}
