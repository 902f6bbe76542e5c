import { describe, expect, it } from 'vitest'

import { parseExact } from '../../runtime/exact-json.ts'
import { unwrapCall, type Unwrapped } from '../../runtime/proxied-call.ts'

function arrive(text: string, header?: string): Unwrapped {
  return unwrapCall({
    message: JSON.parse(text) as unknown,
    exact: () => parseExact(text),
    request: new Request('https://project.example/mcp', {
      method: 'POST',
      headers: header === undefined ? {} : { 'Mcp-Name': header },
    }),
  })
}

const proxied = (args: unknown, more: object = {}): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 7,
    method: 'tools/call',
    params: { name: 'call_tool', arguments: args, ...more },
  })

describe('unwrapCall', () => {
  it('leaves the call that call_tool stands for, and everything around it', () => {
    const { message, via } = arrive(
      proxied(
        { name: 'add_note', arguments: { text: 'a' } },
        { _meta: { progressToken: 1, 'dev.chumbo/idempotency-key': 'k' } },
      ),
    )

    expect(via).toBe('call_tool')
    expect(message).toEqual({
      jsonrpc: '2.0',
      id: 7,
      method: 'tools/call',
      params: {
        name: 'add_note',
        arguments: { text: 'a' },
        _meta: { progressToken: 1, 'dev.chumbo/idempotency-key': 'k' },
      },
    })
  })

  it.each([
    ['none', { name: 'x' }, {}],
    ['an empty object', { name: 'x', arguments: {} }, {}],
    ['an object', { name: 'x', arguments: { a: [1, { b: null }] } }, { a: [1, { b: null }] }],
    ['an object written as text', { name: 'x', arguments: '{"a":"b"}' }, { a: 'b' }],
    ['those of another call_tool', { name: 'call_tool', arguments: { name: 'y' } }, { name: 'y' }],
  ])('reads arguments: %s', (_case, args, expected) => {
    const { message } = arrive(proxied(args))

    expect(message).toMatchObject({ params: { name: args.name, arguments: expected } })
  })

  it.each([
    ['in an object', '{"name":"x","arguments":{"n":12345678901234567890.5}}'],
    ['in a text', '{"name":"x","arguments":"{\\"n\\":12345678901234567890.5}"}'],
  ])('keeps every digit of a number %s', (_case, args) => {
    const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"call_tool","arguments":${args}}}`

    expect(JSON.stringify(arrive(text).exact())).toContain('"arguments":{"n":12345678901234567890.5}')
  })

  it.each([
    [
      'another tool',
      JSON.stringify({ method: 'tools/call', params: { name: 'add_note', arguments: { name: 'x' } } }),
    ],
    [
      'another method',
      JSON.stringify({ method: 'prompts/get', params: { name: 'call_tool', arguments: { name: 'x' } } }),
    ],
    ['no name', proxied({ arguments: {} })],
    ['a name that is no text', proxied({ name: 7 })],
    ['arguments that are a list', proxied({ name: 'x', arguments: [1] })],
    ['arguments that are null', proxied({ name: 'x', arguments: null })],
    ['a text that is no object', proxied({ name: 'x', arguments: '[1]' })],
    ['a text that is no JSON', proxied({ name: 'x', arguments: '{' })],
    ['one thing more', proxied({ name: 'x', arguments: {}, query: 'y' })],
    ['no arguments at all', JSON.stringify({ method: 'tools/call', params: { name: 'call_tool' } })],
    ['a list for arguments', proxied([])],
    ['no params', JSON.stringify({ method: 'tools/call' })],
    ['no object', '7'],
    ['nothing', 'null'],
  ])('lets pass as it is: %s', (_case, text) => {
    const { message, via } = arrive(text)

    expect(via).toBeUndefined()
    expect(message).toEqual(JSON.parse(text))
  })

  it.each(['call_tool', '=?base64?Y2FsbF90b29s?='])('makes the header %s speak of the tool', (header) => {
    const { request } = arrive(proxied({ name: 'add_note' }), header)

    expect(request.headers.get('mcp-name')).toBe('add_note')
  })

  it.each([
    ['plain', 'add_note', 'add_note'],
    ['of other letters', 'añadir', '=?base64?YcOxYWRpcg==?='],
    ['with a space', 'a b', '=?base64?YSBi?='],
    ['that looks encoded', '=?base64?YQ==?=', '=?base64?PT9iYXNlNjQ/WVE9PT89?='],
  ])('writes a name %s as the revision does', (_case, name, expected) => {
    const { request } = arrive(proxied({ name }), 'call_tool')

    expect(request.headers.get('mcp-name')).toBe(expected)
  })

  it.each(['add_note', '', '=?base64?!?=', 'CALL_TOOL'])(
    'leaves a call whose header says %j to the SDK',
    (header) => {
      const { message, request, via } = arrive(proxied({ name: 'add_note' }), header)

      expect(via).toBeUndefined()
      expect(message).toMatchObject({ params: { name: 'call_tool' } })
      expect(request.headers.get('mcp-name')).toBe(header)
    },
  )

  it('adds no header where there was none', () => {
    const { request, via } = arrive(proxied({ name: 'add_note' }))

    expect(via).toBe('call_tool')
    expect(request.headers.has('mcp-name')).toBe(false)
  })
})
