// tests/e2e/gate-contract.test.ts — one suite for both ways to the database, on a real Postgres and a real Data API.
import { decodeJwt } from 'jose'
import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'

import { startStack, type Stack, type TestUser } from '../../cli/stack/index.ts'
import { resolveEnvironment } from '../../runtime/environment.ts'
import { createDirectGate } from '../../runtime/gate/direct.ts'
import type { Gate, RequestFacts } from '../../runtime/gate/gate.ts'
import { requiredSchema } from '../../runtime/gate/gate.ts'
import { requestFacts } from '../../runtime/gate/request-facts.ts'
import { createRestGate } from '../../runtime/gate/rest.ts'
import { createBearerStrategy } from '../../runtime/identity/bearer.ts'
import type { Identity } from '../../runtime/identity/principal.ts'
import { createSupabaseMcp, defineTool, textResult } from '../../runtime/index.ts'
import { repositoryRoot } from '../support/repository.ts'
import { startRoundTripProxy } from '../support/round-trip-proxy.ts'
import { passwordSession } from '../support/sign-in.ts'

/** A server of its own, with a tool for each thing a call can do. */
const setUp = `
  create schema contract;
  grant usage on schema contract to authenticated;
  create table contract.effects (id bigint generated always as identity, label text, owner_id uuid default auth.uid());
  alter table contract.effects enable row level security;
  create policy all_own on contract.effects for all to authenticated
    using (owner_id = (select auth.uid())) with check (owner_id = (select auth.uid()));
  grant select, insert on contract.effects to authenticated;

  create function contract.echo(p jsonb) returns jsonb language sql stable security invoker set search_path = ''
    as $$ select p $$;
  create function contract.echo_id(p bigint) returns bigint language sql stable security invoker set search_path = ''
    as $$ select p $$;
  create function contract.add_effect(label text, seconds double precision default 0) returns text
    language plpgsql volatile security invoker set search_path = ''
    as $$ begin insert into contract.effects (label) values (label); perform pg_sleep(seconds); return label; end $$;
  create function contract.fail(how text) returns text language plpgsql volatile security invoker set search_path = ''
    as $$ begin
      insert into contract.effects (label) values ('of a failed call');
      if how = 'politely' then
        raise exception using errcode = 'PT409', message = 'already_done', detail = 'It is done.', hint = 'Look at it.';
      end if;
      perform 1 / 0;
      return 'never';
    end $$;
  create function contract.whoami() returns jsonb language sql stable security invoker set search_path = ''
    as $$ select jsonb_build_object(
      'role', current_user, 'uid', auth.uid(), 'claims_sub', auth.jwt() ->> 'sub', 'row_security', current_setting('row_security'),
      'isolation', current_setting('transaction_isolation'), 'read_only', current_setting('transaction_read_only'),
      'path', current_setting('search_path'), 'backend', pg_backend_pid()) $$;
  create function contract.soil(also_transactions boolean) returns integer language plpgsql volatile security invoker set search_path = ''
    as $$ begin
      perform set_config('request.jwt.claims', '{"sub":"b0b00000-0000-4000-8000-000000000002","role":"service_role"}', false);
      perform set_config('request.jwt.claim.sub', 'b0b00000-0000-4000-8000-000000000002', false);
      perform set_config('search_path', 'contract', false);
      perform set_config('row_security', 'off', false);
      if also_transactions then
        perform set_config('statement_timeout', '50', false);
        perform set_config('default_transaction_read_only', 'on', false);
        perform set_config('default_transaction_isolation', 'serializable', false);
      end if;
      return pg_backend_pid();
    end $$;
  create function contract.hidden() returns text language sql stable security invoker set search_path = '' as $$ select 'x' $$;

  select chumbo.register_server('contract', name => 'Contract', version => '3.0.0', settings => '{"page_size": 3}');
  select chumbo.define_scope('contract:hidden');
  select chumbo.define_scope('contract:wanted', requestable => true);
  select chumbo.register_tool('contract.' || f, server => 'contract')
    from unnest(array['echo', 'echo_id', 'add_effect', 'fail', 'whoami', 'soil']) as f;
  select chumbo.register_tool('contract.hidden', server => 'contract', scopes => '{contract:hidden}');
  select chumbo.register_tool('contract.hidden', server => 'contract', name => 'wanted', scopes => '{contract:wanted}');
  select chumbo.sync_capabilities('{"tools":[{"name":"in_code","description":"Code.","inputSchema":{"type":"object"}}]}', 'contract');
  do $$ declare f regprocedure; begin
    for f in select oid::regprocedure from pg_proc where pronamespace = 'contract'::regnamespace loop
      execute format('comment on function %s is %L', f, 'A tool of the contract.');
      execute format('revoke execute on function %s from public, anon', f);
      execute format('grant execute on function %s to authenticated', f);
    end loop;
  end $$;`

let stack: Stack
let identities: { readonly alice: Identity; readonly bob: Identity }
const uncaught: unknown[] = []
const noteUncaught = (error: unknown) => void uncaught.push(error)

beforeAll(async () => {
  // A test that watches for these keeps the runner from ending the process over them.
  process.on('uncaughtException', noteUncaught)
  process.on('unhandledRejection', noteUncaught)
  stack = await startStack({ project: repositoryRoot, install: 'direct', functions: {} })
  await query((sql) => sql.unsafe(setUp))
  identities = { alice: await identify(stack.users.alice), bob: await identify(stack.users.bob) }
})

afterAll(async () => {
  await stack.stop()
  process.off('uncaughtException', noteUncaught)
  process.off('unhandledRejection', noteUncaught)
})

/** A connection of its own each time: those of before may have died with the server. */
async function query<Row>(
  run: (sql: postgres.Sql) => Promise<Row>,
  url: string = stack.databaseUrl,
): Promise<Row> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    return await run(sql)
  } finally {
    await sql.end({ timeout: 1 })
  }
}

async function identify(person: TestUser): Promise<Identity> {
  const { access_token: token } = await passwordSession(stack, person)
  // Just issued by the stack's own authorization server; verifying tokens is another suite's subject.
  const claims = decodeJwt(token) as { sub: string; exp: number }
  const strategy = createBearerStrategy(async () => ({
    ok: true,
    found: { ...claims, role: 'authenticated', id: claims.sub } as never,
  }))
  const verdict = await strategy.authenticate(token, { issuers: [] })
  if (!verdict.ok) throw new Error(verdict.reason)
  return verdict.found
}

function environmentOf(): ReturnType<typeof resolveEnvironment> {
  return resolveEnvironment(variablesOf())
}

function variablesOf(): Record<string, string> {
  return {
    SUPABASE_URL: stack.origin,
    SUPABASE_PUBLISHABLE_KEYS: JSON.stringify({ default: stack.publishableKey }),
    SUPABASE_SECRET_KEYS: JSON.stringify({ default: stack.secretKey }),
  }
}

interface Asked {
  readonly who?: Identity
  readonly key?: string
  readonly digest?: string
  readonly rejection?: { readonly code: string; readonly message?: string }
  readonly traceId?: string
}

function factsOf({ who = identities.alice, key, digest, rejection, traceId }: Asked = {}): RequestFacts {
  return requestFacts(who, {
    server: 'contract',
    traceId: traceId ?? crypto.randomUUID(),
    runtimeVersion: 'test',
    idempotencyKeyHash: key,
    argumentDigest: digest,
    rejection,
  })
}

interface Receipt {
  readonly outcome: string
  readonly code: string | null
  readonly capability: string
  readonly row_count: number | null
  readonly replay_of: string | null
  readonly duration_ms: string | null
}

function receiptsOf(traceId: string): Promise<Receipt[]> {
  return query(
    (sql) => sql<Receipt[]>`
      select outcome, code, capability, row_count, replay_of, duration_ms from chumbo.receipts where trace_id = ${traceId}`,
  )
}

async function effects(label: string): Promise<number> {
  const [row] = await query(
    (sql) => sql<{ n: number }[]>`select count(*)::integer as n from contract.effects where label = ${label}`,
    stack.adminUrl,
  )
  return row?.n ?? -1
}

async function untilSleeping(): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const [row] = await query(
      (sql) => sql<{ n: number }[]>`
        select count(*)::integer as n from pg_catalog.pg_stat_activity where wait_event = 'PgSleep'`,
      stack.adminUrl,
    )
    if ((row?.n ?? 0) > 0) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('No call was ever running.')
}

describe.each(['rest', 'direct'] as const)('the %s gate', (name) => {
  const opened: Gate[] = []

  function open(
    options: { readonly max?: number; readonly statementTimeoutMs?: number; readonly url?: string } = {},
  ): Gate {
    const gate =
      name === 'rest'
        ? createRestGate({ environment: environmentOf() })
        : createDirectGate({ url: stack.directUrl, ...options })
    opened.push(gate)
    return gate
  }

  const call = (gate: Gate, capability: string, args: unknown = {}, asked: Asked = {}) =>
    gate.call({
      capability,
      argumentsText: typeof args === 'string' ? args : JSON.stringify(args),
      request: factsOf(asked),
    })

  afterEach(async () => {
    for (const gate of opened.splice(0)) await gate.close()
    expect(uncaught.splice(0)).toEqual([])
  })

  describe('runs a SQL tool', () => {
    it('as its caller, and leaves one receipt', async () => {
      const traceId = crypto.randomUUID()

      const answer = await call(open(), 'whoami', {}, { traceId })

      expect(answer).toMatchObject({ outcome: 'ok', error: null, truncated: false })
      expect(answer.revision).toBeGreaterThan(0)
      expect(JSON.parse(answer.result ?? '')).toMatchObject({
        role: 'authenticated',
        uid: identities.alice.subject,
        claims_sub: identities.alice.subject,
        row_security: 'on',
        isolation: 'read committed',
        // The tool is stable: what says that it only reads, only reads.
        read_only: 'on',
        path: '""',
      })
      expect(await receiptsOf(traceId)).toEqual([
        expect.objectContaining({ outcome: 'ok', code: null, capability: 'whoami', replay_of: null }),
      ])
    })

    it.each([
      ['echo_id', '{"p": "9007199254740993"}', '9007199254740993'],
      ['echo_id', '{"p": 9007199254740993}', '9007199254740993'],
      ['echo_id', '{"p": "-9223372036854775808"}', '-9223372036854775808'],
      ['echo_id', '{"p": 42}', '42'],
      [
        'echo',
        '{"p": {"n": 9007199254740993, "d": 0.12345678901234567890123456789}}',
        '0.12345678901234567890123456789',
      ],
      ['echo', '{"p": [123456789012345678901234567890]}', '123456789012345678901234567890'],
      ['echo', '{"p": "héllo 👩‍👩‍👧 שלום"}', 'héllo 👩‍👩‍👧 שלום'],
    ])('without losing a digit or a letter: %s %s', async (tool, args, expected) => {
      const answer = await call(open(), tool, args)

      expect(answer).toMatchObject({ outcome: 'ok' })
      expect(answer.result).toContain(expected)
      expect(answer.result).not.toContain('9007199254740992')
    })

    it('and undoes what a failing one wrote, whatever it tells', async () => {
      const gate = open()
      const [polite, rude] = [crypto.randomUUID(), crypto.randomUUID()]

      const told = await call(gate, 'fail', { how: 'politely' }, { traceId: polite })
      const untold = await call(gate, 'fail', { how: 'rudely' }, { traceId: rude })

      expect(told).toMatchObject({
        outcome: 'tool_error',
        error: { code: 'already_done', message: 'It is done.', hint: 'Look at it.' },
      })
      expect(untold).toMatchObject({ outcome: 'tool_error' })
      expect(JSON.stringify(untold)).not.toMatch(/division|zero|contract/)
      expect(await effects('of a failed call')).toBe(0)
      expect(await receiptsOf(polite)).toMatchObject([{ outcome: 'tool_error', code: 'already_done' }])
      expect(await receiptsOf(rude)).toMatchObject([{ outcome: 'tool_error' }])
    })

    it.each([
      ['unknown', 'none', 'unknown_capability'],
      ['hidden', 'hidden', 'unknown_capability'],
      ['allowed by nobody yet', 'wanted', 'scope_required'],
    ])('only when it is not %s', async (_label, tool, code) => {
      const traceId = crypto.randomUUID()

      const answer = await call(open(), tool, {}, { traceId })

      expect(answer).toMatchObject({ outcome: 'refused', error: { code }, result: null })
      expect(await receiptsOf(traceId)).toMatchObject([{ outcome: 'refused', code }])
    })

    it('only when the runtime found nothing wrong with the request', async () => {
      const traceId = crypto.randomUUID()
      const rejection = {
        code: 'invalid_arguments',
        message: 'The argument `label` contains a NUL character.',
      }

      const answer = await call(open(), 'add_effect', {}, { traceId, rejection })

      expect(answer).toMatchObject({ outcome: 'refused', error: rejection })
      expect(await receiptsOf(traceId)).toMatchObject([{ outcome: 'refused', code: 'invalid_arguments' }])
    })

    it('once for each key, also when the calls come together', async () => {
      const gate = open()
      const label = `keyed ${name}`
      const asked = { key: `${name}-key`, digest: 'd1' }
      const traceIds = Array.from({ length: 5 }, () => crypto.randomUUID())

      const answers = await Promise.all(
        traceIds.map((traceId) => call(gate, 'add_effect', { label, seconds: 0.2 }, { ...asked, traceId })),
      )
      const later = await call(gate, 'add_effect', { label }, asked)
      const other = await call(gate, 'add_effect', { label }, { ...asked, digest: 'd2' })
      const bobs = await call(gate, 'add_effect', { label }, { ...asked, who: identities.bob })

      expect(answers.map(({ outcome }) => outcome).sort()).toEqual([
        'ok',
        ...Array.from({ length: 4 }, () => 'replayed'),
      ])
      expect(new Set([...answers, later].map(({ result }) => result)).size).toBe(1)
      expect(other).toMatchObject({ outcome: 'refused', error: { code: 'idempotency_key_reused' } })
      expect(bobs.outcome).toBe('ok')
      expect(await effects(label)).toBe(2)
      const receipts = (await Promise.all(traceIds.map(receiptsOf))).flat()
      expect(receipts.filter(({ replay_of }) => replay_of !== null)).toHaveLength(4)
    })

    it('and stops one that takes too long, with a receipt that says so', async () => {
      const traceId = crypto.randomUUID()
      const gate = open({ statementTimeoutMs: 400 })
      // Behind the Data API the limit is the role's, or this one of the function it calls.
      if (name === 'rest') await setCallTimeout(`set statement_timeout = '400ms'`)

      try {
        const answer = await call(gate, 'add_effect', { label: `slow ${name}`, seconds: 5 }, { traceId })

        expect(answer).toMatchObject({ outcome: 'tool_error', error: { code: 'timeout' } })
        expect(await receiptsOf(traceId)).toMatchObject([{ outcome: 'tool_error', code: 'timeout' }])
        expect(await effects(`slow ${name}`)).toBe(0)
      } finally {
        if (name === 'rest') await setCallTimeout('reset statement_timeout')
      }
      expect((await call(gate, 'whoami')).outcome).toBe('ok')
    })

    it('the same after another call soiled the connection', async () => {
      const gate = open({ max: 1 })
      const clean = async (who: Identity) => {
        const { backend, ...seen } = JSON.parse(
          (await call(gate, 'whoami', {}, { who })).result ?? '',
        ) as Record<string, unknown>
        return { backend, seen }
      }
      const before = await clean(identities.alice)

      // How long a transaction may take, and what kind it is, only its owner can set anew: the Data API, for its own.
      // How long a transaction may take and what it may do is decided as it begins, by the Data API for its own ones.
      const soiled = await call(gate, 'soil', { also_transactions: name === 'direct' })
      const after = await clean(identities.alice)
      const bobs = await clean(identities.bob)
      const written = await call(gate, 'add_effect', { label: `after soil ${name}` })

      expect(soiled).toMatchObject({ outcome: 'ok' })
      expect(after.seen).toEqual(before.seen)
      expect(bobs.seen).toEqual({
        ...before.seen,
        uid: identities.bob.subject,
        claims_sub: identities.bob.subject,
      })
      expect(written.outcome).toBe('ok')
      // The connection was the same one, so there was something to clean.
      if (name === 'direct') expect(after.backend).toBe(before.backend)
    })

    it('for each of two callers on few connections, never for the other', async () => {
      const gate = open({ max: 2 })

      const seen = await Promise.all(
        Array.from({ length: 40 }, async (_, index) => {
          const who = index % 2 === 0 ? identities.alice : identities.bob
          const answer = await call(
            gate,
            index % 5 === 0 ? 'fail' : 'whoami',
            index % 5 === 0 ? { how: 'rudely' } : {},
            { who },
          )
          return answer.outcome === 'ok'
            ? (JSON.parse(answer.result ?? '') as { uid: string }).uid === who.subject
            : answer.outcome === 'tool_error'
        }),
      )

      expect(seen).toEqual(Array.from({ length: 40 }, () => true))
    })
  })

  describe('admits what code answers', () => {
    const enter = (gate: Gate, question: Record<string, unknown>, asked: Asked = {}) =>
      gate.enter({ ...factsOf(asked), ...question })

    it('and lists what this caller may use, page by page', async () => {
      const gate = open()
      const names: string[] = []
      let after: string | undefined
      let pages = 0
      let revision: number | null | undefined
      do {
        const answer = await enter(gate, {
          operation: 'list',
          kind: 'tool',
          after,
          code_names: ['in_code', 'elsewhere'],
        })
        expect(answer).toMatchObject({
          outcome: 'listed',
          server: {
            name: 'Contract',
            version: '3.0.0',
            unregistered: 'serve',
            catalog_mode: 'list',
            cache_seconds: 0,
          },
          code: { in_code: true },
        })
        expect(answer.code).not.toHaveProperty('elsewhere')
        for (const entry of answer.entries ?? []) {
          expect(entry.definition).toMatchObject({ name: entry.name, inputSchema: { type: 'object' } })
          names.push(entry.name)
        }
        revision = answer.revision
        after = answer.next ?? undefined
        pages += 1
      } while (after !== undefined && pages < 10)

      expect(names).toEqual(['add_effect', 'echo', 'echo_id', 'fail', 'in_code', 'soil', 'whoami'])
      expect(pages).toBe(3)
      const warm = await enter(gate, { operation: 'list', kind: 'tool', known_revision: revision })
      expect(warm.entries?.every(({ definition }) => definition === undefined)).toBe(true)
    })

    it('and opens a receipt that is closed once', async () => {
      const gate = open()
      const traceId = crypto.randomUUID()

      const answer = await enter(
        gate,
        { operation: 'call', kind: 'tool', name: 'in_code', has_code: true },
        { traceId },
      )
      expect(answer).toMatchObject({ outcome: 'admitted', error: null })
      expect(await receiptsOf(traceId)).toMatchObject([{ outcome: 'open', duration_ms: null }])

      const handle = z.object({ id: z.string(), created_at: z.string() }).parse(answer.receipt)
      await gate.finish([{ ...handle, outcome: 'ok', bytes: 12, duration_ms: 3.5 }])
      await gate.finish([{ ...handle, outcome: 'tool_error', code: 'late', duration_ms: 9 }])

      expect(await receiptsOf(traceId)).toMatchObject([{ outcome: 'ok', code: null, duration_ms: '3.500' }])
    })

    it('and says that a SQL tool is one, and refuses what is hidden', async () => {
      const gate = open()
      const ask = (tool: string, has_code = true) =>
        enter(gate, { operation: 'call', kind: 'tool', name: tool, has_code })

      expect(await ask('echo')).toMatchObject({ outcome: 'sql' })
      expect(await ask('not_registered')).toMatchObject({ outcome: 'admitted' })
      expect(await ask('not_registered', false)).toMatchObject({
        outcome: 'refused',
        error: { code: 'unknown_capability' },
      })
      expect(await call(gate, 'in_code')).toMatchObject({ outcome: 'moved' })
    })

    it('and keeps the answer of a keyed call for the next one', async () => {
      const gate = open()
      const asked = { key: `${name}-code`, digest: 'd' }
      const question = { operation: 'call', kind: 'tool', name: 'in_code', has_code: true }

      const first = await enter(gate, { ...question, may_wait: true, attempt: 1 }, asked)
      const meanwhile = await enter(gate, { ...question, may_wait: true, attempt: 1 }, asked)
      const impatient = await enter(gate, { ...question, may_wait: false, attempt: 2 }, asked)
      const handle = z.object({ id: z.string(), created_at: z.string() }).parse(first.receipt)
      await gate.finish([{ ...handle, outcome: 'ok', duration_ms: 1, result: '{"content":[]}' }])
      const later = await enter(gate, { ...question, may_wait: true, attempt: 1 }, asked)

      expect(first.outcome).toBe('admitted')
      expect(meanwhile.outcome).toBe('wait')
      expect(impatient).toMatchObject({ outcome: 'refused', error: { code: 'idempotency_in_progress' } })
      expect(later).toMatchObject({ outcome: 'replayed', result: '{"content":[]}' })
    })
  })

  describe('refuses everybody', () => {
    it('whose sign-in was ended, from the next request on', async () => {
      const gate = open()
      const who = await identify(stack.users.alice)
      expect((await call(gate, 'whoami', {}, { who })).outcome).toBe('ok')

      await query((sql) => sql`delete from auth.sessions where id = ${who.sessionId ?? ''}`, stack.adminUrl)

      expect(await call(gate, 'whoami', {}, { who })).toMatchObject({
        outcome: 'refused',
        error: { code: 'session_revoked' },
      })
      expect(await gate.enter({ ...factsOf({ who }), operation: 'list', kind: 'tool' })).toMatchObject({
        outcome: 'refused',
        error: { code: 'session_revoked' },
      })
      expect((await call(gate, 'whoami')).outcome).toBe('ok')
    })

    it('while the database is older than the runtime, naming both versions', async () => {
      const gate = open()
      const change = (statement: string) => query((sql) => sql.unsafe(statement))
      const [last] = await query(
        (sql) => sql<{ number: number; name: string; hash: string }[]>`
          delete from chumbo.installed where number = ${requiredSchema} returning number, name, hash`,
      )
      try {
        expect(await call(gate, 'whoami')).toMatchObject({
          outcome: 'refused',
          error: { code: 'schema_outdated', needed: requiredSchema, found: requiredSchema - 1 },
        })

        await change(
          'alter function public.chumbo_call(text, text, jsonb, jsonb) rename to chumbo_call_of_tomorrow',
        )
        await expect(call(gate, 'whoami')).rejects.toMatchObject({
          code: 'schema_outdated',
          status: 503,
          message: `This server needs version ${requiredSchema} of the Chumbo schema and found version ${requiredSchema - 1}.`,
        })
      } finally {
        await change(
          'alter function if exists public.chumbo_call_of_tomorrow(text, text, jsonb, jsonb) rename to chumbo_call',
        ).catch(() =>
          change(
            'alter function public.chumbo_call_of_tomorrow(text, text, jsonb, jsonb) rename to chumbo_call',
          ).catch(() => {}),
        )
        if (last !== undefined)
          await query((sql) => sql`insert into chumbo.installed ${sql(last, 'number', 'name', 'hash')}`)
      }
      expect((await call(gate, 'whoami')).outcome).toBe('ok')
    })
  })

  describe('survives', () => {
    it('its backend being ended in the middle of a call', async () => {
      const gate = open()
      const label = `ended ${name}`
      const calls = Array.from({ length: 3 }, () =>
        call(gate, 'add_effect', { label, seconds: 10 }).catch((error: unknown) => error),
      )
      await untilSleeping()

      await query(
        (sql) => sql`select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'PgSleep'`,
        stack.adminUrl,
      )
      // Those that had not begun to sleep yet.
      for (let isDone = false; !isDone;) {
        isDone = await Promise.race([
          Promise.all(calls).then(() => true),
          new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 100)),
        ])
        if (!isDone)
          await query(
            (sql) => sql`select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'PgSleep'`,
            stack.adminUrl,
          )
      }

      for (const ended of await Promise.all(calls))
        expect(ended).toMatchObject({ code: 'database_unavailable', status: 503, retryAfterSeconds: 5 })
      expect(await effects(label)).toBe(0)
      expect((await call(gate, 'whoami')).outcome).toBe('ok')
    })

    it('idle connections being ended', async () => {
      const gate = open()
      await Promise.all(Array.from({ length: 4 }, () => call(gate, 'whoami')))

      await query(
        (sql) => sql`
          select pg_terminate_backend(pid) from pg_stat_activity
          where usename in ('chumbo_login', 'authenticator') and pid <> pg_backend_pid()`,
        stack.adminUrl,
      )
      await new Promise((resolve) => setTimeout(resolve, 100))

      const answers = await Promise.all(Array.from({ length: 8 }, () => call(gate, 'whoami')))
      expect(answers.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 8 }, () => 'ok'))
    })

    it('Postgres being away, says so, and works again when it is back', async () => {
      const gate = open()
      const app = createSupabaseMcp({
        server: { name: 'contract', version: '1', slug: 'contract' },
        auth: { mode: 'bearer' },
        gate: name,
        env: {
          ...variablesOf(),
          CHUMBO_DB_URL: stack.directUrl,
          SUPABASE_JWKS: await (await fetch(`${stack.origin}/auth/v1/.well-known/jwks.json`)).text(),
        },
        onError: () => {},
      })
      const { access_token: token } = await passwordSession(stack, stack.users.alice)
      const post = () =>
        app.fetch(
          new Request('http://127.0.0.1/contract', {
            method: 'POST',
            headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
            body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami","arguments":{}}}',
          }),
        )
      expect((await post()).status).toBe(200)
      const running = call(gate, 'add_effect', { label: `away ${name}`, seconds: 20 }).catch(
        (error: unknown) => error,
      )
      await untilSleeping()

      await stack.stopPostgres()
      try {
        expect(await running).toMatchObject({ code: 'database_unavailable' })
        await expect(call(gate, 'whoami')).rejects.toMatchObject({
          code: 'database_unavailable',
          status: 503,
        })
        for (let turn = 0; turn < 2; turn += 1) {
          const response = await post()
          expect(response.status).toBe(503)
          expect(response.headers.get('retry-after')).toBe('5')
          expect(response.headers.get('www-authenticate')).toBeNull()
          expect(await response.json()).toMatchObject({ error: { data: { code: 'database_unavailable' } } })
        }
      } finally {
        await stack.startPostgres()
      }

      await expect
        .poll(async () => (await call(gate, 'whoami').catch(() => null))?.outcome, { timeout: 10_000 })
        .toBe('ok')
      await expect.poll(async () => (await post()).status, { timeout: 10_000 }).toBe(200)
      expect(await effects(`away ${name}`)).toBe(0)
      await app.close()
    })
  })
})

/** Limits the function of a call, as an operator might. */
async function setCallTimeout(change: string): Promise<void> {
  await query((sql) => sql.unsafe(`alter function public.chumbo_call(text, text, jsonb, jsonb) ${change}`))
  // The Data API learns of it as PostgREST does.
  await query((sql) => sql`notify pgrst, 'reload schema'`)
  await new Promise((resolve) => setTimeout(resolve, 200))
}

describe('a call through a connection', () => {
  it('costs one round trip', async () => {
    const url = new URL(stack.directUrl)
    const proxy = await startRoundTripProxy(Number(url.port))
    url.port = String(proxy.port)
    const gate = createDirectGate({ url: url.href, max: 1 })
    const call = (tool: string, args: object) =>
      gate.call({ capability: tool, argumentsText: JSON.stringify(args), request: factsOf() })

    try {
      await call('whoami', {})
      const counts: number[] = []
      for (const [tool, args] of [
        ['whoami', {}],
        ['echo', { p: 'x'.repeat(1_000) }],
        ['fail', { how: 'politely' }],
        ['none', {}],
      ] as const) {
        proxy.reset()
        await call(tool, args)
        counts.push(proxy.roundTrips())
      }

      expect(counts).toEqual([1, 1, 1, 1])
      // The first of its kind on a connection is prepared.
      await gate.enter({ ...factsOf(), operation: 'list', kind: 'tool' })
      proxy.reset()
      await gate.enter({ ...factsOf(), operation: 'list', kind: 'tool' })
      expect(proxy.roundTrips()).toBe(1)
    } finally {
      await gate.close()
      await proxy.stop()
    }
  })
})

describe('ctx.sql', () => {
  it('answers as the caller, one transaction a statement, and tells no SQL', async () => {
    const told: unknown[] = []
    const ask = defineTool(
      { name: 'ask', description: 'Asks.', inputSchema: z.object({ label: z.string() }) },
      async ({ label }, { sql }) => {
        if (sql === undefined) return textResult('no sql')
        told.push(await sql`select current_user as role, auth.uid() as uid, auth.jwt() ->> 'role' as claim`)
        told.push(await sql`insert into contract.effects (label) values (${label}) returning label, owner_id`)
        told.push(await sql`select count(*)::integer as n from contract.effects where owner_id <> auth.uid()`)
        await sql`insert into contract.effects (label, owner_id) values (${label}, ${identities.bob.subject})`
        return textResult('never')
      },
    )
    const app = createSupabaseMcp({
      server: { name: 'contract', version: '1', slug: 'contract' },
      auth: { mode: 'bearer' },
      env: { ...variablesOf(), CHUMBO_DB_URL: stack.directUrl },
      tools: [ask],
      onError: () => {},
    })
    const { access_token: token } = await passwordSession(stack, stack.users.alice)
    const label = `'); drop table contract.effects; --`

    const response = await app.fetch(
      new Request('http://127.0.0.1/contract', {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: 'ask', arguments: { label } },
        }),
      }),
    )

    const uid = identities.alice.subject
    expect(told).toEqual([
      [{ role: 'authenticated', uid, claim: 'authenticated' }],
      [{ label, owner_id: uid }],
      [{ n: 0 }],
    ])
    const text = await response.text()
    expect(text).toContain('forbidden')
    expect(text).not.toMatch(/contract\.effects|policy|row-level/)
    await app.close()
    expect(await effects(label)).toBe(1)
  })
})
