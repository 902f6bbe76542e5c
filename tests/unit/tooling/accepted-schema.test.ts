import { describe, expect, it } from 'vitest'

import { findSchemaFaults } from '../../support/accepted-schema.ts'

const closed = (properties: object, more: object = {}) => ({
  type: 'object',
  properties,
  additionalProperties: false,
  ...more,
})

describe('findSchemaFaults', () => {
  it('finds nothing in a closed object of plain parts', () => {
    const part = closed({
      $ref: { type: 'string' },
      grid: { type: 'array', items: { type: 'array', items: { type: 'integer' } } },
    })

    expect(
      findSchemaFaults(closed({ part, any: { description: 'x' } }, { required: ['part'] }), 'input'),
    ).toEqual([])
  })

  it('lets an answer be open and null', () => {
    const answer = {
      type: 'object',
      properties: { list: { type: ['array', 'null'], items: { type: ['string', 'null'] } } },
    }

    expect(findSchemaFaults(answer, 'output')).toEqual([])
    expect(findSchemaFaults(answer, 'input')).toEqual([
      '/: an input that is open',
      '/properties/list: several types',
      '/properties/list/items: several types',
    ])
  })

  it.each([
    ['a root that is no object', { type: 'array', items: {} }, '/: the root is no object'],
    ['a union at the root', closed({}, { oneOf: [] }), '/: oneOf at the root'],
    ['a choice at the root', closed({}, { enum: [] }), '/: enum at the root'],
    ['an open input', { type: 'object' }, '/: an input that is open'],
    ['a reference', closed({ a: { $ref: '#/$defs/a' } }), '/properties/a: $ref'],
    ['definitions', closed({}, { $defs: {} }), ': $defs'],
    ['an array without items', closed({ a: { type: 'array' } }), '/properties/a: an array of nothing'],
    [
      'an array of anything',
      closed({ a: { type: 'array', items: {} } }),
      '/properties/a: an array of nothing',
    ],
    ['a union inside', closed({ a: { anyOf: [] } }), '/properties/a: anyOf'],
    [
      'a required property that is nowhere',
      closed({}, { required: ['a'] }),
      ': a required property that is not described',
    ],
  ])('finds %s', (_label, schema, fault) => {
    expect(findSchemaFaults(schema, 'input')).toContain(fault)
  })
})
