// tests/unit/cli/sync/migration.test.ts
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { findEarlierSync, readSyncs, writeMigration } from '../../../../cli/sync/migration.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chumbo-sync-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

describe('a manifest in a migration', () => {
  it.each([
    ['plain text', 'A.'],
    ['the tag itself', 'costs $manifest$ and $manifest_2$'],
    ['quotes, backslashes and line breaks', `'a' "b" \\ \n $1 --`],
  ])('is read back as it was, with %s in it', (_case, description) => {
    const manifest = { tools: [{ name: 'a', description }] }

    const text = writeMigration(manifest, 'support', 'capabilities.ts')

    expect(readSyncs(text)).toEqual([{ server: 'support', manifest }])
    expect(text).toMatch(/^-- migrate:up\n[^]*\n-- migrate:down\n$/)
  })

  it.each([
    ['without a server', `select chumbo.sync_capabilities($$ {"tools": []} $$);`, 'default'],
    [
      'with named arguments',
      `select chumbo.sync_capabilities(manifest => $m$ {"tools": []} $m$::jsonb, server => 'b');`,
      'b',
    ],
    ['in single quotes', `select chumbo.sync_capabilities('{"tools": []}', 'b');`, 'b'],
    [
      'inside a block',
      `do $do$ begin perform chumbo.sync_capabilities($$ {"tools": []} $$, 'b'); end $do$;`,
      'b',
    ],
  ])('is found where a person wrote it %s', (_case, text, server) => {
    expect(readSyncs(text)).toEqual([{ server, manifest: { tools: [] } }])
  })

  it.each([
    ['in a comment', `-- select chumbo.sync_capabilities('{"tools": []}');`],
    ['as a placeholder', `select chumbo.sync_capabilities('…');`],
    ['as a variable', 'select chumbo.sync_capabilities(v_manifest);'],
  ])('is none %s', (_case, text) => {
    expect(readSyncs(text)).toEqual([])
  })
})

describe('the earlier manifest', () => {
  it('is the last one of the server, in the newest migration that has one', async () => {
    const call = (title: string, server: string) =>
      `select chumbo.sync_capabilities('{"tools": [], "title": "${title}"}', '${server}');\n`
    await writeFile(join(folder, '20260101000000_a.sql'), call('old', 'default'))
    await writeFile(join(folder, '20260102000000_b.sql'), call('first', 'default') + call('last', 'default'))
    await writeFile(join(folder, '20260103000000_c.sql'), call('other', 'support'))
    await writeFile(join(folder, '20260104000000_d.sql'), 'select 1;')
    await writeFile(join(folder, '20260105000000_e.sql.partial'), call('half', 'default'))

    expect(await findEarlierSync(folder, 'default')).toEqual({
      name: '20260102000000_b.sql',
      manifest: { tools: [], title: 'last' },
    })
    expect(await findEarlierSync(folder, 'absent')).toBeUndefined()
    expect(await findEarlierSync(join(folder, 'absent'), 'default')).toBeUndefined()
  })
})
