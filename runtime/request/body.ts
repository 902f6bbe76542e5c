// runtime/request/body.ts — reads a request body once, within a limit, without losing digits.

import { DEFAULT_MAX_REQUEST_BODY_SIZE, readRequestBody } from '@modelcontextprotocol/server'

import { refusal } from '../errors.ts'
import { mayLoseDigits, parseExact } from '../exact-json.ts'

/** A body that was read: its text and, when that is JSON, its value. */
export type RequestBody =
  | {
      readonly kind: 'json'
      readonly text: string
      readonly value: unknown
      /**
       * The same value, in which every number that a double would change keeps its own digits as a `JSON.rawJSON`.
       * It survives `JSON.stringify` and nothing else, so it is for arguments on their way to SQL.
       *
       * @throws {ChumboError} `invalid_arguments` for a number beyond any column type, or nesting beyond the stack.
       */
      readonly exact: () => unknown
    }
  /** The official handler answers these with -32700; {@link withBody} gives it the text again. */
  | { readonly kind: 'invalid'; readonly text: string }

/**
 * Reads the body of a request.
 *
 * @throws {ChumboError} `payload_too_large` as soon as more than `maxBytes` arrived or were announced.
 * @example
 * ```ts
 * const body = await readBody(request)
 * if (body.kind === 'invalid') return handler.fetch(withBody(request, body.text))
 * ```
 */
export async function readBody(
  request: Request,
  maxBytes = DEFAULT_MAX_REQUEST_BODY_SIZE,
): Promise<RequestBody> {
  const body = await readRequestBody(request, maxBytes)
  if (body.tooLarge) {
    throw refusal('payload_too_large', { sentence: `The request body is larger than ${maxBytes} bytes.` })
  }
  const { text } = body
  try {
    const value: unknown = JSON.parse(text)
    return { kind: 'json', text, value, exact: () => (mayLoseDigits(text) ? parseExact(text) : value) }
  } catch {
    return { kind: 'invalid', text }
  }
}

/** The request once more, with a body that was already read. */
export function withBody(request: Request, text: string): Request {
  const { url, method, headers, signal } = request
  return new Request(url, { method, headers, signal, body: text })
}
