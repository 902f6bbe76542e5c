import { describe, expect, it } from 'vitest'

import {
  findReleaseFaults,
  migrationHash,
  parseReleases,
  projectName,
  sha256,
  stampMigration,
} from '../../support/migrations.ts'

const zeros = '0'.repeat(64)
const migration = (hash: string) =>
  `create table a (b text default '${'a'.repeat(64)}');\ninsert into chumbo.installed values (1, 'a', '${hash}'); -- chumbo.installed\n`

describe('stampMigration', () => {
  it('writes the hash of the text with zeros in its place, and nothing else', () => {
    const stamped = stampMigration(migration(zeros))

    expect(stamped).toBe(migration(sha256(migration(zeros))))
  })

  it('leaves a stamped text as it is', () => {
    const stamped = stampMigration(migration(zeros))

    expect(stampMigration(stamped)).toBe(stamped)
    expect(migrationHash(stamped)).toBe(migrationHash(migration(zeros)))
  })

  it.each([
    ['records nothing', 'select 1;'],
    ['records twice', migration(zeros) + migration(zeros)],
  ])('refuses a text that %s', (_case, text) => {
    expect(() => stampMigration(text)).toThrow(/records one hash/)
  })
})

describe('projectName', () => {
  it('sorts our files by number, before the migrations of a project', () => {
    const names = [
      projectName({ number: 10, name: '0010_b.sql' }),
      projectName({ number: 2, name: '0002_a.sql' }),
    ]

    expect(names.sort()).toEqual(['20260101000002_chumbo_0002_a.sql', '20260101000010_chumbo_0010_b.sql'])
  })
})

describe('released files', () => {
  const one = { name: '0001_a.sql', text: 'select 1;' }
  const two = { name: '0002_b.sql', text: 'select 2;' }
  const record = (version: string, ...files: (typeof one)[]) =>
    [`# ${version}`, ...files.map(({ name, text }) => `${sha256(text)}  migrations/${name}`), ''].join('\n')
  const releases = parseReleases(record('0.1.0', one) + record('0.2.0', two))

  it('are read by version', () => {
    expect(releases.map(({ version, files }) => [version, files.map(({ name }) => name)])).toEqual([
      ['0.1.0', ['0001_a.sql']],
      ['0.2.0', ['0002_b.sql']],
    ])
  })

  it('may be followed by new ones', () => {
    expect(findReleaseFaults(releases, [one, two, { name: '0003_c.sql', text: '' }])).toEqual([])
  })

  it.each([
    ['edited', [{ ...one, text: 'select 3;' }, two], /0001_a\.sql was released and has changed/],
    [
      'renamed',
      [{ ...one, name: '0001_z.sql' }, two],
      /0001_a\.sql was released as number 1; 0001_z\.sql stands there/,
    ],
    ['removed', [one], /0002_b\.sql was released as number 2; nothing stands there/],
    [
      'preceded by a new file',
      [one, { name: '0002_aa.sql', text: '' }, two],
      /0002_b\.sql was released as number 2/,
    ],
  ])('may not be %s', (_case, files, fault) => {
    expect(findReleaseFaults(releases, files)).toContainEqual(expect.stringMatching(fault))
  })

  it('have no other lines in their record', () => {
    expect(() => parseReleases(`${sha256('')}  migrations/0001_a.sql\n`)).toThrow(
      /neither a version nor a hash/,
    )
  })
})
