// tests/bench/search.ts — what finding a tool costs, among ten of them and among ten thousand.
import type postgres from 'postgres'

import type { HttpTarget, LoadGenerator } from './load.ts'
import { median, quantile, round } from './statistics.ts'

export interface SearchOptions {
  readonly load: LoadGenerator
  readonly owner: postgres.Sql
  /** A search through the whole way, for words some tools have. */
  readonly target: HttpTarget
  readonly sizes: readonly number[]
  readonly rounds: number
  readonly searches: number
  readonly note: (line: string) => void
}

/** Milliseconds with this many tools registered. */
export interface SearchStep {
  readonly tools: number
  /** A call of `search_tools` through the gate `direct`. */
  readonly callP50: number
  /** The RPC alone, for words that few tools have, and for words that all of them have. */
  readonly rareP50: number
  readonly commonP50: number
  /** Registering one more tool, without describing its function. */
  readonly registerP50: number
}

export interface Search {
  readonly steps: readonly SearchStep[]
  readonly errors: readonly string[]
}

/** The words of the copies' names and descriptions below. */
const queries = { rare: 'archive invoice', common: 'which record and state the caller asks for' }

/** Grows the server `bench-search` from the smallest size to the largest and measures at each, `rounds` times. */
export async function measureSearch({
  load,
  owner,
  target,
  sizes,
  rounds,
  searches,
  note,
}: SearchOptions): Promise<Search> {
  const samples = sizes.map((tools) => ({ tools, call: [] as number[], rare: [] as number[], common: [] as number[], register: [] as number[] })) // prettier-ignore
  const errors: string[] = []
  for (let turn = 1; turn <= rounds; turn += 1) {
    note(`Search, round ${turn} of ${rounds}.`)
    for (const sample of samples) {
      await resize(owner, sample.tools)
      await load.run({ target, clients: 16, count: 50 })
      const { latencies, errors: wrong } = await load.run({ target, clients: 1, count: searches })
      errors.push(...wrong.map((error) => `search: ${error}`))
      sample.call.push(quantile(latencies, 0.5))
      for (const kind of ['rare', 'common'] as const) {
        sample[kind].push(await timeOf(searches, () => owner`
          select public.chumbo_search('bench-search', ${queries[kind]}, ${owner.json(facts)})`)) // prettier-ignore
      }
      sample.register.push(await timeOf(searches, (i) => copy(owner, sample.tools + i, 1)))
    }
  }
  await resize(owner, Math.min(...sizes))
  const steps = samples.map(({ tools, call, rare, common, register }) => ({
    tools,
    callP50: round(median(call)),
    rareP50: round(median(rare)),
    commonP50: round(median(common)),
    registerP50: round(median(register)),
  }))
  return { steps, errors }
}

/** Somebody with the scope that every tool of the bench asks for. */
const facts = {
  role: 'authenticated',
  token_scopes: ['bench:read'],
  claims: {},
  strategy: 'bench',
  trace_id: 'bench',
}

async function timeOf(count: number, run: (turn: number) => Promise<unknown>): Promise<number> {
  const latencies: number[] = []
  for (let turn = 1; turn <= count; turn += 1) {
    const startedAt = performance.now()
    await run(turn)
    latencies.push(performance.now() - startedAt)
  }
  return quantile(latencies, 0.5)
}

async function resize(owner: postgres.Sql, tools: number): Promise<void> {
  await owner`delete from chumbo.capabilities where server_id = (select id from chumbo.servers where slug = 'bench-search')`
  await copy(owner, 1, tools)
  // What autovacuum would do a little later, at a moment that is not ours.
  await owner
    .unsafe('vacuum (analyze) chumbo.capabilities, chumbo.search_documents, chumbo.search_postings')
    .simple()
}

/** Adds copies of the bench's SQL tool whose names and descriptions differ. The other columns are asked for and not written out here. */
async function copy(owner: postgres.Sql, first: number, count: number): Promise<void> {
  const [found] = await owner`
    select string_agg(quote_ident(column_name), ', ') as columns
    from information_schema.columns
    where table_schema = 'chumbo' and table_name = 'capabilities' and column_name not in ('id', 'server_id', 'name', 'description')`
  const columns = String(found?.['columns'])
  await owner.unsafe(
    `insert into chumbo.capabilities (server_id, name, description, ${columns})
     select (select id from chumbo.servers where slug = 'bench-search'), format('%s_%s_%s', verb, noun, i),
       format('Will %s one %s record and return its state to the caller. Use it when the user asks for that %s.', verb, noun, noun), ${columns}
     from chumbo.capabilities as c
     cross join generate_series($1::integer, $1::integer + $2::integer - 1) as i
     cross join lateral (values (
       (array['archive', 'create', 'update', 'send', 'approve', 'reject', 'print', 'share', 'move', 'lock'])[1 + i % 10],
       (array['invoice', 'order', 'ticket', 'budget', 'shipment', 'contract', 'payment'])[1 + i % 7]
     )) as w (verb, noun)
     where c.name = 'bench_list_notes' and c.server_id = (select id from chumbo.servers where slug = 'bench')`,
    [first, count],
  )
}
