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
  /** The template that is written like this. */
  readonly findTemplate: (uriTemplate: string) => Registration | undefined
}

export function createCodeCatalog(): CodeCatalog {
  const known = new Map<string, Registration>()
  let isComplete = false

  return {
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
