// tests/e2e/resources.test.ts — resources, prompts and completions of rows, with the official client in both eras, through both gates.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'

import { startStack, type Stack, type TestUser } from '../../cli/stack/index.ts'
import { createSupabaseMcp, type SupabaseMcpApp, type SupabaseMcpOptions } from '../../runtime/index.ts'
import { repositoryRoot } from '../support/repository.ts'
import { passwordSession } from '../support/sign-in.ts'

const setUp = `
  create schema library;
  grant usage on schema library to authenticated;
  create table library.notes (id integer primary key, owner_id uuid not null, body text not null);
  alter table library.notes enable row level security;
  create policy select_own on library.notes for select to authenticated using (owner_id = (select auth.uid()));
  grant select on library.notes to authenticated;

  create function library.read_note(id integer) returns text language sql stable security invoker set search_path = ''
    as $$ select n.body from library.notes as n where n.id = read_note.id $$;
  create function library.list_notes() returns table (uri text, name text) language sql stable security invoker set search_path = ''
    as $$ select 'note://' || n.id, 'Note ' || n.id from library.notes as n order by n.id $$;
  create function library.broken_list() returns table (uri text) language plpgsql stable security invoker set search_path = ''
    as $$ begin raise exception 'secret of the list'; end $$;
  create function library.numbers(n bigint) returns jsonb language sql stable security invoker set search_path = ''
    as $$ select jsonb_build_object('n', n, 'd', 0.12345678901234567890123456789) $$;
  create function library.slow(id text) returns text language plpgsql stable security invoker set search_path = ''
    as $$ begin perform pg_sleep(30); return id; end $$;
  create function library.echo(path text) returns text language sql stable security invoker set search_path = '' as $$ select path $$;
  create function library.review(id integer, tone text default 'kind') returns table (role text, content text)
    language sql stable security invoker set search_path = ''
    as $$ select 'user', format('Review in a %s tone: %s', tone, n.body) from library.notes as n where n.id = review.id $$;
  create function library.suggest_note(typed text) returns setof text language sql stable security invoker set search_path = ''
    as $$ select n.id::text from library.notes as n where n.id::text like typed || '%' order by n.id $$;
  do $$ declare f regprocedure; begin
    for f in select oid::regprocedure from pg_proc where pronamespace = 'library'::regnamespace loop
      execute format('comment on function %s is %L', f, 'Of the library.');
      execute format('revoke execute on function %s from public, anon', f);
      execute format('grant execute on function %s to authenticated', f);
    end loop;
  end $$;

  select chumbo.register_server('library', settings => '{"page_size": 2, "cache_seconds": 7}');
  select chumbo.define_scope('library:staff');
  select chumbo.register_resource('app://about', content => 'About us, ü.', name => 'about', server => 'library', cache_seconds => 60);
  select chumbo.register_resource('app://logo', blob => '\\x89504e47', name => 'logo', mime_type => 'image/png', server => 'library');
  select chumbo.register_resource('app://staff', content => 'Staff only.', name => 'staff', server => 'library', scopes => '{library:staff}');
  select chumbo.register_resource('note://{id}', 'library.read_note', list => 'library.list_notes', server => 'library');
  select chumbo.register_resource('broken://{path}', 'library.echo', list => 'library.broken_list', server => 'library');
  select chumbo.register_resource('numbers://{n}', 'library.numbers', server => 'library');
  select chumbo.register_resource('slow://{id}', 'library.slow', server => 'library');
  select chumbo.register_resource('echo://{+path}', 'library.echo', name => 'everything', server => 'library');
  select chumbo.register_prompt('greet', '[{"role": "user", "content": "Greet {{who}} in {{lang}}."}]',
    arguments => '[{"name": "who"}, {"name": "lang", "required": false, "description": "A language."}]', server => 'library');
  select chumbo.register_prompt('review', target => 'library.review', server => 'library');
  select chumbo.register_prompt('staff_prompt', '"Staff only."', server => 'library', scopes => '{library:staff}');
  select chumbo.set_completion('review', 'id', 'library.suggest_note', server => 'library');
  select chumbo.set_completion('read_note', 'id', 'library.suggest_note', 'resource_template', 'library');`

let stack: Stack
let jwks: string
const tokens: Record<'alice' | 'bob', string> = { alice: '', bob: '' }

beforeAll(async () => {
  stack = await startStack({ project: repositoryRoot, install: 'direct', functions: {} })
  await query((sql) => sql.unsafe(setUp))
  const { alice, bob } = stack.users
  await query(
    (sql) => sql`
      insert into library.notes values (1, ${alice.id}, 'Of Alice'), (2, ${bob.id}, 'Of Bob'), (10, ${alice.id}, 'Also of Alice')`,
  )
  jwks = await (await fetch(`${stack.origin}/auth/v1/.well-known/jwks.json`)).text()
  for (const person of ['alice', 'bob'] as const) tokens[person] = await tokenOf(stack.users[person])
})

afterAll(async () => {
  await stack.stop()
})

async function tokenOf(person: TestUser): Promise<string> {
  return (await passwordSession(stack, person)).access_token
}

async function query<Row>(run: (sql: postgres.Sql) => Promise<Row>): Promise<Row> {
  const sql = postgres(stack.adminUrl, { max: 1, onnotice: () => {} })
  try {
    return await run(sql)
  } finally {
    await sql.end({ timeout: 1 })
  }
}

async function rejection(
  promise: Promise<unknown>,
): Promise<{ readonly code: number; readonly message: string }> {
  try {
    await promise
  } catch (error) {
    // The official client throws what the protocol answered.
    return error as { readonly code: number; readonly message: string }
  }
  throw new Error('It was answered.')
}

const combinations = (['rest', 'direct'] as const).flatMap((gate) =>
  (['modern', 'legacy'] as const).map((era) => ({ gate, era })),
)

describe.each(combinations)('a $era client through the $gate gate', ({ gate, era }) => {
  const opened: { close(): Promise<void> }[] = []

  afterEach(async () => {
    for (const each of opened.splice(0).reverse()) await each.close()
  })

  function start(options: Partial<SupabaseMcpOptions> = {}): SupabaseMcpApp {
    const app = createSupabaseMcp({
      server: { name: 'library', version: '1', slug: 'library' },
      auth: { mode: 'bearer' },
      gate,
      env: {
        SUPABASE_URL: stack.origin,
        SUPABASE_PUBLISHABLE_KEYS: JSON.stringify({ default: stack.publishableKey }),
        SUPABASE_SECRET_KEYS: JSON.stringify({ default: stack.secretKey }),
        CHUMBO_DB_URL: stack.directUrl,
        SUPABASE_JWKS: jwks,
      },
      onError: () => {},
      ...options,
    })
    opened.push(app)
    return app
  }

  async function connect(person: 'alice' | 'bob' = 'alice', app: SupabaseMcpApp = start()): Promise<Client> {
    const client = new Client(
      { name: 'test', version: '1.0.0' },
      era === 'modern' ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {},
    )
    await client.connect(
      new StreamableHTTPClientTransport(new URL('http://127.0.0.1/library'), {
        authProvider: { token: async () => tokens[person] },
        fetch: (input, init) => app.fetch(new Request(input, init)),
      }),
    )
    opened.push(client)
    return client
  }

  /** Follows every page; on a connection of its own, since a client keeps a list as long as it was told. */
  async function listAll(person: 'alice' | 'bob', app?: SupabaseMcpApp): Promise<string[]> {
    const client = await connect(person, app)
    return (await client.listResources()).resources.map(({ uri }) => uri)
  }

  it('hears what rows offer', async () => {
    const client = await connect()

    expect(client.getServerCapabilities()).toMatchObject({ resources: {}, prompts: {}, completions: {} })
  })

  it('reads a text and bytes, and is told how long they keep', async () => {
    const client = await connect()

    const about = await client.readResource({ uri: 'app://about' })
    const logo = await client.readResource({ uri: 'app://logo' })

    expect(about.contents).toEqual([{ uri: 'app://about', mimeType: 'text/plain', text: 'About us, ü.' }])
    expect(logo.contents).toEqual([{ uri: 'app://logo', mimeType: 'image/png', blob: 'iVBORw==' }])
    if (era === 'modern') expect(about).toMatchObject({ ttlMs: 60_000, cacheScope: 'private' })
    else expect(about).not.toHaveProperty('ttlMs')
  })

  it('reads its own rows and no others', async () => {
    const [alice, bob] = [await connect('alice'), await connect('bob')]

    expect((await alice.readResource({ uri: 'note://1' })).contents).toMatchObject([{ text: 'Of Alice' }])
    expect((await bob.readResource({ uri: 'note://2' })).contents).toMatchObject([{ text: 'Of Bob' }])
    const foreign = await rejection(bob.readResource({ uri: 'note://1' }))
    const absent = await rejection(bob.readResource({ uri: 'note://9' }))
    expect(foreign).toMatchObject({ code: -32602 })
    expect(foreign.message.replace('note://1', 'note://9')).toBe(absent.message)
  })

  it('reads numbers whole', async () => {
    const client = await connect()

    const { contents } = await client.readResource({ uri: 'numbers://9007199254740993' })

    expect(contents).toMatchObject([
      { mimeType: 'application/json', text: '{"d": 0.12345678901234567890123456789, "n": 9007199254740993}' },
    ])
  })

  it.each([
    ['echo://../../etc/passwd', '../../etc/passwd'],
    ['echo://a%2Fb', 'a/b'],
    ['echo://100%25', '100%'],
    ['echo://a%20b', 'a b'],
    ['echo://Z%C3%BCrich', 'Zürich'],
    ['echo://Zürich 👩‍👩‍👧', 'Zürich 👩‍👩‍👧'],
    ['echo://{id}', '{id}'],
    ["echo://'; drop table library.notes; --", "'; drop table library.notes; --"],
  ])('gets %s as it was meant', async (uri, text) => {
    const client = await connect()

    const { contents } = await client.readResource({ uri })

    expect(contents).toMatchObject([{ uri, text }])
  })

  it.each([
    'app://absent',
    'app://staff',
    'note://abc',
    'note://1/2',
    'echo://%',
    'echo://%00',
    'echo://%C0%AF',
    'echo://a\u0000b',
    'echo://\ud800',
    'nothing',
    '',
    // A label of 10,000 characters would fill the report.
    { uri: `echo://${'x'.repeat(10_000)}` },
  ])('is told that there is no resource, case %#', async (given) => {
    const uri = typeof given === 'string' ? given : given.uri
    const client = await connect()

    const error = await rejection(client.readResource({ uri }))

    // Half a surrogate pair cannot travel in the header that names it, so the SDK refuses it before.
    expect(error.code).toBe(uri.includes('\ud800') && era === 'modern' ? -32020 : -32602)
    expect(error.message).not.toMatch(/library|SQL|trace/)
  })

  it('lists every resource once, page by page, each readable, whatever one listing function does', async () => {
    const alice = await connect('alice')

    const uris = await listAll('alice')

    expect(uris).toEqual(['app://about', 'app://logo', 'note://1', 'note://10'])
    expect(await listAll('bob')).toEqual(['app://about', 'app://logo', 'note://2'])
    for (const uri of uris) expect((await alice.readResource({ uri })).contents).toHaveLength(1)
    const error = await rejection(alice.listResources({ cursor: 'bm90IG91cnMh' }))
    expect(error).toMatchObject({ code: -32602 })
  })

  it('lists templates and prompts', async () => {
    const client = await connect()

    const { resourceTemplates } = await client.listResourceTemplates()
    const { prompts } = await client.listPrompts()

    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'broken://{path}',
      'echo://{+path}',
      'numbers://{n}',
      'note://{id}',
      'slow://{id}',
    ])
    expect(resourceTemplates[1]).toEqual({
      name: 'everything',
      uriTemplate: 'echo://{+path}',
      description: 'Of the library.',
      mimeType: 'text/plain',
    })
    expect(prompts).toEqual([
      {
        name: 'greet',
        arguments: [
          { name: 'who', required: true },
          { name: 'lang', required: false, description: 'A language.' },
        ],
      },
      {
        name: 'review',
        description: 'Of the library.',
        arguments: [
          { name: 'id', required: true },
          { name: 'tone', required: false },
        ],
      },
    ])
  })

  it('gets prompts filled in, whatever the arguments look like', async () => {
    const client = await connect()
    const textOf = async (name: string, args: Record<string, string>) =>
      (await client.getPrompt({ name, arguments: args })).messages.map(({ role, content }) => [role, content])

    expect(await textOf('greet', { who: '{{lang}} {{who}}', lang: '\\1 $& %s' })).toEqual([
      ['user', { type: 'text', text: 'Greet {{lang}} {{who}} in \\1 $& %s.' }],
    ])
    expect(await textOf('review', { id: '1' })).toEqual([
      ['user', { type: 'text', text: 'Review in a kind tone: Of Alice' }],
    ])
    expect(await rejection(client.getPrompt({ name: 'greet' }))).toMatchObject({ code: -32602 })
    expect(await rejection(client.getPrompt({ name: 'greet', arguments: { who: 'a\u0000' } }))).toMatchObject(
      { code: -32602 },
    )
    expect(
      (await rejection(client.getPrompt({ name: 'review', arguments: { id: 'one' } }))).message,
    ).toContain('`id`')
    expect(await rejection(client.getPrompt({ name: 'review', arguments: { id: '2' } }))).toMatchObject({
      code: -32603,
    })
    const hidden = await rejection(client.getPrompt({ name: 'staff_prompt' }))
    const absent = await rejection(client.getPrompt({ name: 'absent' }))
    expect(hidden.message.replace('staff_prompt', 'absent')).toBe(absent.message)
    expect([hidden.code, absent.code]).toEqual([-32602, -32602])
  })

  it('completes arguments from its own rows', async () => {
    const [alice, bob] = [await connect('alice'), await connect('bob')]
    const ask = async (client: Client, value: string) =>
      (
        await client.complete({
          ref: { type: 'ref/prompt', name: 'review' },
          argument: { name: 'id', value },
        })
      ).completion

    expect(await ask(alice, '1')).toEqual({ values: ['1', '10'], total: 2, hasMore: false })
    expect(await ask(bob, '1')).toEqual({ values: [], total: 0, hasMore: false })
    const ofTemplate = await alice.complete({
      ref: { type: 'ref/resource', uri: 'note://{id}' },
      argument: { name: 'id', value: '' },
    })
    expect(ofTemplate.completion.values).toEqual(['1', '10'])
    const unknown = await rejection(
      alice.complete({ ref: { type: 'ref/prompt', name: 'absent' }, argument: { name: 'id', value: '' } }),
    )
    expect(unknown).toMatchObject({ code: -32602 })
  })

  it('finds a scope open and closed from the next request on', async () => {
    const client = await connect()
    const grant = (how: 'grant' | 'revoke') =>
      query((sql) =>
        sql.unsafe(`select chumbo.${how}_scope('library:staff', 'user', '${stack.users.alice.id}')`),
      )

    await grant('grant')
    expect((await client.readResource({ uri: 'app://staff' })).contents).toMatchObject([
      { text: 'Staff only.' },
    ])
    expect(await listAll('alice')).toContain('app://staff')
    await grant('revoke')
    const closed = await rejection(client.readResource({ uri: 'app://staff' }))
    const absent = await rejection(client.readResource({ uri: 'app://nobody' }))
    expect(closed.message.replace('staff', 'nobody')).toBe(absent.message)
    expect(await listAll('alice')).not.toContain('app://staff')
  })

  it('gets code and rows side by side, each URI from one of them', async () => {
    const register: SupabaseMcpOptions['register'] = (server) => {
      server.registerResource('about_code', 'code://about', {}, (uri) => ({
        contents: [{ uri: uri.href, text: 'Of code.' }],
      }))
      server.registerResource('logo', 'code://logo', {}, (uri) => ({
        contents: [{ uri: uri.href, text: 'Never.' }],
      }))
      server.registerResource('over', 'app://about', {}, (uri) => ({
        contents: [{ uri: uri.href, text: 'Code first.' }],
      }))
      server.registerPrompt(
        'code_prompt',
        { argsSchema: z.object({ a: z.string().describe('An a.'), b: z.string().optional() }) },
        () => ({
          messages: [],
        }),
      )
      server.registerPrompt('greet', {}, () => ({ messages: [] }))
    }
    const app = start({ register })
    const client = await connect('alice', app)

    expect(await listAll('alice', app)).toEqual([
      'app://logo',
      'note://1',
      'note://10',
      'code://about',
      'app://about',
    ])
    const read = async (uri: string) => (await client.readResource({ uri })).contents[0]
    expect(await read('code://about')).toMatchObject({ text: 'Of code.' })
    expect(await read('app://about')).toMatchObject({ text: 'Code first.' })
    expect(await read('note://1')).toMatchObject({ text: 'Of Alice' })
    expect(await read('app://logo')).toMatchObject({ mimeType: 'image/png' })
    expect(await rejection(client.readResource({ uri: 'code://absent' }))).toMatchObject({ code: -32602 })
    const { prompts } = await client.listPrompts()
    expect(prompts.map(({ name }) => name)).toEqual(['greet', 'review', 'code_prompt'])
    expect(prompts.at(-1)?.arguments).toEqual([
      { name: 'a', description: 'An a.', required: true },
      { name: 'b', required: false },
    ])
    expect((await client.getPrompt({ name: 'greet', arguments: { who: 'Ann' } })).messages).toHaveLength(1)
    expect((await client.getPrompt({ name: 'code_prompt', arguments: { a: 'x' } })).messages).toEqual([])
    const completion = {
      ref: { type: 'ref/prompt' as const, name: 'review' },
      argument: { name: 'id', value: '10' },
    }
    expect((await client.complete(completion)).completion.values).toEqual(['10'])
  })
})
