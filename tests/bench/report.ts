// tests/bench/report.ts — the run as one document, and the same for people. Ratios, no verdicts.
import type { GrowthStep } from './growth.ts'
import type { Measurement } from './measure.ts'
import type { RoundTrips } from './round-trips.ts'
import type { SearchStep } from './search.ts'
import { round } from './statistics.ts'

export interface Report {
  /** Whether every answer was right. Says nothing about how fast it came. */
  readonly ok: boolean
  readonly machine: {
    readonly cores: number
    readonly node: string
    readonly deno: string
    readonly postgres: string
  }
  readonly settings: Readonly<Record<string, unknown>>
  readonly results: readonly Measurement[]
  readonly ratios: readonly Ratio[]
  readonly growth: readonly GrowthStep[]
  readonly search: readonly SearchStep[]
  readonly roundTrips: RoundTrips
  readonly errors: readonly string[]
}

export interface Ratio {
  readonly id: string
  readonly what: string
  readonly value: number
}

/** The comparisons worth making. Latency ratios are of p50 with one client. */
export function ratiosOf(
  results: readonly Measurement[],
  growth: readonly GrowthStep[],
  search: readonly SearchStep[],
): Ratio[] {
  const cell = (id: string, clients = 1): Measurement | undefined =>
    results.find((result) => result.id === id && result.clients === clients)
  const p50 = (id: string): number => cell(id)?.p50 ?? Number.NaN
  const busiest = Math.max(...results.map(({ clients }) => clients))
  const throughput = (id: string): number => cell(id, busiest)?.throughput ?? Number.NaN
  const first = growth[0]
  const last = growth.at(-1)

  const ratios: Ratio[] = [
    ratio('direct-to-budget', {
      what: 'SQL tool through direct ÷ (MCP alone + 1.5 × Postgres alone)',
      value: p50('sql-direct') / (p50('floor-mcp') + 1.5 * p50('floor-sql')),
    }),
    ratio('plain-to-direct', {
      what: 'By hand without gates ÷ SQL tool through direct',
      value: p50('floor-plain') / p50('sql-direct'),
    }),
    ratio('gated-to-direct', {
      what: 'By hand with gates ÷ SQL tool through direct',
      value: p50('floor-gated') / p50('sql-direct'),
    }),
    ratio('plain-to-rest', {
      what: 'By hand without gates ÷ SQL tool through rest',
      value: p50('floor-plain') / p50('sql-rest'),
    }),
    ratio('gated-to-rest', {
      what: 'By hand with gates ÷ SQL tool through rest',
      value: p50('floor-gated') / p50('sql-rest'),
    }),
    ratio('gated-to-code-direct', {
      what: 'By hand with gates ÷ TypeScript tool through direct',
      value: p50('floor-gated') / p50('code-direct'),
    }),
    ratio('gated-to-code-rest', {
      what: 'By hand with gates ÷ TypeScript tool through rest',
      value: p50('floor-gated') / p50('code-rest'),
    }),
    ratio('direct-to-plain-throughput', {
      what: `Throughput at ${busiest} clients: direct ÷ by hand without gates`,
      value: throughput('sql-direct') / throughput('floor-plain'),
    }),
    ratio('direct-to-gated-throughput', {
      what: `Throughput at ${busiest} clients: direct ÷ by hand with gates`,
      value: throughput('sql-direct') / throughput('floor-gated'),
    }),
  ]
  if (first !== undefined && last !== undefined) {
    ratios.push(
      ratio('call-growth', {
        what: `SQL tool through direct: ${last.tools} tools ÷ ${first.tools} tools`,
        value: last.callP50 / first.callP50,
      }),
      ratio('list-growth', {
        what: `First page of tools/list: ${last.tools} tools ÷ ${first.tools} tools`,
        value: last.listP50 / first.listP50,
      }),
    )
  }
  const [few] = search
  const many = search.at(-1)
  if (few !== undefined && many !== undefined) {
    ratios.push(
      ratio('search-growth', {
        what: `search_tools through direct: ${many.tools} tools ÷ ${few.tools} tools`,
        value: many.callP50 / few.callP50,
      }),
      ratio('register-growth', {
        what: `Registering one tool: beside ${many.tools} ÷ beside ${few.tools}`,
        value: many.registerP50 / few.registerP50,
      }),
    )
  }
  return ratios
}

function ratio(id: string, { what, value }: Omit<Ratio, 'id'>): Ratio {
  return { id, what, value: round(value) }
}

/** The document as text. */
export function describeReport(report: Report): string {
  const { machine, settings, results, ratios, growth, search, roundTrips, errors } = report
  const levels = [...new Set(results.map(({ clients }) => clients))]
  const ids = [...new Set(results.map(({ id }) => id))]
  const rows = ids.map((id) => {
    const own = results.filter((result) => result.id === id)
    return [
      own[0]?.label ?? id,
      ...own.flatMap(({ p50, p99, throughput }) => [p50.toFixed(2), p99.toFixed(2), throughput.toFixed(0)]),
    ]
  })
  const header = ['', ...levels.flatMap((clients) => [`p50 ×${clients}`, 'p99', 'calls/s'])]

  return [
    `${machine.cores} cores, Node ${machine.node}, Deno ${machine.deno}, Postgres ${machine.postgres}; ${
      settings['durable'] === true ? 'commits reach the disk' : 'commits do not wait for the disk'
    }. Milliseconds; ×N is N parallel clients.`,
    table([header, ...rows]),
    table([
      ['tools registered', 'call p50', 'list p50'],
      ...growth.map(({ tools, callP50, listP50 }) => [String(tools), callP50.toFixed(2), listP50.toFixed(2)]),
    ]),
    table([
      [
        'tools to search',
        'call p50',
        'rare words, database p50',
        'common words, database p50',
        'register p50',
      ],
      ...search.map(({ tools, ...times }) => [
        String(tools),
        ...[times.callP50, times.rareP50, times.commonP50, times.registerP50].map((time) => time.toFixed(2)),
      ]),
    ]),
    table(ratios.map(({ what, value }) => [what, value.toFixed(2)])),
    `Database round trips through direct: SQL tool ${roundTrips.sqlCall}, TypeScript tool ${roundTrips.codeCall}, `
      + `tools/list ${roundTrips.list}.`,
    ...(errors.length === 0 ? [] : [`${errors.length} answers were not right:\n${errors.join('\n')}`]),
  ].join('\n\n')
}

/** Left column to the left, numbers to the right. */
function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_cell, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  )
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart((widths[column] ?? 0) + 2),
        )
        .join('')
        .trimEnd(),
    )
    .join('\n')
}
