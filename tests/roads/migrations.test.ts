// tests/roads/migrations.test.ts — whichever way the migrations reach a database, they make what sql/schema.sql says.
import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { dumpSchema } from '../support/dump-schema.ts'
import {
  findReleaseFaults,
  migrationHash,
  migrationsFolder,
  projectName,
  readMigrations,
  readProjectMigrations,
  readReleases,
  runMigrations,
  schemaFile,
} from '../support/migrations.ts'
import { repositoryRoot } from '../support/repository.ts'
import { connectTestServer } from '../support/test-server.ts'
import type { TestServer } from '../support/test-server.ts'

const migrations = readMigrations()
const releases = readReleases()
const schema = existsSync(schemaFile) ? readFileSync(schemaFile, 'utf8') : ''

let server: TestServer
let databases = 0

beforeAll(async () => {
  server = await connectTestServer()
})
afterAll(async () => {
  await server.stop()
})

/** An empty project under the login a deploy tool has. */
async function freshDatabase(): Promise<{ name: string; url: string; adminUrl: string }> {
  const name = `roads_${process.pid}_${(databases += 1)}`
  await server.createDatabase(name)
  return { name, url: server.url(name, 'postgres'), adminUrl: server.url(name) }
}

async function runTool(program: string, args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(
    join(repositoryRoot, 'node_modules/.bin', program),
    args,
    {
      env: { ...process.env, SUPABASE_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1', NO_COLOR: '1' },
    },
  )
  return stdout + stderr
}

async function query<Row>(url: string, text: string): Promise<Row[]> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    const rows: unknown = await sql.unsafe(text)
    return rows as Row[]
  } finally {
    await sql.end()
  }
}

const recorded = (url: string) =>
  query<{ number: number; hash: string }>(url, 'select number, hash from chumbo.installed order by number')

describe('the files', () => {
  it.each(migrations)('$name records the hash of its own text', ({ text }) => {
    expect(text).toContain(`'${migrationHash(text)}'`)
  })

  it.each(migrations)(
    '$name serves both tools: an up block, and a down block that does nothing',
    ({ text }) => {
      expect(text).toMatch(/^-- migrate:up\n/)
      expect(text).toMatch(/\n-- migrate:down\n*$/)
    },
  )

  it('are the released ones, unchanged, and then new ones', () => {
    expect(findReleaseFaults(releases, migrations)).toEqual([])
  })
})

describe('every road reaches sql/schema.sql', () => {
  it('a direct run on a project where new objects are open to the API roles', async () => {
    const { url, adminUrl } = await freshDatabase()

    await runMigrations(url, migrations)

    expect(await dumpSchema(adminUrl)).toBe(schema)
    expect(await recorded(adminUrl)).toEqual(
      migrations.map(({ number, text }) => ({ number, hash: migrationHash(text) })),
    )
  })

  it('a direct run on a project where new objects are closed', async () => {
    const { url, adminUrl } = await freshDatabase()
    await query(
      adminUrl,
      `do $$
      declare v_kind text; v_role text;
      begin
        foreach v_role in array array['postgres', 'supabase_admin'] loop
          foreach v_kind in array array['tables', 'functions', 'sequences'] loop
            execute format(
              'alter default privileges for role %I in schema public
               revoke all on %s from postgres, anon, authenticated, service_role', v_role, v_kind);
          end loop;
        end loop;
      end $$`,
    )

    await runMigrations(url, migrations)

    expect(await dumpSchema(adminUrl)).toBe(schema)
  })

  it('every file run twice in a row', async () => {
    const { url, adminUrl } = await freshDatabase()

    await runMigrations(
      url,
      migrations.flatMap((file) => [file, file]),
    )

    expect(await dumpSchema(adminUrl)).toBe(schema)
  })

  it('dbmate', async () => {
    const { url, adminUrl } = await freshDatabase()
    const dbmate = (...verb: string[]) =>
      runTool('dbmate', ['--url', url, '--migrations-dir', migrationsFolder, '--no-dump-schema', ...verb])

    await dbmate('up', '--strict')

    expect(await dumpSchema(adminUrl)).toBe(schema)
    expect(await dbmate('status')).toContain('Pending: 0')
  })

  it('supabase db push, and a second push has nothing to do', async () => {
    const { url, adminUrl } = await freshDatabase()
    const project = mkdtempSync(join(tmpdir(), 'chumbo-push-'))
    mkdirSync(join(project, 'supabase/migrations'), { recursive: true })
    for (const file of migrations) cpSync(file.path, join(project, 'supabase/migrations', projectName(file)))
    const push = () => runTool('supabase', ['db', 'push', '--db-url', url, '--workdir', project, '--yes'])

    try {
      await push()

      expect(await dumpSchema(adminUrl)).toBe(schema)
      expect(await push()).toMatch(/up to date/i)
    } finally {
      rmSync(project, { recursive: true, force: true })
    }
  })
})

describe('a project in use', () => {
  it('keeps its objects and its rows when every file runs once more', async () => {
    const { url, adminUrl } = await freshDatabase()
    await runMigrations(url, readProjectMigrations())
    const before = await rowCounts(adminUrl)

    await runMigrations(url, migrations)

    expect(await dumpSchema(adminUrl)).toBe(schema)
    expect(await rowCounts(adminUrl)).toEqual(before)
  })

  // One road per released version: from what that version left behind to what the files make now.
  it.each(releases.map((release, index) => ({ ...release, index })))(
    'upgrades from $version with its rows in place',
    async ({ index }) => {
      const { url, adminUrl } = await freshDatabase()
      const installed = releases.slice(0, index + 1).flatMap(({ files }) => files).length
      await runMigrations(url, migrations.slice(0, installed))
      const own = readProjectMigrations().filter(({ name }) => !/^\d+_chumbo_/.test(name))
      await runMigrations(url, own)
      const before = await rowCounts(adminUrl)

      await runMigrations(url, migrations.slice(installed))

      expect(await dumpSchema(adminUrl)).toBe(schema)
      expect(await rowCounts(adminUrl)).toMatchObject({ ...before, installed: migrations.length })
      expect(await unversioned(adminUrl)).toEqual([])
    },
  )
})

/** Capabilities that are not version 1 on record, as everything is that was there before versions were. */
const unversioned = (url: string) =>
  query<{ name: string }>(
    url,
    `select c.name from chumbo.capabilities as c
     left join chumbo.capability_changes as h
       on h.kind = c.kind and h.name = c.name and h.digest = c.digest and h.change = 'added' and h.changed_by is null
     where c.version <> 1 or h.version is distinct from 1 or h.changed_at <> c.updated_at`,
  )

/** Rows per table that existed, so that a migration which loses some is found out. */
async function rowCounts(url: string): Promise<Record<string, number>> {
  const rows = await query<{ name: string; count: number }>(
    url,
    `select c.relname as name, (xpath('/row/n/text()', query_to_xml(
       format('select count(*) as n from %s', c.oid::regclass), false, true, '')))[1]::text::integer as count
     from pg_class as c
     where c.relnamespace = 'chumbo'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
     order by c.relname`,
  )
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]))
}
