// runtime/exact-json.ts — JSON whose numbers keep every digit, on their way between a client and Postgres.

import { refusal } from './errors.ts'

/**
 * Parses JSON text. Every number that a double would change becomes a `JSON.rawJSON`, which survives `JSON.stringify` and
 * nothing else: the value is for passing on, not for reading.
 *
 * @throws {SyntaxError} for what is no JSON.
 * @throws {ChumboError} `invalid_arguments` for a number beyond any column type, or nesting beyond the stack.
 * @example
 * ```ts
 * JSON.stringify(parseExact('{"id":9007199254740993}')) // the same text
 * ```
 */
export function parseExact(text: string): unknown {
  if (!mayLoseDigits(text)) return JSON.parse(text)
  try {
    return json.parse(text, (_key, value, { source }) =>
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

/**
 * Whether the plain parse of a text could lose digits. A double keeps every number of up to 15 digits and a two-digit
 * exponent, so a text without anything longer is safe; a match inside a string only costs a second look.
 */
export function mayLoseDigits(text: string): boolean {
  return /[\d.]{16}|[eE][+-]?\d{3}/.test(text)
}

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown

/** JSON with access to the source text: in every engine we support, not yet in TypeScript's library. */
const json = JSON as unknown as {
  parse(text: string, reviver: Reviver): unknown
  rawJSON(text: string): unknown
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
