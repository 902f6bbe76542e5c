import { describe, expect, it } from 'vitest'

import { negotiate, toEventStream, toJson } from '../../../runtime/request/negotiate.ts'

describe('negotiate', () => {
  it.each([
    [null, 'json'],
    ['', 'json'],
    ['*/*', 'json'],
    ['application/json', 'json'],
    ['Application/JSON; charset=utf-8', 'json'],
    ['application/*', 'json'],
    ['application/json, text/event-stream', 'json'],
    ['text/event-stream, application/json', 'json'],
    ['text/event-stream', 'sse'],
    ['text/*', 'sse'],
    ['text/event-stream;q=0.1', 'sse'],
    ['application/json;q=0.2, text/event-stream;q=0.9', 'sse'],
    ['application/json;q=0.9, text/event-stream;q=0.2', 'json'],
    ['application/json; q=0, text/event-stream', 'sse'],
    ['application/json;q=0, */*', 'sse'],
    ['*/*, text/event-stream;q=0', 'json'],
    ['*/*;q=0, application/json', 'json'],
    ['application/json;q=much', 'json'],
    ['image/png', 'none'],
    ['text/html, application/xml', 'none'],
    ['*/*;q=0', 'none'],
    ['application/json;q=0', 'none'],
    ['application/json;q=0.0, text/event-stream;q=0.000', 'none'],
    ['application/jsonp', 'none'],
    ['json', 'none'],
  ])('answers %j with %s', (accept, format) => {
    expect(negotiate(accept)).toBe(format)
  })
})

describe('toEventStream', () => {
  it('puts the same JSON on one data line and keeps status and headers', async () => {
    const value = { text: 'a\nb', list: [1, 2] }
    const response = new Response(JSON.stringify(value, null, 2), {
      status: 404,
      headers: { 'X-Kept': 'yes' },
    })

    const stream = await toEventStream(response)

    const lines = (await stream.text()).split('\n').filter((line) => line.startsWith('data: '))
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0]?.slice('data: '.length) ?? '')).toEqual(value)
    expect(stream.status).toBe(404)
    expect(stream.headers.get('content-type')).toBe('text/event-stream')
    expect(stream.headers.get('x-kept')).toBe('yes')
  })
})

describe('toJson', () => {
  it('takes the answer out of a stream, with its digits, status and other headers', async () => {
    const progress = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}'
    const answer = '{"jsonrpc":"2.0","id":1,"result":{"method":"post","id":9007199254740993}}'
    const stream = new Response(`event: message\ndata: ${progress}\n\n: keepalive\n\ndata: ${answer}\n\n`, {
      headers: { 'content-type': 'text/event-stream', 'x-kept': 'yes' },
    })

    const json = await toJson(stream)

    expect(await json.text()).toBe(answer)
    expect([json.status, json.headers.get('content-type'), json.headers.get('x-kept')]).toEqual([
      200,
      'application/json',
      'yes',
    ])
  })

  it('leaves every other response as it is', async () => {
    const response = Response.json({ ok: true })

    expect(await toJson(response)).toBe(response)
  })
})
