// runtime/capabilities/schema.ts — JSON Schema of a Standard Schema, converted once per schema object.

import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server'

type JsonSchema = Record<string, unknown>

/** Converting costs 60 to 80 µs a schema and the SDK repeats it on every list, so the result is kept with the object. */
const converted = { input: new WeakMap<object, JsonSchema>(), output: new WeakMap<object, JsonSchema>() }

/** The JSON Schema a client is shown. Build schemas at module scope: one built per request is converted per request. */
export function toJsonSchema(schema: StandardSchemaWithJSON, side: 'input' | 'output'): JsonSchema {
  const known = converted[side].get(schema)
  if (known !== undefined) return known
  const json: JsonSchema = { ...schema['~standard'].jsonSchema[side]({ target: 'draft-2020-12' }) }
  converted[side].set(schema, json)
  return json
}

/** What a rejected value is carried as, from the schema to the handler's wrapper. */
export class RejectedArguments {
  /** One sentence, naming the argument. */
  readonly message: string

  constructor(message: string) {
    this.message = message
  }
}

const guarded = new WeakMap<object, StandardSchemaWithJSON>()

/**
 * The same schema, whose refusals reach the handler's wrapper instead of being worded by the SDK: every tool error of
 * ours then has the same four parts.
 */
export function guardSchema(schema: StandardSchemaWithJSON): StandardSchemaWithJSON {
  const known = guarded.get(schema)
  if (known !== undefined) return known
  const standard = schema['~standard']
  const guard: StandardSchemaWithJSON = {
    '~standard': {
      version: 1,
      vendor: standard.vendor,
      jsonSchema: standard.jsonSchema,
      async validate(value, options) {
        const result = await standard.validate(value, options)
        if (result.issues === undefined) return result
        const [issue] = result.issues
        const path = (issue?.path ?? [])
          .map((part) => String(typeof part === 'object' ? part.key : part))
          .join('.')
        const subject = path === '' ? 'The arguments' : `The argument \`${path}\``
        return { value: new RejectedArguments(`${subject}: ${issue?.message ?? 'not valid'}.`) }
      },
    },
  }
  guarded.set(schema, guard)
  return guard
}
