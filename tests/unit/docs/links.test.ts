import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { describe, expect, it } from 'vitest'

import { repositoryRoot } from '../../support/repository.ts'
import { readAnchors, readLinks, readPages } from './pages.ts'

const pages = readPages()
const page = (path: string) => pages.find((candidate) => candidate.path === path)
const read = (path: string) => readFileSync(join(repositoryRoot, path), 'utf8')

describe('links between pages', () => {
  it.each(pages.map(({ path }) => path))('of %s lead to files and headings that exist', (path) => {
    const dead = readLinks(page(path)!).filter(({ file, anchor }) => {
      if (!existsSync(join(repositoryRoot, file))) return true
      return anchor !== undefined && !readAnchors(page(file)!).includes(anchor)
    })

    expect(dead).toEqual([])
  })

  it('reach every page of docs from the README', () => {
    const linked = readLinks(page('README.md')!).map(({ file }) => file)

    expect(
      pages.map(({ path }) => path).filter((path) => /^docs\//.test(path) && !linked.includes(path)),
    ).toEqual([])
  })
})

describe('what pages name', () => {
  const text = pages.map((each) => each.text).join('\n')

  it('is a script of package.json, where they say npm run', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    const named = [...text.matchAll(/npm run ([a-z:]+)/g)].map(([, script]) => script!)

    expect(named.filter((script) => scripts[script] === undefined)).toEqual([])
  })

  it('is a table or function of ours, where they say chumbo.something', () => {
    const schema = read('sql/schema.sql')
    const named = [...text.matchAll(/(?<![\w./-])chumbo\.([a-z_]+)\b/g)].map(([, name]) => name!)

    expect([...new Set(named)].filter((name) => !schema.includes(`chumbo.${name}`))).toEqual([])
  })

  it('is every variable that the runtime reads, and no other', () => {
    const source = read('runtime/environment.ts')
    const variables = [...source.matchAll(/'((?:SUPABASE|CHUMBO)_[A-Z_]+)'/g)].map(([, name]) => name!)
    const documented = [...page('docs/operating.md')!.text.matchAll(/^\| `([A-Z_]+)` +\|/gm)].map(
      ([, name]) => name!,
    )

    expect(documented.sort()).toEqual([...new Set(variables)].sort())
  })
})
