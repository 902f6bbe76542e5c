// tests/unit/results/results.test.ts — what a handler returns in one call.
import { describe, expect, it } from 'vitest'

import {
  errorResult,
  renderResult,
  resourceResult,
  structuredResult,
  textResult,
} from '../../../runtime/results/results.ts'

describe('results', () => {
  it.each([
    ['a text', textResult('Hi'), { content: [{ type: 'text', text: 'Hi' }] }],
    ['data', structuredResult({ a: 1 }), { content: [], structuredContent: { a: 1 } }],
    [
      'data with a text',
      renderResult({ a: 1 }, ({ a }) => `a is ${a}`),
      { content: [{ type: 'text', text: 'a is 1' }], structuredContent: { a: 1 } },
    ],
    [
      'a text with a link',
      resourceResult('See', { uri: 'docs://x', name: 'X' }),
      {
        content: [
          { type: 'text', text: 'See' },
          { type: 'resource_link', uri: 'docs://x', name: 'X' },
        ],
      },
    ],
    ['a failure', errorResult('No.'), { isError: true, content: [{ type: 'text', text: 'No.' }] }],
    [
      'a failure with a next step',
      errorResult('No.', 'Ask.'),
      { isError: true, content: [{ type: 'text', text: 'No.\n→ Next: Ask.' }] },
    ],
  ])('%s', (_label, result, expected) => {
    expect(result).toEqual(expected)
  })

  it('do not keep hold of what they were given', () => {
    const value = { a: 1 }

    const result = structuredResult(value)
    value.a = 2

    expect(result.structuredContent).toEqual({ a: 1 })
  })
})
