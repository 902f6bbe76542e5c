// tests/support/suites.ts — how each kind of suite is run and how its tests are counted.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

import { repositoryRoot } from './repository.ts'

export interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

export type Suite = (env: Readonly<Record<string, string>>) => Promise<Counts>

/** A command that is one test: it passes when it exits with 0. */
export function commandSuite(program: string, args: readonly string[] = []): Suite {
  return async (env) => {
    const code = await run(program, args, env)
    return code === 0 ? { passed: 1, failed: 0, skipped: 0 } : { passed: 0, failed: 1, skipped: 0 }
  }
}

/** Several suites that count as one, run in order even when an earlier one failed. */
export function allOf(suites: readonly Suite[]): Suite {
  return async (env) => {
    let sum: Counts = { passed: 0, failed: 0, skipped: 0 }
    for (const suite of suites) sum = addCounts(sum, await suite(env))
    return sum
  }
}

/** A project of vitest.config.ts. */
export function vitestSuite(project: string): Suite {
  return async (env) =>
    withReportFile(async (report) => {
      const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
      const code = await run('vitest', ['run', '--project', project, ...reporters], env)
      return settle(code, countVitest(readReport(report)))
    })
}

/** The Deno tests of a folder; each states the permissions it runs with, which cannot exceed these. */
export function denoSuite(folder: string): Suite {
  return async (env) =>
    withReportFile(async (report) => {
      const permissions = ['--no-prompt', '--allow-net=127.0.0.1', '--allow-env', '--allow-read']
      const flags = [...denoResolution, ...checkoutImports, ...permissions, `--junit-path=${report}`]
      const code = await run('deno', ['test', ...flags, folder], env)
      return settle(code, countJunit(readReport(report)))
    })
}

/** One test: Deno finds no type error in what an entry reaches. */
export function denoCheckSuite(entry: string): Suite {
  return commandSuite('deno', ['check', ...denoResolution, ...checkoutImports, entry])
}

/** The handed cases, each one test; those whose subject does not exist yet are told and not counted. */
export function casesSuite(): Suite {
  return async (env) =>
    withReportFile(async (report) => {
      const code = await run('node', ['tests/cases/run.ts', `--report=${report}`], env)
      const verdicts = Object.values(JSON.parse(readReport(report) || '{}') as Record<string, string>)
      const of = (verdict: string) => verdicts.filter((one) => one === verdict).length
      return settle(code, { passed: of('pass'), failed: of('fail'), skipped: 0 })
    })
}

/** What makes Deno read the packages npm installed, and nothing from a network. */
export const denoResolution = ['--cached-only', '--no-lock', '--node-modules-dir=manual'] as const

/** Lets `chumbo` mean this checkout; by itself it would mean the last build. */
const checkoutImports = ['--import-map=tests/edge/import-map.json'] as const

export function addCounts(one: Counts, other: Counts): Counts {
  return {
    passed: one.passed + other.passed,
    failed: one.failed + other.failed,
    skipped: one.skipped + other.skipped,
  }
}

/** Reads vitest's JSON report. A file that could not even be loaded has no tests to fail, so it counts itself. */
export function countVitest(report: string): Counts {
  if (report === '') return { passed: 0, failed: 0, skipped: 0 }
  // The shape of the pinned vitest's reporter; a change of it shows as a suite that ran nothing.
  const { testResults } = JSON.parse(report) as {
    testResults: { status: string; assertionResults: { status: string }[] }[]
  }
  let counts: Counts = { passed: 0, failed: 0, skipped: 0 }
  for (const file of testResults) {
    const of = (...states: string[]) =>
      file.assertionResults.filter(({ status }) => states.includes(status)).length
    const failed = of('failed')
    counts = addCounts(counts, {
      passed: of('passed'),
      failed: failed === 0 && file.status === 'failed' ? 1 : failed,
      skipped: of('pending', 'skipped', 'todo', 'disabled'),
    })
  }
  return counts
}

/** Reads the totals of a JUnit report as Deno writes it. */
export function countJunit(report: string): Counts {
  const suites = /<testsuites [^>]*>/.exec(report)?.[0] ?? ''
  const skipped = [...report.matchAll(/<skipped\b/g)].length
  const attribute = (name: string) => Number(new RegExp(` ${name}="(\\d+)"`).exec(suites)?.[1] ?? 0)
  const failed = attribute('failures') + attribute('errors')
  return { passed: attribute('tests') - failed - skipped, failed, skipped }
}

/** Reconciles counts with how the runner ended: it may fail without a failing test, or succeed without any test. */
export function settle(exitCode: number, counts: Counts): Counts {
  const ranNothing = counts.passed + counts.failed === 0
  return counts.failed === 0 && (exitCode !== 0 || ranNothing) ? { ...counts, failed: 1 } : counts
}

/** Runs a program of node_modules/.bin, or any other on the path, with its output going straight to ours. */
function run(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<number> {
  const path = [join(repositoryRoot, 'node_modules/.bin'), process.env['PATH']].join(delimiter)
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: repositoryRoot,
      env: { ...process.env, DENO_NO_UPDATE_CHECK: '1', ...env, PATH: path },
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    child.once('error', reject)
    child.once('close', (code) => {
      resolve(code ?? 1)
    })
  })
}

async function withReportFile<T>(use: (path: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'chumbo-report-'))
  try {
    return await use(join(folder, 'report'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A runner that died early wrote no report. */
function readReport(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
