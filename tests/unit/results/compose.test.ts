// tests/unit/results/compose.test.ts — content around a result that stays as it is.
import type { CallToolResult } from '@modelcontextprotocol/server'
import { describe, expect, it } from 'vitest'

import {
  appendResultText,
  composeResultContent,
  compositionLimits,
  prependResultText,
} from '../../../runtime/results/compose.ts'

const authored: CallToolResult = {
  content: [{ type: 'text', text: 'authored' }],
  structuredContent: { a: 1 },
  _meta: { 'acme/x': true },
  later: 'kept',
}
const text = (words: string) => ({ type: 'text' as const, text: words })

describe('composing a result', () => {
  it('puts blocks before and after, and keeps everything else', () => {
    const composed = composeResultContent(authored, {
      prepend: [text('1'), text('2')],
      append: [{ type: 'resource_link', uri: 'docs://x', name: 'X' }, text('4')],
    })

    expect(composed).toEqual({
      ...authored,
      content: [
        text('1'),
        text('2'),
        text('authored'),
        { type: 'resource_link', uri: 'docs://x', name: 'X' },
        text('4'),
      ],
    })
    expect(authored.content).toEqual([text('authored')])
  })

  it('adds a text at either end', () => {
    expect(prependResultText(authored, 'first').content).toEqual([text('first'), text('authored')])
    expect(appendResultText(authored, 'last').content).toEqual([text('authored'), text('last')])
  })

  it('with nothing to add is the same result', () => {
    expect(composeResultContent(authored, {})).toBe(authored)
    expect(composeResultContent(authored, { prepend: [], append: [] })).toBe(authored)
  })

  it('takes a result that has no content', () => {
    expect(appendResultText({ structuredContent: {} } as CallToolResult, 'x').content).toEqual([text('x')])
  })

  const circle: Record<string, unknown> = { type: 'text', text: 'x' }
  circle['_meta'] = { circle }

  it.each([
    [
      'seventeen blocks',
      { append: Array.from({ length: compositionLimits.blocks + 1 }, () => text('')) },
      RangeError,
    ],
    ['more than 64 KiB', { append: [text('é'.repeat(32_768))] }, RangeError],
    ['a block of no known type', { prepend: [{ type: 'telepathy' }] }, TypeError],
    ['a text without text', { append: [{ type: 'text' }] }, TypeError],
    ['a text in place of a block', { append: ['x'] }, TypeError],
    ['a block that contains itself', { append: [circle] }, TypeError],
  ])('refuses %s', (_label, additions, kind) => {
    expect(() => composeResultContent(authored, additions as never)).toThrow(kind)
  })

  it('keeps within the budget of a collection, to the byte', () => {
    const page: CallToolResult = {
      content: [text('a')],
      _meta: { 'dev.chumbo/collection': { max_bytes: 200 } },
    }
    const room = 200 - JSON.stringify(appendResultText(page, '')).length

    expect(JSON.stringify(appendResultText(page, 'x'.repeat(room)))).toHaveLength(200)
    expect(() => appendResultText(page, 'x'.repeat(room + 1))).toThrow(/201 bytes; its budget is 200/)
  })
})
