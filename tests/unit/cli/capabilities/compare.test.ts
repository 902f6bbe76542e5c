// tests/unit/cli/capabilities/compare.test.ts
import { describe, expect, it } from 'vitest'

import { compareCatalogs, describeDifferences } from '../../../../cli/capabilities/compare.ts'
import { readManifest, readRow } from '../../../../cli/capabilities/registration.ts'

const tool = (name: string, more: Record<string, unknown> = {}) => ({
  ...{ name, description: 'A.', inputSchema: { type: 'object', properties: { n: { type: 'integer' } } } },
  ...more,
})
const catalog = (...tools: (Record<string, unknown> & { name: string })[]) =>
  readManifest({ tools, resources: [] })

/** As the fields and sentences of one changed tool, the breaking ones marked. */
function changesOf(before: Record<string, unknown>, after: Record<string, unknown>): string[] {
  const [difference] = compareCatalogs(catalog(tool('a', before)), catalog(tool('a', after)))
  return (difference?.changes ?? []).map(
    ({ field, effect, path, sentence, breaking }) =>
      `${effect} ${[field, path].filter(Boolean).join(' ')}: ${sentence}${breaking ? ' !' : ''}`,
  )
}

const schema = (maximum: number) => ({ type: 'object', properties: { n: { type: 'integer', maximum } } })

describe('two catalogs', () => {
  it('differ in what was added, changed and removed, in the order of kind and name', () => {
    const before = catalog(tool('gone'), tool('kept'), tool('other', { title: 'A' }))
    const after = catalog(tool('other', { title: 'B' }), tool('new'), tool('kept'))

    const differences = compareCatalogs(before, after)

    expect(differences.map(({ change, name, breaking }) => [change, name, breaking])).toEqual([
      ['removed', 'gone', true],
      ['added', 'new', false],
      ['changed', 'other', false],
    ])
  })

  it.each([
    [
      'an input that takes less',
      { inputSchema: schema(9) },
      { inputSchema: schema(5) },
      'narrowed input_schema n: maximum lowered from 9 to 5 !',
    ],
    [
      'an input that takes more',
      { inputSchema: schema(5) },
      { inputSchema: schema(9) },
      'widened input_schema n: maximum raised from 5 to 9',
    ],
    [
      'an output that promises more',
      { outputSchema: schema(9) },
      { outputSchema: schema(5) },
      'narrowed output_schema n: maximum lowered from 9 to 5',
    ],
    [
      'an output that promises less',
      { outputSchema: schema(5) },
      { outputSchema: schema(9) },
      'widened output_schema n: maximum raised from 5 to 9 !',
    ],
    [
      'an output that is declared',
      {},
      { outputSchema: schema(5) },
      'narrowed output_schema: is declared now',
    ],
    [
      'an output that no longer is',
      { outputSchema: schema(5) },
      {},
      'widened output_schema: is no longer declared !',
    ],
    ['a scope that is needed', {}, { scopes: ['a:b'] }, 'narrowed required_scopes a:b: is needed now'],
    [
      'a scope that no longer is',
      { scopes: ['a:b'] },
      {},
      'widened required_scopes a:b: is no longer needed',
    ],
    ['a short text', { title: 'A' }, { title: 'B' }, 'changed title: changed from "A" to "B"'],
    ['a long text', { description: 'A'.repeat(80) }, { description: 'B' }, 'changed description: changed'],
    [
      'the order of names in a schema',
      { inputSchema: { type: 'object', required: ['a', 'b'] } },
      { inputSchema: { type: 'object', required: ['b', 'a'] } },
      'reworded input_schema: written differently',
    ],
  ])('differ in %s, which breaks clients or does not', (_case, before, after, told) => {
    expect(changesOf(before, after)).toEqual([told])
  })

  it('differ where a resource moved, and its old address is gone', () => {
    const at = (uri: string) => readManifest({ tools: [], resources: [{ name: 'me', uri }] })

    const [difference] = compareCatalogs(at('account://me'), at('account://you'))

    expect(difference).toMatchObject({ kind: 'resource', change: 'changed', breaking: true })
  })

  it('tell a template from a resource of the same name', () => {
    const before = readManifest({ tools: [], resources: [{ name: 'note', uri: 'note://1' }] })
    const after = readManifest({ tools: [], resources: [{ name: 'note', uriTemplate: 'note://{id}' }] })

    expect(compareCatalogs(before, after).map(({ change, kind }) => [change, kind])).toEqual([
      ['removed', 'resource'],
      ['added', 'resource_template'],
    ])
  })

  it('are the same where one is a manifest and the other its rows', () => {
    const row = readRow({
      ...{ kind: 'tool', name: 'a', title: null, description: 'A.', input_schema: tool('a').inputSchema },
      ...{
        output_schema: null,
        annotations: {},
        meta: null,
        uri: null,
        mime_type: null,
        required_scopes: [],
      },
      ...{ icons: null, size: null, visibility: ['model', 'app'], is_pinned: false, search_terms: null },
      ...{ handler: 'typescript', row_cap: 1000, is_write: true },
    })

    expect(compareCatalogs([row], catalog(tool('a')))).toEqual([])
    expect(compareCatalogs(catalog(tool('a', { pinned: true })), [row])).toHaveLength(1)
  })

  it('are told to people a line each', () => {
    const before = catalog(tool('gone'), tool('kept', { inputSchema: schema(9) }))
    const after = catalog(tool('kept', { inputSchema: schema(5) }), tool('new'))

    expect(describeDifferences(compareCatalogs(before, after))).toBe(
      [
        '- tool gone  (breaking)',
        '~ tool kept',
        '    narrowed input_schema n: maximum lowered from 9 to 5  (breaking)',
        '+ tool new',
      ].join('\n'),
    )
  })
})
