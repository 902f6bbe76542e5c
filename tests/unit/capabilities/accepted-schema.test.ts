// tests/unit/capabilities/accepted-schema.test.ts — whatever schema comes in, what goes out is what clients accept.
import { CfWorkerJsonSchemaValidator } from '@modelcontextprotocol/server/validators/cf-worker'
import { describe, expect, it } from 'vitest'

import { acceptedSchemaLimits, acceptSchema } from '../../../runtime/capabilities/accepted-schema.ts'
import type { JsonSchema } from '../../../runtime/capabilities/schema-merge.ts'

const text = { type: 'string' }
const whole = { type: 'integer' }

const circle = {
  type: 'object',
  properties: { kind: { const: 'circle' }, radius: whole },
  required: ['kind', 'radius'],
}
const box = {
  type: 'object',
  properties: { kind: { const: 'box' }, side: whole },
  required: ['kind', 'side'],
}

const cyclic: Record<string, unknown> = { type: 'object', properties: {} }
cyclic['properties'] = { self: cyclic }

/** Types that each contain every other: written out, they double with every level. */
const entangled = {
  type: 'object',
  properties: Object.fromEntries([...'abcdefgh'].map((name) => [name, { $ref: `#/$defs/${name}` }])),
  $defs: Object.fromEntries(
    [...'abcdefgh'].map((name) => [
      name,
      {
        type: 'object',
        properties: Object.fromEntries([...'abcdefgh'].map((other) => [other, { $ref: `#/$defs/${other}` }])),
      },
    ]),
  ),
}

const deep = (levels: number): JsonSchema =>
  levels === 0 ? text : { type: 'object', properties: { down: deep(levels - 1) } }

const wide = (properties: number): JsonSchema => ({
  type: 'object',
  properties: Object.fromEntries(
    Array.from({ length: properties }, (_, index) => [
      `p${index}`,
      { type: 'string', description: 'x'.repeat(90) },
    ]),
  ),
})

const hostile: readonly (readonly [string, JsonSchema])[] = [
  ['a choice at the root', { oneOf: [circle, box] }],
  [
    'a choice inside a choice',
    { anyOf: [{ oneOf: [circle, box] }, { type: 'object', properties: { a: text } }] },
  ],
  [
    'parts that hold together',
    { allOf: [circle, { type: 'object', properties: { color: text }, required: ['color'] }] },
  ],
  [
    'a condition',
    {
      type: 'object',
      properties: { a: text },
      if: { required: ['a'] },
      then: { properties: { b: text } },
      else: { properties: { c: text } },
    },
  ],
  ['a negation', { type: 'object', properties: { a: text }, not: { required: ['a'] } }],
  ['labels at the root', { type: 'object', enum: [{ a: 1 }], const: { a: 1 } }],
  ['an object or null', { type: ['object', 'null'], properties: { a: text } }],
  ['a reference at the root', { $ref: '#/$defs/circle', $defs: { circle } }],
  [
    'a type used twice',
    {
      type: 'object',
      properties: { a: { $ref: '#/$defs/t' }, b: { $ref: '#/$defs/t', description: 'The second.' } },
      $defs: { t: { type: 'object', properties: { street: text } } },
    },
  ],
  [
    'the older spelling of definitions',
    { type: 'object', properties: { a: { $ref: '#/definitions/t' } }, definitions: { t: text } },
  ],
  [
    'an anchor and an $id',
    {
      $id: 'https://example.test/root',
      type: 'object',
      properties: { a: { $ref: '#here' }, b: { $ref: 'https://example.test/part' } },
      $defs: {
        x: { $anchor: 'here', type: 'string' },
        y: { $id: 'https://example.test/part', type: 'integer' },
      },
    },
  ],
  [
    'a pointer with escapes',
    { type: 'object', properties: { 'a/b~c': text, other: { $ref: '#/properties/a~1b~0c' } } },
  ],
  [
    'a type that contains itself',
    { type: 'object', properties: { name: text, kids: { type: 'array', items: { $ref: '#' } } } },
  ],
  [
    'references in a ring',
    {
      type: 'object',
      properties: { a: { $ref: '#/$defs/a' } },
      $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } },
    },
  ],
  ['an object that is its own property', cyclic],
  ['types that all contain each other', entangled],
  [
    'arrays without items',
    {
      type: 'object',
      properties: {
        a: { type: 'array' },
        b: { type: ['array', 'null'] },
        c: { type: 'array', items: {} },
        d: { type: 'array', items: true },
      },
    },
  ],
  [
    'tuples, in both spellings',
    {
      type: 'object',
      properties: {
        a: { type: 'array', prefixItems: [text, whole], items: false },
        b: { type: 'array', items: [text, text], additionalItems: false },
        c: { type: 'array', prefixItems: [text] },
      },
    },
  ],
  [
    'an array of arrays',
    { type: 'object', properties: { grid: { type: 'array', items: { type: 'array' } } } },
  ],
  [
    'properties that are called like keywords',
    {
      type: 'object',
      properties: { $ref: text, definitions: text, items: text, type: text, enum: { type: 'array' } },
    },
  ],
  [
    'a property that spoils prototypes',
    JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}}}',
    ) as JsonSchema,
  ],
  [
    'keywords with values that are none',
    {
      type: 'object',
      properties: { a: { type: 'string', minLength: 'three', enum: [], format: 7, default: undefined } },
      required: 'a',
    },
  ],
  [
    'keywords nobody knows',
    {
      type: 'object',
      properties: { a: { type: 'string', nullable: true, $comment: 'x', unevaluatedProperties: false } },
      $schema: 'https://json-schema.org/draft/2020-12/schema',
    },
  ],
  ['required names that nothing declares', { type: 'object', required: ['a', 'a', 7] }],
  [
    'true and false as schemas',
    { type: 'object', properties: { a: true, b: false }, additionalProperties: true },
  ],
  ['sixty levels', deep(60)],
  ['six hundred properties', wide(600)],
]

describe('an accepted schema', () => {
  it.each(hostile)('is what clients take: %s', (_label, schema) => {
    for (const side of ['input', 'output'] as const) {
      const { schema: accepted } = acceptSchema(schema, side)

      expect(faultsOf(accepted)).toEqual([])
      expect(JSON.stringify(accepted).length).toBeLessThanOrEqual(acceptedSchemaLimits.bytes)
    }
  })

  it.each(hostile)('is itself taken as it is: %s', (_label, schema) => {
    const { schema: accepted } = acceptSchema(schema, 'input')

    expect(acceptSchema(accepted, 'input').schema).toEqual(accepted)
  })

  it('never changes what it was given', () => {
    const before = JSON.stringify(entangled)

    acceptSchema(entangled, 'input')

    expect(JSON.stringify(entangled)).toBe(before)
  })

  it('makes one object of a choice: all properties, the tag as labels, what is always required', () => {
    const { schema } = acceptSchema({ oneOf: [circle, box], description: 'A shape.' }, 'input')

    expect(schema).toEqual({
      type: 'object',
      description: 'A shape. One of these shapes: kind "circle" needs radius; kind "box" needs side.',
      properties: { kind: { enum: ['circle', 'box'] }, radius: whole, side: whole },
      required: ['kind'],
    })
  })

  it('says which properties a choice without a tag needs', () => {
    const shape = (name: string): JsonSchema => ({
      type: 'object',
      properties: { [name]: text },
      required: [name],
      additionalProperties: false,
    })

    const { schema } = acceptSchema({ anyOf: [shape('id'), shape('name')] }, 'input')

    expect(schema).toEqual({
      type: 'object',
      description: 'One of these sets of properties is needed: id; name.',
      properties: { id: text, name: text },
      additionalProperties: false,
    })
  })

  it('writes a type that is used twice out twice', () => {
    const [, schema] = hostile.find(([label]) => label === 'a type used twice')!
    const street = { type: 'object', properties: { street: text } }

    expect(acceptSchema(schema, 'input').schema['properties']).toEqual({
      a: street,
      b: { ...street, description: 'The second.' },
    })
  })

  it(`writes a type inside itself out ${acceptedSchemaLimits.occurrences} times, then an open object`, () => {
    const { schema } = acceptSchema(
      { type: 'object', properties: { name: text, next: { $ref: '#' } } },
      'input',
    )
    const levels: unknown[] = []
    for (let node: JsonSchema | undefined = schema; node !== undefined;) {
      levels.push(Object.keys(node['properties'] ?? {}))
      node = (node['properties'] as Record<string, JsonSchema> | undefined)?.['next']
    }

    expect(levels).toEqual([['name', 'next'], ['name', 'next'], ['name', 'next'], []])
    expect(JSON.stringify(schema)).not.toContain('additionalProperties')
  })

  it('tells what a tuple holds, in order', () => {
    const { schema } = acceptSchema(
      { type: 'object', properties: { at: { type: 'array', prefixItems: [text, whole], items: false } } },
      'input',
    )

    expect(schema['properties']).toEqual({
      at: {
        type: 'array',
        items: { type: ['string', 'integer'] },
        maxItems: 2,
        description: 'In this order: string, integer.',
      },
    })
  })

  it.each([
    ['a text', text, /describes a string/],
    ['anything', {}, /describes nothing in particular/],
    ['a text or a number', { anyOf: [text, whole] }, /describes a string or integer/],
    ['a text or a list', { anyOf: [text, { type: 'array', items: text }] }, /choice without an object/],
    ['nothing at all', { not: {} }, /admits nothing/],
    [
      'a reference to nowhere',
      { type: 'object', properties: { a: { $ref: '#/$defs/gone' } } },
      /"#\/\$defs\/gone" leads nowhere/,
    ],
    [
      'a reference to another document',
      { type: 'object', properties: { a: { $ref: 'https://example.test/x' } } },
      /leads nowhere/,
    ],
    [
      'a list in place of a schema',
      { type: 'object', properties: { a: [] } },
      /holds a list in place of a schema/,
    ],
    ['three thousand properties', wide(3000), /larger than 64 KiB/],
  ])('refuses %s as arguments', (_label, schema, reason) => {
    expect(() => acceptSchema(schema, 'input')).toThrow(reason)
  })

  it.each([
    ['a list', { type: 'array', items: text }],
    ['an object or null', { anyOf: [{ type: 'object', properties: {} }, { type: 'null' }] }],
    ['anything', {}],
  ])('gives %s as the property result of an object', (_label, schema) => {
    const { schema: accepted, isWrapped } = acceptSchema(schema, 'output')

    expect(isWrapped).toBe(true)
    expect(accepted).toMatchObject({ type: 'object', required: ['result'] })
    expect(faultsOf(accepted)).toEqual([])
  })

  it('of a result admits whatever the original admits', () => {
    const random = seeded(20_261)
    let compared = 0
    for (let round = 0; round < 250; round += 1) {
      const original = randomObject(random, 3)
      const { schema: accepted, isWrapped } = acceptSchema(original, 'output')
      expect(faultsOf(accepted)).toEqual([])
      const [before, after] = [original, accepted].map((schema) =>
        new CfWorkerJsonSchemaValidator().getValidator(schema),
      )
      for (let sample = 0; sample < 12; sample += 1) {
        const value = randomValue(random, original, original)
        if (!before!(value).valid) continue
        compared += 1
        const { valid, errorMessage } = after!(isWrapped ? { result: value } : value)
        expect(
          valid,
          `${JSON.stringify(original)}\n${JSON.stringify(accepted)}\n${JSON.stringify(value)}\n${errorMessage}`,
        ).toBe(true)
      }
    }
    expect(compared).toBeGreaterThan(500)
  }, 30_000)
})

/** What a strict client would refuse in a schema. */
function faultsOf(root: JsonSchema): string[] {
  const faults: string[] = []
  const atRoot = ['anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else', 'enum', 'const']
  const nowhere = [
    '$ref',
    '$defs',
    'definitions',
    '$id',
    '$schema',
    '$anchor',
    '$dynamicRef',
    'prefixItems',
    'allOf',
    'oneOf',
    'not',
    'if',
    'patternProperties',
    'propertyNames',
  ]
  if (root['type'] !== 'object') faults.push('the root is no object')
  faults.push(
    ...atRoot.filter((keyword) => Object.hasOwn(root, keyword)).map((keyword) => `${keyword} at the root`),
  )

  const visit = (node: unknown, path: string): void => {
    if (typeof node !== 'object' || node === null || Array.isArray(node))
      return void faults.push(`${path} is no schema`)
    const { type, properties, items, anyOf, additionalProperties: more, required = [] } = node as JsonSchema
    for (const keyword of nowhere) if (Object.hasOwn(node, keyword)) faults.push(`${path} has ${keyword}`)
    const types = Array.isArray(type) ? type : [type]
    if (types.includes('array') && (typeof items !== 'object' || Object.keys(items as object).length === 0))
      faults.push(`${path} is an array of who knows what`)
    const named = (properties ?? {}) as Record<string, unknown>
    for (const name of required as string[])
      if (!Object.hasOwn(named, name)) faults.push(`${path} requires ${name}`)
    for (const [name, property] of Object.entries(named)) visit(property, `${path}.${name}`)
    if (items !== undefined) visit(items, `${path}[]`)
    for (const [index, part] of ((anyOf ?? []) as unknown[]).entries()) visit(part, `${path}|${index}`)
    if (typeof more === 'object') visit(more, `${path}.*`)
  }
  visit(root, '#')
  return faults
}

type Random = (below: number) => number

/** The same numbers in every run: a failure can be looked at again. */
function seeded(seed: number): Random {
  let state = seed
  return (below) => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return Math.floor((state / 4_294_967_296) * below)
  }
}

const names = ['a', 'b', 'c', 'kind']
const labels = ['x', 'y', 'z']

function randomObject(random: Random, depth: number): JsonSchema {
  const properties = Object.fromEntries(
    names.filter(() => random(2) === 0).map((name) => [name, randomSchema(random, depth - 1)]),
  )
  const base: JsonSchema = {
    type: 'object',
    properties,
    ...(random(2) === 0 ? { required: Object.keys(properties).filter(() => random(2) === 0) } : {}),
    ...(random(3) === 0
      ? { additionalProperties: random(2) === 0 ? false : randomSchema(random, depth - 1) }
      : {}),
  }
  if (depth <= 0) return base
  switch (random(7)) {
    case 0:
      return { oneOf: [randomObject(random, depth - 1), randomObject(random, depth - 1)] }
    case 1:
      return { ...base, anyOf: [randomObject(random, depth - 1), randomObject(random, depth - 1)] }
    case 2:
      return { allOf: [base, { type: 'object', properties: { d: randomSchema(random, depth - 1) } }] }
    case 3:
      if (depth < 3) return base
      return {
        ...base,
        $defs: { t: randomSchema(random, depth - 1) },
        properties: { ...properties, r: { $ref: '#/$defs/t' } },
      }
    default:
      return base
  }
}

function randomSchema(random: Random, depth: number): JsonSchema {
  switch (random(depth > 0 ? 11 : 6)) {
    case 0:
      return { type: 'string', maxLength: 1 + random(3) }
    case 1:
      return { type: 'integer', minimum: random(3) }
    case 2:
      return { enum: labels.slice(random(2)) }
    case 3:
      return { const: labels[random(3)] }
    case 4:
      return { type: ['string', 'null'] }
    case 5:
      return {}
    case 6:
      return { type: 'array', items: randomSchema(random, depth - 1) }
    case 7:
      return {
        type: 'array',
        prefixItems: [randomSchema(random, depth - 1), randomSchema(random, depth - 1)],
        items: random(2) === 0 ? false : randomSchema(random, depth - 1),
      }
    case 8:
      return { anyOf: [randomSchema(random, depth - 1), { type: 'null' }] }
    case 9:
      return { not: randomSchema(random, 0), type: 'string' }
    default:
      return randomObject(random, depth - 1)
  }
}

/** A value that often fits: the validator of the original decides. */
function randomValue(random: Random, schema: JsonSchema, root: JsonSchema): unknown {
  const choice = (schema['oneOf'] ?? schema['anyOf']) as JsonSchema[] | undefined
  if (typeof schema['$ref'] === 'string')
    return randomValue(random, (root['$defs'] as { t: JsonSchema }).t, root)
  if (choice !== undefined) {
    const picked = randomValue(random, choice[random(choice.length)]!, root)
    const own =
      schema['properties'] === undefined ? {} : randomValue(random, { ...schema, anyOf: undefined }, root)
    return typeof picked === 'object' && picked !== null ? { ...(own as object), ...picked } : picked
  }
  if (Array.isArray(schema['allOf']))
    return Object.assign(
      {},
      ...(schema['allOf'] as JsonSchema[]).map((part) => randomValue(random, part, root)),
    ) as object
  if ('const' in schema) return schema['const']
  if (Array.isArray(schema['enum'])) return schema['enum'][random(schema['enum'].length)] as unknown
  if (Array.isArray(schema['type'])) return random(2) === 0 ? null : 'x'
  switch (schema['type']) {
    case 'string':
      return 'xyzw'.slice(0, random(5))
    case 'integer':
      return random(6)
    case 'null':
      return null
    case 'array': {
      const places = (schema['prefixItems'] ?? []) as JsonSchema[]
      const items = typeof schema['items'] === 'object' ? (schema['items'] as JsonSchema) : undefined
      const rest =
        items === undefined ? [] : Array.from({ length: random(3) }, () => randomValue(random, items, root))
      return [...places.map((place) => randomValue(random, place, root)), ...rest].slice(0, random(5))
    }
    case 'object': {
      const properties = Object.entries((schema['properties'] ?? {}) as Record<string, JsonSchema>)
      const required = (schema['required'] ?? []) as string[]
      const known = properties.filter(([name]) => required.includes(name) || random(2) === 0)
      const extra = random(3) === 0 ? { [[...names, 'e'][random(5)]!]: random(9) } : {}
      return {
        ...extra,
        ...Object.fromEntries(known.map(([name, property]) => [name, randomValue(random, property, root)])),
      }
    }
    default:
      return [null, 'x', 7, [], {}][random(5)]
  }
}
