// tests/cases/limits.ts — H: limits, repeats and receipts.
import { expect, same, type Case, type Stage } from './case.ts'

/** A tool of its own for each case, which leaves a row when it runs. */
async function addMarks({ sql }: Stage, name: string, requests?: number): Promise<() => Promise<number>> {
  await sql.unsafe(`
    create table cases.${name}_rows (id bigint generated always as identity, note text);
    alter table cases.${name}_rows enable row level security;
    create policy anybody on cases.${name}_rows to authenticated using (true) with check (true);
    grant select, insert on cases.${name}_rows to authenticated;
    create function cases.${name}(note text, wait double precision default 0) returns setof bigint
      language sql volatile security invoker set search_path = ''
      as 'insert into cases.${name}_rows (note) select note from pg_catalog.pg_sleep(wait) returning id';
    comment on function cases.${name}(text, double precision) is 'Leaves a mark.';
    revoke execute on function cases.${name}(text, double precision) from public, anon;
    grant execute on function cases.${name}(text, double precision) to authenticated;
    select chumbo.register_tool('cases.${name}')`)
  if (requests !== undefined) {
    await sql`select chumbo.set_rate_limit(${name}, capability => ${name}, requests => ${requests}, window_seconds => 600, method => 'fixed_window')`
  }
  return async () =>
    Number((await sql.unsafe(`select count(*)::integer as n from cases.${name}_rows`))[0]?.['n'])
}

const receiptsOf = async ({ sql }: Stage, name: string): Promise<Record<string, number>> =>
  Object.fromEntries(
    (
      await sql<{ outcome: string; n: number }[]>`
        select outcome, count(*)::integer as n from chumbo.receipts where capability = ${name} group by outcome order by outcome`
    ).map(({ outcome, n }) => [outcome, n]),
  )

export const limits: readonly Case[] = [
  {
    id: 'D32',
    title: 'the limit follows the caller and not a header',
    async run(stage) {
      await addMarks(stage, 'd32', 10)
      const keys = async (): Promise<number> =>
        Number((await stage.sql`select count(*)::integer as n from chumbo.rate_counters`)[0]?.['n'])
      const before = await keys()
      let passed = 0
      for (let turn = 0; turn < 30; turn += 1) {
        const address = `203.0.113.${turn}`
        const headers = { 'X-Forwarded-For': address, 'X-Real-IP': address, Forwarded: `for=${address}` }
        const {
          status,
          headers: got,
          message,
        } = await stage.rpc('tools/call', { name: 'd32', arguments: { note: 'x' } }, { headers })
        if (message.result?.isError !== true) passed += 1
        else {
          const wait = Number(got.get('retry-after'))
          expect(
            status === 200 && wait >= 1 && wait <= 600,
            `limited with status ${status}, Retry-After ${wait}`,
          )
        }
      }
      same([passed, (await keys()) - before], [10, 1], 'passed, new keys')
      // Without a token nothing reaches a counter: the refusal is a challenge.
      for (let turn = 0; turn < 30; turn += 1) {
        const { status } = await stage.rpc(
          'tools/list',
          {},
          { token: null, headers: { 'X-Forwarded-For': `198.51.100.${turn}` } },
        )
        same(status, 401, 'without a token')
      }
      same((await keys()) - before, 1, 'new keys after requests without a token')
    },
  },
  {
    id: 'D33',
    title: 'the limit holds under a burst, and refused calls leave receipts',
    async run(stage) {
      for (const [name, used, burst, limit] of [
        ['d33_fresh', 0, 50, 10],
        ['d33_used', 9, 10, 10],
      ] as const) {
        const rows = await addMarks(stage, name, limit)
        const call = () => stage.call(name, { note: 'x' })
        for (let turn = 0; turn < used; turn += 1) await call()
        const answers = await Promise.all(Array.from({ length: burst }, call))
        const passed = answers.filter(({ isError }) => isError !== true).length
        same([passed, await rows()], [limit - used, limit], `passed and rows of ${name}`)
        same(
          await receiptsOf(stage, name),
          { ok: limit, refused: used + burst - limit },
          `receipts of ${name}`,
        )
      }
    },
  },
  {
    id: 'D34',
    title: 'a repeated call with one key happens once',
    async run(stage) {
      const rows = await addMarks(stage, 'd34')
      const send = (key: string, note: string, wait = 0, token = stage.alice.token, signal?: AbortSignal) =>
        stage.rpc(
          'tools/call',
          { name: 'd34', arguments: { note, wait }, _meta: { 'dev.chumbo/idempotency-key': key } },
          { token, ...(signal === undefined ? {} : { signal }) },
        )
      const first = await send('a', 'x')
      same((await send('a', 'x')).message.result, first.message.result, 'twice in a row')
      const [one, two] = await Promise.all([send('b', 'x', 0.3), send('b', 'x', 0.3)])
      same(one.message.result, two.message.result, 'twice at once')
      const lost = await send('c', 'x', 2, stage.alice.token, AbortSignal.timeout(1_000)).catch(
        () => undefined,
      )
      same(lost, undefined, 'the call that was cut')
      same((await send('c', 'x', 2)).message.result?.isError, undefined, 'the call after the cut')
      same(await rows(), 3, 'rows')
      same(await receiptsOf(stage, 'd34'), { ok: 3, replayed: 3 }, 'receipts')
      same((await send('a', 'other')).message.result?.isError, true, 'other arguments')
      same(
        (await send('a', 'x', 0, stage.bob.token)).message.result?.isError,
        undefined,
        'the same key of Bob',
      )
      same(await rows(), 4, 'rows at the end')
    },
  },
  {
    id: 'D35',
    title: 'receipts do not grow for ever',
    async run({ sql, call }) {
      await sql`
        insert into chumbo.receipts (server, kind, capability, strategy, trace_id, outcome, created_at)
        select 'default', 'tool', 'd35', 'oauth', 'old', 'ok', now() - case when n % 2 = 0 then interval '100 days' else interval '1 hour' end
        from generate_series(1, 100000) as n`
      const left = async (): Promise<number> =>
        Number(
          (await sql`select count(*)::integer as n from chumbo.receipts where capability = 'd35'`)[0]?.['n'],
        )
      const pruning = new AbortController()
      const prune = (async () => {
        // In bounded steps, each of which may be the last.
        for (let turn = 0; turn < 20; turn += 1) await sql`select chumbo.maintain('30 days')`
        pruning.abort()
      })()
      let slowest = 0
      while (!pruning.signal.aborted) {
        const startedAt = performance.now()
        await call('ctx')
        slowest = Math.max(slowest, performance.now() - startedAt)
      }
      await prune
      same(await left(), 50_000, 'receipts left')
      expect(slowest < 5_000, `a call waited ${slowest.toFixed(0)} ms while receipts were pruned`)
      await sql`select chumbo.maintain('30 days')`
      same(await left(), 50_000, 'receipts left after another run')
      await sql`delete from chumbo.receipts where capability = 'd35'`
    },
  },
]
