// cli/schema-rules.ts — what one schema says of a value itself, against another: its type, its values, bounds and other rules.

import { isDeepStrictEqual } from 'node:util'

import type { SchemaEffect } from './schema-diff.ts'

export type Json = Readonly<Record<string, unknown>>

/** Says how a value is told of, not which there are. */
export const WORDING = ['title', 'description', 'default', 'examples', 'deprecated', '$comment', 'readOnly']
const BOUNDS = [
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
  ['minProperties', 'maxProperties'],
] as const
/** Understood below, each by its own rule. */
const UNDERSTOOD = new Set([
  ...WORDING,
  ...BOUNDS.flat(),
  ...[
    '$schema',
    '$id',
    'type',
    'enum',
    'const',
    'minimum',
    'maximum',
    'exclusiveMinimum',
    'exclusiveMaximum',
  ],
  ...[
    'properties',
    'required',
    'additionalProperties',
    'items',
    'prefixItems',
    'anyOf',
    'oneOf',
    'multipleOf',
  ],
])

/** One spelling for what can be spelled in several ways. */
export function normalise(schema: unknown): Json | false {
  if (schema === false) return false
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return {}
  const { $schema: _schema, const: only, ...rest } = schema as Json
  const all: Json = only === undefined ? rest : { ...rest, enum: [only] }
  const integer = all['type'] === 'integer'
  const { exclusiveMinimum, exclusiveMaximum, ...bounded } = all
  // Between whole numbers an open bound is the next closed one.
  if (integer && typeof exclusiveMinimum === 'number' && bounded['minimum'] === undefined)
    return normalise({ ...bounded, ...pick({ exclusiveMaximum }), minimum: Math.floor(exclusiveMinimum) + 1 })
  if (integer && typeof exclusiveMaximum === 'number' && bounded['maximum'] === undefined)
    return normalise({ ...bounded, ...pick({ exclusiveMinimum }), maximum: Math.ceil(exclusiveMaximum) - 1 })
  return all
}

function pick(members: Json): Json {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}

/** A sentence when it is told otherwise. */
export function compareWording(key: string, old: unknown, now: unknown): string[] {
  if (isDeepStrictEqual(old, now)) return []
  if (old === undefined) return [`${key} added`]
  if (now === undefined) return [`${key} removed`]
  const isLong = [old, now].some((value) => show(value).length > 60)
  return [isLong ? `${key} reworded` : `${key} changed from ${show(old)} to ${show(now)}`]
}

export type Found = readonly [SchemaEffect, string]

const ALL_TYPES = ['null', 'boolean', 'object', 'array', 'number', 'string']

/** Undefined where both have the same types. Number includes integer. */
export function compareTypes(old: Json, now: Json): { effect: SchemaEffect; sentence: string } | undefined {
  const [before, after] = [typesOf(old), typesOf(now)]
  const takes = (types: readonly string[], type: string) =>
    types.includes(type) || (type === 'integer' && types.includes('number'))
  const lost = before.filter((type) => !takes(after, type))
  const won = after.filter((type) => !takes(before, type))
  if (lost.length === 0 && won.length === 0) return undefined
  const sentence = `type changed from ${names(old, before)} to ${names(now, after)}`
  if (won.length === 0) return { effect: 'narrowed', sentence }
  if (lost.length === 0) return { effect: 'widened', sentence }
  // A number that became an integer lost its fractions and won nothing.
  return won.every((type) => type === 'integer' && before.includes('number'))
    ? { effect: 'narrowed', sentence }
    : { effect: 'replaced', sentence }
}

/** What kinds of values a schema takes. */
export function typesOf({ type, enum: values }: Json): readonly string[] {
  if (typeof type === 'string') return [type]
  if (Array.isArray(type)) return type.map(String)
  if (!Array.isArray(values)) return ALL_TYPES
  return [...new Set(values.map(typeOfValue))]
}

function typeOfValue(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

/** Its types for people. */
export function names({ type, enum: values }: Json, types: readonly string[]): string {
  return type === undefined && !Array.isArray(values) ? 'anything' : types.join(' or ')
}

/** What came and went of a list of values. */
export function compareValues({ enum: old }: Json, { enum: now }: Json): Found[] {
  if (!Array.isArray(now)) return Array.isArray(old) ? [['widened', 'any value is accepted now']] : []
  if (!Array.isArray(old)) return [['narrowed', `only ${now.map(show).join(', ')} accepted now`]]
  const missing = (values: readonly unknown[], from: readonly unknown[]) =>
    values.filter((value) => !from.some((other) => isDeepStrictEqual(other, value)))
  const list = (values: readonly unknown[]) =>
    `${values.length === 1 ? 'value' : 'values'} ${values.map(show).join(', ')}`
  const [lost, won] = [missing(old, now), missing(now, old)]
  return [
    ...(lost.length > 0 ? [['narrowed', `${list(lost)} no longer accepted`] as const] : []),
    ...(won.length > 0 ? [['widened', `${list(won)} accepted now`] as const] : []),
  ]
}

/** Bounds of numbers, lengths and counts that moved. */
export function compareBounds(old: Json, now: Json): Found[] {
  const lower = (schema: Json) => bound(schema, 'minimum', 'exclusiveMinimum', Math.max)
  const upper = (schema: Json) => bound(schema, 'maximum', 'exclusiveMaximum', Math.min)
  return [
    ...compareBound('minimum', lower(old), lower(now), 1),
    ...compareBound('maximum', upper(old), upper(now), -1),
    ...BOUNDS.flatMap(([least, most]) => [
      ...compareBound(least, bound(old, least), bound(now, least), 1),
      ...compareBound(most, bound(old, most), bound(now, most), -1),
    ]),
  ]
}

interface Bound {
  readonly value: number
  readonly isOpen: boolean
}

/** The stricter of a closed and an open bound. */
function bound(schema: Json, closed: string, open?: string, stricter = Math.max): Bound | undefined {
  const [value, exclusive] = [schema[closed], open === undefined ? undefined : schema[open]]
  if (
    typeof exclusive === 'number'
    && (typeof value !== 'number' || stricter(value, exclusive) === exclusive)
  )
    return { value: exclusive, isOpen: true }
  return typeof value === 'number' ? { value, isOpen: false } : undefined
}

/** `up` is 1 where a higher bound is the stricter one, else -1. */
function compareBound(name: string, old: Bound | undefined, now: Bound | undefined, up: 1 | -1): Found[] {
  const text = ({ value, isOpen }: Bound) => `${value}${isOpen ? ' (exclusive)' : ''}`
  if (now === undefined) return old === undefined ? [] : [['widened', `${name} ${text(old)} dropped`]]
  if (old === undefined) return [['narrowed', `${name} ${text(now)} added`]]
  const step = (now.value - old.value) * up || Number(now.isOpen) - Number(old.isOpen)
  if (step === 0) return []
  const verb = now.value > old.value ? 'raised' : now.value < old.value ? 'lowered' : 'changed'
  return [[step > 0 ? 'narrowed' : 'widened', `${name} ${verb} from ${text(old)} to ${text(now)}`]]
}

/** Rules that are there or not, pattern and format among them: of two different ones nobody knows which is stricter. */
export function compareRules(old: Json, now: Json): Found[] {
  const keys = [...new Set([...Object.keys(old), ...Object.keys(now)])].filter((key) => !UNDERSTOOD.has(key))
  return [...keys, 'multipleOf'].flatMap((key): Found[] => {
    const [before, after] = [old[key], now[key]]
    if (isDeepStrictEqual(before, after)) return []
    if (after === undefined || after === false) return [['widened', `${key} ${show(before)} dropped`]]
    if (before === undefined || before === false) return [['narrowed', `${key} ${show(after)} added`]]
    const sentence = `${key} changed from ${show(before)} to ${show(after)}`
    if (key === 'multipleOf' && typeof before === 'number' && typeof after === 'number') {
      if (after % before === 0) return [['narrowed', sentence]]
      if (before % after === 0) return [['widened', sentence]]
    }
    return [['replaced', sentence]]
  })
}

function show(value: unknown): string {
  return JSON.stringify(value)
}
