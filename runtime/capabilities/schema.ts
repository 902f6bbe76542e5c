// runtime/capabilities/schema.ts — JSON Schema of a Standard Schema, converted once per schema object.

import {
  isInputRequiredResult,
  type CallToolResult,
  type InputRequiredResult,
  type StandardSchemaWithJSON,
} from '@modelcontextprotocol/server'

type JsonSchema = Record<string, unknown>

/** Converting costs 60 to 80 µs a schema and the SDK repeats it on every list, so the result is kept with the object. */
const converted = { input: new WeakMap<object, JsonSchema>(), output: new WeakMap<object, JsonSchema>() }

/** Whether a value is a schema that can also show itself as JSON Schema; zod 4 is one. */
export function isStandardSchema(value: unknown): value is StandardSchemaWithJSON {
  if (typeof value !== 'object' || value === null || !('~standard' in value)) return false
  const standard = value['~standard'] as Partial<StandardSchemaWithJSON['~standard']>
  return typeof standard.validate === 'function' && typeof standard.jsonSchema?.input === 'function'
}

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
  /** What the schema itself threw: then nothing is known about the arguments. */
  readonly cause: unknown

  constructor(message: string, cause?: unknown) {
    this.message = message
    this.cause = cause
  }
}

const guarded = new WeakMap<object, StandardSchemaWithJSON>()
const trusted = new WeakMap<object, StandardSchemaWithJSON>()

/**
 * The same schema, whose refusals reach the handler's wrapper instead of being worded by the SDK: every tool error of
 * ours then has the same four parts.
 */
export function guardSchema(schema: StandardSchemaWithJSON): StandardSchemaWithJSON {
  const known = guarded.get(schema)
  if (known !== undefined) return known
  const standard = schema['~standard']
  const guard = withValidation(schema, async (value, options) => {
    try {
      const result = await standard.validate(value, options)
      if (result.issues === undefined) return result
      const { path, message } = firstIssue(result.issues)
      const subject = path === '' ? 'The arguments' : `The argument \`${path}\``
      return { value: new RejectedArguments(`${subject}: ${message}.`) }
    } catch (error) {
      return { value: new RejectedArguments('The arguments could not be checked.', error) }
    }
  })
  guarded.set(schema, guard)
  return guard
}

type ToolResult = CallToolResult | InputRequiredResult

/**
 * Holds what a handler returns against its output schema while the call can still fail as a whole. The schema's own reading
 * goes out: extra properties, which clients refuse, are left behind.
 *
 * @throws {TypeError} naming what does not fit; the boundary reports it and keeps it from the caller.
 */
export async function checkResult(schema: StandardSchemaWithJSON, result: ToolResult): Promise<ToolResult> {
  if (isInputRequiredResult(result) || result.isError === true) return result
  const checked = await schema['~standard'].validate(result.structuredContent)
  if (checked.issues === undefined) return { ...result, structuredContent: checked.value }
  const { path, message } = firstIssue(checked.issues)
  throw new TypeError(`The result does not fit the outputSchema: ${path === '' ? '' : `${path}: `}${message}`)
}

/** The same schema for the SDK, which need not check what {@link checkResult} has checked. */
export function trustSchema(schema: StandardSchemaWithJSON): StandardSchemaWithJSON {
  const known = trusted.get(schema)
  if (known !== undefined) return known
  const trust = withValidation(schema, (value) => ({ value }))
  trusted.set(schema, trust)
  return trust
}

type Standard = StandardSchemaWithJSON['~standard']

function withValidation(
  { '~standard': { vendor, jsonSchema } }: StandardSchemaWithJSON,
  validate: Standard['validate'],
): StandardSchemaWithJSON {
  return { '~standard': { version: 1, vendor, jsonSchema, validate } }
}

interface Issue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

function firstIssue([issue]: readonly Issue[]): { readonly path: string; readonly message: string } {
  const parts = (issue?.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part))
  return { path: parts.join('.'), message: issue?.message ?? 'not valid' }
}
