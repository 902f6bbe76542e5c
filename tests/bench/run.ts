// tests/bench/run.ts — `npm run bench`: what a call costs, beside the same call made by hand and beside its floor.
//
// --quick   fewer rounds, under a minute        --json      one document instead of tables
// --durable commits reach the disk
//
// Everything runs in one run on one stack: one Postgres, one Deno that serves every variant, and clients in a thread of
// their own. Functions are asked without the gateway in front, which stands in for a network nobody here has; what they
// ask of the Data API goes through it. Numbers are printed and compared, never judged.
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'

import { measureGrowth } from './growth.ts'
import { startLoadGenerator } from './load.ts'
import { measure } from './measure.ts'
import { measureSearch } from './search.ts'
import { describeReport, ratiosOf, type Report } from './report.ts'
import { countRoundTrips } from './round-trips.ts'
import { openStage } from './stage.ts'
import { createGrowthTargets, createSearchTarget, createVariants } from './variants.ts'

// Many short rounds rather than few long ones: a disturbance then spoils a round and not a variant.
const plans = {
  full: {
    people: 8,
    rounds: 8,
    budget: 150,
    warmUp: 160,
    levels: [
      { clients: 1, calls: 60 },
      { clients: 8, calls: 120 },
      { clients: 32, calls: 192 },
    ],
    growth: { sizes: [10, 100, 1_000, 10_000], rounds: 4, budget: 45, calls: 60 },
    search: { sizes: [10, 10_000], rounds: 3, searches: 60 },
  },
  quick: {
    people: 2,
    rounds: 3,
    budget: 15,
    warmUp: 32,
    levels: [
      { clients: 1, calls: 20 },
      { clients: 8, calls: 32 },
      { clients: 32, calls: 64 },
    ],
    growth: { sizes: [10, 100, 1_000, 10_000], rounds: 1, budget: 5, calls: 20 },
    search: { sizes: [10, 10_000], rounds: 1, searches: 20 },
  },
}

interface Options {
  readonly json: boolean
  readonly quick: boolean
  readonly durable: boolean
}

const options = readOptions()
if (options !== undefined) process.exitCode = await main(options)

/** What this was asked for; undefined, with the reason on stderr, when that makes no sense. */
function readOptions(): Options | undefined {
  try {
    const flag = { type: 'boolean', default: false } as const
    return parseArgs({ options: { json: flag, quick: flag, durable: flag } }).values
  } catch (error) {
    note(
      `${error instanceof Error ? error.message : String(error)}\nUsage: npm run bench -- [--quick] [--durable] [--json]`,
    )
    process.exitCode = 2
    return undefined
  }
}

async function main({ json, quick, durable }: Options): Promise<number> {
  const interruption = watchForSignals()
  const load = startLoadGenerator()
  const { people, growth, search, ...plan } = quick ? plans.quick : plans.full
  note('Starting the stack.')
  const opening = openStage({ people, isDurable: durable, note: () => {} })
  try {
    const stage = await opening
    const work = async (): Promise<Report> => {
      const { results, rounds, errors } = await measure(await createVariants(stage), { ...plan, load, note })
      const grown = await measureGrowth({
        ...growth,
        load,
        owner: stage.owner,
        targets: await createGrowthTargets(stage),
        note,
      })
      const searched = await measureSearch({
        ...search,
        load,
        owner: stage.owner,
        target: await createSearchTarget(stage),
        note,
      })
      note('Counting round trips.')
      const roundTrips = await countRoundTrips(stage, load)
      const allErrors = [...errors, ...grown.errors, ...searched.errors]
      return {
        ok: allErrors.length === 0,
        machine: {
          cores: availableParallelism(),
          node: process.versions.node,
          deno: denoVersion(),
          postgres: stage.postgresVersion,
        },
        settings: {
          quick,
          durable,
          people,
          ...plan,
          rounds,
          growth: { ...growth, rounds: grown.rounds },
          search,
        },
        results,
        ratios: ratiosOf(results, grown.steps, searched.steps),
        growth: grown.steps,
        search: searched.steps,
        roundTrips,
        // The first ones say what is wrong; a broken variant has thousands.
        errors: allErrors.slice(0, 20),
      }
    }
    const report = await Promise.race([work(), interruption])
    if (report === 'interrupted') return 130
    process.stdout.write(`${json ? JSON.stringify(report) : describeReport(report)}\n`)
    return report.ok ? 0 : 1
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    if (json)
      process.stdout.write(`${JSON.stringify({ ok: false, error: { code: 'bench_failed', message } })}\n`)
    else note(message)
    return 1
  } finally {
    await load.stop()
    // Half a stage cannot be taken down in order, so one that is still opening is waited for.
    await opening.then(
      (stage) => stage.close(),
      () => {},
    )
  }
}

/** Resolves at the first signal; the work is then left where it stands and everything is stopped in order. */
function watchForSignals(): Promise<'interrupted'> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => resolve('interrupted'))
    }
  })
}

function denoVersion(): string {
  const { version } = createRequire(import.meta.url)('deno/package.json') as { version: string }
  return version
}

/** Progress; stdout carries the answer and nothing else. */
function note(line: string): void {
  process.stderr.write(`${line}\n`)
}
