// tests/demo/database-in-charge.ts — one line of SQL at a time changes what agents can do, while everything keeps running.
import type { Connection } from '../support/sign-in.ts'
import type { Answer, Cast } from './cast.ts'
import { expect, same, type Check } from './checks.ts'

const burst = { calls: 50, limit: 10 } as const

export function databaseInCharge({ stack, sql, alice, bob, connections, call }: Cast): Check[] {
  const of = (name: string): Connection => {
    const connection = connections.get(name)
    expect(connection !== undefined, `${name} is not connected`)
    return connection
  }
  const lists = async (name: string, tool: string): Promise<boolean> =>
    (await of(name).client.listTools()).tools.some((one) => one.name === tool)
  const marks = async (): Promise<number> =>
    Number((await sql`select count(*)::integer as n from demo.marks`)[0]?.['n'])

  return [
    {
      id: 'tool-added-by-sql-without-restart',
      title: 'The operator adds a tool with SQL',
      async run() {
        const { deno } = stack.pids()
        await sql.unsafe(`
          create schema if not exists demo;
          grant usage on schema demo to authenticated;
          create table demo.marks (id bigint generated always as identity, owner_id uuid default auth.uid(), note text);
          alter table demo.marks enable row level security;
          create policy insert_own on demo.marks for insert to authenticated with check (owner_id = (select auth.uid()));
          create policy select_own on demo.marks for select to authenticated using (owner_id = (select auth.uid()));
          grant select, insert on demo.marks to authenticated;
          create function demo.add_mark(note text) returns table (id bigint, note text)
            language sql volatile security invoker set search_path = ''
            as 'insert into demo.marks (note) values (add_mark.note) returning id, note';
          comment on function demo.add_mark(text) is 'Adds a mark. Use it when the user asks for one.';
          revoke execute on function demo.add_mark(text) from public, anon;
          grant execute on function demo.add_mark(text) to authenticated;
          select chumbo.register_tool('demo.add_mark');`)
        expect(await lists('alice', 'add_mark'), 'the tool is not listed')
        const answer = await call(alice, of('alice'), 'add_mark', { note: 'first' })
        same(answer.outcome, 'ok', `outcome of ${answer.text}`)
        same(stack.pids().deno, deno, 'process of the functions')
        return `listed and called in the running process ${deno}: ${answer.text}`
      },
    },
    {
      id: 'tool-disabled-takes-effect-next-call',
      title: 'The operator switches it off, and on again',
      async run() {
        await sql`select chumbo.disable('add_mark')`
        const answer = await call(alice, of('alice'), 'add_mark', { note: 'never' })
        same([answer.outcome, await lists('alice', 'add_mark')], ['refused', false], 'while disabled')
        await sql`select chumbo.enable('add_mark')`
        same(
          (await call(alice, of('alice'), 'add_mark', { note: 'second' })).outcome,
          'ok',
          'outcome once enabled',
        )
        same(await marks(), 2, 'marks')
        return `while disabled: ${answer.text}`
      },
    },
    {
      id: 'scope-grant-changes-surface',
      title: 'A scope granted to Alice shows her a tool that Bob does not see',
      async run() {
        await sql`select chumbo.define_scope('marks:write')`
        await sql`select chumbo.register_tool('demo.add_mark', name => 'add_secret_mark', scopes => array['marks:write'])`
        const both = async (): Promise<boolean[]> => [
          await lists('alice', 'add_secret_mark'),
          await lists('bob', 'add_secret_mark'),
        ]
        same(await both(), [false, false], 'listed before the grant')
        await sql`select chumbo.grant_scope('marks:write', 'user', ${alice.id}::uuid)`
        same(await both(), [true, false], 'listed after the grant')
        same(
          (await call(alice, of('alice'), 'add_secret_mark', { note: 'third' })).outcome,
          'ok',
          "Alice's call",
        )
        same(
          (await call(bob, of('bob'), 'add_secret_mark', { note: 'never' })).outcome,
          'refused',
          "Bob's call",
        )
        await sql`select chumbo.revoke_scope('marks:write', 'user', ${alice.id}::uuid)`
        same(
          (await call(alice, of('alice'), 'add_secret_mark', { note: 'never' })).outcome,
          'refused',
          'after the withdrawal',
        )
        return 'hidden, granted to Alice only, withdrawn: each from the next request on'
      },
    },
    {
      id: 'rate-limit-exact-under-burst',
      title: `A limit of ${burst.limit} a minute holds when ${burst.calls} calls arrive at once`,
      async run() {
        await sql`select chumbo.set_rate_limit('marks', capability => 'add_mark', requests => ${burst.limit}, window_seconds => 60)`
        const before = await marks()
        const answers: Answer[] = await Promise.all(
          Array.from({ length: burst.calls }, (_, index) =>
            call(bob, of('bob'), 'add_mark', { note: `burst ${index}` }),
          ),
        )
        const ran = answers.filter((answer) => answer.outcome === 'ok').length
        const limited = answers.filter((answer) => answer.code === 'rate_limited').length
        same(
          [ran, limited, (await marks()) - before],
          [burst.limit, burst.calls - burst.limit, burst.limit],
          'ran, limited, rows',
        )
        return `${ran} ran, ${limited} were limited, ${burst.limit} rows`
      },
    },
    {
      id: 'idempotent-replay',
      title: 'One idempotency key sent twice at once: it happens once',
      async run() {
        const before = await marks()
        const twice = await Promise.all([
          call(alice, of('alice'), 'add_mark', { note: 'once' }, { idempotencyKey: 'demo-1', countAs: 'ok' }),
          call(
            alice,
            of('alice'),
            'add_mark',
            { note: 'once' },
            { idempotencyKey: 'demo-1', countAs: 'replayed' },
          ),
        ])
        same(
          twice.map((answer) => answer.outcome),
          ['ok', 'ok'],
          'outcomes',
        )
        same(twice[0].data, twice[1].data, 'answers')
        same((await marks()) - before, 1, 'rows')
        const reused = await call(
          alice,
          of('alice'),
          'add_mark',
          { note: 'other' },
          { idempotencyKey: 'demo-1' },
        )
        same(reused.code, 'idempotency_key_reused', 'the key with other arguments')
        return `one row, the same answer twice: ${JSON.stringify(twice[0].data)}`
      },
    },
  ]
}
