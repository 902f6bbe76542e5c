// cli/stack/postgres/bootstrap.ts — turns an empty server into a Supabase database, and adds what depends on ours.

import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'

import type postgres from 'postgres'

import type { DatabaseLogin, StackSecrets } from '../secrets.ts'

const FILES = ['roles.sql', 'auth-schema.sql', 'schema-reload.sql']

export interface TestUser {
  readonly id: string
  readonly email: string
  readonly password: string
}

/** Runs the SQL of `cli/stack/sql` as the superuser and gives the logins their passwords. */
export async function bootstrapDatabase(admin: postgres.Sql, { passwords }: StackSecrets): Promise<void> {
  for (const file of FILES) {
    await admin.unsafe(await readFile(new URL(`../sql/${file}`, import.meta.url), 'utf8')).simple()
  }
  for (const login of ['postgres', 'authenticator', 'supabase_auth_admin'] as const) {
    await setPassword(admin, login, passwords[login])
  }
}

/**
 * Creates or refreshes `chumbo_login`, the login of the direct gate: a member of anon, authenticated and
 * chumbo_runtime only, so nothing reachable from it bypasses row security. Answers false while our migrations
 * have not made chumbo_runtime.
 */
export async function createChumboLogin(admin: postgres.Sql, { passwords }: StackSecrets): Promise<boolean> {
  const [found] = await admin`
    select exists (select from pg_roles where rolname = 'chumbo_runtime') as runtime,
           exists (select from pg_roles where rolname = 'chumbo_login') as login`
  if (found?.['runtime'] !== true) return false
  if (found['login'] !== true) await admin`create role chumbo_login login noinherit`
  await admin`alter role chumbo_login login noinherit`
  await setPassword(admin, 'chumbo_login', passwords.chumbo_login)
  await admin`grant anon, authenticated, chumbo_runtime to chumbo_login`
  return true
}

/** Creates a confirmed user with a password, as a sign-up followed by a confirmation would. Keeps an existing one. */
export async function createUser(
  admin: postgres.Sql,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<TestUser> {
  const [existing] = await admin`select id from auth.users where email = ${email}`
  if (existing !== undefined) return { id: String(existing['id']), email, password }
  const id = randomUUID()
  const identity = { sub: id, email, email_verified: true, phone_verified: false }
  await admin.begin(async (tx) => {
    await tx`
      insert into auth.users (
        instance_id, id, aud, role, email, encrypted_password, email_confirmed_at,
        confirmation_token, recovery_token, email_change_token_new, email_change,
        raw_app_meta_data, raw_user_meta_data, created_at, updated_at
      ) values (
        '00000000-0000-0000-0000-000000000000', ${id}, 'authenticated', 'authenticated', ${email},
        -- Cost 6 instead of 10: these are development passwords, and every sign-in of a test pays for the hash.
        extensions.crypt(${password}, extensions.gen_salt('bf', 6)), now(), '', '', '', '',
        ${tx.json({ provider: 'email', providers: ['email'] })}, ${tx.json(identity)}, now(), now()
      )`
    await tx`
      insert into auth.identities (provider_id, user_id, identity_data, provider, created_at, updated_at)
      values (${id}, ${id}, ${tx.json(identity)}, 'email', now(), now())`
  })
  return { id, email, password }
}

async function setPassword(admin: postgres.Sql, login: DatabaseLogin, password: string): Promise<void> {
  // A utility statement takes no parameters; format quotes both parts inside the server.
  const [statement] =
    await admin`select format('alter role %I password %L', ${login}::text, ${password}::text) as sql`
  await admin.unsafe(String(statement?.['sql']))
}
