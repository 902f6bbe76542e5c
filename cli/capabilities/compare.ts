// cli/capabilities/compare.ts — what differs between two catalogs, and which of it clients would run into.

import { isDeepStrictEqual } from 'node:util'

import { compareSchemas, type SchemaEffect } from '../schema-diff.ts'
import type { Registration } from './registration.ts'

export interface FieldChange {
  readonly field: string
  /** Of a schema what `compareSchemas` says; of scopes whether fewer or more callers qualify; else changed. */
  readonly effect: SchemaEffect | 'changed'
  /** Where inside the field. */
  readonly path: string
  readonly sentence: string
  /** A call that was right before may fail now, or its answer may be one its caller does not expect. */
  readonly breaking: boolean
}

export interface CapabilityDifference {
  readonly change: 'added' | 'changed' | 'removed'
  readonly kind: string
  readonly name: string
  readonly breaking: boolean
  readonly changes: readonly FieldChange[]
}

/** Compares by kind and name, in that order. Fields that only one side knows say nothing. */
export function compareCatalogs(
  before: readonly Registration[],
  after: readonly Registration[],
): readonly CapabilityDifference[] {
  const key = ({ kind, name }: Registration) => `${kind} ${name}`
  const [old, now] = [before, after].map((side) => new Map(side.map((one) => [key(one), one])))
  const keys = [...new Set([...(old?.keys() ?? []), ...(now?.keys() ?? [])])].sort()
  return keys.flatMap((name) => compareRegistrations(old?.get(name), now?.get(name)))
}

/** None where both say the same. */
export function compareRegistrations(
  before: Registration | undefined,
  after: Registration | undefined,
): readonly CapabilityDifference[] {
  if (before === undefined)
    return after === undefined ? [] : [{ change: 'added', ...named(after), breaking: false, changes: [] }]
  // Whoever uses it finds it gone.
  if (after === undefined) return [{ change: 'removed', ...named(before), breaking: true, changes: [] }]
  const changes = Object.keys(before.fields)
    .filter((field) => field in after.fields)
    .flatMap((field) => compareField(field, before.fields[field], after.fields[field]))
  if (changes.length === 0) return []
  const breaking = changes.some((change) => change.breaking)
  return [{ change: 'changed', ...named(after), breaking, changes }]
}

function named({ kind, name }: Registration): { kind: string; name: string } {
  return { kind, name }
}

/** Effects a caller runs into: of what it sends, what is refused now; of what it gets, what is new. */
const BREAKING: Readonly<Record<string, readonly string[]>> = {
  input_schema: ['narrowed', 'replaced'],
  output_schema: ['widened', 'replaced'],
}

function compareField(field: string, before: unknown, after: unknown): readonly FieldChange[] {
  if (isDeepStrictEqual(before, after)) return []
  if (field === 'input_schema' || field === 'output_schema') return compareSchemaField(field, before, after)
  if (field === 'required_scopes') return compareScopes(before, after)
  const sentence = [before, after].some((value) => JSON.stringify(value).length > 60)
    ? 'changed'
    : `changed from ${JSON.stringify(before)} to ${JSON.stringify(after)}`
  // What was kept of the old address leads nowhere.
  return [{ field, effect: 'changed', path: '', sentence, breaking: field === 'uri' }]
}

function compareSchemaField(field: string, before: unknown, after: unknown): readonly FieldChange[] {
  const judge = (effect: SchemaEffect) => BREAKING[field]?.includes(effect) ?? false
  if (before === null) {
    const effect = 'narrowed'
    return [{ field, effect, path: '', sentence: 'is declared now', breaking: judge(effect) }]
  }
  if (after === null) {
    const effect = 'widened'
    return [{ field, effect, path: '', sentence: 'is no longer declared', breaking: judge(effect) }]
  }
  const changes = compareSchemas(before, after, field === 'input_schema' ? 'input' : 'output')
  // Different and yet the same to every value, such as the order of required names.
  if (changes.length === 0)
    return [{ field, effect: 'reworded', path: '', sentence: 'written differently', breaking: false }]
  return changes.map((change) => ({ field, ...change, breaking: judge(change.effect) }))
}

function compareScopes(before: unknown, after: unknown): readonly FieldChange[] {
  const [old, now] = [before, after].map((scopes) => (Array.isArray(scopes) ? scopes.map(String) : []))
  const tell = (effect: 'narrowed' | 'widened', sentence: string) => (scope: string) => ({
    ...{ field: 'required_scopes', effect, path: scope, sentence },
    // Decided on purpose, and told to the caller as what it is.
    breaking: false,
  })
  return [
    ...(now ?? []).filter((scope) => !old?.includes(scope)).map(tell('narrowed', 'is needed now')),
    ...(old ?? []).filter((scope) => !now?.includes(scope)).map(tell('widened', 'is no longer needed')),
  ]
}

const SIGN = { added: '+', changed: '~', removed: '-' } as const

/** The differences for people, a line each. */
export function describeDifferences(differences: readonly CapabilityDifference[]): string {
  return differences
    .flatMap(({ change, kind, name, breaking, changes }) => [
      `${SIGN[change]} ${kind} ${name}${breaking && change === 'removed' ? '  (breaking)' : ''}`,
      ...changes.map(
        ({ field, effect, path, sentence, breaking: breaks }) =>
          `    ${effect.padEnd(8)} ${field}${path === '' ? '' : ` ${path}`}: ${sentence}${breaks ? '  (breaking)' : ''}`,
      ),
    ])
    .join('\n')
}
