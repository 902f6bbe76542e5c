// tests/bench/measure.ts — rounds in which every variant has its turn, so that what disturbs the machine disturbs all.
import type { LoadGenerator } from './load.ts'
import { median, quantile, round } from './statistics.ts'
import type { Variant } from './variants.ts'

export interface MeasureOptions {
  readonly load: LoadGenerator
  readonly rounds: number
  /** After this many seconds no further round begins; the first one is always made. */
  readonly budget: number
  /** Parallel clients, and how many calls they make together in one round. */
  readonly levels: readonly { readonly clients: number; readonly calls: number }[]
  /** Calls before anything is counted, per variant. */
  readonly warmUp: number
  readonly note: (line: string) => void
}

/** One cell: the medians of the rounds. Latencies are milliseconds, throughput is calls a second. */
export interface Measurement {
  readonly id: string
  readonly label: string
  readonly clients: number
  readonly p50: number
  readonly p99: number
  readonly throughput: number
}

export interface Measurements {
  readonly results: readonly Measurement[]
  /** Rounds that were made. */
  readonly rounds: number
  /** What went wrong, as `id: beginning of the answer`. */
  readonly errors: readonly string[]
}

interface Sample {
  readonly p50: number
  readonly p99: number
  readonly throughput: number
}

export async function measure(
  variants: readonly Variant[],
  { load, rounds, budget, levels, warmUp, note }: MeasureOptions,
): Promise<Measurements> {
  const samples = new Map<string, Sample[]>()
  const errors: string[] = []
  const run = async ({ id, target }: Variant, clients: number, count: number) => {
    const result = await load.run({ target, clients, count })
    errors.push(...result.errors.map((error) => `${id}: ${error}`))
    return result
  }

  // In parallel, so that pools are open and every isolate has seen every path.
  for (const variant of variants) await run(variant, Math.min(16, warmUp), warmUp)
  const hasTime = createBudget(budget)
  let turn = 0
  while (turn < rounds && hasTime()) {
    turn += 1
    note(`Round ${turn} of ${rounds}.`)
    for (const { clients, calls } of levels) {
      // Another one goes first in each round: none always follows the same neighbour's leftovers.
      for (const variant of rotate(variants, turn)) {
        const { latencies, seconds } = await run(variant, clients, calls)
        const key = `${variant.id} ${clients}`
        samples.set(key, [
          ...(samples.get(key) ?? []),
          {
            p50: quantile(latencies, 0.5),
            p99: quantile(latencies, 0.99),
            throughput: latencies.length / seconds,
          },
        ])
      }
    }
  }

  const results = variants.flatMap(({ id, label }) =>
    levels.map(({ clients }) => {
      const own = samples.get(`${id} ${clients}`) ?? []
      const middle = (read: (sample: Sample) => number) => round(median(own.map(read)))
      return {
        id,
        label,
        clients,
        p50: middle(({ p50 }) => p50),
        p99: middle(({ p99 }) => p99),
        throughput: middle(({ throughput }) => throughput),
      }
    }),
  )
  return { results, rounds: turn, errors }
}

/** Tells before each round whether one more of the length so far fits in; before the first it always does. */
export function createBudget(seconds: number): () => boolean {
  const startedAt = performance.now()
  let begun = 0
  return () => {
    const elapsed = (performance.now() - startedAt) / 1000
    const hasTime = begun === 0 || elapsed + elapsed / begun <= seconds
    begun += 1
    return hasTime
  }
}

function rotate<Item>(items: readonly Item[], by: number): Item[] {
  const start = by % items.length
  return [...items.slice(start), ...items.slice(0, start)]
}
