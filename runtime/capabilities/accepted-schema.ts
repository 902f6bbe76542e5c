// runtime/capabilities/accepted-schema.ts — any JSON Schema as the subset that every client takes.
//
// Model APIs and editors refuse, often without a word, a schema with a choice at its root, with references, or with an
// array that does not say what it holds; and one refused schema costs the whole server. So a schema is written out
// anew: only keywords of the subset, everything in place. The original still decides about each call, so that what the
// subset cannot say is enforced all the same.

import { inPlace, type InPlaceOptions } from './schema-in-place.ts'
import { combine, unionOf, type JsonSchema } from './schema-merge.ts'

/** What an accepted schema keeps to. */
export const acceptedSchemaLimits = Object.freeze({
  /** Largest schema, as JSON text in UTF-8. */
  bytes: 65_536,
  /** How often a type is written out inside itself before an open object takes its place. */
  occurrences: 3,
  /** Deepest nesting of schemas. */
  depth: 32,
})

/** Tried one after the other until the schema fits; each leaves out more: what lies deep, then long descriptions. */
const attempts: readonly InPlaceOptions[] = [
  { ...acceptedSchemaLimits, words: Number.POSITIVE_INFINITY },
  { occurrences: 2, depth: 24, words: 1_000 },
  { occurrences: 1, depth: 16, words: 300 },
  { occurrences: 1, depth: 8, words: 120 },
  { occurrences: 1, depth: 4, words: 40 },
  { occurrences: 1, depth: 3, words: 0 },
]

/** A schema in the subset. */
export interface AcceptedSchema {
  readonly schema: JsonSchema
  /** The original describes something else than an object; the schema has it as the property `result`. */
  readonly isWrapped: boolean
}

/**
 * Writes a schema in the subset: `type: object` at the root and no choice there, no references, `items` on every
 * array, a bounded size. What it admits is never less than what the original admits, apart from guidance on `input`.
 *
 * @throws {TypeError} saying what is wrong: no object on the side of input, a reference to nowhere, beyond the size.
 */
export function acceptSchema(original: JsonSchema, side: 'input' | 'output'): AcceptedSchema {
  for (const options of attempts) {
    const written = inPlace(original, { ...options, side })
    if (written === undefined) continue
    const accepted = asRoot(written, side)
    if (sizeOf(accepted.schema) <= acceptedSchemaLimits.bytes) return accepted
  }
  throw new TypeError(`it is larger than ${acceptedSchemaLimits.bytes / 1024} KiB, however much is left out`)
}

function sizeOf(schema: JsonSchema): number {
  return new TextEncoder().encode(JSON.stringify(schema)).byteLength
}

function asRoot(written: JsonSchema, side: 'input' | 'output'): AcceptedSchema {
  const shapes = shapesOf(written)
  const objects = shapes.filter(isObjectShape)
  const isMoreThanObjects = objects.length < shapes.length || objects.some(({ type }) => Array.isArray(type))
  if (side === 'output' && isMoreThanObjects) {
    const schema = { type: 'object', properties: { result: written }, required: ['result'] }
    return { schema, isWrapped: true }
  }
  if (objects.length === 0)
    throw new TypeError(`it describes ${nameOf(written)}, and arguments are always an object`)
  return { schema: flatten(objects, written, side), isWrapped: false }
}

/** The alternatives of a root, each complete; one when there is no choice. */
function shapesOf({ anyOf, ...rest }: JsonSchema): JsonSchema[] {
  if (!Array.isArray(anyOf)) return [rest]
  return (anyOf as JsonSchema[]).flatMap(shapesOf).map((shape) => combine(rest, shape))
}

function isObjectShape({ type, properties, additionalProperties, required }: JsonSchema): boolean {
  if (type !== undefined) return type === 'object' || (Array.isArray(type) && type.includes('object'))
  return properties !== undefined || additionalProperties !== undefined || required !== undefined
}

function nameOf({ type, anyOf }: JsonSchema): string {
  if (type !== undefined) {
    const name = (Array.isArray(type) ? type : [type]).map((part) => part as string).join(' or ')
    return `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name}`
  }
  return anyOf === undefined ? 'nothing in particular' : 'a choice without an object'
}

/** One object that holds what every shape may hold. */
function flatten(shapes: readonly JsonSchema[], written: JsonSchema, side: 'input' | 'output'): JsonSchema {
  const [only] = shapes
  const { title, description } = shapes.length === 1 && only !== undefined ? only : written
  const text = [description, shapes.length > 1 ? describeChoice(shapes) : undefined].filter(
    (part) => typeof part === 'string',
  )
  const head = {
    type: 'object',
    ...(title === undefined ? {} : { title }),
    ...(text.length === 0 ? {} : { description: text.join(' ') }),
  }
  if (shapes.length === 1 && only !== undefined) {
    const { properties = {}, required, additionalProperties, minProperties, maxProperties } = only
    return {
      ...head,
      ...vendorKeywords(only),
      properties,
      ...defined({ required, additionalProperties, minProperties, maxProperties }),
    }
  }

  const names = [...new Set(shapes.flatMap((shape) => Object.keys(propertiesOf(shape))))]
  const required = names.filter((name) => shapes.every((shape) => requiredOf(shape).includes(name)))
  const isClosed = shapes.every((shape) => shape['additionalProperties'] === false)
  return {
    ...head,
    properties: Object.fromEntries(names.map((name) => [name, unionAcross(shapes, name, side)])),
    ...(required.length === 0 ? {} : { required }),
    ...(isClosed ? { additionalProperties: false } : {}),
  }
}

function unionAcross(shapes: readonly JsonSchema[], name: string, side: 'input' | 'output'): JsonSchema {
  const declared = shapes.flatMap((shape) => {
    const properties = propertiesOf(shape)
    return Object.hasOwn(properties, name) ? [properties[name] ?? {}] : []
  })
  const union = unionOf(declared)
  // A shape that is open and does not name the property admits any value for it; a client that checks a result must too.
  const isOpenElsewhere = shapes.some(
    (shape) => !Object.hasOwn(propertiesOf(shape), name) && shape['additionalProperties'] !== false,
  )
  if (side === 'input' || !isOpenElsewhere) return union
  return defined({ title: union['title'], description: union['description'] })
}

/** Longest note about a choice. */
const longestNote = 600

/** Says in words what the root may no longer say in keywords. */
function describeChoice(shapes: readonly JsonSchema[]): string {
  const tag = findDiscriminator(shapes)
  const sentences = shapes.map((shape) => {
    const needed = requiredOf(shape).filter((name) => name !== tag)
    const properties = needed.length === 0 ? 'nothing else' : needed.join(', ')
    if (tag === undefined) return needed.length === 0 ? 'no property' : properties
    const values = (propertiesOf(shape)[tag]?.['enum'] as unknown[]).map((value) => JSON.stringify(value))
    return `${tag} ${values.join(' or ')} needs ${properties}`
  })
  const lead = tag === undefined ? 'One of these sets of properties is needed: ' : 'One of these shapes: '
  const note = `${lead}${sentences.join('; ')}.`
  return note.length <= longestNote ? note : `${note.slice(0, longestNote - 1)}…`
}

/** The property whose values tell the shapes apart. */
function findDiscriminator(shapes: readonly JsonSchema[]): string | undefined {
  const [first, ...others] = shapes
  if (first === undefined) return undefined
  return requiredOf(first).find((name) => {
    const values = [first, ...others].map((shape) => {
      const labels = propertiesOf(shape)[name]?.['enum']
      return requiredOf(shape).includes(name) && Array.isArray(labels) ? labels : undefined
    })
    if (values.includes(undefined)) return false
    const all = values.flat().map((value) => JSON.stringify(value))
    return new Set(all).size === all.length
  })
}

function propertiesOf({ properties }: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return (properties ?? {}) as Record<string, JsonSchema>
}

function requiredOf({ required }: JsonSchema): readonly string[] {
  return (required ?? []) as string[]
}

function vendorKeywords(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key.startsWith('x-')))
}

function defined(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined))
}
