// runtime/request/negotiate.ts — answers in the media type that was asked for.

/** The form of the answer; `none` calls for 406. */
export type Format = 'json' | 'sse' | 'none'

/**
 * Picks the form from an `Accept` header. The protocol asks clients to accept both; this endpoint also serves those
 * that accept one. JSON wins unless the header prefers the stream; an absent header accepts anything.
 *
 * @example
 * ```ts
 * negotiate('application/json;q=0, text/event-stream') // 'sse'
 * ```
 */
export function negotiate(accept: string | null): Format {
  if (accept === null || accept.trim() === '') return 'json'
  const ranges = accept.split(',').map(parseRange)
  const json = qualityOf('application', 'json', ranges)
  const sse = qualityOf('text', 'event-stream', ranges)
  if (json === 0 && sse === 0) return 'none'
  return json >= sse ? 'json' : 'sse'
}

/** Whether a stream may answer, whatever is preferred. */
export function acceptsEventStream(accept: string | null): boolean {
  return (
    accept === null
    || accept.trim() === ''
    || qualityOf('text', 'event-stream', accept.split(',').map(parseRange)) > 0
  )
}

/** Wraps a JSON answer into an event stream of one message; status and other headers stay. */
export async function toEventStream(response: Response): Promise<Response> {
  const text = await response.text()
  const headers = new Headers(response.headers)
  headers.set('Content-Type', 'text/event-stream')
  headers.set('Cache-Control', 'no-cache')
  headers.delete('Content-Length')
  // Pretty-printed JSON would break over several data lines; a JSON text may lose its line breaks.
  const data = text.replace(/[\r\n]+/g, ' ')
  return new Response(`event: message\ndata: ${data}\n\n`, { status: response.status, headers })
}

/** Takes the answer out of an event stream, for a caller who reads no streams; what was reported on the way is dropped. */
export async function toJson(response: Response): Promise<Response> {
  if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) return response
  // The answer ends the stream of its request: the protocol sends nothing after it.
  const answer = [...(await response.text()).matchAll(/^data: ?(.+)$/gm)].at(-1)?.[1] ?? ''
  const headers = new Headers(response.headers)
  headers.set('Content-Type', 'application/json')
  return new Response(answer, { status: response.status, headers })
}

interface Range {
  readonly type: string
  readonly subtype: string
  readonly quality: number
}

function parseRange(text: string): Range {
  const [media = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const [type = '', subtype = ''] = media.split('/')
  const weight = parameters.find((parameter) => parameter.startsWith('q='))
  const quality = weight === undefined ? 1 : Number(weight.slice(2))
  // A weight nobody can read is taken as no weight: refusing an answer over it would help no one.
  return { type, subtype, quality: quality >= 0 && quality <= 1 ? quality : 1 }
}

/** The weight of a type: the most specific range that covers it decides, whatever its position. */
function qualityOf(type: string, subtype: string, ranges: readonly Range[]): number {
  const covering =
    ranges.find((range) => range.type === type && range.subtype === subtype)
    ?? ranges.find((range) => range.type === type && range.subtype === '*')
    ?? ranges.find((range) => range.type === '*' && range.subtype === '*')
  return covering?.quality ?? 0
}
