// tests/support/pgtap-suite.ts — runs tests/sql, each file in its own clone of a project that has everything installed.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

import { readMigrations, readProjectMigrations, runMigrations } from './migrations.ts'
import { repositoryRoot } from './repository.ts'
import type { Counts } from './suites.ts'
import { installPgtap, runTapFile } from './tap.ts'
import type { TapReport } from './tap.ts'
import type { TestServer } from './test-server.ts'

const TEMPLATE = 'tap_template'

/** Runs every `*_test.sql` below `folder` and prints the failures. */
export async function runPgtapSuite(
  server: TestServer,
  folder = join(repositoryRoot, 'tests/sql'),
): Promise<Counts> {
  await buildTemplate(server)
  let passed = 0
  let failed = 0

  for (const file of testFiles(folder)) {
    // A clone of its own, so that a file which commits by mistake troubles no other.
    await server.createDatabase('tap_run', TEMPLATE)
    const report = await runTapFile({ url: server.url('tap_run'), file: join(folder, file) })
    await server.dropDatabase('tap_run')
    passed += report.tests.filter(({ ok }) => ok).length
    failed += report.tests.filter(({ ok }) => !ok).length + report.faults.length
    console.log(describeReport(file, report))
  }
  await server.dropDatabase(TEMPLATE)
  return { passed, failed, skipped: 0 }
}

/** The reference project carries copies of our files, so its folder is the whole; without one ours alone are installed. */
async function buildTemplate(server: TestServer): Promise<void> {
  const project = readProjectMigrations()
  await server.createDatabase(TEMPLATE)
  await runMigrations(server.url(TEMPLATE, 'postgres'), project.length > 0 ? project : readMigrations())
  await installPgtap(server.url(TEMPLATE))
}

function testFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('_test.sql'))
    .sort()
}

function describeReport(file: string, { tests, faults }: TapReport): string {
  const failures = tests.filter(({ ok }) => !ok)
  const mark = failures.length + faults.length === 0 ? '✓' : '✗'
  const details = [
    ...failures.flatMap(({ title, diagnostics }) => [
      `  not ok: ${title}`,
      ...diagnostics.map((line) => `    ${line}`),
    ]),
    ...faults.map((fault) => `  ${fault}`),
  ]
  return [`${mark} ${file} (${tests.length})`, ...details].join('\n')
}
