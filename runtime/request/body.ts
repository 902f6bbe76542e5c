// runtime/request/body.ts — reads a request body once, within a limit, without losing digits.

import { DEFAULT_MAX_REQUEST_BODY_SIZE, readRequestBody } from '@modelcontextprotocol/server'

import { refusal } from '../errors.ts'

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
    return { kind: 'json', text, value, exact: () => (mayLoseDigits.test(text) ? parseExact(text) : value) }
  } catch {
    return { kind: 'invalid', text }
  }
}

/** The request once more, with a body that was already read. */
export function withBody(request: Request, text: string): Request {
  const { url, method, headers, signal } = request
  return new Request(url, { method, headers, signal, body: text })
}

/**
 * A double keeps every number of up to 15 digits and a two-digit exponent, so a text without anything longer needs no
 * second parse. Matches inside strings only cost that parse.
 */
const mayLoseDigits = /[\d.]{16}|[eE][+-]?\d{3}/

function parseExact(text: string): unknown {
  try {
    return parseWithSource(text, (_key, value, { source }) =>
      typeof value === 'number' && source !== undefined && !isExact(value, source)
        ? rawNumber(value, source)
        : value,
    )
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw refusal('invalid_arguments', {
      sentence: 'The arguments are nested too deeply.',
      hint: 'Send a flatter structure.',
      cause: error,
    })
  }
}

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown

/** JSON with access to the source text: in every engine we support, not yet in TypeScript's library. */
const json = JSON as unknown as {
  parse(text: string, reviver: Reviver): unknown
  rawJSON(text: string): unknown
}

function parseWithSource(text: string, reviver: Reviver): unknown {
  return json.parse(text, reviver)
}

function rawNumber(value: number, source: string): unknown {
  // `1e100000` is eight characters here and a hundred thousand digits in Postgres.
  if (/[eE]/.test(source) && (value === 0 || !Number.isFinite(value))) {
    throw refusal('invalid_arguments', {
      sentence: 'A number in the arguments is too large or too small to be kept exactly.',
      hint: 'Write the number without an exponent, or send it as a string.',
    })
  }
  return json.rawJSON(source)
}

function isExact(value: number, source: string): boolean {
  return Number.isFinite(value) && decimalOf(String(value)) === decimalOf(source)
}

/** One spelling for each decimal value: `1.50`, `15e-1` and `1.5` all become `15e-1`. */
function decimalOf(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return '0'
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`
}
