// tests/unit/docs/sql-examples.test.ts — every SQL block of the pages, run in order by the role that migrations run under.
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { readMigrations, runMigrations } from '../../support/migrations.ts'
import { connectTestServer, type TestServer } from '../../support/test-server.ts'
import { readExamples, readPages, type Example } from './pages.ts'

const database = `docs_examples_${process.pid}`
const examples = readPages()
  .flatMap(readExamples)
  .filter(({ language }) => language === 'sql')
/** What the other pages build on: the table, and the tool that reads it. README shows that tool itself. */
const shared = examples.filter(({ page }) => page === 'docs/sql-tools.md').slice(0, 2)
const sharedWith = (page: string) =>
  page === 'docs/sql-tools.md' ? [] : page === 'README.md' ? shared.slice(0, 1) : shared
const pages = [...new Set(examples.map(({ page }) => page))]

let server: TestServer

beforeAll(async () => {
  server = await connectTestServer()
  await server.createDatabase(database)
  await runMigrations(server.url(database, 'postgres'), readMigrations())
}, 120_000)

afterAll(async () => {
  await server.dropDatabase(database)
  await server.stop()
})

describe('SQL in the pages', () => {
  it.each(pages)(
    'of %s runs from top to bottom without a warning',
    async (page) => {
      const ofPage = examples.filter((example) => example.page === page && example.skipped === undefined)

      const failures = await runInOrder([...sharedWith(page), ...ofPage])

      expect(failures).toEqual([])
    },
    60_000,
  )
})

/** Runs the blocks in one transaction, which is rolled back, and reports each error and each warning with its place. */
async function runInOrder(blocks: readonly Example[]): Promise<string[]> {
  const failures: string[] = []
  let place = ''
  const sql = postgres(server.url(database, 'postgres'), {
    max: 1,
    onnotice: ({ severity, message }) => {
      if (severity === 'WARNING') failures.push(`${place}: ${message}`)
    },
  })
  const connection = await sql.reserve()
  try {
    await connection.unsafe('begin')
    for (const { page, line, code } of blocks) {
      place = `${page}:${line}`
      await connection.unsafe(code).simple()
    }
  } catch (error) {
    failures.push(`${place}: ${error instanceof Error ? error.message : String(error)}`)
  } finally {
    await connection.unsafe('rollback')
    connection.release()
    await sql.end()
  }
  return failures
}
