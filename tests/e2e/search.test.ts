// tests/e2e/search.test.ts — a searched catalog through the official client: both eras, both gates, a real database.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'

import { startStack, type Stack, type TestUser } from '../../cli/stack/index.ts'
import { createSupabaseMcp, defineTool, type SupabaseMcpApp } from '../../runtime/index.ts'
import { repositoryRoot } from '../support/repository.ts'
import { passwordSession } from '../support/sign-in.ts'

const setUp = `
  create schema shop;
  grant usage on schema shop to authenticated;
  create function shop.bill(total numeric, note text default null) returns jsonb language sql stable security invoker set search_path = ''
    as $$ select jsonb_build_object('total', total, 'uid', auth.uid()) $$;
  create function shop.fail() returns text language plpgsql stable security invoker set search_path = ''
    as $$ begin raise exception using errcode = 'PT409', message = 'already_paid', detail = 'It is paid.'; end $$;
  do $$ declare f regprocedure; begin
    for f in select oid::regprocedure from pg_proc where pronamespace = 'shop'::regnamespace loop
      execute format('comment on function %s is %L', f, 'Sends a bill.');
      execute format('revoke execute on function %s from public, anon', f);
      execute format('grant execute on function %s to authenticated', f);
    end loop;
  end $$;
  select chumbo.register_server('shop', settings => '{"catalog_mode": "search"}');
  select chumbo.define_scope('shop:bill');
  select chumbo.register_tool('shop.bill', 'shop', name => 'createInvoice', scopes => '{shop:bill}');
  select chumbo.register_tool('shop.fail', 'shop', name => 'pay_invoice');
  select chumbo.register_tool('shop.fail', 'shop', name => 'draw_chart', description => 'Invoice chart.', visibility => '{app}', pinned => true);
  select chumbo.sync_capabilities('{"tools": [{"name": "remind-debtor", "description": "Reminds somebody who owes.", "inputSchema": {"type": "object"}}]}', 'shop');
  select chumbo.set_synonyms('{"factura": "invoice", "deudor": ["debtor"]}', 'shop');`

const remind = defineTool(
  {
    name: 'remind-debtor',
    description: 'Reminds somebody who owes.',
    inputSchema: z.object({ whom: z.string() }),
  },
  ({ whom }, ctx) => ({
    content: [{ type: 'text', text: `Reminded ${whom}.` }],
    _meta: { 'shop/by': ctx.user.id },
  }),
)

let stack: Stack

beforeAll(async () => {
  stack = await startStack({ project: repositoryRoot, install: 'direct', functions: {} })
  await query((sql) => sql.unsafe(setUp))
  await query(
    (sql) => sql`select chumbo.grant_scope('shop:bill', 'user', user_id => ${stack.users.alice.id}::uuid)`,
  )
})

afterAll(() => stack.stop())

async function query<Row>(run: (sql: postgres.Sql) => Promise<Row>): Promise<Row> {
  const sql = postgres(stack.databaseUrl, { max: 1, onnotice: () => {} })
  try {
    return await run(sql)
  } finally {
    await sql.end({ timeout: 1 })
  }
}

describe.each([
  ['rest', '2026-07-28'],
  ['rest', '2025-11-25'],
  ['direct', '2026-07-28'],
  ['direct', '2025-11-25'],
] as const)('a searched catalog through the %s gate in the %s revision', (gate, revision) => {
  let app: SupabaseMcpApp
  const clients = {} as Record<'alice' | 'bob', Client>

  beforeAll(async () => {
    app = createSupabaseMcp({
      server: { name: 'shop', version: '1.0.0', slug: 'shop' },
      auth: { mode: 'bearer' },
      gate,
      tools: [remind],
      env: {
        SUPABASE_URL: stack.origin,
        SUPABASE_PUBLISHABLE_KEYS: JSON.stringify({ default: stack.publishableKey }),
        SUPABASE_SECRET_KEYS: JSON.stringify({ default: stack.secretKey }),
        SUPABASE_JWKS: await (await fetch(`${stack.origin}/auth/v1/.well-known/jwks.json`)).text(),
        CHUMBO_DB_URL: stack.directUrl,
      },
    })
    clients.alice = await connect(stack.users.alice)
    clients.bob = await connect(stack.users.bob)
  })

  afterAll(async () => {
    await Promise.all(Object.values(clients).map((client) => client.close()))
    await app.close()
  })

  async function connect(person: TestUser): Promise<Client> {
    const { access_token: token } = await passwordSession(stack, person)
    const client = new Client(
      { name: 'test', version: '1.0.0' },
      revision === '2026-07-28' ? { versionNegotiation: { mode: { pin: revision } } } : {},
    )
    const transport = new StreamableHTTPClientTransport(new URL('http://127.0.0.1/shop'), {
      fetch: (input, init) => app.fetch(new Request(input, init)),
      requestInit: { headers: { Authorization: `Bearer ${token}` } },
    })
    await client.connect(transport)
    return client
  }

  async function search(person: 'alice' | 'bob', words: string): Promise<readonly string[]> {
    const { structuredContent } = await clients[person].callTool({
      name: 'search_tools',
      arguments: { query: words },
    })
    return (structuredContent as { tools: { name: string }[] }).tools.map(({ name }) => name)
  }

  it('lists the two tools and what is pinned', async () => {
    const { tools } = await clients.alice.listTools()

    expect(tools.map(({ name }) => name)).toEqual(['search_tools', 'call_tool', 'draw_chart'])
    expect(tools[2]?._meta).toMatchObject({ ui: { visibility: ['app'] } })
  })

  it('is searched by words, in the words of its people, as each of them', async () => {
    expect(await search('alice', 'create an invoice')).toEqual(['createInvoice', 'pay_invoice'])
    expect(await search('alice', 'crear factura')).toEqual(['createInvoice', 'pay_invoice'])
    expect(await search('alice', 'pay_invoice')).toEqual(['pay_invoice', 'createInvoice'])
    expect(await search('alice', 'deudor')).toEqual(['remind-debtor'])
    expect(await search('alice', 'zebra')).toEqual([])
    expect(await search('bob', 'create an invoice')).toEqual(['pay_invoice'])
    expect(await search('bob', 'createInvoice')).toEqual(['pay_invoice'])
  })

  it('shows whole definitions, which call_tool runs with every digit', async () => {
    const { structuredContent } = await clients.alice.callTool({
      name: 'search_tools',
      arguments: { query: 'createInvoice' },
    })
    const [found] = (structuredContent as { tools: Record<string, unknown>[] }).tools
    expect(found).toMatchObject({
      name: 'createInvoice',
      description: 'Sends a bill.',
      inputSchema: { type: 'object', required: ['total'] },
    })

    const call = { name: 'createInvoice', arguments: { total: '12345678901234567890.01' } }
    const proxied = await clients.alice.callTool({ name: 'call_tool', arguments: call })
    const direct = await clients.alice.callTool(call)

    expect(proxied).toEqual(direct)
    expect(JSON.stringify(proxied)).toContain('12345678901234567890.01')
    expect(JSON.stringify(proxied)).toContain(stack.users.alice.id)
  })

  it('runs code, and hands on what it says beside its result', async () => {
    const result = await clients.alice.callTool({
      name: 'call_tool',
      arguments: { name: 'remind-debtor', arguments: { whom: 'Bob' } },
    })

    expect(result).toMatchObject({
      content: [{ type: 'text', text: 'Reminded Bob.' }],
      _meta: { 'shop/by': stack.users.alice.id },
    })
  })

  it('hands errors on', async () => {
    const result = await clients.alice.callTool({ name: 'call_tool', arguments: { name: 'pay_invoice' } })

    expect(result).toMatchObject({ isError: true, _meta: { 'dev.chumbo/error': { code: 'already_paid' } } })
  })

  it.each(['draw_chart', 'createInvoice', 'search_tools', 'call_tool', 'absent'])(
    'proxies no %s for Bob',
    async (name) => {
      await expect(
        clients.bob.callTool({ name: 'call_tool', arguments: { name, arguments: { query: 'invoice' } } }),
      ).rejects.toThrow(`Tool ${name} not found`)
    },
  )

  it('lets the app call what is for the app, by its name', async () => {
    const result = await clients.bob.callTool({ name: 'draw_chart', arguments: {} })

    expect(result).toMatchObject({ _meta: { 'dev.chumbo/error': { code: 'already_paid' } } })
  })

  it('does once what carries one key, whichever way it is called', async () => {
    const key = { 'dev.chumbo/idempotency-key': `${gate} ${revision}` }
    const call = { name: 'createInvoice', arguments: { total: '7' } }

    await clients.alice.callTool({ name: 'call_tool', arguments: call, _meta: key })
    await clients.alice.callTool({ ...call, _meta: key })

    const rows = await query(
      (sql) => sql<{ outcome: string }[]>`
        select outcome from chumbo.receipts where capability = 'createInvoice' and idempotency_key_hash is not null
        order by created_at desc limit 2`,
    )
    expect(rows.map(({ outcome }) => outcome)).toEqual(['replayed', 'ok'])
  })

  it('leaves receipts of searches that tell how much was found and not what was asked', async () => {
    await search('bob', 'sesquipedalian')

    const rows = await query(
      (sql) => sql<{ receipt: string; row_count: number; outcome: string }[]>`
        select r::text as receipt, row_count, outcome from chumbo.receipts as r
        where capability = 'search_tools' order by created_at desc limit 1`,
    )
    expect(rows[0]).toMatchObject({ outcome: 'ok', row_count: 0 })
    expect(rows[0]?.receipt).not.toContain('sesquipedalian')
  })
})
