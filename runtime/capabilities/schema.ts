// runtime/capabilities/schema.ts — what an application gives as a schema, as a Standard Schema that clients accept.

import {
  isInputRequiredResult,
  type CallToolResult,
  type InputRequiredResult,
  type StandardSchemaWithJSON,
} from '@modelcontextprotocol/server'
import { toJSONSchema, z } from 'zod'

import { acceptSchema } from './accepted-schema.ts'
import { fromPlainSchema, isPlainSchema } from './plain-schema.ts'
import type { JsonSchema } from './schema-merge.ts'
import { fromZod3, fromZod3Shape, isZod3, type Zod3Schema } from './zod3.ts'

/** A JSON Schema written by hand. Its arguments reach the handler as an object of unknown values. */
export interface PlainSchema {
  readonly type: string
  readonly [keyword: string]: unknown
}

/** As much of a schema of zod 4, `zod/mini` included, as its type tells. */
interface Zod4Schema {
  readonly _zod: { readonly output: unknown }
}

/** What serves as a schema: a Standard Schema with JSON Schema, zod 4 or 3, or a plain JSON Schema. */
export type ToolSchema = StandardSchemaWithJSON | Zod4Schema | Zod3Schema | PlainSchema

/** What a handler gets from a schema. */
export type OutputOf<Schema> = Schema extends StandardSchemaWithJSON
  ? StandardSchemaWithJSON.InferOutput<Schema>
  : Schema extends Zod4Schema
    ? Schema['_zod']['output']
    : Schema extends Zod3Schema<infer Output>
      ? Output
      : Readonly<Record<string, unknown>>

type Side = 'input' | 'output'

/** Reading a schema costs up to 80 µs and is asked for on every list, so the outcome is kept with the object. */
const prepared = {
  input: new WeakMap<object, StandardSchemaWithJSON>(),
  output: new WeakMap<object, StandardSchemaWithJSON>(),
}

/**
 * The schema as every part of the runtime uses it: it validates as it was written, and shows itself in the subset that
 * clients accept. Build schemas at module scope: one built per request is read per request.
 *
 * An output schema that describes something else than an object shows, and returns, an object with it as `result`.
 *
 * @throws {TypeError} saying why it is no schema, or cannot be shown.
 */
export function prepareSchema(schema: unknown, side: Side): StandardSchemaWithJSON {
  const isObject = (typeof schema === 'object' && schema !== null) || typeof schema === 'function'
  if (!isObject)
    throw new TypeError(`it is ${schema === null ? 'null' : `a ${typeof schema}`} and not a schema`)
  const known = prepared[side].get(schema)
  if (known !== undefined) return known
  const standard = toStandard(schema)
  const { schema: json, isWrapped } = acceptSchema(show(standard, side), side)
  const { validate, vendor } = standard['~standard']
  const shown = (): Record<string, unknown> => json
  const ready: StandardSchemaWithJSON = {
    '~standard': {
      version: 1,
      vendor,
      jsonSchema: { input: shown, output: shown },
      validate: isWrapped ? wrapping(validate) : validate,
    },
  }
  prepared[side].set(schema, ready)
  // Preparing what is prepared changes nothing.
  prepared[side].set(ready, ready)
  return ready
}

/** The JSON Schema a client is shown. */
export function toJsonSchema(schema: unknown, side: Side): JsonSchema {
  return prepareSchema(schema, side)['~standard'].jsonSchema[side]({ target: 'draft-2020-12' })
}

function show({ '~standard': { jsonSchema } }: StandardSchemaWithJSON, side: Side): JsonSchema {
  try {
    return jsonSchema[side]({ target: 'draft-2020-12' })
  } catch (cause) {
    throw new TypeError(cause instanceof Error ? cause.message : 'it cannot be shown as JSON Schema', {
      cause,
    })
  }
}

function toStandard(schema: object): StandardSchemaWithJSON {
  if (isZod3(schema)) return fromZod3(schema)
  if ('~standard' in schema) {
    const { vendor, validate, jsonSchema } = schema['~standard'] as Partial<
      StandardSchemaWithJSON['~standard']
    >
    if (typeof validate === 'function') {
      if (typeof jsonSchema?.input === 'function') return schema as StandardSchemaWithJSON
      // `zod/mini`, and zod 4 before 4.2, validate and leave showing to a function beside them.
      if ('_zod' in schema) return withZodConverter(schema as unknown as z.ZodType)
      throw new TypeError(
        `it is a schema of ${vendor ?? 'a library'} that does not show itself as JSON Schema`,
      )
    }
  }
  if (Object.getPrototypeOf(schema) === Object.prototype || Object.getPrototypeOf(schema) === null) {
    const values = Object.values(schema) as unknown[]
    if (values.length > 0 && values.every(isZod3)) return fromZod3Shape(schema as Record<string, Zod3Schema>)
    if (
      values.length > 0
      && values.every((value) => typeof value === 'object' && value !== null && '_zod' in value)
    )
      return z.object(schema as z.ZodRawShape)
    if (isPlainSchema(schema)) return fromPlainSchema(schema)
  }
  throw new TypeError(
    'it is no schema: give a zod schema, a Standard Schema with JSON Schema, or a JSON Schema',
  )
}

function withZodConverter(schema: z.ZodType): StandardSchemaWithJSON {
  const show = (io: Side) => (): Record<string, unknown> => ({ ...toJSONSchema(schema, { io }) })
  const { validate } = schema['~standard']
  return {
    '~standard': {
      version: 1,
      vendor: 'zod',
      validate,
      jsonSchema: { input: show('input'), output: show('output') },
    },
  }
}

/** The same check, whose value goes out as the property `result`. */
function wrapping(validate: Standard['validate']): Standard['validate'] {
  return async (value, options) => {
    const checked = await validate(value, options)
    return checked.issues === undefined ? { value: { result: checked.value } } : checked
  }
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
  prepared.input.set(guard, guard)
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
  prepared.output.set(trust, trust)
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
