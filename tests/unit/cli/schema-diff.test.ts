// tests/unit/cli/schema-diff.test.ts — the verdict on each way in which one schema can follow another.
import { describe, expect, it } from 'vitest'

import { compareSchemas, type SchemaDirection } from '../../../cli/schema-diff.ts'

const closed = (properties: object, required: string[] = []) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})
const open = (properties: object, required: string[] = []) => ({ type: 'object', properties, required })
const string = { type: 'string' }
const nullable = (schema: object) => ({ anyOf: [schema, { type: 'null' }] })

/** As `effect path: sentence`. */
const told = (before: unknown, after: unknown, direction: SchemaDirection = 'output') =>
  compareSchemas(before, after, direction).map(
    ({ effect, path, sentence }) => `${effect} ${path}: ${sentence}`,
  )

describe('what another schema admits', () => {
  it.each([
    ['the same', { type: 'integer', minimum: 1 }, { minimum: 1, type: 'integer' }],
    ['the dialect', { $schema: 'https://json-schema.org/draft/2020-12/schema', ...string }, string],
    ['a constant as the only value', { const: 'a' }, { enum: ['a'] }],
    [
      'an open bound between whole numbers',
      { type: 'integer', exclusiveMinimum: 0 },
      { type: 'integer', minimum: 1 },
    ],
    ['types in a list', { type: ['string', 'null'] }, nullable(string)],
    ['the order of alternatives', { anyOf: [{ type: 'null' }, string] }, nullable(string)],
    [
      'the order of what is required',
      open({ a: string, b: string }, ['a', 'b']),
      open({ b: string, a: string }, ['b', 'a']),
    ],
    ['an alternative within another', { anyOf: [string, { type: 'string', maxLength: 3 }] }, string],
    ['anything, said in two ways', {}, true],
  ])('is the same for %s', (_case, before, after) => {
    expect(told(before, after)).toEqual([])
    expect(told(after, before)).toEqual([])
  })

  // Each row is read both ways: what narrows forwards widens backwards.
  it.each([
    [
      'a bound that closes in',
      { type: 'integer', maximum: 100 },
      { type: 'integer', maximum: 50 },
      ': maximum lowered from 100 to 50',
    ],
    ['a bound that is new', { type: 'number' }, { type: 'number', minimum: 0 }, ': minimum 0 added'],
    [
      'a bound that opens',
      { type: 'number', minimum: 0 },
      { type: 'number', exclusiveMinimum: 0 },
      ': minimum changed from 0 to 0 (exclusive)',
    ],
    [
      'a shorter text',
      { type: 'string', maxLength: 9 },
      { type: 'string', maxLength: 5 },
      ': maxLength lowered from 9 to 5',
    ],
    [
      'a longer list',
      { type: 'array', minItems: 1 },
      { type: 'array', minItems: 2 },
      ': minItems raised from 1 to 2',
    ],
    ['fewer values', { enum: ['a', 'b', 'c'] }, { enum: ['a'] }, ': values "b", "c" no longer accepted'],
    ['chosen values', string, { type: 'string', enum: ['a'] }, ': only "a" accepted now'],
    ['a type that goes', nullable(string), string, ': null no longer accepted'],
    ['whole numbers', { type: 'number' }, { type: 'integer' }, ': type changed from number to integer'],
    ['a type at all', {}, string, ': type changed from anything to string'],
    ['a pattern', string, { type: 'string', pattern: '^a' }, ': pattern "^a" added'],
    ['a format', string, { type: 'string', format: 'uuid' }, ': format "uuid" added'],
    ['distinct items', { type: 'array' }, { type: 'array', uniqueItems: true }, ': uniqueItems true added'],
    [
      'a coarser step',
      { type: 'integer', multipleOf: 2 },
      { type: 'integer', multipleOf: 4 },
      ': multipleOf changed from 2 to 4',
    ],
    [
      'an optional property that is demanded',
      closed({ a: string }),
      closed({ a: string }, ['a']),
      'a: is required now',
    ],
    [
      'a property that goes from a closed object',
      closed({ a: string, b: string }),
      closed({ a: string }),
      'b: is no longer accepted',
    ],
    ['a property described in an open object', open({}), open({ a: string }), 'a: is described now'],
    ['an object that closes', open({ a: string }), closed({ a: string }), '*: is no longer accepted'],
    [
      'a rule for other properties',
      open({}),
      { ...open({}), additionalProperties: string },
      '*: type changed from anything to string',
    ],
    [
      'something deep down',
      closed({ a: { type: 'array', items: closed({ b: { type: 'integer', maximum: 2 } }) } }),
      closed({ a: { type: 'array', items: closed({ b: { type: 'integer', maximum: 1 } }) } }),
      'a[].b: maximum lowered from 2 to 1',
    ],
    [
      'inside a nullable',
      nullable({ type: 'string', maxLength: 9 }),
      nullable({ type: 'string', maxLength: 5 }),
      ': maxLength lowered from 9 to 5',
    ],
    [
      'an alternative that goes',
      { anyOf: [string, { type: 'integer' }, { type: 'null' }] },
      { anyOf: [string, { type: 'null' }] },
      ': integer no longer accepted',
    ],
    [
      'the place in a list',
      { type: 'array', prefixItems: [{}, {}] },
      { type: 'array', prefixItems: [{}, string] },
      '[1]: type changed from anything to string',
    ],
    ['what is not to match', {}, { not: { type: 'string' } }, ': not {"type":"string"} added'],
  ])('is less with %s, and more without', (_case, wide, narrow, sentence) => {
    expect(told(wide, narrow)).toEqual([`narrowed ${sentence}`])
    expect(compareSchemas(narrow, wide, 'output').map(({ effect }) => effect)).toEqual(['widened'])
  })

  it.each([
    ['another type', { type: 'integer' }, string, [': type changed from integer to string']],
    [
      'another pattern',
      { type: 'string', pattern: 'a' },
      { type: 'string', pattern: 'b' },
      [': pattern changed from "a" to "b"'],
    ],
    [
      'a step that does not divide',
      { multipleOf: 2 },
      { multipleOf: 3 },
      [': multipleOf changed from 2 to 3'],
    ],
    [
      'a new property every value needs',
      closed({}),
      closed({ a: string }, ['a']),
      ['a: is new and required'],
    ],
    [
      'a reference',
      { $ref: '#/$defs/a' },
      { $ref: '#/$defs/b' },
      [': $ref changed from "#/$defs/a" to "#/$defs/b"'],
    ],
  ])('is neither more nor less with %s', (_case, before, after, sentences) => {
    expect(told(before, after)).toEqual(sentences.map((sentence) => `replaced ${sentence}`))
  })

  it.each([
    [
      'a property more',
      open({}),
      open({ a: string }),
      'widened a: is accepted now',
      'narrowed a: is described now',
    ],
    [
      'a property less',
      open({ a: string }),
      open({}),
      'narrowed a: is no longer accepted',
      'widened a: is no longer described',
    ],
    [
      'a demand more',
      open({}),
      open({ a: {} }, ['a']),
      'replaced a: is new and required',
      'narrowed a: is required now',
    ],
    [
      'a rule for it where all was welcome',
      { ...open({}), additionalProperties: true },
      { ...open({ a: string }), additionalProperties: true },
      'narrowed a: is described now',
      'narrowed a: is described now',
    ],
  ])('differs by who writes it, for an open object with %s', (_case, before, after, input, output) => {
    expect(told(before, after, 'input')).toEqual([input])
    expect(told(before, after, 'output')).toEqual([output])
  })

  it('tells values that went apart from those that came', () => {
    expect(told({ enum: ['a', 'b'] }, { enum: ['b', 'c'] })).toEqual([
      'narrowed : value "a" no longer accepted',
      'widened : value "c" accepted now',
    ])
  })

  it('tells of a property that no longer has to be there, and of one that no longer may', () => {
    expect(told(closed({ a: string, b: string }, ['a', 'b']), closed({ a: string }))).toEqual([
      'narrowed b: is no longer accepted',
      'widened a: is no longer required',
    ])
  })

  it.each([
    ['a description that is new', string, { ...string, description: 'A.' }, 'description added'],
    ['a default that goes', { ...string, default: 'a' }, string, 'default removed'],
    [
      'another default',
      { ...string, default: 'a' },
      { ...string, default: 'b' },
      'default changed from "a" to "b"',
    ],
    [
      'a long description',
      { ...string, description: 'a'.repeat(80) },
      { ...string, description: 'b' },
      'description reworded',
    ],
    [
      'words beside alternatives',
      { ...nullable(string), title: 'A' },
      { ...nullable(string), title: 'B' },
      'title changed from "A" to "B"',
    ],
  ])('is the same in other words with %s', (_case, before, after, sentence) => {
    expect(told(before, after)).toEqual([`reworded : ${sentence}`])
  })

  it('never takes what it does not know for safe', () => {
    for (const key of [
      'allOf',
      'if',
      'contains',
      'propertyNames',
      'dependentRequired',
      '$defs',
      'unheard-of',
    ])
      expect(
        compareSchemas({ [key]: { a: 1 } }, { [key]: { a: 2 } }, 'output').map(({ effect }) => effect),
      ).toEqual(['replaced'])
  })

  it('ends for a schema a thousand levels deep', () => {
    const deep = (end: object) =>
      Array.from({ length: 1000 }).reduce<object>((items) => ({ type: 'array', items }), end)

    expect(told(deep({ type: 'integer' }), deep({ type: 'number' }))).toHaveLength(1)
  })
})
