import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { dumpSchemaWithin } from '../../support/dump-schema.ts'
import { connectTestServer } from '../../support/test-server.ts'
import type { TestServer } from '../../support/test-server.ts'

const database = `dump_self_${process.pid}`

const fixture = `
  create schema chumbo;
  create type chumbo.mood as enum ('calm', 'busy');
  create domain chumbo.slug as text constraint slug_is_short check (length(value) < 9);
  create table chumbo.notes (
    id bigint generated always as identity primary key,
    body text not null default 'x' constraint notes_body_is_short check (length(body) < 99),
    mood chumbo.mood
  );
  create index notes_body_idx on chumbo.notes (body);
  alter table chumbo.notes enable row level security;
  create policy select_own on chumbo.notes for select to authenticated using (id = 1);
  create table chumbo.log (at timestamptz not null) partition by range (at);
  create view public.chumbo_notes with (security_invoker = true) as select id, body from chumbo.notes;
  create function public.chumbo_count(mood chumbo.mood default null) returns bigint language sql stable
    set search_path = '' as 'select count(*) from chumbo.notes';
  create function chumbo.tg_notes__touch() returns trigger language plpgsql as 'begin return new; end';
  create trigger _500_touch before update on chumbo.notes for each row execute function chumbo.tg_notes__touch();
`

let server: TestServer
let sql: postgres.Sql
let before: string

beforeAll(async () => {
  server = await connectTestServer()
  await server.createDatabase(database)
  sql = postgres(server.url(database), { max: 1, onnotice: () => {} })
  await sql.unsafe(fixture).simple()
  before = await dumpAfter('')
}, 60_000)

afterAll(async () => {
  await sql.end()
  await server.dropDatabase(database)
  await server.stop()
})

/** Dumps what the fixture becomes after some statements, and takes them back. */
async function dumpAfter(statements: string): Promise<string> {
  await sql.unsafe('begin')
  try {
    await sql.unsafe(statements).simple()
    return await dumpSchemaWithin(sql)
  } finally {
    await sql.unsafe('rollback')
  }
}

describe('dumpSchema', () => {
  it.each([
    ['a column', 'alter table chumbo.notes add column extra integer'],
    ['a default', "alter table chumbo.notes alter column body set default 'y'"],
    ['a not null', 'alter table chumbo.notes alter column body drop not null'],
    ['a check', 'alter table chumbo.notes drop constraint notes_body_is_short'],
    ['an index', 'drop index chumbo.notes_body_idx'],
    ['row security', 'alter table chumbo.notes disable row level security'],
    ['forced row security', 'alter table chumbo.notes force row level security'],
    ['the condition of a policy', 'alter policy select_own on chumbo.notes using (true)'],
    ['the role of a policy', 'alter policy select_own on chumbo.notes to public'],
    ['a trigger', 'drop trigger _500_touch on chumbo.notes'],
    ['a disabled trigger', 'alter table chumbo.notes disable trigger _500_touch'],
    ['the label of an enum', "alter type chumbo.mood add value 'odd'"],
    ['the check of a domain', 'alter domain chumbo.slug drop constraint slug_is_short'],
    [
      'a view',
      'create or replace view public.chumbo_notes as select id, body from chumbo.notes where id > 0',
    ],
    ['the rights a view acts with', 'alter view public.chumbo_notes set (security_invoker = false)'],
    [
      'the body of a function',
      "create or replace function chumbo.tg_notes__touch() returns trigger language plpgsql as 'begin return null; end'",
    ],
    ['the path of a function', 'alter function public.chumbo_count reset search_path'],
    ['the rights a function acts with', 'alter function public.chumbo_count security definer'],
    ['who may execute', 'revoke execute on function public.chumbo_count from public'],
    ['a grant on a table', 'grant select on chumbo.notes to anon'],
    ['a grant on a column', 'grant update (body) on chumbo.notes to authenticated'],
    ['a grant on the schema', 'grant usage on schema chumbo to anon'],
    ['a grant on an identity sequence', 'grant usage on sequence chumbo.notes_id_seq to anon'],
    ['the right to pass a grant on', 'grant select on chumbo.notes to anon with grant option'],
    ['what the owner gave up', 'revoke all on function public.chumbo_count from supabase_admin'],
    ['an owner', 'alter table chumbo.notes owner to postgres'],
    ['default privileges', 'alter default privileges in schema chumbo grant select on tables to anon'],
    ['a comment on a table', "comment on table chumbo.notes is 'Notes.'"],
    ['a comment on a column', "comment on column chumbo.notes.body is 'Words.'"],
    ['a comment on a function', "comment on function public.chumbo_count is 'Counts.'"],
    ['a new overload', "create function public.chumbo_count(a text) returns text language sql return 'x'"],
  ])('shows %s', async (_case, change) => {
    expect(await dumpAfter(change)).not.toBe(before)
  })

  it.each([
    ['rows', "insert into chumbo.notes (body) values ('a')"],
    [
      'partitions',
      "create table chumbo.log_2026 partition of chumbo.log for values from ('2026-01-01') to ('2027-01-01')",
    ],
    [
      'what belongs to the project',
      'create table public.things (id integer); grant select on public.things to anon',
    ],
    [
      'the same thing made again',
      'drop index chumbo.notes_body_idx; create index notes_body_idx on chumbo.notes (body)',
    ],
  ])('leaves out %s', async (_case, change) => {
    expect(await dumpAfter(change)).toBe(before)
  })
})
