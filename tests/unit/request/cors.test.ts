import { describe, expect, it } from 'vitest'

import { preflightResponse, setCorsHeaders } from '../../../runtime/request/cors.ts'

const listed = (value: string | null) => (value ?? '').toLowerCase().split(/,\s*/)

describe('the preflight', () => {
  it('allows POST and every header the protocol uses', () => {
    const { status, headers } = preflightResponse(['POST', 'OPTIONS'])

    expect(status).toBe(204)
    expect(listed(headers.get('access-control-allow-methods'))).toContain('post')
    expect(listed(headers.get('access-control-allow-headers'))).toEqual(
      expect.arrayContaining([
        'authorization',
        'content-type',
        'accept',
        'mcp-protocol-version',
        'mcp-session-id',
        'mcp-method',
        'mcp-name',
        'last-event-id',
      ]),
    )
  })
})

describe('every answer', () => {
  const answerTo = (origin: string | undefined, origins?: '*' | string[]) => {
    const headers = new Headers()
    setCorsHeaders(
      headers,
      new Request('http://x/mcp', { headers: origin ? { origin } : {} }),
      origins ? { origins } : {},
    )
    return headers
  }

  it('may be read from any origin by default, the challenge and the trace id included', () => {
    const headers = answerTo('https://app.example')

    expect(headers.get('access-control-allow-origin')).toBe('*')
    expect(listed(headers.get('access-control-expose-headers'))).toEqual([
      'www-authenticate',
      'mcp-session-id',
      'retry-after',
      'chumbo-trace-id',
    ])
  })

  it('names an allowed origin, and differs by origin for caches', () => {
    const headers = answerTo('https://app.example', ['https://app.example'])

    expect(headers.get('access-control-allow-origin')).toBe('https://app.example')
    expect(headers.get('vary')).toBe('Origin')
  })

  it.each(['https://evil.example', 'https://app.example.evil', 'null', undefined])(
    'is not for %s',
    (origin) => {
      const headers = answerTo(origin, ['https://app.example'])

      expect(headers.get('access-control-allow-origin')).toBeNull()
      expect(headers.get('vary')).toBe('Origin')
    },
  )
})
