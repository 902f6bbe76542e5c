// tests/stack/data-api.test.ts — the Data API under PostgREST's rules: functions ours, tables through lite.
import { generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'

import { createClient, type SupabaseClient } from '@supabase/supabase-js'
import { SignJWT } from 'jose'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { createTokens } from '../../cli/stack/auth/tokens.ts'
import { type Stack, startStack } from '../../cli/stack/index.ts'
import { loadSecrets } from '../../cli/stack/secrets.ts'
import { createTestProject, type TestDatabase, type TestProject } from './support/project.ts'

type Client = SupabaseClient<TestDatabase>

let project: TestProject
let stack: Stack
let dataDir: string
let owner: postgres.Sql
let alice: Client
let bob: Client
let anon: Client
let service: Client

beforeAll(async () => {
  project = await createTestProject()
  dataDir = join(project.dir, 'data')
  stack = await startStack({ project: project.dir, install: 'direct', functions: {}, dataDir })
  owner = postgres(stack.databaseUrl, { max: 2, onnotice: () => undefined })
  anon = client(stack.publishableKey)
  service = client(stack.secretKey)
  alice = client(stack.publishableKey)
  bob = client(stack.publishableKey)
  await alice.auth.signInWithPassword(stack.users.alice)
  await bob.auth.signInWithPassword(stack.users.bob)
})

afterAll(async () => {
  await owner.end({ timeout: 1 })
  await stack.stop()
  await project.remove()
})

describe('a call runs', () => {
  it.each([
    [
      'as anon with the publishable key',
      () => anon,
      { user: 'anon', uid: null, timeout: '3s', claims: { role: 'anon' } },
    ],
    [
      'as service_role with the secret key',
      () => service,
      { user: 'service_role', uid: null, claims: { role: 'service_role' } },
    ],
    [
      'as authenticated with a user’s token',
      () => alice,
      {
        user: 'authenticated',
        timeout: '8s',
        claims: { email: 'alice@example.test', role: 'authenticated' },
      },
    ],
  ])('%s', async (_case, caller, expected) => {
    const { data } = await caller().rpc('whoami')

    expect(data).toMatchObject({
      session: 'authenticator',
      path: '"public", "extensions"',
      method: 'POST',
      readonly: 'on',
      ...expected,
    })
  })

  it('as anon without any key', async () => {
    const { body } = await raw('POST', 'whoami', { headers: { apikey: '' } })

    expect(JSON.parse(body)).toMatchObject({ user: 'anon' })
  })

  it('read-only by GET and for a stable function, so a write in it fails', async () => {
    expect((await raw('GET', 'nothing')).status).toBe(204)
    expect((await anon.rpc('write_in_stable')).error).toMatchObject({ code: '25006' })
    expect((await anon.rpc('write_in_stable')).status).toBe(405)
  })
})

describe('a call finds its function', () => {
  it.each([
    ['by the names of its arguments', 'optional', '{"a":"x","b":"y"}', '"xy"'],
    ['with a default left out', 'optional', '{"a":"x"}', '"xb"'],
    ['without arguments for an empty body', 'no_value', '', 'null'],
    [
      'by its single unnamed json parameter when no name fits',
      'unnamed',
      '{"any": [1,  2.50]}',
      '{"any": [1, 2.50]}',
    ],
  ])('%s', async (_case, name, body, expected) => {
    const answer = await raw('POST', name, { body })

    expect(answer).toMatchObject({ status: 200, body: expected })
  })

  it('from query parameters by GET', async () => {
    expect(await raw('GET', 'optional?a=1&b=2')).toMatchObject({ status: 200, body: '"12"' })
  })

  it.each([
    ['an unknown name', 'nobody', '{}', 404, 'PGRST202'],
    ['an argument it does not have', 'optional', '{"a":"x","c":1}', 404, 'PGRST202'],
    ['a required argument left out', 'optional', '{"b":"x"}', 404, 'PGRST202'],
    ['two overloads with the same names', 'kinds', '{"n":1}', 300, 'PGRST203'],
    ['a body that is not JSON', 'optional', '{', 400, 'PGRST102'],
  ])('or not, for %s', async (_case, name, body, status, code) => {
    const answer = await raw('POST', name, { body })

    expect(answer.status).toBe(status)
    expect(JSON.parse(answer.body)).toMatchObject({ code })
  })

  it('as soon as the migration that makes it has committed', async () => {
    await owner.unsafe(`create function public.fresh() returns integer language sql immutable as 'select 1'`)
    const before = await eventually(
      () => raw('POST', 'fresh'),
      ({ status }) => status === 200,
    )
    await owner.unsafe(
      `drop function public.fresh(); create function public.fresh() returns text language sql immutable as $$ select 'new' $$`,
    )
    const after = await eventually(
      () => raw('POST', 'fresh'),
      ({ body }) => body === '"new"',
    )

    expect([before.body, after.body]).toEqual(['1', '"new"'])
  })
})

describe('an answer', () => {
  it.each([
    [
      'keeps every digit of a number',
      'exact',
      '{"n":12345678901234567890.1234567890}',
      '12345678901234567890.1234567890',
    ],
    [
      'is the text Postgres writes for jsonb',
      'echo',
      '{"payload":{"b":1.0,"a":9007199254740993}}',
      '{"a": 9007199254740993, "b": 1.0}',
    ],
    ['makes objects of a table with one column', 'two_rows', '{}', '[{"a":1}, \n {"a":2}]'],
    ['says null', 'no_value', '{}', 'null'],
  ])('%s', async (_case, name, body, expected) => {
    expect((await raw('POST', name, { body })).body).toBe(expected)
  })

  it('is empty with 204 for void', async () => {
    expect(await raw('POST', 'nothing')).toMatchObject({ status: 204, body: '' })
  })

  it('takes status and headers the function sets', async () => {
    const { status, headers } = await raw('POST', 'shaped')

    expect(status).toBe(202)
    expect(headers.get('x-shape')).toBe('round')
  })

  it('does not carry them into the next call on the same connection', async () => {
    await raw('POST', 'shaped')
    const answers = await Promise.all(Array.from({ length: 40 }, () => raw('POST', 'no_value')))

    expect(answers.every(({ status, headers }) => status === 200 && !headers.has('x-shape'))).toBe(true)
  })
})

describe('an error', () => {
  it.each([
    ['PT418', 418],
    ['PTABC', 500],
    ['P0001', 400],
    ['23505', 409],
    ['42501', 401],
    ['40001', 500],
    ['22023', 400],
    ['28000', 403],
    ['53300', 503],
    ['42P01', 404],
  ])('%s becomes %i with all four parts', async (code, status) => {
    const answer = await raw('POST', 'fail', { body: JSON.stringify({ code }) })

    expect(answer.status).toBe(status)
    expect(JSON.parse(answer.body)).toEqual({
      code,
      message: 'a message',
      details: 'a detail',
      hint: 'a hint',
    })
  })

  it('of missing rights is 403 for somebody signed in', async () => {
    expect((await alice.rpc('fail', { code: '42501' })).status).toBe(403)
  })

  it('dictates body, status and headers with SQLSTATE PGRST', async () => {
    const { status, headers, body } = await raw('POST', 'fail_custom')

    expect(status).toBe(451)
    expect(headers.get('x-own')).toBe('yes')
    expect(JSON.parse(body)).toEqual({ code: 'OWN', message: 'mine', details: 'd', hint: 'h' })
  })

  it('of a statement that outlives the function’s own timeout is 500 with 57014', async () => {
    const { status, error } = await service.rpc('nap', { seconds: 5 })

    expect(status).toBe(500)
    expect(error).toMatchObject({ code: '57014' })
  })

  it('of an unknown key is 401', async () => {
    expect((await client('sb_publishable_wrong').rpc('whoami')).status).toBe(401)
  })

  it.each([
    ['expired', { exp: 1 }, 'PGRST303'],
    ['signed by somebody else', {}, 'PGRST301'],
  ])('of a token that is %s is 401 with a challenge', async (_case, claims, code) => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const forged = await new SignJWT({ role: 'service_role', ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: 'somebody-elses' })
      .setExpirationTime('1h')
      .sign(privateKey)
    const token = code === 'PGRST303' ? await expiredToken() : forged

    const { status, headers, body } = await raw('POST', 'whoami', {
      headers: { authorization: `Bearer ${token}` },
    })

    expect(status).toBe(401)
    expect(headers.get('www-authenticate')).toContain('invalid_token')
    expect(JSON.parse(body)).toMatchObject({ code })
  })

  it('of a connection that dies in the middle is 503, and the next call works', async () => {
    const admin = postgres(stack.adminUrl, { max: 1 })
    const slow = service
      .rpc('echo', { payload: 1 })
      .then(() => raw('POST', 'nap', { body: '{"seconds":0.15}' }))
    const killing = eventually(
      () =>
        admin`select pg_terminate_backend(pid) from pg_stat_activity where query like '%"nap"%' and pid <> pg_backend_pid() and state = 'active'`,
      (rows) => rows.length > 0,
    )

    const [answer] = await Promise.all([slow, killing])
    const next = await service.rpc('echo', { payload: 2 })
    await admin.end({ timeout: 1 })

    expect(answer.status).toBe(503)
    expect(next.data).toBe(2)
  })

  it('of a database that is down is 503, until it is back', async () => {
    await stack.stopPostgres()
    const down = await alice.rpc('whoami')
    await stack.startPostgres()
    const up = await eventually(
      () => alice.rpc('whoami'),
      ({ status }) => status === 200,
    )

    expect(down.status).toBe(503)
    expect(up.data).toMatchObject({ uid: stack.users.alice.id })
  })
})

describe('tables', () => {
  it('show a person her own rows, and the service all of them', async () => {
    const inserted = await alice.from('notes').insert({ body: 'hers' }).select()
    await bob.from('notes').insert({ body: 'his' })

    expect(inserted.data).toMatchObject([{ owner_id: stack.users.alice.id, body: 'hers' }])
    expect((await alice.from('notes').select('body')).data).toEqual([{ body: 'hers' }])
    expect((await anon.from('notes').select('body')).data).toEqual([])
    expect((await service.from('notes').select('body').order('body')).data).toEqual([
      { body: 'hers' },
      { body: 'his' },
    ])
  })

  it('refuse a row planted on somebody else', async () => {
    const { status, error } = await bob.from('notes').insert({ body: 'x', owner_id: stack.users.alice.id })

    expect(status).toBe(403)
    expect(error).toMatchObject({ code: '42501' })
  })

  it('report a broken constraint with its own code', async () => {
    await alice.from('notes').insert({ body: 'once' })

    const { status, error } = await alice.from('notes').insert({ body: 'once' })

    expect(status).toBe(409)
    expect(error).toMatchObject({ code: '23505' })
  })

  it('do not get new grants by being asked for', async () => {
    await owner.unsafe(`
      create table public.closed (id integer);
      alter table public.closed enable row level security;
      revoke all on public.closed from anon, authenticated`)

    const asked = await eventually(
      () => alice.from('closed').select(),
      ({ error }) => error?.code !== 'PGRST205',
    )
    const [privileges] =
      await owner`select has_table_privilege('authenticated', 'public.closed', 'select') as granted`

    expect(asked.error).toMatchObject({ code: '42501' })
    expect(privileges?.['granted']).toBe(false)
  })

  it('are found once a migration has made them, without a restart', async () => {
    await owner.unsafe(
      `create table public.later (id integer primary key); alter table public.later enable row level security`,
    )

    const { status } = await eventually(
      () => service.from('later').select(),
      ({ error }) => error === null,
    )

    expect(status).toBe(200)
  })

  it('shape the rows of a function', async () => {
    expect((await anon.rpc('two_rows').gt('a', 1)).data).toEqual([{ a: 2 }])
    expect((await anon.rpc('two_rows').single()).error).toMatchObject({ code: 'PGRST116' })
  })
})

// Helpers

function client(key: string): Client {
  return createClient<TestDatabase>(stack.origin, key, {
    auth: { persistSession: false, autoRefreshToken: false },
  })
}

async function raw(
  method: string,
  call: string,
  { body, headers }: { body?: string; headers?: Record<string, string> } = {},
) {
  const response = await fetch(`${stack.origin}/rest/v1/rpc/${call}`, {
    method,
    headers: { apikey: stack.publishableKey, 'content-type': 'application/json', ...headers },
    ...(method === 'GET' ? {} : { body: body ?? '{}' }),
  })
  return { status: response.status, headers: response.headers, body: await response.text() }
}

/** A token of the stack’s own key, out of date. */
async function expiredToken(): Promise<string> {
  const secrets = await loadSecrets(dataDir)
  const tokens = await createTokens(secrets, { clock: () => Date.now() - 7_200_000 })
  return tokens.sign({ sub: stack.users.alice.id, role: 'authenticated' }, 60)
}

/** Asks again until the answer is the expected one; the last answer after five seconds. */
async function eventually<T>(
  ask: () => PromiseLike<T>,
  isExpected: (this: void, answer: T) => boolean,
): Promise<T> {
  const deadline = Date.now() + 5000
  for (;;) {
    const answer = await ask()
    if (isExpected(answer) || Date.now() > deadline) return answer
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
