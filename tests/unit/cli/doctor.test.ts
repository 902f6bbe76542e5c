// tests/unit/cli/doctor.test.ts — what `chumbo doctor` says of a project and of a database, and how it ends.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'

import { type DoctorOptions, runDoctor } from '../../../cli/commands/doctor.ts'
import { runInstall } from '../../../cli/commands/install.ts'
import type { Check, Finding } from '../../../cli/doctor/check.ts'
import { createOutput } from '../../../cli/output.ts'
import { readMigrations, runMigrations } from '../../support/migrations.ts'
import { connectTestServer, type TestServer } from '../../support/test-server.ts'

interface Answer {
  readonly ok: boolean
  readonly checks: readonly Check[]
  readonly schema: { readonly found: number | null; readonly needed: number }
  readonly findings: readonly Finding[]
  readonly privileged: readonly Finding[]
  readonly upkeep: unknown
}

const needed = readMigrations().length
const template = `doctor_template_${process.pid}`
const database = `doctor_${process.pid}`
let server: TestServer
let project = ''
let url = ''

beforeAll(async () => {
  server = await connectTestServer()
  await server.createDatabase(template)
  await runMigrations(server.url(template, 'postgres'), readMigrations())
}, 120_000)
afterAll(async () => {
  await server.dropDatabase(template)
  await server.stop()
})
beforeEach(async () => {
  project = await mkdtemp(join(tmpdir(), 'chumbo-doctor-'))
  await server.createDatabase(database, template)
  url = server.url(database, 'postgres')
})
afterEach(async () => {
  await server.dropDatabase(database)
  await rm(project, { recursive: true, force: true })
})

async function print(options: Partial<DoctorOptions>, json: boolean) {
  const printed: string[] = []
  const output = createOutput({ json, stdout: { write: (text) => printed.push(text) } })
  const code = await runDoctor({ project, environment: {}, ...options }, output)
  return { code, text: printed.join('') }
}

async function examine(options: Partial<DoctorOptions> = { dbUrl: url }) {
  const { code, text } = await print(options, true)
  const answer = JSON.parse(text) as Answer
  const statuses = Object.fromEntries(answer.checks.map(({ id, status }) => [id, status]))
  const check = (id: string) => answer.checks.find((candidate) => candidate.id === id)
  return { code, answer, statuses, check }
}

async function run(statements: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined })
  await sql.unsafe(statements).simple()
  await sql.end()
}

/** Alice's notes, guarded, and a tool that reads them through a view. */
const notes = `
  create schema demo;
  grant usage on schema demo to authenticated;
  create table demo.notes (owner_id uuid not null default auth.uid(), body text);
  alter table demo.notes enable row level security;
  create policy select_own on demo.notes for select to authenticated using (owner_id = (select auth.uid()));
  create view demo.my_notes with (security_invoker = true) as select body from demo.notes;
  grant select on demo.notes, demo.my_notes to authenticated;
  create function demo.list_notes() returns table (body text) language sql stable set search_path = ''
    as 'select n.body from demo.my_notes as n';
  comment on function demo.list_notes() is 'Lists your notes.';
  revoke execute on function demo.list_notes() from public;
  grant execute on function demo.list_notes() to authenticated;
  select chumbo.register_tool('demo.list_notes', strict => true);`

describe('chumbo doctor, of a database', () => {
  it('finds nothing to mend in a fresh one', async () => {
    await run(notes)

    const { code, answer, statuses } = await examine()

    expect([code, answer.ok]).toEqual([0, true])
    expect(statuses).toMatchObject({
      database: 'ok',
      schema: 'ok',
      installed_hashes: 'ok',
      upkeep: 'ok',
      lint: 'ok',
    })
    expect(answer.schema).toEqual({ found: needed, needed })
    expect(answer.findings.filter(({ level }) => level !== 'info')).toEqual([])
    expect(answer.privileged.map(({ object }) => object)).toContain('chumbo.sign_in_is_live(uuid,uuid,uuid)')
  })

  it('names tool, view and table of a view that forgot whose rights to use, and its advice mends it', async () => {
    await run(`${notes} alter view demo.my_notes reset (security_invoker)`)

    const before = await examine()
    const [finding] = before.answer.findings.filter(({ level }) => level === 'error')
    const text = (await print({ dbUrl: url }, false)).text
    await run(finding?.fix ?? '')
    const after = await examine()

    expect([before.code, after.code]).toEqual([3, 0])
    expect(finding).toMatchObject({
      rule: 'owner_view',
      server: 'default',
      kind: 'tool',
      capability: 'list_notes',
      object: 'demo.my_notes',
      fix: 'alter view demo.my_notes set (security_invoker = true);',
    })
    expect(finding?.detail).toContain('demo.notes')
    expect(text).toContain('Errors (1)\n  owner_view  default/tool/list_notes\n    The view demo.my_notes')
    expect(text).toContain('    Next: alter view demo.my_notes set (security_invoker = true);')
  })

  it('still flags a definer function after execute was revoked from public, and its advice closes it', async () => {
    await run(`
      create function public.above() returns integer language sql security definer set search_path = '' as 'select 1';
      revoke all on function public.above() from public;`)

    const before = await examine()
    const [finding] = before.answer.findings.filter(({ level }) => level === 'error')
    await run(finding?.fix ?? '')
    const after = await examine()

    expect([before.code, finding?.rule, finding?.fix, after.code]).toEqual([
      3,
      'anon_definer',
      'revoke execute on function public.above() from anon;',
      0,
    ])
  })

  it('lists a tool with more rights than its caller together with the reason', async () => {
    await run(`${notes}
      alter function demo.list_notes() security definer;
      select chumbo.accept_finding('definer_body demo.list_notes()', 'It counts for everybody.');`)

    const { code, answer } = await examine()

    expect(code).toBe(0)
    expect(answer.privileged).toContainEqual(
      expect.objectContaining({ rule: 'definer_body', capability: 'list_notes', level: 'info' }),
    )
    expect(answer.privileged.find(({ rule }) => rule === 'definer_body')?.detail).toContain(
      'Accepted: It counts for everybody.',
    )
  })

  it('counts warnings only when told to be strict', async () => {
    await run(
      `${notes} grant usage on schema demo to anon; grant execute on function demo.list_notes() to anon`,
    )

    const plain = await examine()
    const strict = await examine({ dbUrl: url, strict: true })

    expect([plain.code, plain.statuses['lint'], strict.code]).toEqual([0, 'warning', 3])
  })

  it('looks at one server when asked to, and knows which there are', async () => {
    await run(
      `${notes} alter view demo.my_notes reset (security_invoker); select chumbo.register_server('quiet')`,
    )

    const quiet = await examine({ dbUrl: url, server: 'quiet' })

    expect([quiet.code, quiet.answer.findings]).toEqual([0, []])
    await expect(examine({ dbUrl: url, server: 'absent' })).rejects.toMatchObject({ code: 'unknown_server' })
  })

  it('names the version it needs and the one it found', async () => {
    await run('delete from chumbo.installed where number > 10')

    const { code, answer, check, statuses } = await examine()

    expect([code, answer.schema]).toEqual([3, { found: 10, needed }])
    expect(check('schema')?.detail).toBe(
      `This package needs version ${needed} of the schema and found version 10.`,
    )
    expect(statuses).toMatchObject({ upkeep: 'skipped', lint: 'skipped' })
  })

  it('warns when the database is ahead of it', async () => {
    await run(`insert into chumbo.installed (number, name, hash) values (9999, 'later', repeat('0', 64))`)

    expect((await examine()).check('schema')).toMatchObject({
      status: 'warning',
      fix: 'npm install chumbo@latest',
    })
  })

  it('tells a migration that ran with another text, and one that never ran', async () => {
    await run(`
      update chumbo.installed set hash = repeat('0', 64) where number = 3;
      delete from chumbo.installed where number = 2;`)

    expect((await examine()).check('installed_hashes')).toMatchObject({
      status: 'error',
      detail: '0002_servers.sql never ran; 0003_access.sql ran with another text.',
    })
  })

  it('says that nothing of ours is installed', async () => {
    await run('drop schema chumbo cascade')

    const { code, answer, check } = await examine()

    expect([code, answer.schema]).toEqual([3, { found: null, needed }])
    expect(check('schema')?.status).toBe('error')
    expect(check('schema')?.fix).toContain('chumbo install')
  })

  it.each([
    ['never', '', 'the last pruning was never'],
    [
      'long ago',
      `select chumbo.maintain('400 days'); update chumbo.upkeep set ran_at = now() - interval '9 days';`,
      'the last pruning was 9 days ago',
    ],
  ])(
    'tells size, oldest receipt and last pruning, and warns when that was %s',
    async (_when, upkeep, told) => {
      await run(`${upkeep}
      insert into chumbo.receipts (created_at, server, kind, strategy, trace_id, outcome)
      values (now() - interval '40 days', 'default', 'tool', 'oauth', '', 'ok');`)

      const { check, answer } = await examine()

      expect(check('upkeep')?.status).toBe('warning')
      expect(check('upkeep')?.detail).toContain(told)
      expect(check('upkeep')?.detail).toMatch(/^Receipts take \d+\.\d MB, the oldest is 40 days old/)
      expect(answer.upkeep).toMatchObject({ receipts: { rest_rows: 1 } })
    },
  )
})

describe('chumbo doctor, without a database', () => {
  it('lists what it skipped and why, and that is no failure', async () => {
    const { code, answer, check } = await examine({})

    expect([code, answer.ok]).toEqual([0, true])
    expect(new Set(answer.checks.map(({ status }) => status))).toEqual(new Set(['skipped']))
    expect(check('database')?.fix).toContain('--db-url')
    expect(check('endpoint')?.detail).toContain('no supabase folder')
  })

  it.each([
    ['nobody listens', 'postgres://postgres@127.0.0.1:1/postgres'],
    ['the login is refused', () => url.replace(/:[^:@/]+@/, ':wrong@')],
  ])('fails when %s', async (_why, dbUrl) => {
    const { code, answer, statuses } = await examine({ dbUrl: typeof dbUrl === 'string' ? dbUrl : dbUrl() })

    expect([code, answer.ok]).toEqual([1, false])
    expect(statuses).toMatchObject({ database: 'failed', lint: 'skipped' })
  })

  it('says that the address of the database is none', async () => {
    await expect(examine({ dbUrl: 'mysql://x' })).rejects.toMatchObject({
      code: 'invalid_database_url',
      exitCode: 2,
    })
  })
})

describe('chumbo doctor, of a folder', () => {
  async function makeProject(config: string): Promise<void> {
    await mkdir(join(project, 'supabase/functions/mcp'), { recursive: true })
    await writeFile(join(project, 'supabase/functions/mcp/index.ts'), '')
    await writeFile(join(project, 'supabase/config.toml'), config)
  }
  const install = () =>
    runInstall({ project }, createOutput({ json: true, stdout: { write: () => undefined } }))

  it('is content with an installed one', async () => {
    await makeProject('[functions.mcp]\nverify_jwt = false\n')
    await install()

    const { code, statuses } = await examine({})

    expect(code).toBe(0)
    expect(statuses).toMatchObject({ endpoint: 'ok', migration_files: 'ok' })
  })

  it('tells a gateway that keeps clients out, with the lines to add', async () => {
    await makeProject('[functions.mcp]\nverify_jwt = true\n')
    await install()

    const { code, check } = await examine({})

    expect(code).toBe(3)
    expect(check('endpoint')).toMatchObject({
      status: 'error',
      fix: 'add the lines [functions.mcp] and verify_jwt = false',
    })
  })

  it('warns of migrations that were not copied yet, and tells one that was edited', async () => {
    await makeProject('[functions.mcp]\nverify_jwt = false\n')
    const missing = await examine({})
    await mkdir(join(project, 'supabase/migrations'), { recursive: true })
    await writeFile(join(project, 'supabase/migrations/20260101000001_chumbo_0001_schema.sql'), 'select 1;')
    const edited = await examine({})

    expect(missing.check('migration_files')).toMatchObject({ status: 'warning', fix: 'npx chumbo install' })
    expect(edited.check('migration_files')).toMatchObject({ status: 'error' })
    expect([missing.code, edited.code]).toEqual([0, 3])
  })
})
