// runtime/capabilities/exchange.ts — one message of one caller, from its arrival to its receipt.

import type { ChumboError } from '../errors.ts'
import type { ReceiptHandle, RequestFacts } from '../gate/gate.ts'
import type { Identity } from '../identity/principal.ts'

/** The state of one JSON-RPC message. Made anew for each; nothing in it outlives the response. */
export interface Exchange {
  /** The request as handlers may see it: no credential, no body. */
  readonly request: Request
  readonly identity: Identity
  readonly traceId: string
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
  /** The tool or prompt asked for; empty when it could not be a name. */
  readonly name: string
  readonly facts: RequestFacts
  /** The arguments of a tool call as JSON text, every digit kept. */
  readonly argumentsText: () => string
  /** The message is of the 2026-07-28 revision, whose clients keep what they are told they may. */
  isModern?: boolean
  /** Set when the whole response has to be an HTTP error: an outage, an ended session. */
  httpError?: ChumboError
  /** Seconds for `Retry-After` beside a tool error. */
  retryAfter?: number
  /** The receipt that a TypeScript call opened and its end has to close. */
  opened?: OpenReceipt
}

/** A receipt on its way. */
export interface OpenReceipt {
  readonly handle: ReceiptHandle
  readonly startedAt: number
  readonly capability: string
  /** The call carried an idempotency key, so its answer is kept. */
  readonly isKeyed: boolean
  /** The handler was called: it closes the receipt, also after its stream has begun or its caller has gone. */
  hasStarted: boolean
  isClosed: boolean
}
