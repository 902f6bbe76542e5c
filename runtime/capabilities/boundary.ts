// runtime/capabilities/boundary.ts — around every handler of the application: failures are worded, outcomes noted.

import {
  isCallToolResult,
  isInputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  type CallToolResult,
} from '@modelcontextprotocol/server'

import { ChumboError } from '../errors.ts'
import type { EnterAnswer, FinishedReceipt, GateError } from '../gate/gate.ts'
import { withText } from '../results/compose.ts'
import { errorMetaKey, toolError } from '../results/tool-error.ts'
import type { Exchange } from './exchange.ts'
import type { AnyCallback, CodeKind, Registration } from './facade.ts'
import { RejectedArguments } from './schema.ts'
import type { ServeOptions } from './options.ts'

/** What surrounds the handlers of one exchange. */
export interface Boundary {
  readonly wrap: <Callback extends AnyCallback>(registration: Registration, callback: Callback) => Callback
  /** The answer to a tool call that the database refused or knew already. */
  readonly settledToolCall: (name: string, answer: EnterAnswer) => CallToolResult
  /** Refuses a read or a prompt. */
  readonly refuse: (called: Registration, error: GateError | null | undefined) => never
}

type Ending = Pick<FinishedReceipt, 'outcome' | 'code' | 'bytes' | 'result'>

export function createBoundary(
  exchange: Exchange,
  { receipts, onError }: Pick<ServeOptions, 'receipts' | 'onError'>,
): Boundary {
  const { traceId } = exchange

  function close(ending: Ending): void {
    closeReceipt(exchange, receipts, ending)
  }

  function begin(): void {
    if (exchange.opened !== undefined) exchange.opened.hasStarted = true
  }

  /** A handler that refuses on purpose has nothing to report; an operator should be woken by the rest only. */
  function reportUnexpected(error: unknown): void {
    if (!isExpected(error)) onError(error, traceId)
  }

  async function runTool(callback: AnyCallback, parameters: readonly unknown[]): Promise<unknown> {
    const [args] = parameters
    if (args instanceof RejectedArguments && args.cause === undefined) {
      close({ outcome: 'refused', code: 'invalid_arguments' })
      return toolError({ code: 'invalid_arguments', message: args.message }, traceId)
    }
    begin()
    try {
      if (args instanceof RejectedArguments) throw args.cause
      const result: unknown = await callback(...(parameters as never[]))
      if (isInputRequiredResult(result)) {
        // Nothing is settled yet: the next round brings the same key, and has to find it free.
        close({ outcome: 'refused', code: 'input_required' })
        return result
      }
      if (!isCallToolResult(result)) throw new TypeError('The handler returned no tool result.')
      const complete = withText(result)
      close(endingOf(complete))
      return complete
    } catch (error) {
      reportUnexpected(error)
      const failure = toolError(describeFailure(error), traceId)
      close(endingOf(failure))
      return failure
    }
  }

  async function runOther(callback: AnyCallback, parameters: readonly unknown[]): Promise<unknown> {
    begin()
    try {
      const result: unknown = await callback(...(parameters as never[]))
      // The SDK would wait for ever for the answer that a handler without a result owes.
      if (typeof result !== 'object' || result === null) throw new TypeError('The handler returned nothing.')
      close({ outcome: 'ok' })
      return result
    } catch (error) {
      // What the protocol itself words, an unknown resource for one, is meant for the caller.
      if (isProtocolError(error)) {
        close({ outcome: 'tool_error', code: 'protocol_error' })
        throw error
      }
      reportUnexpected(error)
      const failure = describeFailure(error)
      close({ outcome: 'tool_error', code: failure.code })
      throw protocolFailure(failure, traceId)
    }
  }

  return {
    wrap({ kind }, callback) {
      const run = kind === 'tool' ? runTool : runOther
      // The SDK calls it with the parameters the callback declared; only the result is touched.
      return ((...parameters: unknown[]) => run(callback, parameters)) as AnyCallback as typeof callback
    },
    settledToolCall(name, answer) {
      if (answer.outcome === 'replayed' && answer.result != null)
        return JSON.parse(answer.result) as CallToolResult
      const error = answer.error ?? { code: 'tool_failed' }
      if (error.code === 'unknown_capability') throw notFound('tool', name)
      if (error.retry_after != null) exchange.retryAfter = error.retry_after
      return toolError(error, traceId)
    },
    refuse({ kind, name }, error) {
      if (error == null || error.code === 'unknown_capability' || error.code === 'resource_not_found') {
        throw kind === 'prompt'
          ? notFound(kind, name)
          : new ResourceNotFoundError(String(exchange.params['uri']))
      }
      if (error.retry_after != null) exchange.retryAfter = error.retry_after
      throw protocolFailure(error, traceId)
    },
  }

  function endingOf(result: CallToolResult): Ending {
    const text = JSON.stringify(result)
    const error = result._meta?.[errorMetaKey] as { code?: string } | undefined
    return {
      outcome: result.isError === true ? 'tool_error' : 'ok',
      ...(result.isError === true ? { code: error?.code ?? 'tool_failed' } : {}),
      bytes: new TextEncoder().encode(text).byteLength,
      ...(exchange.opened?.isKeyed === true ? { result: text } : {}),
    }
  }
}

/** Closes the receipt of an exchange, once. */
export function closeReceipt(exchange: Exchange, receipts: ServeOptions['receipts'], ending: Ending): void {
  const { opened } = exchange
  if (opened === undefined || opened.isClosed) return
  opened.isClosed = true
  receipts.add({
    ...opened.handle,
    capability: opened.capability,
    ...ending,
    duration_ms: Math.round((performance.now() - opened.startedAt) * 1000) / 1000,
  })
}

/**
 * What a failed handler may tell. An application error raised in SQL arrives through supabase-js as
 * `{code: 'PTxyz', message: slug, details: sentence, hint}`; everything else keeps its words to itself.
 */
function describeFailure(error: unknown): GateError {
  try {
    return readFailure(error)
  } catch {
    // A thrown value can run code of its own when it is looked at.
    return { code: 'tool_failed' }
  }
}

/** `instanceof` asks the value, and a thrown proxy may throw in turn. */
function isProtocolError(error: unknown): error is ProtocolError {
  try {
    return error instanceof ProtocolError
  } catch {
    return false
  }
}

/** A refusal on purpose, as opposed to a fault. */
function isExpected(error: unknown): boolean {
  try {
    return error instanceof ChumboError && error.status < 500
  } catch {
    return false
  }
}

function readFailure(error: unknown): GateError {
  if (error instanceof ChumboError) return { code: error.code, message: error.message, hint: error.hint }
  if (typeof error !== 'object' || error === null) return { code: 'tool_failed' }
  const { code, message, details, detail, hint } = error as Record<string, unknown>
  if (typeof code !== 'string') return { code: 'tool_failed' }
  if (/^PT\d{3}$/.test(code) && typeof message === 'string' && /^[a-z][a-z0-9_]{1,63}$/.test(message)) {
    const sentence = typeof details === 'string' ? details : detail
    return {
      code: message,
      ...(typeof sentence === 'string' ? { message: sentence } : {}),
      ...(typeof hint === 'string' ? { hint } : {}),
    }
  }
  return { code: sqlStateSlug(code) }
}

/** The same reading of SQLSTATE as `chumbo.tool_error` in `0009_running.sql`. */
function sqlStateSlug(code: string): string {
  if (code === '42501') return 'forbidden'
  if (['23505', '23503', '23P01'].includes(code)) return 'conflict'
  if (/^2[23]/.test(code)) return 'invalid_value'
  if (code === '57014' || code === '55P03') return 'timeout'
  if (code === '40001' || code === '40P01') return 'busy'
  return 'tool_failed'
}

function protocolFailure(error: GateError, traceId: string): ProtocolError {
  const [block] = toolError(error, traceId).content
  const message = block?.type === 'text' ? block.text : error.code
  const code =
    error.code === 'invalid_arguments' ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError
  return new ProtocolError(code, message, { code: error.code, trace_id: traceId })
}

/** The protocol's own answer to a name that does not exist for this caller; word for word what the SDK says. */
export function notFound(kind: CodeKind, name: string): ProtocolError {
  const noun = { tool: 'Tool', prompt: 'Prompt', resource: 'Resource', resource_template: 'Resource' }[kind]
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `${noun} ${name} not found`)
}
