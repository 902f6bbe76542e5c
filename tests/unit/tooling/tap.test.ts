import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { expandIncludes, installPgtap, readTap, runTapFile } from '../../support/tap.ts'
import { connectTestServer } from '../../support/test-server.ts'
import type { TestServer } from '../../support/test-server.ts'

const database = `tap_self_${process.pid}`
let folder: string
let server: TestServer

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'chumbo-tap-'))
  server = await connectTestServer()
  await server.createDatabase(database)
  await installPgtap(server.url(database))
}, 60_000)

afterAll(async () => {
  await server.dropDatabase(database)
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

function write(name: string, text: string): string {
  const file = join(folder, name)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}

const run = (name: string, text: string) => runTapFile({ url: server.url(database), file: write(name, text) })

const inTransaction = (body: string) => `begin;\n${body}\nselect * from finish();\nrollback;\n`

describe('runTapFile', () => {
  it('reports a file that passes, test by test', async () => {
    const report = await run(
      'passing_test.sql',
      inTransaction("select plan(2);\nselect ok(true, 'one');\nselect is(1, 1, 'two');"),
    )

    expect(report).toEqual({
      tests: [
        { ok: true, title: 'one', diagnostics: [] },
        { ok: true, title: 'two', diagnostics: [] },
      ],
      faults: [],
    })
  })

  it('names the failing test and keeps what pgTAP said about it', async () => {
    const report = await run(
      'failing_test.sql',
      inTransaction("select plan(2);\nselect is(1, 2, 'one is two');\nselect pass('after');"),
    )

    expect(report.faults).toEqual([])
    expect(report.tests.map(({ ok, title }) => [ok, title])).toEqual([
      [false, 'one is two'],
      [true, 'after'],
    ])
    expect(report.tests[0]?.diagnostics.join('\n')).toMatch(/have: 1\n.*want: 2/)
  })

  it('keeps the verdicts before an SQL error and says where it happened', async () => {
    const report = await run(
      'error_test.sql',
      inTransaction(
        "select plan(3);\nselect pass('before');\nselect missing_function();\nselect pass('after');",
      ),
    )

    expect(report.tests.map(({ title }) => title)).toEqual(['before'])
    expect(report.faults).toHaveLength(1)
    expect(report.faults[0]).toMatch(
      /error_test\.sql:4: function missing_function\(\) does not exist \(SQLSTATE 42883\)/,
    )
  })

  it.each([
    [
      'ran fewer tests than planned',
      inTransaction("select plan(3);\nselect pass('x');"),
      /planned 3 tests and ran 1/,
    ],
    [
      'ran more tests than planned',
      inTransaction("select plan(1);\nselect pass('x');\nselect pass('y');"),
      /planned 1 tests and ran 2/,
    ],
    ['has no test', 'select 1;', /ran no test/],
    ['is empty', '', /ran no test/],
    [
      'bails out',
      inTransaction("select plan(1);\nselect pass('x');\nselect 'Bail out! No ground.';"),
      /Bail out! No ground/,
    ],
  ])('faults a file that %s', async (_case, text, fault) => {
    const report = await run('faulty_test.sql', text)

    expect(report.faults).toEqual([expect.stringMatching(fault)])
  })

  it('lets a test go on under a role without rights', async () => {
    const report = await run(
      'role_test.sql',
      inTransaction(
        "select plan(1);\nset local role anon;\nselect is(current_user::text, 'anon', 'now anon');",
      ),
    )

    expect(report).toMatchObject({ tests: [{ ok: true }], faults: [] })
  })

  it('includes support files, and an error in one carries its name and line', async () => {
    write('support/people.psql', 'create schema people;\nselect broken;\n')

    const report = await run('including_test.sql', inTransaction('\\ir support/people.psql\nselect plan(1);'))

    expect(report.faults).toEqual([
      expect.stringMatching(/support\/people\.psql:2: column "broken" does not exist/),
    ])
  })
})

describe('expandIncludes', () => {
  it('refuses a psql command it does not know', () => {
    const file = write('meta_test.sql', 'select 1;\n\\gset\n')

    expect(() => expandIncludes(file)).toThrow(/meta_test\.sql:2: only \\ir is supported/)
  })
})

describe('readTap', () => {
  it('counts a failing test as failed, whatever directive it carries', () => {
    expect(readTap(['1..1', 'not ok 1 - later # TODO someday'])).toMatchObject({
      tests: [{ ok: false }],
      faults: [],
    })
  })

  it('notices a test that came twice or went missing', () => {
    expect(readTap(['1..2', 'ok 1 - a', 'ok 3 - c']).faults).toEqual(['Test 3 came as number 2.'])
  })

  it('wants a plan', () => {
    expect(readTap(['ok 1 - a']).faults).toEqual(['The file has no plan.'])
  })
})
