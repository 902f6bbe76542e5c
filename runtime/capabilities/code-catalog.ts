// runtime/capabilities/code-catalog.ts — the names that code handles, as far as they have been seen.

import type { CodeKind, Registration } from './facade.ts'

/**
 * Names registered by code. Which of them a caller may use is the database's word on each request; the names themselves
 * belong to the program, so they may be kept between requests.
 */
export interface CodeCatalog {
  /** Takes a registration in; true when its name was not known. */
  readonly learn: (registration: Registration) => boolean
  /** Notes that everything code registers for some caller has been heard of. */
  readonly markComplete: () => void
  readonly isComplete: () => boolean
  readonly names: (kinds: readonly CodeKind[]) => readonly string[]
  /** The resource whose URI or template a URI belongs to; the first registered wins. */
  readonly findResource: (uri: string) => Registration | undefined
  /** Lets a fault of the program be told, unless one of the same words was told before: it comes with every request. */
  readonly reportOnce: (error: unknown, report: () => void) => void
  /** The template that is written like this. */
  readonly findTemplate: (uriTemplate: string) => Registration | undefined
}

/** Most different faults that are told; code that words each anew is not told for ever. */
const mostFaults = 1_000

export function createCodeCatalog(): CodeCatalog {
  const known = new Map<string, Registration>()
  const told = new Set<string>()
  let isComplete = false

  return {
    reportOnce(error, report) {
      const words = String(error)
      if (told.has(words) || told.size >= mostFaults) return
      told.add(words)
      report()
    },
    learn(registration) {
      const key = `${registration.kind} ${registration.name}`
      const isNew = !known.has(key)
      if (isNew) known.set(key, registration)
      return isNew
    },
    markComplete() {
      isComplete = true
    },
    isComplete: () => isComplete,
    names: (kinds) => [...known.values()].filter(({ kind }) => kinds.includes(kind)).map(({ name }) => name),
    findTemplate: (uriTemplate) =>
      [...known.values()].find(
        ({ uri }) => typeof uri === 'object' && uri.uriTemplate.toString() === uriTemplate,
      ),
    findResource(uri) {
      const all = [...known.values()]
      return (
        all.find((registration) => registration.uri === uri)
        ?? all.find(
          ({ uri: pattern }) => typeof pattern === 'object' && pattern.uriTemplate.match(uri) !== null,
        )
      )
    },
  }
}
