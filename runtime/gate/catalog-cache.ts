// runtime/gate/catalog-cache.ts — what a server offers, kept per revision. Holds nothing about any caller.

import type { CatalogEntry } from './gate.ts'

/** A definition as a client sees it in a list. */
export type Definition = Readonly<Record<string, unknown>> & { readonly name: string }

/** The definitions of one server at one revision. */
export interface CatalogCache {
  /** The revision whose definitions are held; undefined before the first answer. */
  readonly revision: () => number | undefined
  /** Takes in an answer; another revision empties the cache first. */
  readonly learn: (revision: number | null | undefined, entries?: readonly CatalogEntry[]) => void
  /** The definition of an entry, or undefined when this revision's has not been seen yet. */
  readonly definition: (entry: CatalogEntry) => Definition | undefined
  /** Remembers that the database runs a tool of this name, or what else it is. */
  readonly learnSql: (name: string, kind?: string) => void
  readonly isSql: (name: string, kind?: string) => boolean
}

/** Creates an empty cache. One object belongs to one server of one app. */
export function createCatalogCache(): CatalogCache {
  let held: number | undefined
  const definitions = new Map<number, Definition>()
  const sqlNames = new Set<string>()

  return {
    revision: () => held,
    learn(revision, entries = []) {
      if (revision == null) return
      if (revision !== held) {
        definitions.clear()
        sqlNames.clear()
        held = revision
      }
      for (const { id, name, kind, handler, definition } of entries) {
        if (definition !== undefined) definitions.set(id, Object.freeze(definition))
        if (handler !== 'typescript') sqlNames.add(keyOf(name, kind))
      }
    },
    definition: ({ id }) => definitions.get(id),
    learnSql: (name, kind) => void sqlNames.add(keyOf(name, kind)),
    isSql: (name, kind) => sqlNames.has(keyOf(name, kind)),
  }
}

/** A tool and a prompt may carry one name, and be run by different hands. */
function keyOf(name: string, kind = 'tool'): string {
  return `${kind} ${name}`
}
