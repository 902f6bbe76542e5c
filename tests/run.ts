// tests/run.ts — the one entry to every suite: `node tests/run.ts [suite…]`. Its last line is `N passed, N failed`.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

import { runPgtapSuite } from './support/pgtap-suite.ts'
import { repositoryRoot } from './support/repository.ts'
import {
  addCounts,
  allOf,
  casesSuite,
  commandSuite,
  denoCheckSuite,
  denoSuite,
  settle,
  vitestSuite,
} from './support/suites.ts'
import type { Counts, Suite } from './support/suites.ts'
import { connectTestServer } from './support/test-server.ts'

const server = await connectTestServer()

/** Quick ones first. A suite that runs nothing fails, so none can vanish unnoticed. */
const suites: Readonly<Record<string, Suite>> = {
  format: commandSuite('npm', ['run', '--silent', 'format:check']),
  lint: allOf(
    ['lint:types', 'lint:ts', 'lint:sql'].map((script) => commandSuite('npm', ['run', '--silent', script])),
  ),
  unit: vitestSuite('unit'),
  sql: async () => settle(0, await runPgtapSuite(server)),
  property: vitestSuite('property'),
  roads: vitestSuite('roads'),
  edge: allOf([...edgeEntries().map(denoCheckSuite), denoSuite('tests/edge')]),
  stack: vitestSuite('stack'),
  e2e: vitestSuite('e2e'),
  cases: casesSuite(),
  crash: vitestSuite('crash'),
  package: vitestSuite('package'),
}

/** Everything Deno runs: the runtime's entry, the functions a project receives, and those of the reference project. */
function edgeEntries(): string[] {
  const functions = ['functions', 'supabase/functions'].flatMap((folder) =>
    existsSync(join(repositoryRoot, folder))
      ? readdirSync(join(repositoryRoot, folder)).map((name) => join(folder, name, 'index.ts'))
      : [],
  )
  const runtime = ['runtime/index.ts', 'runtime/testing.ts', 'runtime/hosts/deno.ts']
  return [...runtime, ...functions.filter((entry) => existsSync(join(repositoryRoot, entry)))]
}

async function runSuite(name: string, suite: Suite): Promise<Counts> {
  console.log(`\n── ${name}`)
  try {
    return await suite(server.env)
  } catch (error) {
    console.error(error)
    return { passed: 0, failed: 1, skipped: 0 }
  }
}

const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !(name in suites))
if (unknown.length > 0) {
  console.error(`No suite is called ${unknown.join(', ')}; there are ${Object.keys(suites).join(', ')}.`)
  await server.stop()
  process.exit(2)
}

let total: Counts = { passed: 0, failed: 0, skipped: 0 }
const lines: string[] = []
for (const [name, suite] of Object.entries(suites)) {
  if (asked.length > 0 && !asked.includes(name)) continue
  const started = performance.now()
  const counts = await runSuite(name, suite)
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  lines.push(`${name.padEnd(8)} ${describeCounts(counts)} in ${seconds} s`)
  total = addCounts(total, counts)
}
await server.stop()

console.log(`\n${lines.join('\n')}\n\n${describeCounts(total)}`)
process.exitCode = total.failed === 0 ? 0 : 1

function describeCounts({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}
