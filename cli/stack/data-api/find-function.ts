// cli/stack/data-api/find-function.ts — picks the overload a call means, by the names of its arguments alone.

import type { ApiFunction } from './function-catalog.ts'

export interface FunctionSearch {
  readonly schema: string
  readonly name: string
  readonly argumentNames: readonly string[]
  /** Media type of the body that may go to a single unnamed parameter; undefined for GET and HEAD. */
  readonly bodyType: string | undefined
}

export type FunctionMatch =
  | { readonly found: ApiFunction; readonly unnamed: boolean }
  | { readonly ambiguous: readonly ApiFunction[] }
  | { readonly missing: true }

/** Types a single unnamed parameter may have, per media type of the body. */
const UNNAMED: Readonly<Record<string, readonly string[]>> = {
  'application/json': ['json', 'jsonb'],
  'text/plain': ['text'],
  'text/xml': ['xml'],
  'application/octet-stream': ['bytea'],
}

/** Named arguments first; the single unnamed parameter only when no named overload fits. */
export function findFunction(overloads: readonly ApiFunction[], search: FunctionSearch): FunctionMatch {
  const named = overloads.filter((candidate) => takesExactly(candidate, search))
  if (named.length > 1) return { ambiguous: named }
  if (named[0] !== undefined) return { found: named[0], unnamed: false }
  const types = UNNAMED[search.bodyType ?? ''] ?? []
  const unnamed = overloads.filter(({ parameters }) => {
    const [only] = parameters
    return parameters.length === 1 && only?.name === '' && types.includes(only.type)
  })
  if (unnamed.length > 1) return { ambiguous: unnamed }
  return unnamed[0] === undefined ? { missing: true } : { found: unnamed[0], unnamed: true }
}

function takesExactly({ parameters }: ApiFunction, { argumentNames, bodyType }: FunctionSearch): boolean {
  // A body that is not JSON has no argument names and can only go to an unnamed parameter.
  if (bodyType !== undefined && bodyType !== 'application/json') return false
  const given = new Set(argumentNames)
  return (
    parameters.every(
      ({ name, isRequired, isVariadic }) => name !== '' && (!isRequired || isVariadic || given.has(name)),
    ) && [...given].every((name) => parameters.some((parameter) => parameter.name === name))
  )
}

/** PostgREST's words for a call that nothing fits. */
export function missingFunction({ schema, name, argumentNames, bodyType }: FunctionSearch): {
  message: string
  details: string
} {
  const qualified = `${schema}.${name}`
  const list = argumentNames.join(', ')
  const shape = argumentNames.length === 0 ? `${qualified} without parameters` : `${qualified}(${list})`
  const searched = argumentNames.length === 0 ? 'without parameters' : `with parameters ${list}`
  const alternative = bodyType === undefined ? '' : ' or with a single unnamed json/jsonb parameter'
  return {
    message: `Could not find the function ${shape} in the schema cache`,
    details: `Searched for the function ${qualified} ${searched}${alternative}, but no matches were found in the schema cache.`,
  }
}

/** PostgREST's words for a call that two overloads fit. */
export function ambiguousFunction(candidates: readonly ApiFunction[]): string {
  const signatures = candidates.map(({ schema, name, parameters }) => {
    const list = parameters.map((parameter) => `${parameter.name} => ${parameter.type}`).join(', ')
    return `${schema}.${name}(${list})`
  })
  return `Could not choose the best candidate function between: ${signatures.join(', ')}`
}
