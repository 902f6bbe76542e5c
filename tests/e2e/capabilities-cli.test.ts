// tests/e2e/capabilities-cli.test.ts — the built command line against a real database: look, change, sync, push, compare.
import { execFile } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { projectName, readMigrations, runMigrations } from '../support/migrations.ts'
import { repositoryRoot } from '../support/repository.ts'
import { connectTestServer, type TestServer } from '../support/test-server.ts'

const database = 'capabilities_cli'
const dist = join(repositoryRoot, 'dist')
let server: TestServer
let project: string
let migrations: string
let sql: postgres.Sql

beforeAll(async () => {
  await promisify(execFile)(process.execPath, [join(repositoryRoot, 'tests/support/build.ts')])
  server = await connectTestServer()
  await server.createDatabase(database)
  await runMigrations(server.url(database, 'postgres'), readMigrations())
  sql = postgres(server.url(database, 'postgres'), { max: 1, onnotice: () => {} })
  await sql.unsafe(`
    create schema app; grant usage on schema app to authenticated;
    create function app.list_notes(word text default null) returns table (id integer, body text)
      language sql stable as $$ select 1, 'a' $$;
    comment on function app.list_notes(text) is 'Lists notes.';
    revoke all on function app.list_notes(text) from public, anon;
    grant execute on function app.list_notes(text) to authenticated;
    select chumbo.define_scope('notes:read', requestable => true);
    select chumbo.register_tool('app.list_notes', scopes => '{notes:read}');`)

  project = await mkdtemp(join(tmpdir(), 'chumbo-cli-'))
  migrations = join(project, 'supabase/migrations')
  await mkdir(migrations, { recursive: true })
  await mkdir(join(project, 'supabase/functions/mcp'), { recursive: true })
  for (const file of readMigrations()) copyFileSync(file.path, join(migrations, projectName(file)))
  await symlink(join(repositoryRoot, 'node_modules'), join(project, 'node_modules'))
  await write(
    'supabase/functions/mcp/deno.json',
    JSON.stringify({ imports: { chumbo: pathToFileURL(join(dist, 'runtime/index.js')).href } }),
  )
})
afterAll(async () => {
  await sql.end()
  await server.dropDatabase(database)
  await server.stop()
  await rm(project, { recursive: true, force: true })
})

const write = (path: string, text: string) => writeFile(join(project, path), text)

/** A module of one tool, whose word may be so long. */
const define = (maxLength: number, more = '') =>
  write(
    'supabase/functions/mcp/capabilities.ts',
    `import { defineTool, textResult } from 'chumbo'
     import { z } from 'zod'
     console.log('noise that is no answer')
     const find = defineTool(
       { name: 'find_notes', description: 'Finds $manifest$ notes; it''s quoted.'${more},
         inputSchema: z.strictObject({ word: z.string().max(${maxLength}) }), annotations: { readOnlyHint: true } },
       async () => textResult('none'))
     export const tools = [find]`.replace("it''s", "it\\'s"),
  )

interface Answer {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

async function chumbo(args: readonly string[], env: Record<string, string> = {}): Promise<Answer> {
  try {
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [join(dist, 'cli/main.js'), ...args, '--project', project],
      { env: { PATH: process.env['PATH'] ?? '', ...env } },
    )
    return { code: 0, stdout, stderr }
  } catch (error) {
    // What execFile rejects with for a process that ended with another code.
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, stdout, stderr }
  }
}

async function json(args: readonly string[]): Promise<{ code: number; answer: Record<string, unknown> }> {
  const { code, stdout } = await chumbo([...args, '--json'], {
    DATABASE_URL: server.url(database, 'postgres'),
  })
  return { code, answer: JSON.parse(stdout) as Record<string, unknown> }
}

const capabilities = (...args: string[]) => json(['capabilities', ...args])

describe('chumbo capabilities', () => {
  it('lists what there is, with versions and sizes', async () => {
    const { code, answer } = await capabilities('list')

    const [{ bytes }] = await sql<[{ bytes: number }]>`
      select definition_bytes as bytes from chumbo.capabilities where name = 'list_notes'`
    expect(code).toBe(0)
    expect(answer).toMatchObject({
      capabilities: [
        {
          ...{ server: 'default', kind: 'tool', name: 'list_notes', handler: 'sql', scopes: ['notes:read'] },
          ...{ enabled: true, version: 1, bytes },
        },
      ],
      totals: [{ server: 'default', capabilities: 1, bytes }],
    })
  })

  it('shows people the same in a table, and nothing for a kind there is none of', async () => {
    const env = { DATABASE_URL: server.url(database, 'postgres') }

    const { stdout } = await chumbo(['capabilities', 'list'], env)
    const prompts = await chumbo(['capabilities', 'list', '--kind', 'prompt'], env)

    expect(stdout).toMatch(
      /^SERVER +KIND +NAME[^]*default +tool +list_notes +sql +notes:read +enabled +v1 +\d+\n/,
    )
    expect(prompts.stdout).toBe('Nothing is registered.\n')
  })

  it('gives a scope, shows who holds it, and takes it back', async () => {
    const granted = await capabilities('grant', 'notes:read', '--claim', '{"app_metadata":{"plan":"pro"}}')
    const shown = await capabilities('show', 'list_notes')
    const revoked = await capabilities('revoke', 'notes:read', '--claim', '{"app_metadata":{"plan":"pro"}}')
    const again = await capabilities('revoke', 'notes:read', '--claim', '{"app_metadata":{"plan":"pro"}}')

    expect(granted.answer).toMatchObject({ grantee: 'claim', effect: 'allow' })
    expect(shown.answer['scopes']).toMatchObject([
      { name: 'notes:read', grants: [{ grantee: 'claim', claim: { app_metadata: { plan: 'pro' } } }] },
    ])
    expect([revoked.answer['withdrawn'], again.answer['withdrawn'], again.code]).toEqual([1, 0, 0])
  })

  it('sets a limit, which show tells', async () => {
    await capabilities('limit', 'slow', '--capability', 'list_notes', '--requests', '3', '--window', '10')

    const { answer } = await capabilities('show', 'list_notes')

    expect(answer['limits']).toMatchObject([{ name: 'slow', capability: 'list_notes', requests: 3 }])
  })

  it('switches off and on, once each, on record', async () => {
    const first = await capabilities('disable', 'list_notes')
    const second = await capabilities('disable', 'list_notes')
    await capabilities('enable', 'list_notes')

    const { answer } = await capabilities('show', 'list_notes')
    expect([first.answer['changed'], second.answer['changed']]).toEqual([true, false])
    expect(answer['changes']).toMatchObject([
      { change: 'enabled', version: 1, changed_by: 'postgres' },
      { change: 'disabled', version: 1 },
      { change: 'added', version: 1 },
    ])
  })

  it('tells two versions apart, and ends with 3 for it', async () => {
    await sql`select chumbo.register_tool('app.list_notes', description => 'Lists.', row_cap => 5)`

    const { code, answer } = await capabilities('diff', 'list_notes', '--from', '1')
    const same = await capabilities('diff', 'list_notes', '--from', '2', '--to', '2')

    expect(code).toBe(3)
    expect(answer['differences']).toMatchObject([
      {
        change: 'changed',
        breaking: false,
        changes: expect.arrayContaining([
          expect.objectContaining({ field: 'required_scopes', path: 'notes:read', effect: 'widened' }),
          expect.objectContaining({ field: 'row_cap', sentence: 'changed from 1000 to 5' }),
        ]) as unknown,
      },
    ])
    expect(same.code).toBe(0)
  })

  it.each([
    ['an unknown tool', ['show', 'absent'], 1, 'unknown_capability'],
    ['an unknown server', ['list', '--server', 'absent'], 1, 'unknown_server'],
    ['an unknown scope', ['grant', 'absent'], 1, 'unknown_scope'],
    [
      'a grantee that does not fit',
      ['grant', 'notes:read', '--to', 'everyone', '--client', 'x'],
      1,
      'invalid_grantee',
    ],
    ['an unknown version', ['diff', 'list_notes', '--from', '99'], 1, 'unknown_version'],
    ['versions of nothing', ['diff', '--from', '1'], 2, 'incomplete_versions'],
  ])('refuses %s by name', async (_case, args, code, slug) => {
    const result = await capabilities(...args)

    expect(result).toMatchObject({ code, answer: { error: { code: slug } } })
  })

  it.each([
    ['a wrong password', (url: URL) => (url.password = 'wrong-one'), 'login_refused'],
    ['a database that is not there', (url: URL) => (url.pathname = '/absent'), 'login_refused'],
    ['a database without Chumbo', (url: URL) => (url.pathname = '/template1'), 'not_installed'],
    ['a port where nothing listens', (url: URL) => (url.port = '1'), 'database_unreachable'],
  ])('says what is wrong with %s, and repeats no URL', async (_case, spoil, slug) => {
    const url = new URL(server.url(database, 'postgres'))
    spoil(url)

    const { code, stdout, stderr } = await chumbo(['capabilities', 'list', '--json', '--db-url', url.href])

    expect(JSON.parse(stdout)).toMatchObject({ error: { code: slug } })
    expect([code, stderr]).toEqual([1, ''])
    for (const secret of [url.password, 'postgres:', '@127']) expect(stdout).not.toContain(secret)
  })

  it('names the migration that an older database lacks', async () => {
    await server.createDatabase('capabilities_old')
    await runMigrations(server.url('capabilities_old', 'postgres'), readMigrations().slice(0, 10))

    const { stdout } = await chumbo([
      ...['capabilities', 'list', '--json', '--db-url', server.url('capabilities_old', 'postgres')],
    ])
    await server.dropDatabase('capabilities_old')

    expect(JSON.parse(stdout)).toMatchObject({
      error: {
        code: 'schema_outdated',
        message: expect.stringMatching(/migration 10 .* migration 16/) as unknown,
      },
    })
  })
})

describe('chumbo sync', () => {
  const syncFiles = async () =>
    (await readdir(migrations)).filter((name) => name.includes('_chumbo_sync')).sort()

  it('tells that a migration is missing, and writes none for --check and --dry-run', async () => {
    await define(50)

    const checked = await json(['sync', '--check'])
    const dry = await json(['sync', '--dry-run'])

    expect([checked.code, dry.code, await syncFiles()]).toEqual([3, 0, []])
    expect(dry.answer).toMatchObject({ written: false, action: 'create', comparedWith: 'nothing' })
  })

  it('writes one that comes last, once, and that registers what the code defines', async () => {
    await writeFile(join(migrations, '20990101000000_theirs.sql'), 'select 1;\n')

    const first = await json(['sync'])
    const second = await json(['sync'])
    const checked = await json(['sync', '--check'])

    const [name = ''] = await syncFiles()
    expect(first.answer).toMatchObject({
      written: true,
      differences: [{ change: 'added', name: 'find_notes' }],
    })
    expect([second.answer['action'], second.answer['written'], checked.code]).toEqual(['keep', false, 0])
    expect((await readdir(migrations)).sort().at(-1)).toBe(name)
    const text = await readFile(join(migrations, name), 'utf8')
    await runMigrations(server.url(database, 'postgres'), [
      { name, text },
      { name, text },
    ])
    const [row] = await sql`
      select description, version from chumbo.capabilities where name = 'find_notes' and handler = 'typescript'`
    expect(row).toEqual({ description: "Finds $manifest$ notes; it's quoted.", version: 1 })
    expect((await capabilities('diff')).code).toBe(0)
  })

  it('refuses to narrow what callers may send until it is told to', async () => {
    await define(20)

    const refused = await json(['sync'])
    const files = await syncFiles()
    const allowed = await json(['sync', '--allow-breaking'])

    expect([refused.code, refused.answer['action'], files.length]).toEqual([3, 'refuse', 1])
    expect(refused.answer['differences']).toMatchObject([
      {
        breaking: true,
        changes: [
          {
            field: 'input_schema',
            path: 'word',
            sentence: 'maxLength lowered from 50 to 20',
            breaking: true,
          },
        ],
      },
    ])
    expect([allowed.code, (await syncFiles()).length]).toEqual([0, 2])
  })

  it('compares with a database that is named, and keeps what only waits to be pushed', async () => {
    const waiting = await json(['sync', '--db-url', server.url(database, 'postgres')])
    await define(70)
    const wider = await json(['sync', '--db-url', server.url(database, 'postgres')])

    expect(waiting.answer).toMatchObject({ action: 'keep', comparedWith: 'the database' })
    expect(wider.answer).toMatchObject({
      written: true,
      differences: [{ breaking: false, changes: [{ sentence: 'maxLength raised from 50 to 70' }] }],
    })
  })

  it.each([
    ['throws', 'throw new Error("no luck today")', 'definitions_failed', /no luck today/],
    ['exports nothing of the kind', 'export const other = 1', 'no_definitions', /exports no tools/],
    ['exports no list', 'export const tools = 1', 'definitions_failed', /tools is no array/],
    ['does not compile', 'export const tools = [', 'definitions_failed', /./],
    [
      'defines what no database stores',
      `export const tools = [{ definition: { name: 'a', description: '\\u0000', inputSchema: { '~standard': { version: 1, vendor: 'x', validate: (value) => ({ value }), jsonSchema: { input: () => ({ type: 'object' }) } } } } }]`,
      'unstorable_text',
      /a text of a/,
    ],
  ])('says so when the module %s', async (_case, text, slug, message) => {
    await write('supabase/functions/mcp/odd.ts', text)

    const { code, answer } = await json(['sync', '--from', join(project, 'supabase/functions/mcp/odd.ts')])

    expect(code).toBe(1)
    expect(answer).toMatchObject({
      error: { code: slug, message: expect.stringMatching(message) as unknown },
    })
  })

  it('reads a module that Node runs, under Node', async () => {
    await write('own.mjs', `console.log(typeof Deno); export const tools = []`)

    const { answer } = await json(['sync', '--server', 'other', '--from', join(project, 'own.mjs')])

    expect(answer).toMatchObject({ action: 'keep', source: 'own.mjs' })
  })
})
