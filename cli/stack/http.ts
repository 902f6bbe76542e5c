// cli/stack/http.ts — the small request and response shapes the services of the stack share.
//
// Plain objects instead of Request and Response: the Data API answers in about a millisecond, and building
// web objects for each call would be a tenth of it.

import type { IncomingMessage, ServerResponse } from 'node:http'

export interface StackRequest {
  readonly method: string
  /** Absolute, under the gateway's origin; a service sees the path after its own prefix. */
  readonly url: URL
  /** Lower-case names; repeated headers are joined with a comma. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

export interface StackResponse {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** Reason phrase, where PostgREST sets one. */
  readonly statusText?: string
}

export type StackHandler = (request: StackRequest) => Promise<StackResponse>

/** A JSON answer. */
export function json(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): StackResponse {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) }
}

/** The token of a Bearer header; the scheme is matched without regard to case. */
export function bearerToken(request: StackRequest): string | undefined {
  return /^bearer\s+(\S+)$/i.exec(request.headers['authorization'] ?? '')?.[1]
}

/** Largest body the stack accepts, as the platform's gateway: bigger ones are answered with 413. */
const MAX_BODY_BYTES = 10 * 1024 * 1024

export class BodyTooLargeError extends Error {
  override readonly name = 'BodyTooLargeError'
}

/** Reads a request to its end. @throws BodyTooLargeError */
export async function readRequest(incoming: IncomingMessage, origin: string): Promise<StackRequest> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of incoming) {
    // Node's server always yields buffers while no encoding was set.
    const buffer = chunk as Buffer
    size += buffer.length
    if (size > MAX_BODY_BYTES) throw new BodyTooLargeError('The request body is larger than 10 MiB.')
    chunks.push(buffer)
  }
  return {
    method: incoming.method ?? 'GET',
    url: new URL(incoming.url ?? '/', origin),
    headers: flatHeaders(incoming),
    body: Buffer.concat(chunks),
  }
}

/** Writes an answer. */
export function writeResponse(outgoing: ServerResponse, response: StackResponse): void {
  const body = response.body ?? ''
  if (response.statusText !== undefined) outgoing.statusMessage = response.statusText
  outgoing.writeHead(response.status, {
    ...(response.status === 204 || response.status === 304
      ? {}
      : { 'content-length': Buffer.byteLength(body) }),
    ...response.headers,
  })
  outgoing.end(body)
}

/** Headers as one string each, without the hop-by-hop ones. */
export function flatHeaders(incoming: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return headers
}
