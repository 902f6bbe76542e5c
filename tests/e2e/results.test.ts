// tests/e2e/results.test.ts — results over the wire: each shape in each mode, and a list walked to its end by a client.
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv'
import type { CallToolResult, JsonSchemaType, Tool } from '@modelcontextprotocol/client'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { startStack, type Stack } from '../../cli/stack/index.ts'
import { repositoryRoot } from '../support/repository.ts'
import { signIn, type Connection } from '../support/sign-in.ts'

const shapes = [
  'scalar',
  'no_scalar',
  'one_row',
  'no_one_row',
  'rows',
  'no_rows',
  'many_rows',
  'object',
  'list',
  'nothing',
]

const setUp = `
  create schema walk;
  grant usage on schema walk to authenticated;
  create table walk.notes (
    id bigint primary key, owner_id uuid not null, created_at timestamptz not null, kind text not null default 'note', body text not null
  );
  alter table walk.notes enable row level security;
  create policy select_own on walk.notes for select to authenticated using (owner_id = (select auth.uid()));
  grant select on walk.notes to authenticated;

  create function walk.list_notes("limit" integer default 20, "cursor" jsonb default null, kind text default 'note')
    returns table (id bigint, created_at timestamptz, body text) language sql stable set search_path = ''
  as $$
    select n.id, n.created_at, n.body from walk.notes as n
    where n.kind = list_notes.kind
      and ("cursor" is null or (n.created_at, n.id) > (("cursor" ->> 'created_at')::timestamptz, ("cursor" ->> 'id')::bigint))
    order by n.created_at, n.id
    limit "limit"
  $$;
  create function walk.scalar() returns bigint language sql stable as 'select 9007199254740993';
  create function walk.no_scalar() returns numeric language sql stable as 'select null::numeric';
  create function walk.one_row(out id bigint, out at date) language sql stable as $$ select 1, 'infinity'::date $$;
  create function walk.no_one_row() returns walk.notes language sql stable as 'select null::walk.notes';
  create function walk.rows() returns table (id bigint, n numeric, tags text[]) language sql stable
    as $$ values (9007199254740993, 0.5, '{a,null}'::text[]), (2, 'NaN', null), (null, null, null) $$;
  create function walk.no_rows() returns setof walk.notes language sql stable as 'select n from walk.notes as n where false';
  create function walk.many_rows() returns setof integer language sql stable as 'select * from generate_series(1, 50)';
  create function walk.object() returns jsonb language sql stable as $$ select '{"n": 9007199254740993}'::jsonb $$;
  create function walk.list() returns json language sql stable as $$ select '[1, null]'::json $$;
  create function walk.nothing() returns void language sql stable as 'select';
  create function walk.render(data jsonb) returns text language sql stable as $$ select 'As text: ' || data::text $$;
  create function walk.picture() returns jsonb language sql stable as $$ select
    '{"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}], "structuredContent": {"n": 9007199254740993}, "_meta": {"walk/n": 1}}'::jsonb $$;
  create function walk.complaint() returns jsonb language sql stable as $$ select '{"content": [{"type": "text", "text": "No."}], "isError": true}'::jsonb $$;
  create function walk.sized("limit" integer, "cursor" integer default null) returns table (id integer, body text) language sql stable
    as $$ select n, case n when 3 then repeat('x', 50000) else 'short' end from generate_series(1, 5) as n where n > coalesce("cursor", 0) order by n limit "limit" $$;
  create function walk.write_note(body text) returns text language sql volatile as 'select body || random()';

  select chumbo.register_tool('walk.' || f, name => f || '_' || m, result => m, render => case m when 'structured' then null else 'walk.render' end, row_cap => 40, empty => 'ok')
    from unnest(array['${shapes.join("','")}']) as f, unnest(array['structured', 'text', 'hybrid']) as m;
  select chumbo.register_tool('walk.list_notes', name => n, result => 'collection', cursor => array['created_at', 'id'])
    from unnest(array['walk_notes', 'walk_notes_too']) as n;
  select chumbo.register_tool('walk.sized', name => 'walk_sized', result => 'collection', cursor => array['id'], max_bytes => 1024);
  select chumbo.register_tool('walk.' || f, result => 'mcp') from unnest(array['picture', 'complaint']) as f;
  select chumbo.register_tool('walk.write_note', name => 'write_' || m, result => m, render => case m when 'hybrid' then 'walk.render' end)
    from unnest(array['structured', 'text', 'hybrid']) as m;`

type Page = {
  readonly items: readonly { readonly id: string; readonly body: string }[]
  readonly has_more: boolean
  readonly next_cursor: string | null
  readonly next_call: { readonly tool: string; readonly arguments: Record<string, unknown> } | null
}

describe.each(['rest', 'direct'] as const)('results through the %s gate', (gate) => {
  let stack: Stack
  let sql: postgres.Sql
  let alice: Connection
  let bob: Connection
  let tools: ReadonlyMap<string, Tool>

  beforeAll(async () => {
    stack = await startStack({ project: repositoryRoot, gate, install: 'direct' })
    sql = postgres(stack.databaseUrl, { max: 1, onnotice: () => {} })
    await sql.unsafe(setUp)
    alice = await signIn(stack, stack.users.alice)
    bob = await signIn(stack, stack.users.bob)
    // The client follows the list to its end, and holds every result against what was listed.
    tools = new Map((await alice.client.listTools()).tools.map((tool) => [tool.name, tool]))
  })
  afterAll(async () => {
    await alice.close()
    await bob.close()
    await sql.end()
    await stack.stop()
  })

  const call = async (name: string, args: object = {}, { client } = alice, key?: string) =>
    await client.callTool({
      name,
      arguments: { ...args },
      ...(key === undefined ? {} : { _meta: { 'dev.chumbo/idempotency-key': key } }),
    })
  const codeOf = (result: CallToolResult) =>
    (result._meta?.['dev.chumbo/error'] as { code?: string } | undefined)?.code
  const texts = ({ content }: CallToolResult) =>
    content.map((block) => (block.type === 'text' ? block.text : block.type))

  describe.each(shapes)('%s', (shape) => {
    it('is structured as its schema says, with the same data as text', async () => {
      const result = await call(`${shape}_structured`)

      const schema = tools.get(`${shape}_structured`)?.outputSchema
      expect(schema).toMatchObject({ type: 'object' })
      expect(
        new AjvJsonSchemaValidator().getValidator(schema as JsonSchemaType)(result.structuredContent),
      ).toMatchObject({
        valid: true,
      })
      expect(JSON.parse(texts(result)[0] ?? '')).toEqual(result.structuredContent)
    })

    it('is text alone where it is a text, and both in a hybrid', async () => {
      const text = await call(`${shape}_text`)
      const hybrid = await call(`${shape}_hybrid`)
      const structured = await call(`${shape}_structured`)

      expect(tools.get(`${shape}_text`)).not.toHaveProperty('outputSchema')
      expect(text).not.toHaveProperty('structuredContent')
      expect(texts(text)[0]).toMatch(/^As text: \{/)
      expect(hybrid.structuredContent).toEqual(structured.structuredContent)
      expect(texts(hybrid)).toEqual(texts(text))
      expect(tools.get(`${shape}_hybrid`)?.outputSchema).toEqual(
        tools.get(`${shape}_structured`)?.outputSchema,
      )
    })
  })

  it('say in both forms that they were cut', async () => {
    for (const mode of ['structured', 'hybrid', 'text']) {
      const result = await call(`many_rows_${mode}`)

      expect(texts(result)[0]).toContain('"truncated": true')
      expect(texts(result)[1]).toMatch(/^Cut after 40 rows/)
      if (mode !== 'text') expect(result.structuredContent).toMatchObject({ truncated: true })
    }
  })

  it('that a function writes whole pass, and an error of its own is one', async () => {
    expect(await call('picture')).toMatchObject({
      content: [{ type: 'image', data: 'aGk=', mimeType: 'image/png' }],
      _meta: { 'walk/n': 1 },
    })
    expect(await call('complaint')).toMatchObject({ isError: true, content: [{ type: 'text', text: 'No.' }] })
    const [receipt] =
      await sql`select outcome, code from chumbo.receipts where capability = 'complaint' order by id desc limit 1`
    expect(receipt).toEqual({ outcome: 'tool_error', code: 'reported_error' })
  })

  it.each(['structured', 'text', 'hybrid'])('that are repeated are the same: %s', async (mode) => {
    const key = crypto.randomUUID()

    const first = await call(`write_${mode}`, { body: 'x' }, alice, key)
    const again = await call(`write_${mode}`, { body: 'x' }, alice, key)
    const other = await call(`write_${mode}`, { body: 'x' }, alice, crypto.randomUUID())

    expect(JSON.stringify(again)).toBe(JSON.stringify(first))
    expect(JSON.stringify(other)).not.toBe(JSON.stringify(first))
  })

  describe('a collection', () => {
    const walk = async (args: object, between: (page: number) => Promise<void> = async () => {}) => {
      const ids: string[] = []
      const sizes: number[] = []
      let next: Page['next_call'] = { tool: 'walk_notes', arguments: { ...args } }
      for (let page = 1; next !== null; page += 1) {
        const result = await call(next.tool, next.arguments)
        const data = result.structuredContent as Page
        expect(JSON.parse(texts(result)[0] ?? '')).toEqual(data)
        const { content, structuredContent } = result
        expect(Buffer.byteLength(JSON.stringify({ content, structuredContent }))).toBeLessThanOrEqual(16_384)
        expect(data.has_more).toBe(data.next_call !== null)
        ids.push(...data.items.map(({ id }) => id))
        sizes.push(data.items.length)
        await between(page)
        next = data.next_call
      }
      return { ids, sizes }
    }

    beforeAll(async () => {
      await sql`delete from walk.notes`
      // Ids beyond a double; three notes share each microsecond.
      await sql`
        insert into walk.notes (id, owner_id, created_at, body)
        select 9007199254740993 + n, ${stack.users.alice.id}, '2026-01-01 00:00:00.000001+00'::timestamptz + make_interval(secs => n / 3 / 1e6), 'note ' || n
        from generate_series(1, 250) as n`
      await sql`insert into walk.notes (id, owner_id, created_at, body) values (1, ${stack.users.bob.id}, '2026-01-01', 'of Bob')`
    })
    const expected = Array.from({ length: 250 }, (_, n) => String(9007199254740994n + BigInt(n)))

    it('lists limit and cursor as every collection does', () => {
      expect(tools.get('walk_notes')?.inputSchema.properties).toMatchObject({
        limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
        cursor: { type: 'string', maxLength: 2048 },
      })
      expect(tools.get('walk_notes')?.inputSchema.required).toEqual([])
    })

    it.each([{}, { limit: 7 }, { limit: 100 }])('is walked once from end to end: %j', async (args) => {
      const { ids, sizes } = await walk(args)

      expect(ids).toEqual(expected)
      expect(Math.max(...sizes)).toBeLessThanOrEqual('limit' in args ? args.limit : 20)
    })

    it('loses and repeats nothing while rows come in between', async () => {
      const { ids } = await walk({ limit: 30 }, async (page) => {
        await sql`
          insert into walk.notes (id, owner_id, created_at, body)
          values (${page}::bigint * 10, ${stack.users.alice.id}, '2025-01-01', 'before'), (${page}::bigint * 10 + 1, ${stack.users.alice.id}, '2027-01-01', 'after')`
      })

      expect(ids.slice(0, 250)).toEqual(expected)
      expect(new Set(ids).size).toBe(ids.length)
      // Those that sort before where the walk was are not seen; those after it are.
      expect(ids.slice(250).every((id) => id.endsWith('1'))).toBe(true)
      expect(ids.length).toBeGreaterThan(250)
      await sql`delete from walk.notes where id < 1000 and id > 1`
    })

    it('takes no cursor but its own', async () => {
      const first = (await call('walk_notes', { limit: 5 })).structuredContent as Page
      const cursor = first.next_cursor ?? ''
      const attempts: [string, Promise<CallToolResult>][] = [
        ['another tool', call('walk_notes_too', { cursor })],
        ['another person', call('walk_notes', { cursor }, bob)],
        ['other filters', call('walk_notes', { cursor, kind: 'other' })],
        ['cut', call('walk_notes', { cursor: cursor.slice(0, -3) })],
        ['changed', call('walk_notes', { cursor: `${cursor.slice(0, 40)}A${cursor.slice(41)}` })],
        ['no base64', call('walk_notes', { cursor: 'ééé%%%"; drop table walk.notes; --' })],
        ['huge', call('walk_notes', { cursor: 'A'.repeat(500_000) })],
        ['empty', call('walk_notes', { cursor: '' })],
      ]

      for (const [label, attempt] of attempts) {
        const result = await attempt
        expect([label, codeOf(result)]).toEqual([
          label,
          expect.stringMatching(/^invalid_(cursor|arguments)$/),
        ])
        expect(result).not.toHaveProperty('structuredContent')
      }
      expect(codeOf(await call('walk_notes', { cursor, limit: 50 }))).toBeUndefined()
    })

    it('names an item that fits into no page, and goes on after it', async () => {
      const before = (await call('walk_sized')).structuredContent as Page
      const failed = await call('walk_sized', before.next_call?.arguments)
      const error = failed._meta?.['dev.chumbo/error'] as {
        code: string
        next_call: NonNullable<Page['next_call']>
      }
      const after = (await call(error.next_call.tool, error.next_call.arguments)).structuredContent as Page

      expect(before.items.map(({ id }) => id)).toEqual([1, 2])
      expect(error).toMatchObject({
        code: 'item_too_large',
        message: expect.stringContaining('id = 3') as string,
      })
      expect(Buffer.byteLength(JSON.stringify(failed))).toBeLessThan(2_048)
      expect(after.items.map(({ id }) => id)).toEqual([4, 5])
    })
  })
})
