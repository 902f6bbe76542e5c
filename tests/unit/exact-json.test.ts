// tests/unit/exact-json.test.ts — numbers pass through as they were written.
import { describe, expect, it } from 'vitest'

import { mayLoseDigits, parseExact } from '../../runtime/exact-json.ts'

describe('parseExact', () => {
  it.each([
    '{"id":9007199254740993}',
    '[-9223372036854775808,123456789012345678901234567890]',
    '{"a":{"b":[0.12345678901234567890123456789]}}',
    '{"text":"9007199254740993","n":1}',
    '1.7976931348623157e+308',
    '{}',
    'null',
  ])('gives back %s', (text) => {
    expect(JSON.stringify(parseExact(text))).toBe(text)
  })

  it('leaves what a double keeps as a number', () => {
    expect(parseExact('{"n":1.50,"m":15e-1,"o":9007199254740991,"p":1234567890123456}')).toEqual({
      n: 1.5,
      m: 1.5,
      o: 9007199254740991,
      p: 1234567890123456,
    })
  })

  it.each(['1e400', '1e-400', '{"a":[1e100000]}'])('refuses %s, which nothing could keep', (text) => {
    expect(() => parseExact(text)).toThrow(expect.objectContaining({ code: 'invalid_arguments' }))
  })

  it('refuses what is no JSON like the plain parse', () => {
    expect(() => parseExact('{"a":')).toThrow(SyntaxError)
    expect(() => parseExact('{"a":9007199254740993')).toThrow(SyntaxError)
  })
})

describe('mayLoseDigits', () => {
  it.each([
    ['{"a":1,"b":"text"}', false],
    ['123456789012345', false],
    ['1234567890123456', true],
    ['1e10', false],
    ['1e100', true],
    ['{"text":"1234567890123456"}', true],
  ])('%s: %s', (text, expected) => {
    expect(mayLoseDigits(text)).toBe(expected)
  })
})
