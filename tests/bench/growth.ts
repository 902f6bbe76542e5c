// tests/bench/growth.ts — the same call and the same list while the server grows to ten thousand tools.
import type postgres from 'postgres'

import type { HttpTarget, LoadGenerator } from './load.ts'
import { createBudget } from './measure.ts'
import { median, quantile, round } from './statistics.ts'

export interface GrowthOptions {
  readonly load: LoadGenerator
  readonly owner: postgres.Sql
  readonly targets: { readonly call: HttpTarget; readonly list: HttpTarget }
  readonly sizes: readonly number[]
  readonly rounds: number
  /** After this many seconds no further round begins; the first one is always made. */
  readonly budget: number
  readonly calls: number
  readonly note: (line: string) => void
}

/** Milliseconds with this many tools registered; a list is its first page. */
export interface GrowthStep {
  readonly tools: number
  readonly callP50: number
  readonly listP50: number
}

export interface Growth {
  readonly steps: readonly GrowthStep[]
  /** Rounds that were made. */
  readonly rounds: number
  readonly errors: readonly string[]
}

/** Grows the server from the smallest size to the largest, measures at each, and shrinks it again; `rounds` times. */
export async function measureGrowth({
  load,
  owner,
  targets,
  sizes,
  rounds,
  budget,
  calls,
  note,
}: GrowthOptions): Promise<Growth> {
  const samples = new Map<number, { call: number[]; list: number[] }>()
  const errors: string[] = []
  const p50 = async (target: HttpTarget, clients: number, count: number): Promise<number> => {
    const result = await load.run({ target, clients, count })
    errors.push(...result.errors.map((error) => `growth: ${error}`))
    return quantile(result.latencies, 0.5)
  }

  const hasTime = createBudget(budget)
  let turn = 0
  while (turn < rounds && hasTime()) {
    turn += 1
    note(`Growth, round ${turn} of ${rounds}.`)
    for (const size of sizes) {
      await resize(owner, size)
      // Every connection plans anew after the statistics changed, and the definitions are fetched anew.
      await p50(targets.list, 16, 50)
      await p50(targets.call, 16, 50)
      const sample = samples.get(size) ?? { call: [], list: [] }
      samples.set(size, sample)
      // Twice in turn, so that a disturbance has to last to hit one kind only.
      for (const _half of [1, 2]) {
        sample.call.push(await p50(targets.call, 1, calls / 2))
        sample.list.push(await p50(targets.list, 1, calls / 2))
      }
    }
  }
  await resize(owner, Math.min(...sizes))

  const steps = sizes.map((tools) => ({
    tools,
    callP50: round(median(samples.get(tools)?.call ?? [])),
    listP50: round(median(samples.get(tools)?.list ?? [])),
  }))
  return { steps, rounds: turn, errors }
}

/**
 * Makes the server `bench-growth` have exactly this many tools, by copying the row that `chumbo.register_tool` wrote.
 * The copies differ in their name, so the columns are asked for and not written out here.
 */
async function resize(owner: postgres.Sql, tools: number): Promise<void> {
  await owner.begin(async (tx) => {
    const [found] = await tx`
      select
        (select id from chumbo.servers where slug = 'bench-growth') as server,
        (
          select string_agg(quote_ident(column_name), ', ')
          from information_schema.columns
          where table_schema = 'chumbo' and table_name = 'capabilities' and column_name not in ('id', 'name')
        ) as columns`
    const server = Number(found?.['server'])
    const columns = String(found?.['columns'])
    await tx`delete from chumbo.capabilities where server_id = ${server} and name like 'copy\\_%'`
    const [{ kept } = { kept: 0 }] = await tx<{ kept: number }[]>`
      select count(*)::integer as kept from chumbo.capabilities where server_id = ${server}`
    await tx.unsafe(
      `insert into chumbo.capabilities (name, ${columns})
       select 'copy_' || lpad(i::text, 5, '0'), ${columns}
       from chumbo.capabilities, generate_series(1, $2::integer) as i
       where server_id = $1 and name = 'bench_list_notes'`,
      [server, tools - kept],
    )
  })
  // What autovacuum would do a little later, at a moment that is not ours.
  await owner.unsafe('vacuum (analyze) chumbo.capabilities, chumbo.servers').simple()
}
