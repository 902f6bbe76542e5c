// runtime/request/cors.ts — lets browsers through the preflight and read what they need from every answer.

/** Which origins may call from a browser. Tokens travel in a header, never in a cookie, so `'*'` is a safe default. */
export interface CorsOptions {
  readonly origins?: '*' | readonly string[]
}

const allowedHeaders = [
  'authorization',
  'content-type',
  'accept',
  'mcp-protocol-version',
  'mcp-session-id',
  'mcp-method',
  'mcp-name',
  'last-event-id',
  // The header form of an idempotency key.
  'idempotency-key',
  // What supabase-js adds to every call it makes.
  'apikey',
  'x-client-info',
]
const exposedHeaders = ['WWW-Authenticate', 'Mcp-Session-Id', 'Retry-After', 'Chumbo-Trace-Id']

/** Answers a preflight. It carries no token by design, so it is answered before authentication. */
export function preflightResponse(methods: readonly string[]): Response {
  return new Response(null, {
    status: 204,
    headers: {
      'Access-Control-Allow-Methods': methods.join(', '),
      'Access-Control-Allow-Headers': allowedHeaders.join(', '),
      'Access-Control-Max-Age': '7200',
    },
  })
}

/** Writes the origin and the readable headers into `headers`; a foreign origin gets neither. */
export function setCorsHeaders(
  headers: Headers,
  request: Request,
  { origins = '*' }: CorsOptions = {},
): void {
  const origin = request.headers.get('origin')
  if (origins === '*') {
    headers.set('Access-Control-Allow-Origin', '*')
  } else {
    // The answer differs by origin from here on, whether or not this one is allowed.
    headers.append('Vary', 'Origin')
    if (origin === null || !origins.includes(origin)) return
    headers.set('Access-Control-Allow-Origin', origin)
  }
  headers.set('Access-Control-Expose-Headers', exposedHeaders.join(', '))
}
