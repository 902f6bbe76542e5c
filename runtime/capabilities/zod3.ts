// runtime/capabilities/zod3.ts — schemas of zod 3, which validate well and cannot show themselves as JSON Schema.
//
// zod 3 is finished, so what it is made of no longer changes. It is read through `_def`, whichever copy of it made the
// schema; nothing of zod 3 is imported. What it shows is what the same schema of zod 4 shows.

import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server'

type Issues = readonly { readonly message: string; readonly path: readonly PropertyKey[] }[]

/** As much of a schema of zod 3 as is needed here. */
export interface Zod3Schema<Output = unknown> {
  readonly _output: Output
  readonly _def: unknown
  safeParseAsync(
    value: unknown,
  ): Promise<
    | { readonly success: true; readonly data: Output }
    | { readonly success: false; readonly error: { readonly issues: Issues } }
  >
}

/** Whether a value was made by zod 3. */
export function isZod3(value: unknown): value is Zod3Schema {
  if (typeof value !== 'object' || value === null || '_zod' in value || !('_def' in value)) return false
  return typeof (value._def as Definition | undefined)?.typeName === 'string' && 'safeParseAsync' in value
}

/** The schema as a Standard Schema with JSON Schema. */
export function fromZod3(schema: Zod3Schema): StandardSchemaWithJSON {
  return {
    '~standard': {
      version: 1,
      vendor: 'zod',
      jsonSchema: {
        input: () => convert(schema, 'input', new Map()),
        output: () => convert(schema, 'output', new Map()),
      },
      async validate(value) {
        const result = await schema.safeParseAsync(value)
        return result.success ? { value: result.data } : { issues: result.error.issues }
      },
    },
  }
}

/** The loose properties of an object, as the official API took them from zod 3. */
export function fromZod3Shape(shape: Readonly<Record<string, Zod3Schema>>): StandardSchemaWithJSON {
  const names = Object.keys(shape)
  const show = (side: Side): Record<string, unknown> => showShape(shape, side, new Map())
  return {
    '~standard': {
      version: 1,
      vendor: 'zod',
      jsonSchema: { input: () => show('input'), output: () => show('output') },
      async validate(value) {
        if (typeof value !== 'object' || value === null) return { issues: [{ message: 'Expected object' }] }
        const given = value as Record<string, unknown>
        const read = await Promise.all(
          names.map(async (name) => [name, await shape[name]?.safeParseAsync(given[name])] as const),
        )
        const issues = read.flatMap(([name, result]) =>
          result?.success === false
            ? result.error.issues.map(({ message, path }) => ({ message, path: [name, ...path] }))
            : [],
        )
        if (issues.length > 0) return { issues }
        const entries = read.flatMap(([name, result]) =>
          result?.success === true && result.data !== undefined ? [[name, result.data]] : [],
        )
        return { value: Object.fromEntries(entries) as Record<string, unknown> }
      },
    },
  }
}

type Side = 'input' | 'output'
type Node = Record<string, unknown>
type Seen = Map<unknown, Node>

/** `_def` of any kind; each kind has some of these. */
interface Definition {
  readonly typeName: string
  readonly description?: string
  readonly checks?: readonly Check[]
  readonly value?: unknown
  readonly values?: unknown
  readonly type?: Zod3Schema
  readonly innerType?: Zod3Schema
  readonly schema?: Zod3Schema
  readonly in?: Zod3Schema
  readonly out?: Zod3Schema
  readonly left?: Zod3Schema
  readonly right?: Zod3Schema
  readonly keyType?: Zod3Schema
  readonly valueType?: Zod3Schema
  readonly rest?: Zod3Schema | null
  readonly catchall?: Zod3Schema
  readonly items?: readonly Zod3Schema[]
  readonly options?: readonly Zod3Schema[] | ReadonlyMap<unknown, Zod3Schema>
  readonly unknownKeys?: 'strict' | 'strip' | 'passthrough'
  readonly effect?: { readonly type: string }
  readonly minLength?: { readonly value: number } | null
  readonly maxLength?: { readonly value: number } | null
  readonly exactLength?: { readonly value: number } | null
  readonly shape?: () => Readonly<Record<string, Zod3Schema>>
  readonly getter?: () => Zod3Schema
  readonly defaultValue?: () => unknown
}

interface Check {
  readonly kind: string
  readonly value?: number | string
  readonly inclusive?: boolean
  readonly regex?: RegExp
  readonly version?: string
}

const definitionOf = (schema: Zod3Schema): Definition => schema._def as Definition

/** Types that contain themselves come out as objects that contain themselves; who writes them out cuts them. */
function convert(schema: Zod3Schema | undefined, side: Side, seen: Seen): Node {
  if (schema === undefined) return {}
  const known = seen.get(schema)
  if (known !== undefined) return known
  const definition = definitionOf(schema)
  const inner = wrapped(definition, side)
  if (inner !== undefined) return describeWrapped(schema, inner, side, seen)
  const node: Node = {}
  seen.set(schema, node)
  const { description } = definition
  return Object.assign(node, show(definition, side, seen), description === undefined ? {} : { description })
}

/** The schema inside one that changes how a value is read, and not what it looks like. */
function wrapped(definition: Definition, side: Side): Zod3Schema | undefined {
  switch (definition.typeName) {
    case 'ZodOptional':
    case 'ZodReadonly':
    case 'ZodDefault':
    case 'ZodCatch':
      return definition.innerType
    case 'ZodBranded':
      return definition.type
    case 'ZodPipeline':
      return side === 'input' ? definition.in : definition.out
    case 'ZodEffects':
      if (side === 'output' && definition.effect?.type === 'transform') throw unrepresentable('Transforms')
      return definition.schema
    case 'ZodLazy':
      return definition.getter?.()
    default:
      return undefined
  }
}

function describeWrapped(schema: Zod3Schema, inner: Zod3Schema, side: Side, seen: Seen): Node {
  const { typeName, description, defaultValue } = definitionOf(schema)
  // A lazy type that leads to itself says nothing.
  if (typeName === 'ZodLazy') seen.set(schema, {})
  const own: Node = {
    ...(description === undefined ? {} : { description }),
    ...(typeName === 'ZodDefault' ? { default: defaultValue?.() } : {}),
    ...(typeName === 'ZodReadonly' ? { readOnly: true } : {}),
  }
  const node = convert(inner, side, seen)
  const shown = Object.keys(own).length === 0 ? node : { ...own, allOf: [node] }
  seen.set(schema, shown)
  return shown
}

function show(definition: Definition, side: Side, seen: Seen): Node {
  const of = (schema: Zod3Schema | undefined): Node => convert(schema, side, seen)
  switch (definition.typeName) {
    case 'ZodString':
      return showString(definition.checks ?? [])
    case 'ZodNumber':
      return showNumber(definition.checks ?? [])
    case 'ZodBoolean':
      return { type: 'boolean' }
    case 'ZodNull':
      return { type: 'null' }
    case 'ZodAny':
    case 'ZodUnknown':
      return {}
    case 'ZodNever':
      return { not: {} }
    case 'ZodLiteral':
      return showLabels([definition.value])
    case 'ZodEnum':
      return showLabels(definition.values as unknown[])
    case 'ZodNativeEnum':
      return showLabels(valuesOfEnum(definition.values as Record<string, unknown>))
    case 'ZodObject':
      return showObject(definition, side, seen)
    case 'ZodArray':
      return {
        type: 'array',
        items: of(definition.type),
        ...bounds(
          'Items',
          definition.exactLength ?? definition.minLength,
          definition.exactLength ?? definition.maxLength,
        ),
      }
    case 'ZodTuple': {
      const { items = [], rest } = definition
      return {
        type: 'array',
        prefixItems: items.map(of),
        items: rest == null ? false : of(rest),
        minItems: items.length,
        ...(rest == null ? { maxItems: items.length } : {}),
      }
    }
    case 'ZodRecord':
      return {
        type: 'object',
        propertyNames: of(definition.keyType),
        additionalProperties: of(definition.valueType),
      }
    case 'ZodUnion':
    case 'ZodDiscriminatedUnion':
      return { anyOf: [...(definition.options?.values() ?? [])].map(of) }
    case 'ZodIntersection':
      return { allOf: [of(definition.left), of(definition.right)] }
    case 'ZodNullable':
      return { anyOf: [of(definition.innerType), { type: 'null' }] }
    default:
      throw unrepresentable(definition.typeName.replace(/^Zod/, ''))
  }
}

function showObject({ shape, unknownKeys, catchall }: Definition, side: Side, seen: Seen): Node {
  const isClosed = unknownKeys === 'strict' || (unknownKeys === 'strip' && side === 'output')
  const hasCatchall = catchall !== undefined && definitionOf(catchall).typeName !== 'ZodNever'
  return {
    ...showShape(shape?.() ?? {}, side, seen),
    ...(hasCatchall
      ? { additionalProperties: convert(catchall, side, seen) }
      : isClosed
        ? { additionalProperties: false }
        : {}),
  }
}

function showShape(shape: Readonly<Record<string, Zod3Schema>>, side: Side, seen: Seen): Node {
  const entries = Object.entries(shape)
  const required = entries.filter(([, schema]) => !mayBeAbsent(schema, side)).map(([name]) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, schema]) => [name, convert(schema, side, seen)])),
    ...(required.length === 0 ? {} : { required }),
  }
}

/** Read from the structure: asking zod would run what the application wrote into the schema. */
function mayBeAbsent(schema: Zod3Schema, side: Side, depth = 0): boolean {
  const definition = definitionOf(schema)
  switch (definition.typeName) {
    case 'ZodOptional':
    case 'ZodAny':
    case 'ZodUnknown':
    case 'ZodNever':
      return true
    case 'ZodDefault':
      return side === 'input'
    case 'ZodUnion':
      return [...(definition.options?.values() ?? [])].some((option) => mayBeAbsent(option, side, depth + 1))
    case 'ZodNullable':
      return definition.innerType !== undefined && mayBeAbsent(definition.innerType, side, depth + 1)
    default: {
      const inner = definition.typeName === 'ZodEffects' ? definition.schema : wrapped(definition, side)
      return inner !== undefined && depth < 32 && mayBeAbsent(inner, side, depth + 1)
    }
  }
}

const formats: Readonly<Record<string, string>> = {
  email: 'email',
  url: 'uri',
  uuid: 'uuid',
  datetime: 'date-time',
  date: 'date',
  time: 'time',
  duration: 'duration',
}

function showString(checks: readonly Check[]): Node {
  const node: Node = { type: 'string' }
  for (const { kind, value, regex, version } of checks) {
    const format = kind === 'ip' && version !== undefined ? `ip${version}` : formats[kind]
    if (format !== undefined) node['format'] = format
    if (kind === 'min' || kind === 'length') node['minLength'] = value
    if (kind === 'max' || kind === 'length') node['maxLength'] = value
    if (kind === 'regex') node['pattern'] ??= regex?.source
    if (kind === 'startsWith') node['pattern'] ??= `^${escape(value)}.*`
    if (kind === 'endsWith') node['pattern'] ??= `.*${escape(value)}$`
    if (kind === 'includes') node['pattern'] ??= escape(value)
  }
  return node
}

function showNumber(checks: readonly Check[]): Node {
  const node: Node = { type: 'number' }
  for (const { kind, value, inclusive } of checks) {
    if (kind === 'int') node['type'] = 'integer'
    if (kind === 'min') node[inclusive === true ? 'minimum' : 'exclusiveMinimum'] = value
    if (kind === 'max') node[inclusive === true ? 'maximum' : 'exclusiveMaximum'] = value
    if (kind === 'multipleOf') node['multipleOf'] = value
  }
  return node
}

function showLabels(values: readonly unknown[]): Node {
  const types = new Set(
    values.map((value) => {
      if (value === null) return 'null'
      if (['string', 'number', 'boolean'].includes(typeof value)) return typeof value
      throw unrepresentable(`A literal ${typeof value}`)
    }),
  )
  const [type] = types
  return { ...(types.size === 1 ? { type } : {}), enum: values }
}

/** A numeric enum of TypeScript holds its labels as values too. */
function valuesOfEnum(values: Readonly<Record<string, unknown>>): unknown[] {
  const isReverse = (key: string): boolean => typeof values[String(values[key])] === 'number'
  return Object.keys(values)
    .filter((key) => !isReverse(key))
    .map((key) => values[key])
}

function bounds(
  noun: string,
  least: { readonly value: number } | null | undefined,
  most: { readonly value: number } | null | undefined,
): Node {
  return {
    ...(least == null ? {} : { [`min${noun}`]: least.value }),
    ...(most == null ? {} : { [`max${noun}`]: most.value }),
  }
}

function escape(value: unknown): string {
  return String(value).replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

function unrepresentable(what: string): TypeError {
  return new TypeError(`${what} cannot be represented in JSON Schema`)
}
