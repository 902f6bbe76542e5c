// runtime/request/respond.ts — the one place where an error becomes a response, and every response its last headers.

import { ChumboError, refusal } from '../errors.ts'
import { setCorsHeaders, type CorsOptions } from './cors.ts'

/** The header that names a request in every answer and in the log. */
export const traceIdHeader = 'Chumbo-Trace-Id'

/** What an error response is made of beside the error. */
export interface ErrorResponseOptions {
  readonly traceId: string
  /** The JSON-RPC id of the request, where one was read: the answer is then a JSON-RPC error. */
  readonly id?: string | number | null | undefined
}

/** What callers read about an error, in every kind of answer. */
export interface ErrorBody {
  readonly code: string
  readonly message: string
  readonly hint: string | null
  readonly trace_id: string
}

/**
 * Turns anything thrown into a response. Only a {@link ChumboError} speaks for itself; whatever else was thrown is
 * `internal_error`, so driver text, SQL and stacks stay inside.
 */
export function errorResponse(thrown: unknown, { traceId, id }: ErrorResponseOptions): Response {
  const error = toChumboError(thrown)
  const body = errorBody(error, traceId)
  const payload =
    id === undefined
      ? { error: body }
      : { jsonrpc: '2.0', id, error: { code: rpcCode(error), message: body.message, data: body } }
  const headers = new Headers({ ...error.headers, 'Cache-Control': 'no-store' })
  if (error.retryAfterSeconds !== undefined)
    headers.set('Retry-After', String(Math.ceil(error.retryAfterSeconds)))
  return Response.json(payload, { status: error.status, headers })
}

/** The error as callers read it; tool errors carry the same four members. */
export function errorBody(error: ChumboError, traceId: string): ErrorBody {
  return { code: error.code, message: error.message, hint: error.hint ?? null, trace_id: traceId }
}

/** Keeps a {@link ChumboError}; anything else becomes the cause of an `internal_error`. */
export function toChumboError(thrown: unknown): ChumboError {
  return thrown instanceof ChumboError ? thrown : refusal('internal_error', { cause: thrown })
}

/** What the last step adds to a response. */
export interface FinishOptions {
  readonly request: Request
  readonly traceId: string
  readonly cors?: CorsOptions | undefined
}

/** Adds the trace id and the cross-origin headers. Every response passes here, refusals and streams included. */
export function finishResponse(response: Response, { request, traceId, cors }: FinishOptions): Response {
  // A response that came from fetch has immutable headers; a copy over the same body always works.
  const finished = new Response(response.body, response)
  finished.headers.set(traceIdHeader, traceId)
  setCorsHeaders(finished.headers, request, cors)
  return finished
}

/** JSON-RPC's own codes where they mean the same, else the first one left to servers. */
function rpcCode(error: ChumboError): number {
  if (error.code === 'invalid_arguments') return -32602
  return error.status === 500 ? -32603 : -32000
}
