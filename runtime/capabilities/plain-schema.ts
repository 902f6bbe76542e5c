// runtime/capabilities/plain-schema.ts — a JSON Schema that was written by hand, as a schema that validates.

import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import { CfWorkerJsonSchemaValidator } from '@modelcontextprotocol/server/validators/cf-worker'

import { acceptSchema } from './accepted-schema.ts'
import type { JsonSchema } from './schema-merge.ts'

/** Whether an object reads as JSON Schema; an empty one says nothing and does not. */
export function isPlainSchema(value: object): value is JsonSchema {
  const { type, properties, $ref, anyOf, oneOf, allOf } = value as JsonSchema
  return (
    typeof type === 'string'
    || (Array.isArray(type) && type.every((name) => typeof name === 'string'))
    || (type === undefined && typeof properties === 'object' && properties !== null)
    || typeof $ref === 'string'
    || [anyOf, oneOf, allOf].some((parts) => Array.isArray(parts))
  )
}

/**
 * The schema as a Standard Schema. Missing arguments get their `default`, as other schemas give it. Checked without
 * generated code, which some hosts forbid and which costs milliseconds a schema.
 *
 * @throws {TypeError} for a schema that is not JSON; an error for a dialect nobody here speaks.
 */
export function fromPlainSchema(original: JsonSchema): StandardSchemaWithJSON {
  const schema = copyOf(original)
  const check = new CfWorkerJsonSchemaValidator().getValidator(schema)
  const hasChoice = ['anyOf', 'oneOf', 'if'].some((keyword) => keyword in schema)
  let defaults: JsonSchema | undefined
  return {
    '~standard': {
      version: 1,
      vendor: 'json-schema',
      jsonSchema: { input: () => schema, output: () => schema },
      validate(value) {
        // Of a choice nobody knows which shape is meant, so a default of one could break another.
        if (!hasChoice) defaults ??= acceptSchema(schema, 'input').schema
        const complete = defaults === undefined ? value : withDefaults(defaults, value)
        const { valid, errorMessage } = check(complete)
        return valid ? { value: complete } : { issues: [readIssue(errorMessage)] }
      },
    },
  }
}

function copyOf(schema: JsonSchema): Record<string, unknown> {
  try {
    return JSON.parse(JSON.stringify(schema)) as Record<string, unknown>
  } catch (cause) {
    throw new TypeError('it is not JSON', { cause })
  }
}

function withDefaults({ properties, items }: JsonSchema, value: unknown): unknown {
  if (Array.isArray(value))
    return isObject(items) ? value.map((item: unknown) => withDefaults(items, item)) : value
  if (!isObject(value) || !isObject(properties)) return value
  const complete = new Map(Object.entries(value))
  for (const [name, property] of Object.entries(properties)) {
    if (!isObject(property)) continue
    if (complete.has(name)) complete.set(name, withDefaults(property, complete.get(name)))
    else if ('default' in property) complete.set(name, structuredClone(property['default']))
  }
  return Object.fromEntries(complete)
}

/** The validator words its faults as `#/path: sentence`, from the outside in; the innermost says what is wrong. */
function readIssue(text: string): { readonly message: string; readonly path: readonly string[] } {
  const faults = text.split(/; (?=#)/)
  const choice = faults.find(
    (fault) => fault.includes('any subschemas') || fault.includes('exactly one subschema'),
  )
  const fault = choice ?? faults.at(-1) ?? text
  const [, pointer = '', message = fault] = /^#(\/\S*)?: ([^]*)$/.exec(fault) ?? []
  const path = pointer
    .split('/')
    .slice(1)
    .map((part) => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'))
  return { message: message.replace(/\.$/, ''), path }
}

function isObject(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
