import { describe, expect, it } from 'vitest'

import { ChumboError, refusal } from '../../../runtime/errors.ts'
import { tokenRequired } from '../../../runtime/request/challenge.ts'
import { errorResponse, finishResponse } from '../../../runtime/request/respond.ts'

const traceId = 'trace-1'

describe('errorResponse', () => {
  it('tells slug, sentence, next step and trace id', async () => {
    const error = new ChumboError('No snippet 7 is visible to you.', {
      code: 'snippet_not_found',
      status: 404,
      hint: 'List them.',
    })

    const response = errorResponse(error, { traceId })

    expect(response.status).toBe(404)
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(await response.json()).toEqual({
      error: {
        code: 'snippet_not_found',
        message: 'No snippet 7 is visible to you.',
        hint: 'List them.',
        trace_id: traceId,
      },
    })
  })

  it.each(['call-1', 0, 1e15, null])('is a JSON-RPC error where the request had the id %j', async (id) => {
    const response = errorResponse(refusal('rate_limited', { retryAfterSeconds: 1.2 }), { traceId, id })

    expect(response.status).toBe(429)
    expect(response.headers.get('retry-after')).toBe('2')
    expect(await response.json()).toMatchObject({
      jsonrpc: '2.0',
      id,
      error: { code: -32000, data: { code: 'rate_limited', trace_id: traceId } },
    })
  })

  it.each([
    ['invalid_arguments', -32602],
    ['internal_error', -32603],
    ['database_unavailable', -32000],
  ] as const)('uses the JSON-RPC code that means the same: %s', async (slug, code) => {
    const response = errorResponse(refusal(slug), { traceId, id: 1 })

    expect(await response.json()).toMatchObject({ error: { code } })
  })

  it('carries the headers a refusal needs', () => {
    const challenged = errorResponse(tokenRequired(), { traceId })
    const refused = errorResponse(refusal('method_not_allowed', { headers: { Allow: 'POST' } }), { traceId })

    expect(challenged.headers.get('www-authenticate')).toBe('Bearer')
    expect(refused.headers.get('allow')).toBe('POST')
  })

  it.each([
    ['an error of a driver', new Error('select * from secrets; password=hunter2')],
    ['text', 'password=hunter2'],
    ['nothing', undefined],
    ['one of ours with a cause', refusal('internal_error', { cause: new Error('password=hunter2') })],
  ])('shows nothing of %s', async (_label, thrown) => {
    const response = errorResponse(thrown, { traceId })

    const text = await response.text()
    expect(response.status).toBe(500)
    expect(text).toContain('"internal_error"')
    expect(text).not.toMatch(/hunter2|select|\.ts/)
  })
})

describe('finishResponse', () => {
  it('adds trace id and cross-origin headers to any response, also one with fixed headers', async () => {
    const request = new Request('http://x/mcp', { headers: { origin: 'https://app.example' } })

    const finished = finishResponse(Response.redirect('http://x/elsewhere', 307), { request, traceId })

    expect(finished.status).toBe(307)
    expect(finished.headers.get('chumbo-trace-id')).toBe(traceId)
    expect(finished.headers.get('access-control-allow-origin')).toBe('*')
    expect(finished.headers.get('access-control-expose-headers')).toContain('WWW-Authenticate')
  })

  it('keeps an empty answer empty', async () => {
    const finished = finishResponse(new Response(null, { status: 204 }), {
      request: new Request('http://x'),
      traceId,
    })

    expect(finished.status).toBe(204)
    expect(finished.body).toBeNull()
  })
})
