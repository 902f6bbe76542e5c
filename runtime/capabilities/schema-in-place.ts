// runtime/capabilities/schema-in-place.ts — a schema written out: references resolved, keywords of the subset only.

import { combine, unionOf, type JsonSchema } from './schema-merge.ts'
import { resolveReference } from './schema-reference.ts'

/** How much is written out. */
export interface InPlaceOptions {
  /** How often a type may stand inside itself. */
  readonly occurrences: number
  readonly depth: number
  /** Longest description, in characters. */
  readonly words: number
}

/** Most schemas one schema may hold. */
const mostNodes = 2_000

const anyValue = (): JsonSchema => ({ description: 'Any JSON value.' })

/**
 * The schema without references, or undefined when it is too large to be worth writing out like this.
 *
 * @throws {TypeError} for a reference to nowhere, and for what is no schema.
 */
export function inPlace(
  root: JsonSchema,
  { occurrences, depth: deepest, words, side }: InPlaceOptions & { readonly side: 'input' | 'output' },
): JsonSchema | undefined {
  let nodes = 0

  /** `above` holds the schemas around this one, as they are in the original. */
  function write(node: unknown, above: readonly unknown[]): JsonSchema | undefined {
    if (node === true) return {}
    if (node === false) return undefined
    if (!isSchema(node)) throw new TypeError(`it holds ${describe(node)} in place of a schema`)
    nodes += 1
    if (nodes > mostNodes) throw new TooLarge()
    const isTooDeep = above.length >= deepest
    if (isTooDeep || above.filter((outer) => outer === node).length >= occurrences) return cut(node)

    const path = [...above, node]
    let written = writeKeywords(node, path)
    const reference = node['$ref'] ?? node['$dynamicRef'] ?? node['$recursiveRef']
    if (typeof reference === 'string') {
      const target = write(resolveReference(root, reference), path)
      if (target === undefined) return undefined
      written = combine(written, target)
    }
    for (const part of listOf(node['allOf'])) {
      const all = write(part, path)
      if (all === undefined) return undefined
      written = combine(written, all)
    }
    const choice = Array.isArray(node['anyOf']) ? node['anyOf'] : node['oneOf']
    if (Array.isArray(choice)) {
      const alternatives = choice.map((part) => write(part, path)).filter((part) => part !== undefined)
      if (alternatives.length === 0) return undefined
      const union = unionOf(alternatives)
      // What stands beside a choice holds too; two choices cannot both be said.
      if (union['anyOf'] === undefined || written['anyOf'] === undefined) written = combine(written, union)
    }
    if (isNever(node['not'])) return undefined
    return finish(side === 'input' ? withConditions(written, node, path) : written)
  }

  function writeKeywords(node: JsonSchema, path: readonly unknown[]): JsonSchema {
    const written: Record<string, unknown> = {}
    const type = typeOf(node['type'])
    if (type !== undefined) written['type'] = type
    for (const [key, isFit] of Object.entries(plainKeywords)) if (isFit(node[key])) written[key] = node[key]
    const { description } = node
    if (typeof description === 'string' && description.length > words) {
      if (words === 0) delete written['description']
      else written['description'] = `${description.slice(0, words - 1)}…`
    }
    for (const key of Object.keys(node)) {
      if (key.startsWith('x-') || key === 'default' || key === 'examples') {
        const value = asJson(node[key])
        if (value !== undefined) written[key] = value
      }
    }
    const labels = 'const' in node ? [node['const']] : node['enum']
    if (Array.isArray(labels)) {
      const distinct = new Map(labels.map((label) => [JSON.stringify(label), asJson(label)]))
      if (distinct.size > 0) written['enum'] = [...distinct.values()]
    }
    // What JavaScript could not count beyond anyway; zod 4 writes it beside every integer.
    if (written['minimum'] === Number.MIN_SAFE_INTEGER) delete written['minimum']
    if (written['maximum'] === Number.MAX_SAFE_INTEGER) delete written['maximum']
    writeObject(node, written, path)
    writeArray(node, written, path)
    return written
  }

  function writeObject(node: JsonSchema, written: Record<string, unknown>, path: readonly unknown[]): void {
    const { properties, additionalProperties: more, propertyNames, patternProperties, required } = node
    if (isSchema(properties)) {
      written['properties'] = Object.fromEntries(
        Object.entries(properties).flatMap(([name, property]) => {
          const schema = write(property, path)
          return schema === undefined ? [] : [[name, schema]]
        }),
      )
    }
    const names = isSchema(propertyNames) ? propertyNames['enum'] : undefined
    if (Array.isArray(names) && isSchema(more) && properties === undefined) {
      const schema = write(more, path) ?? {}
      written['properties'] = Object.fromEntries(names.map((name) => [String(name), schema]))
      written['additionalProperties'] = false
    } else if (more === false) {
      if (!isSchema(patternProperties)) written['additionalProperties'] = false
    } else if (more !== undefined && !isSchema(patternProperties)) {
      const schema = write(more, path)
      if (schema !== undefined && Object.keys(schema).length > 0) written['additionalProperties'] = schema
    }
    const needed = listOf(required).filter((name) => typeof name === 'string')
    if (needed.length > 0) written['required'] = [...new Set(needed)]
  }

  function writeArray(node: JsonSchema, written: Record<string, unknown>, path: readonly unknown[]): void {
    const { items, prefixItems, additionalItems } = node
    // The older drafts wrote a tuple as a list of items.
    const tuple = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : undefined
    if (tuple === undefined) {
      const held = items === undefined ? undefined : write(items, path)
      if (items === false) written['maxItems'] = 0
      if (held !== undefined) written['items'] = isOpen(held) ? anyValue() : held
      return
    }
    const rest = Array.isArray(prefixItems) ? items : additionalItems
    const places = tuple.map((place) => write(place, path) ?? {})
    const more = rest === false ? [] : [write(rest ?? true, path) ?? {}]
    const union = unionOf([...places, ...more])
    written['items'] = isOpen(union) ? anyValue() : union
    if (rest === false) written['maxItems'] ??= tuple.length
    const order = `In this order: ${places.map(nameOf).join(', ')}${rest === false ? '' : ', then more'}.`
    const { description } = written
    written['description'] = typeof description === 'string' ? `${description} ${order}` : order
  }

  /** What holds under a condition only is told as well, so that a model knows the properties there are. */
  function withConditions(written: JsonSchema, node: JsonSchema, path: readonly unknown[]): JsonSchema {
    const dependent = [node['dependentSchemas'], node['dependencies']].flatMap((map) =>
      isSchema(map) ? Object.values(map).filter(isSchema) : [],
    )
    const branches = [node['then'], node['else'], ...dependent].filter(isSchema)
    const found = branches.map((branch) => write(branch, path)?.['properties']).filter(isSchema)
    if (found.length === 0) return written
    return {
      ...written,
      properties: { ...Object.assign({}, ...found), ...(written['properties'] as object) },
    }
  }

  /** What stands for a schema that is not written out: its type, open. */
  function cut(outer: JsonSchema): JsonSchema {
    const reference = outer['$ref']
    const target = typeof reference === 'string' ? resolveReference(root, reference) : undefined
    const node = isSchema(target) ? { ...target, ...outer } : outer
    const type = typeOf(node['type'])
    const note =
      typeof node['description'] === 'string' ? node['description'] : 'Not written out any further.'
    if (type === 'array') return { type, description: note, items: anyValue() }
    if (typeof type === 'string' && type !== 'object') return { type }
    const isObject = type === 'object' || (type === undefined && isSchema(node['properties']))
    return isObject ? { type: 'object', description: note } : { description: note }
  }

  try {
    const written = write(root, [])
    if (written === undefined) throw new TypeError('it admits nothing')
    return written
  } catch (error) {
    if (error instanceof TooLarge) return undefined
    throw error
  }
}

class TooLarge extends Error {}

/** What follows from everything that holds of a node. */
function finish(schema: JsonSchema): JsonSchema {
  const finished: Record<string, unknown> = { ...schema }
  const { type, properties, required, format, pattern } = schema
  const types = Array.isArray(type) ? type : [type]
  if (types.includes('array') && schema['items'] === undefined) finished['items'] = anyValue()
  if (Array.isArray(required)) {
    const named = (properties ?? {}) as Record<string, unknown>
    const missing = (required as string[]).filter((name) => !Object.hasOwn(named, name))
    if (missing.length > 0)
      finished['properties'] = { ...named, ...Object.fromEntries(missing.map((name) => [name, {}])) }
  }
  if (typeof format === 'string') {
    // Beside a format that clients know, a pattern says the same at length; an unknown one some refuse.
    if (!knownFormats.has(format)) delete finished['format']
    else if (typeof pattern === 'string') delete finished['pattern']
  }
  return finished
}

const knownFormats = new Set(
  'date-time date time duration email hostname ipv4 ipv6 uri uri-reference uuid byte'.split(' '),
)

const isText = (value: unknown): boolean => typeof value === 'string'
const isAmount = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value)
const isFlag = (value: unknown): boolean => typeof value === 'boolean'

/** Keywords that are taken over as they are, and what they have to be. */
const plainKeywords: Readonly<Record<string, (value: unknown) => boolean>> = {
  title: isText,
  description: isText,
  format: isText,
  pattern: isText,
  contentEncoding: isText,
  contentMediaType: isText,
  minLength: isAmount,
  maxLength: isAmount,
  minimum: isAmount,
  maximum: isAmount,
  exclusiveMinimum: isAmount,
  exclusiveMaximum: isAmount,
  multipleOf: isAmount,
  minItems: isAmount,
  maxItems: isAmount,
  minProperties: isAmount,
  maxProperties: isAmount,
  uniqueItems: isFlag,
  deprecated: isFlag,
  readOnly: isFlag,
  writeOnly: isFlag,
}

const typeNames = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']

function typeOf(type: unknown): unknown {
  const known = (Array.isArray(type) ? type : [type]).filter((name) => typeNames.includes(name as string))
  if (known.length === 0) return undefined
  return known.length === 1 ? known[0] : [...new Set(known)]
}

function nameOf(schema: JsonSchema): string {
  const { title, description, type, anyOf } = schema
  const text = title ?? description ?? (Array.isArray(type) ? type.join(' or ') : type)
  return typeof text === 'string' ? text : anyOf === undefined ? 'any value' : 'one of several'
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Says nothing that narrows. */
function isOpen(schema: JsonSchema): boolean {
  return Object.keys(schema).length === 0
}

/** `not` of everything is how zod writes what never is. */
function isNever(not: unknown): boolean {
  return not === true || (isSchema(not) && Object.keys(not).length === 0)
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** The value as JSON carries it; undefined when it cannot. */
function asJson(value: unknown): unknown {
  try {
    const text: unknown = JSON.stringify(value)
    return typeof text === 'string' ? (JSON.parse(text) as unknown) : undefined
  } catch {
    return undefined
  }
}

function describe(value: unknown): string {
  return Array.isArray(value) ? 'a list' : value === null ? 'null' : `a ${typeof value}`
}
