// tests/stack/platform.test.ts — the database has the roles, memberships and default grants of a Supabase project.
import { readdir } from 'node:fs/promises'

import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { type Stack, startStack } from '../../cli/stack/index.ts'
import { repositoryRoot } from '../support/repository.ts'

let stack: Stack
let owner: postgres.Sql

beforeAll(async () => {
  // The reference project, installed by the real Supabase CLI.
  stack = await startStack({ project: repositoryRoot, install: 'push', functions: {} })
  owner = postgres(stack.databaseUrl, { max: 1, onnotice: () => undefined })
})

afterAll(async () => {
  await owner.end({ timeout: 1 })
  await stack.stop()
})

describe('roles', () => {
  it.each([
    ['anon', { rolcanlogin: false, rolsuper: false, rolbypassrls: false }],
    ['authenticated', { rolcanlogin: false, rolsuper: false, rolbypassrls: false }],
    ['service_role', { rolcanlogin: false, rolsuper: false, rolbypassrls: true }],
    ['authenticator', { rolcanlogin: true, rolinherit: false, rolbypassrls: false }],
    ['postgres', { rolsuper: false, rolcreaterole: true, rolcreatedb: true, rolbypassrls: true }],
  ])('%s has its attributes', async (name, expected) => {
    const [role] = await owner`select * from pg_roles where rolname = ${name}`

    expect(role).toMatchObject(expected)
  })

  it('postgres may hand the API roles on, and is no member of the auth admin', async () => {
    const [row] = await owner`
      select pg_has_role('postgres', 'authenticated', 'member with admin option') as may_grant,
             pg_has_role('postgres', 'supabase_auth_admin', 'member') as is_auth_admin`

    expect(row).toEqual({ may_grant: true, is_auth_admin: false })
  })
})

describe('grants', () => {
  it('open what a migration makes in public to all three roles, as on a project of before 2026', async () => {
    await owner.unsafe(`
      create table public.probe (id integer);
      create function public.probe_fn() returns integer language sql return 1;
      -- What Postgres itself gives to everybody is not the point here.
      revoke all on function public.probe_fn() from public`)

    const [row] = await owner`
      select has_table_privilege('anon', 'public.probe', 'insert') as anon_table,
             has_function_privilege('authenticated', 'public.probe_fn()', 'execute') as user_function,
             has_table_privilege('service_role', 'public.probe', 'delete') as service_table`
    await owner.unsafe('drop table public.probe; drop function public.probe_fn()')

    expect(row).toEqual({ anon_table: true, user_function: true, service_table: true })
  })

  it('let postgres read the auth tables and nobody of the API', async () => {
    const [row] = await owner`
      select has_table_privilege('postgres', 'auth.sessions', 'select') as owner_reads,
             has_table_privilege('service_role', 'auth.sessions', 'select') as service_reads,
             has_table_privilege('authenticated', 'auth.users', 'select') as user_reads,
             has_schema_privilege('postgres', 'auth', 'create') as owner_creates`

    expect(row).toEqual({ owner_reads: true, service_reads: false, user_reads: false, owner_creates: false })
  })
})

describe('the direct login', () => {
  it('is a member of three roles and of nothing that bypasses row security', async () => {
    const rows = await owner`
      select granted.rolname as role from pg_auth_members as m
      join pg_roles as granted on granted.oid = m.roleid
      join pg_roles as member on member.oid = m.member
      where member.rolname = 'chumbo_login' order by 1`

    expect(rows.map((row) => String(row['role']))).toEqual(['anon', 'authenticated', 'chumbo_runtime'])
  })

  it('can log in and become nobody else', async () => {
    const direct = postgres(stack.directUrl, { max: 1, onnotice: () => undefined })
    const [me] = await direct`select current_user as name`
    await expect(direct.unsafe('set role service_role')).rejects.toMatchObject({ code: '42501' })
    await direct.end()

    expect(me?.['name']).toBe('chumbo_login')
  })
})

describe('the Supabase CLI', () => {
  it('has recorded every migration of the project', async () => {
    const files = (await readdir(`${repositoryRoot}/supabase/migrations`)).filter((name) =>
      name.endsWith('.sql'),
    )

    const rows = await owner`select version from supabase_migrations.schema_migrations order by version`

    expect(rows.map((row) => String(row['version']))).toEqual(files.map((name) => name.split('_')[0]).sort())
  })
})
