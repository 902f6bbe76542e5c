// tests/crash/crash.test.ts — parts are killed in the middle of calls; receipts and rows agree afterwards.
import { setTimeout as sleep } from 'node:timers/promises'

import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { startStack, type Stack } from '../../cli/stack/index.ts'
import { repositoryRoot } from '../support/repository.ts'
import { signIn, type Connection } from '../support/sign-in.ts'

/** What the tests look at: a SQL tool whose every run leaves one row, before and after a wait. */
const setUp = `
  create schema crash;
  grant usage on schema crash to authenticated;
  create table crash.effects (id bigint generated always as identity, label text);
  grant select, insert on crash.effects to authenticated;
  create function crash.slow_effect(label text, seconds double precision default 0.5) returns text
    language plpgsql volatile security invoker set search_path = ''
    as 'begin insert into crash.effects (label) values (label); perform pg_sleep(seconds); return label; end';
  comment on function crash.slow_effect(text, double precision) is 'Leaves one row, slowly.';
  revoke execute on function crash.slow_effect(text, double precision) from public, anon;
  grant execute on function crash.slow_effect(text, double precision) to authenticated;
  select chumbo.register_tool('crash.slow_effect');`

describe.each(['rest', 'direct'] as const)('after a crash, through the %s gate,', (gate) => {
  let stack: Stack
  let alice: Connection

  beforeAll(async () => {
    stack = await startStack({ project: repositoryRoot, gate, install: 'direct' })
    await query((sql) => sql.unsafe(setUp))
    alice = await signIn(stack, stack.users.alice)
  })
  afterAll(async () => {
    await alice.close().catch(() => {})
    await stack.stop()
  })

  /** A connection of its own each time: the ones of before died with the server. */
  async function query<Row>(run: (sql: postgres.Sql) => Promise<Row>): Promise<Row> {
    const sql = postgres(stack.databaseUrl, { max: 1, onnotice: () => {} })
    try {
      return await run(sql)
    } finally {
      await sql.end({ timeout: 1 })
    }
  }

  interface Books {
    readonly effects: number
    readonly receipts: Readonly<Record<string, number>>
  }

  async function books(label: string, capability: string): Promise<Books> {
    return query(async (sql) => {
      const [row] = await sql<
        { n: number }[]
      >`select count(*)::integer as n from crash.effects where label = ${label}`
      const counts = await sql<{ outcome: string; n: number }[]>`
        select outcome, count(*)::integer as n from chumbo.receipts
        where capability = ${capability} and created_at > now() - interval '10 minutes' group by 1`
      return {
        effects: row?.n ?? -1,
        receipts: Object.fromEntries(counts.map(({ outcome, n }) => [outcome, n])),
      }
    })
  }

  /** Starts calls and answers how each ended for the client: its text, or nothing when the connection broke. */
  function start(count: number, call: () => Promise<unknown>): Promise<('answered' | 'broken')[]> {
    return Promise.all(
      Array.from({ length: count }, () =>
        call().then(
          () => 'answered' as const,
          () => 'broken' as const,
        ),
      ),
    )
  }

  async function untilRunning(count: number): Promise<void> {
    for (let attempt = 0; attempt < 100; attempt += 1) {
      const running = await query(
        (sql) => sql<{ n: number }[]>`
          select count(*)::integer as n from pg_catalog.pg_stat_activity where wait_event = 'PgSleep'`,
      )
      if ((running[0]?.n ?? 0) >= count) return
      await sleep(20)
    }
    throw new Error(`${count} calls were never running at once.`)
  }

  it('of the functions, every effect of a SQL tool has its receipt and no receipt lacks its effect', async () => {
    const calls = start(6, () => callTool('slow_effect', { label: 'functions', seconds: 1 }))
    await untilRunning(4)

    await stack.killFunctions()
    const endings = await calls
    // The database finishes what it had begun, whoever waits for it.
    await sleep(1_500)
    await stack.restartFunctions()

    const { effects, receipts } = await books('functions', 'slow_effect')
    expect(endings).toContain('broken')
    expect(receipts['ok'] ?? 0).toBe(effects)
    // Behind the Data API a call outlives its caller. On a connection of its own it ends with the connection, whole.
    if (gate === 'rest') expect(effects).toBeGreaterThan(0)
    await expect(callTool('list_snippets', {})).resolves.toMatchObject({ isError: false })
  })

  it('of Postgres, what had not committed is gone with its receipt', async () => {
    const before = await books('postgres', 'slow_effect')
    const calls = start(6, () => callTool('slow_effect', { label: 'postgres', seconds: 3 }))
    await untilRunning(4)

    await stack.stopPostgres({ crash: true })
    const endings = await calls
    await stack.startPostgres()

    const after = await books('postgres', 'slow_effect')
    expect(endings.length).toBe(6)
    expect((after.receipts['ok'] ?? 0) - (before.receipts['ok'] ?? 0)).toBe(after.effects - before.effects)
    await expect(untilAnswered()).resolves.toMatchObject({ isError: false })
  })

  it('of one backend, the call fails as a whole and the next one works', async () => {
    const before = await books('backend', 'slow_effect')
    const call = start(1, () => callTool('slow_effect', { label: 'backend', seconds: 5 }))
    await untilRunning(1)

    await query((sql) =>
      sql`select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'PgSleep'`.execute(),
    ).catch(() => {})
    await call

    const after = await books('backend', 'slow_effect')
    expect(after.effects - before.effects).toBe((after.receipts['ok'] ?? 0) - (before.receipts['ok'] ?? 0))
    expect(after.effects).toBe(0)
    await expect(untilAnswered()).resolves.toMatchObject({ isError: false })
  })

  it('of the functions during a TypeScript call, an open receipt tells that its end is unknown', async () => {
    const startedAt = new Date(Date.now() - 1_000)
    const calls = start(20, () => callTool('list_workspaces', {}))
    await sleep(60)

    await stack.killFunctions()
    await calls
    await stack.restartFunctions()

    const rows = await query(
      (sql) => sql<{ outcome: string }[]>`
        select outcome from chumbo.receipts where capability = 'list_workspaces' and created_at > ${startedAt}`,
    )
    expect(rows.every(({ outcome }) => outcome === 'open' || outcome === 'ok')).toBe(true)
    await expect(untilAnswered()).resolves.toMatchObject({ isError: false })
  })

  async function callTool(name: string, args: Record<string, unknown>): Promise<{ isError: boolean }> {
    const result = await alice.client.callTool({ name, arguments: args }, { timeout: 20_000 })
    return { isError: result.isError === true }
  }

  /** The first calls after a crash may still meet connections that are not up again. */
  async function untilAnswered(): Promise<{ isError: boolean }> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await callTool('list_snippets', {})
      } catch (error) {
        if (attempt === 20) throw error
        await sleep(250)
      }
    }
  }
})
