// runtime/capabilities/schema-merge.ts — two schemas that hold together, and schemas of which one holds.
//
// Both work on schemas that are written in place: no references, only keywords of the accepted subset. Where the
// subset cannot say exactly what holds, the result admits more, never less.

/** A JSON Schema as an object; nothing is known about its values. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** One schema for a value that both describe; where both say how something is called, the first is heard. */
export function combine(a: JsonSchema, b: JsonSchema): JsonSchema {
  const merged: Record<string, unknown> = { ...b, ...a }
  for (const [key, join] of Object.entries(joints)) {
    if (a[key] !== undefined && b[key] !== undefined) merged[key] = join(a[key], b[key])
  }
  return merged
}

type Join = (a: unknown, b: unknown) => unknown

const lowest: Join = (a, b) => Math.min(a as number, b as number)
const highest: Join = (a, b) => Math.max(a as number, b as number)

/** How two values of a keyword become one; of any other keyword the first is kept. */
const joints: Readonly<Record<string, Join>> = {
  type: (a, b) => {
    const types = asList(b)
    const common = asList(a).flatMap((type) => {
      if (types.includes(type)) return [type]
      const isWhole =
        (type === 'number' && types.includes('integer')) || (type === 'integer' && types.includes('number'))
      return isWhole ? ['integer'] : []
    })
    if (common.length === 0) return a
    return common.length === 1 ? common[0] : [...new Set(common)]
  },
  enum: (a, b) => {
    const texts = new Set((b as unknown[]).map((value) => JSON.stringify(value)))
    const common = (a as unknown[]).filter((value) => texts.has(JSON.stringify(value)))
    return common.length === 0 ? a : common
  },
  properties: (a, b) => {
    const [first, second] = [a, b] as [Record<string, JsonSchema>, Record<string, JsonSchema>]
    const names = [...new Set([...Object.keys(first), ...Object.keys(second)])]
    return Object.fromEntries(
      names.map((name) => {
        const [one, other] = [own(first, name), own(second, name)]
        return [name, one === undefined || other === undefined ? (one ?? other) : combine(one, other)]
      }),
    )
  },
  required: (a, b) => [...new Set([...(a as string[]), ...(b as string[])])],
  items: (a, b) => combine(a as JsonSchema, b as JsonSchema),
  // One closed object closes both: what it does not name, it refuses.
  additionalProperties: (a, b) => (a === false || b === false ? false : a),
  minimum: highest,
  exclusiveMinimum: highest,
  minLength: highest,
  minItems: highest,
  minProperties: highest,
  maximum: lowest,
  exclusiveMaximum: lowest,
  maxLength: lowest,
  maxItems: lowest,
  maxProperties: lowest,
}

/** One schema for a value that at least one of them describes. */
export function unionOf(schemas: readonly JsonSchema[]): JsonSchema {
  const distinct = distinctOf(schemas.flatMap(alternativesOf))
  const [first, second] = distinct
  if (first === undefined) return {}
  if (second === undefined) return first
  // A schema that says nothing admits everything, whatever the others say.
  const open = distinct.find((schema) => Object.keys(schema).every((key) => annotations.includes(key)))
  if (open !== undefined) return open
  if (distinct.every(isLabels)) return joinLabels(distinct)
  if (distinct.every((schema) => Object.keys(schema).join() === 'type' && schema['type'] !== 'array'))
    return { type: [...new Set(distinct.flatMap(({ type }) => asList(type)))] }
  const rest = distinct.filter(({ type }) => type !== 'null')
  const [scalar] = rest
  if (rest.length === 1 && distinct.length === 2 && scalar !== undefined && isScalar(scalar))
    return { ...scalar, type: [scalar['type'], 'null'] }
  return { anyOf: distinct }
}

const annotations = ['title', 'description', 'default', 'examples']

/** A union inside a union is the same union. */
function alternativesOf(schema: JsonSchema): readonly JsonSchema[] {
  const { anyOf } = schema
  return Array.isArray(anyOf) && Object.keys(schema).length === 1 ? (anyOf as JsonSchema[]) : [schema]
}

function distinctOf(schemas: readonly JsonSchema[]): readonly JsonSchema[] {
  const byText = new Map<string, JsonSchema>()
  for (const schema of schemas) {
    const text = JSON.stringify(schema)
    if (!byText.has(text)) byText.set(text, schema)
  }
  return [...byText.values()]
}

/** Only labels, as the tag of each shape of a discriminated union has. */
function isLabels(schema: JsonSchema): boolean {
  return (
    Array.isArray(schema['enum'])
    && Object.keys(schema).every((key) => key === 'enum' || key === 'type' || annotations.includes(key))
  )
}

function joinLabels(schemas: readonly JsonSchema[]): JsonSchema {
  const types = [...new Set(schemas.flatMap(({ type }) => asList(type)))]
  const isTyped = schemas.every(({ type }) => type !== undefined)
  const labels = new Map(
    schemas.flatMap((schema) => (schema['enum'] as unknown[]).map((value) => [JSON.stringify(value), value])),
  )
  const descriptions = [
    ...new Set(schemas.flatMap(({ description }) => (typeof description === 'string' ? [description] : []))),
  ]
  return {
    ...(isTyped ? { type: types.length === 1 ? types[0] : types } : {}),
    enum: [...labels.values()],
    ...(descriptions.length === 0 ? {} : { description: descriptions.join(' ') }),
  }
}

/** A type that takes `null` beside it in one keyword, as every client reads it. */
function isScalar({ type, enum: labels }: JsonSchema): boolean {
  return labels === undefined && ['string', 'number', 'integer', 'boolean'].includes(type as string)
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : value === undefined ? [] : [value]
}

function own(schemas: Readonly<Record<string, JsonSchema>>, name: string): JsonSchema | undefined {
  return Object.hasOwn(schemas, name) ? schemas[name] : undefined
}
