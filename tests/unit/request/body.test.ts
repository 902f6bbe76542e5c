import { describe, expect, it } from 'vitest'

import { readBody, withBody } from '../../../runtime/request/body.ts'

const post = (body: string | ReadableStream, headers: Record<string, string> = {}) =>
  new Request('http://x/mcp', { method: 'POST', body, headers, duplex: 'half' } as RequestInit)

/** What reaches SQL for a body: the exact value, serialized again. */
async function exactText(text: string): Promise<string> {
  const body = await readBody(post(text))
  if (body.kind !== 'json') throw new Error('not JSON')
  return JSON.stringify(body.exact())
}

describe('readBody', () => {
  it('reads JSON', async () => {
    const body = await readBody(post('{"a":[1,"two",null]}'))

    expect(body).toMatchObject({ kind: 'json', value: { a: [1, 'two', null] } })
  })

  it.each(['', '{', 'undefined', "{'a':1}", '[1,]', '\u0000'])(
    'hands on what is not JSON: %j',
    async (text) => {
      const body = await readBody(post(text))

      expect(body).toEqual({ kind: 'invalid', text })
      expect(await withBody(post(text), text).text()).toBe(text)
    },
  )

  it.each([
    ['announced', post('x', { 'content-length': '11' })],
    ['sent in one piece', post('"123456789"')],
    ['sent in pieces without a length', post(pieces(['"1234', '5678', '9"']))],
    ['counted in bytes', post('"ééééé"')],
  ])('stops at the limit, however the size shows: %s', async (_label, request) => {
    await expect(readBody(request, 10)).rejects.toMatchObject({ code: 'payload_too_large', status: 413 })
  })

  it('reads a body that just fits', async () => {
    await expect(readBody(post('"12345678"'), 10)).resolves.toMatchObject({ value: '12345678' })
  })

  it('repeats method and headers with the text it read', () => {
    const again = withBody(post('{', { 'mcp-method': 'tools/list' }), '{')

    expect([again.method, again.url, again.headers.get('mcp-method')]).toEqual([
      'POST',
      'http://x/mcp',
      'tools/list',
    ])
  })
})

describe('an exact number', () => {
  it.each([
    '9007199254740993',
    '-9223372036854775808',
    '18446744073709551615',
    '123456789012345678901234567890',
    '0.1234567890123456789012345678',
    '-1.00000000000000000001',
    '9007199254740993e0',
    '1.23456789012345678e-100',
    `1${'0'.repeat(400)}`,
  ])('keeps its digits: %s', async (digits) => {
    expect(await exactText(`{"p":[${digits}]}`)).toBe(`{"p":[${digits}]}`)
  })

  it.each([
    ['42', '42'],
    ['-0', '0'],
    ['0.1', '0.1'],
    ['1.50', '1.5'],
    ['1e2', '100'],
    ['1E+200', '1e+200'],
    ['0.00000000000000000000001', '1e-23'],
    ['9007199254740992', '9007199254740992'],
    ['100000000000000000000', '100000000000000000000'],
    ['0e-5000', '0'],
    ['1.7976931348623157e308', '1.7976931348623157e+308'],
  ])('stays a number where a double holds it: %s', async (digits, text) => {
    const body = await readBody(post(`[${digits}, 0.12345678901234567890]`))
    if (body.kind !== 'json') throw new Error('not JSON')
    const [first] = body.exact() as unknown[]

    expect(typeof first).toBe('number')
    expect(JSON.stringify(first)).toBe(text)
  })

  it.each(['1e400', '-1e100000', '1e-5000', '1.5E+999999999999999999999'])(
    'is refused when only an exponent tells its size: %s',
    async (digits) => {
      const body = await readBody(post(`[${digits}]`))
      if (body.kind !== 'json') throw new Error('not JSON')

      expect(() => body.exact()).toThrow(expect.objectContaining({ code: 'invalid_arguments', status: 400 }))
    },
  )

  it.each([
    '{"id":"9007199254740993"}',
    '{"\\u0039007199254740993":1}',
    '{"__proto__":{"a":1},"n":9007199254740993}',
  ])('leaves everything else as it was: %s', async (text) => {
    expect(await exactText(text)).toBe(
      JSON.stringify(JSON.parse(text)).replace('9007199254740992', '9007199254740993'),
    )
  })

  it('takes no second parse when every number is short', async () => {
    const body = await readBody(post('{"a":1}'))

    expect(body.kind === 'json' && body.exact()).toBe(body.kind === 'json' && body.value)
  })

  it('refuses nesting beyond the stack instead of failing', async () => {
    const depth = 200_000
    const body = await readBody(post(`${'['.repeat(depth)}9007199254740993${']'.repeat(depth)}`))
    if (body.kind !== 'json') throw new Error('not JSON')

    expect(() => body.exact()).toThrow(expect.objectContaining({ code: 'invalid_arguments' }))
  })
})

function pieces(texts: readonly string[]): ReadableStream {
  return new ReadableStream({
    start(controller) {
      for (const text of texts) controller.enqueue(new TextEncoder().encode(text))
      controller.close()
    },
  })
}
