// tests/unit/gate/catalog-cache.test.ts — definitions are kept as long as their revision, and never across it.
import { describe, expect, it } from 'vitest'

import { createCatalogCache } from '../../../runtime/gate/catalog-cache.ts'
import type { CatalogEntry } from '../../../runtime/gate/gate.ts'

const entry = (id: number, name: string, handler: 'sql' | 'typescript' = 'sql'): CatalogEntry => ({
  id,
  name,
  kind: 'tool',
  handler,
  definition: { name },
})

describe('a catalog cache', () => {
  it('holds what it has seen of a revision', () => {
    const cache = createCatalogCache()
    expect(cache.revision()).toBeUndefined()

    cache.learn(3, [entry(1, 'a'), entry(2, 'b', 'typescript')])
    cache.learn(3, [entry(4, 'c')])

    expect(cache.revision()).toBe(3)
    expect(cache.definition({ id: 1, name: 'a', kind: 'tool', handler: 'sql' })).toEqual({ name: 'a' })
    expect(['a', 'b', 'c'].map((name) => cache.isSql(name))).toEqual([true, false, true])
  })

  it.each([4, 2])('forgets all of it when the revision becomes %s', (revision) => {
    const cache = createCatalogCache()
    cache.learn(3, [entry(1, 'a')])
    cache.learnSql('z')

    cache.learn(revision)

    expect(cache.definition(entry(1, 'a'))).toBeUndefined()
    expect([cache.isSql('a'), cache.isSql('z')]).toEqual([false, false])
  })

  it('keeps everything when an answer names no revision', () => {
    const cache = createCatalogCache()
    cache.learn(3, [entry(1, 'a')])

    cache.learn(null)
    cache.learn(undefined, [entry(2, 'b')])

    expect(cache.definition(entry(1, 'a'))).toEqual({ name: 'a' })
    expect(cache.definition(entry(2, 'b'))).toBeUndefined()
  })

  it('hands out what nobody can change for the next caller', () => {
    const cache = createCatalogCache()
    cache.learn(1, [entry(1, 'a')])

    expect(Object.isFrozen(cache.definition(entry(1, 'a')))).toBe(true)
  })
})
