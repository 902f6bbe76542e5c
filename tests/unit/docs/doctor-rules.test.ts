// tests/unit/docs/doctor-rules.test.ts — docs/doctor.md lists the rules that the database has, and no other.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, it } from 'vitest'

import { repositoryRoot } from '../../support/repository.ts'

const read = (path: string) => readFileSync(join(repositoryRoot, path), 'utf8')

it('docs/doctor.md has one row for each rule of chumbo.lint_rules', () => {
  const source = /function chumbo\.lint_rules\(\)[^]*?\$\$([^]*?)\$\$/.exec(
    read('sql/migrations/0017_lint.sql'),
  )?.[1]
  const rules = [...(source ?? '').matchAll(/^ +\('([a-z_]+)', '/gm)].map(([, rule]) => rule!)
  const documented = [
    ...read('docs/doctor.md').matchAll(/^\| `([a-z_]+)` +\| (?:error|warning|info) /gm),
  ].map(([, rule]) => rule!)

  expect(rules.length).toBeGreaterThan(30)
  expect(documented.sort()).toEqual(rules.sort())
})
