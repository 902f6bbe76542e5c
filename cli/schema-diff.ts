// cli/schema-diff.ts — what another JSON Schema admits that this one did not, and what it no longer admits.

import { isDeepStrictEqual } from 'node:util'

import {
  compareBounds,
  compareRules,
  compareTypes,
  compareValues,
  compareWording,
  type Json,
  names,
  normalise,
  typesOf,
  WORDING,
} from './schema-rules.ts'

/**
 * narrowed: some values are refused now. widened: some are taken now. replaced: both, or nobody can tell.
 * reworded: the same values, described otherwise.
 */
export type SchemaEffect = 'narrowed' | 'widened' | 'replaced' | 'reworded'

export interface SchemaChange {
  readonly effect: SchemaEffect
  /** Where, as in `filters.tags[]`; empty for the whole. */
  readonly path: string
  /** What happened there, for people: `maximum lowered from 100 to 50`. */
  readonly sentence: string
}

/** Arguments are written by those who read the schema, and hold what it describes; results may hold more where it is open. */
export type SchemaDirection = 'input' | 'output'

/**
 * Compares two schemas of the subset that clients accept. What is outside of it and not equal counts as replaced, so
 * nothing unsafe is ever told as safe.
 *
 * @example
 * ```ts
 * compareSchemas({ type: 'integer', maximum: 9 }, { type: 'integer', maximum: 5 }, 'input')
 * // [{ effect: 'narrowed', path: '', sentence: 'maximum lowered from 9 to 5' }]
 * ```
 */
export function compareSchemas(
  before: unknown,
  after: unknown,
  direction: SchemaDirection,
): readonly SchemaChange[] {
  return compare(before, after, { path: '', direction })
}

interface Place {
  readonly path: string
  readonly direction: SchemaDirection
}

function compare(before: unknown, after: unknown, place: Place): readonly SchemaChange[] {
  const { path } = place
  const [old, now] = [normalise(before), normalise(after)]
  if (isDeepStrictEqual(old, now)) return []
  const change = (effect: SchemaEffect, sentence: string): SchemaChange => ({ effect, path, sentence })
  if (old === false) return [change('widened', 'is accepted now')]
  if (now === false) return [change('narrowed', 'is no longer accepted')]

  const wording = WORDING.flatMap((key) => compareWording(key, old[key], now[key])).map((sentence) =>
    change('reworded', sentence),
  )
  if (hasAlternatives(old) || hasAlternatives(now)) {
    return [...compareAlternatives(old, now, place), ...wording]
  }
  const types = compareTypes(old, now)
  if (types?.effect === 'replaced') return [change(types.effect, types.sentence), ...wording]
  return [
    ...(types === undefined ? [] : [change(types.effect, types.sentence)]),
    ...compareValues(old, now).map(([effect, sentence]) => change(effect, sentence)),
    ...compareBounds(old, now).map(([effect, sentence]) => change(effect, sentence)),
    ...compareRules(old, now).map(([effect, sentence]) => change(effect, sentence)),
    ...compareObjects(old, now, place),
    ...compareItems(old, now, place),
    ...wording,
  ]
}

/** Whether nothing that the first admits is refused by the second. */
function admitsAll(narrow: unknown, wide: unknown, { direction }: Place): boolean {
  return compareSchemas(narrow, wide, direction).every(
    ({ effect }) => effect === 'widened' || effect === 'reworded',
  )
}

function compareObjects(old: Json, now: Json, place: Place): SchemaChange[] {
  const { path, direction } = place
  const [before, after] = [members(old['properties']), members(now['properties'])]
  const [restBefore, restAfter] = [old['additionalProperties'], now['additionalProperties']]
  const [requiredBefore, requiredAfter] = [strings(old['required']), strings(now['required'])]
  // What an argument list does not describe, nobody sends, although nothing forbids it.
  const isClosed = (rest: unknown) => rest === false || (rest === undefined && direction === 'input')
  const at = (name: string): Place => ({ ...place, path: path === '' ? name : `${path}.${name}` })
  const isNew = (name: string) => before[name] === undefined && isClosed(restBefore)
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]

  const changes = names.flatMap((name): readonly SchemaChange[] => {
    const [one, other] = [before[name], after[name]]
    const tell = (effect: SchemaEffect, sentence: string) => [{ effect, path: at(name).path, sentence }]
    if (one !== undefined && other !== undefined) return compare(one, other, at(name))
    if (one === undefined) {
      // That it is accepted goes without saying where it is demanded.
      if (isNew(name)) return requiredAfter.includes(name) ? [] : tell('widened', 'is accepted now')
      return summarise(compare(restBefore ?? {}, other, at(name)), (effect) =>
        tell(effect, 'is described now'),
      )
    }
    if (isClosed(restAfter)) return tell('narrowed', 'is no longer accepted')
    return summarise(compare(one, restAfter ?? {}, at(name)), (effect) =>
      tell(effect, 'is no longer described'),
    )
  })
  const demanded = requiredAfter
    .filter((name) => !requiredBefore.includes(name))
    .map((name): SchemaChange => {
      const { path } = at(name)
      // Before, no value had it; now every value has it.
      return isNew(name)
        ? { effect: 'replaced', path, sentence: 'is new and required' }
        : { effect: 'narrowed', path, sentence: 'is required now' }
    })
  const spared = requiredBefore
    .filter((name) => !requiredAfter.includes(name) && (after[name] !== undefined || !isClosed(restAfter)))
    .map((name): SchemaChange => ({
      effect: 'widened',
      path: at(name).path,
      sentence: 'is no longer required',
    }))
  return [...changes, ...demanded, ...spared, ...compare(restBefore ?? {}, restAfter ?? {}, at('*'))]
}

/** Several changes of one place as one. */
function summarise(
  changes: readonly SchemaChange[],
  tell: (effect: SchemaEffect) => readonly SchemaChange[],
): readonly SchemaChange[] {
  const effects = new Set(changes.map(({ effect }) => effect))
  if (effects.size === 0) return []
  if (effects.has('replaced') || (effects.has('narrowed') && effects.has('widened'))) return tell('replaced')
  return tell(effects.has('narrowed') ? 'narrowed' : effects.has('widened') ? 'widened' : 'reworded')
}

function compareItems(old: Json, now: Json, place: Place): SchemaChange[] {
  const [before, after] = [list(old['prefixItems']), list(now['prefixItems'])]
  const [restBefore, restAfter] = [old['items'] ?? {}, now['items'] ?? {}]
  const at = (index: number | string): Place => ({ ...place, path: `${place.path}[${index}]` })
  const places = Array.from({ length: Math.max(before.length, after.length) }, (_, index) =>
    compare(before[index] ?? restBefore, after[index] ?? restAfter, at(index)),
  )
  return [...places.flat(), ...compare(restBefore, restAfter, at(''))]
}

function hasAlternatives(schema: Json): boolean {
  return Array.isArray(schema['anyOf']) || Array.isArray(schema['oneOf'])
}

/** Compares alternatives of the same types with each other, and tells what of the rest came or went. */
function compareAlternatives(old: Json, now: Json, place: Place): SchemaChange[] {
  const { path } = place
  const [before, after] = [alternatives(old), alternatives(now)]
  const lost = before.filter((one) => !after.some((other) => admitsAll(one, other, place)))
  const won = after.filter((one) => !before.some((other) => admitsAll(one, other, place)))
  const isAlone = lost.length === 1 && won.length === 1
  const isLike = (one: Json) => (other: Json) => isDeepStrictEqual(typesOf(one), typesOf(other))
  const tell = (effect: SchemaEffect, one: Json, sentence: string) => [
    { effect, path, sentence: `${names(one, typesOf(one))} ${sentence}` },
  ]
  const paired = new Set<Json>()
  const gone = lost.flatMap((one) => {
    const partner = won.find(isLike(one)) ?? (isAlone ? won[0] : after.find(isLike(one)))
    if (partner === undefined) return tell('narrowed', one, 'no longer accepted')
    paired.add(partner)
    return [...compare(one, partner, place)]
  })
  const come = won
    .filter((one) => !paired.has(one))
    .flatMap((one) => {
      const partner = before.find(isLike(one))
      if (partner === undefined) return tell('widened', one, 'accepted now')
      return [...compare(partner, one, place)]
    })
  return [...gone, ...come]
}

/** What stands beside them holds for each. Types in a list are alternatives as well. */
function alternatives(schema: Json): readonly Json[] {
  const { anyOf, oneOf, ...rest } = schema
  const rules = Object.fromEntries(Object.entries(rest).filter(([key]) => !WORDING.includes(key)))
  if (Array.isArray(anyOf) || Array.isArray(oneOf)) {
    return [...list(anyOf), ...list(oneOf)].flatMap((one) => {
      const normal = normalise(one)
      return normal === false ? [] : alternatives({ ...rules, ...normal })
    })
  }
  const { type } = schema
  return Array.isArray(type) ? type.map((one) => ({ ...rules, type: String(one) })) : [rules]
}

function members(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function strings(value: unknown): readonly string[] {
  return list(value).filter((one) => typeof one === 'string')
}
