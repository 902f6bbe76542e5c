// tests/stack/support/project.ts — a small project in a temporary folder: one function, a table, a few functions to call.
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TestProject {
  readonly dir: string
  remove(): Promise<void>
}

/** The project's schema for supabase-js: any table and any function, with values to be looked at. */
export interface TestDatabase {
  public: {
    Tables: Record<
      string,
      {
        Row: Record<string, unknown>
        Insert: Record<string, unknown>
        Update: Record<string, unknown>
        Relationships: []
      }
    >
    Views: Record<never, never>
    Functions: Record<string, { Args: Record<string, unknown>; Returns: unknown }>
  }
}

/** A function that describes its request, publishes RFC 9728 metadata, and can be made to crash. */
const PROBE = `
import { marker } from 'marker'
export default {
  async fetch(request) {
    const url = new URL(request.url)
    if (url.pathname === '/probe/crash') setTimeout(() => Deno.exit(3), 10)
    if (url.pathname === '/probe/oauth-protected-resource') {
      const origin = Deno.env.get('SUPABASE_URL')
      return Response.json({ resource: origin + '/functions/v1/probe', authorization_servers: [origin + '/auth/v1'] })
    }
    return Response.json({
      url: request.url,
      method: request.method,
      body: await request.text(),
      marker,
      slug: Deno.env.get('SUPABASE_FUNCTION_SLUG'),
      forwarded: ['host', 'port', 'proto'].map((part) => request.headers.get('x-forwarded-' + part)),
      env: ['SUPABASE_URL', 'SUPABASE_PUBLISHABLE_KEYS', 'SUPABASE_SECRET_KEYS', 'SUPABASE_JWKS', 'CHUMBO_HMAC_KEY', 'CHUMBO_DB_URL', 'CHUMBO_PROBE']
        .filter((name) => Deno.env.get(name) !== undefined),
      file: await Deno.readTextFile('/etc/hostname').then(() => 'read', (error) => error.name),
      outside: await fetch('http://127.0.0.1:59321/').then(() => 'reached', (error) => error.name),
    })
  },
}
`

const MIGRATION = `
create table public.notes (
  id bigint generated always as identity primary key,
  owner_id uuid not null default auth.uid() references auth.users on delete cascade,
  body text not null constraint notes_body_key unique
);
alter table public.notes enable row level security;
create policy all_own on public.notes for all to authenticated
  using (owner_id = (select auth.uid())) with check (owner_id = (select auth.uid()));

create function public.whoami() returns jsonb language sql stable as $$
  select jsonb_build_object('user', current_user, 'session', session_user, 'uid', auth.uid(),
    'claims', auth.jwt(), 'timeout', current_setting('statement_timeout'), 'path', current_setting('search_path'),
    'method', current_setting('request.method'), 'readonly', current_setting('transaction_read_only'))
$$;
create function public.echo(payload jsonb) returns jsonb language sql immutable as $$ select payload $$;
create function public.unnamed(jsonb) returns jsonb language sql immutable as $$ select $1 $$;
create function public.twice(n integer) returns integer language sql immutable as $$ select 2 * n $$;
create function public.twice(n integer, plus integer default 1) returns integer language sql immutable as $$ select 2 * n + plus $$;
create function public.kinds(n text) returns text language sql immutable as $$ select n $$;
create function public.kinds(n integer) returns text language sql immutable as $$ select n::text $$;
create function public.exact(n numeric) returns numeric language sql immutable as $$ select n $$;
create function public.optional(a text, b text default 'b') returns text language sql immutable as $$ select a || b $$;
create function public.two_rows() returns table (a integer) language sql stable as $$ values (1), (2) $$;
create function public.no_value() returns text language sql stable as $$ select null::text $$;
create function public.nothing() returns void language sql volatile as $$ select 1 $$;
create function public.shaped() returns text language plpgsql volatile as $$
begin
  perform set_config('response.status', '202', true);
  perform set_config('response.headers', '[{"X-Shape": "round"}]', true);
  return 'shaped';
end $$;
create function public.write() returns void language sql volatile as $$ insert into public.notes (body) values ('written') $$;
create function public.write_in_stable() returns void language plpgsql stable as $$
begin
  perform public.write();
end $$;
create function public.fail(code text) returns void language plpgsql volatile as $$
begin
  raise exception using errcode = code, message = 'a message', detail = 'a detail', hint = 'a hint';
end $$;
create function public.fail_custom() returns void language plpgsql volatile as $$
begin
  raise sqlstate 'PGRST' using
    message = '{"code":"OWN","message":"mine","details":"d","hint":"h"}',
    detail = '{"status":451,"headers":{"X-Own":"yes"}}';
end $$;
create function public.nap(seconds double precision) returns void language sql volatile as $$ select pg_sleep(seconds) $$;
alter function public.nap set statement_timeout = '200ms';
`

/** Writes the project. */
export async function createTestProject(): Promise<TestProject> {
  const dir = await mkdtemp(join(tmpdir(), 'chumbo-project-'))
  // The account Postgres runs under may have to pass through.
  await chmod(dir, 0o711)
  const write = async (path: string, text: string) => {
    await mkdir(join(dir, path, '..'), { recursive: true })
    await writeFile(join(dir, path), text)
  }
  await write('marker.ts', "export const marker = 'from the import map'\n")
  await write('supabase/functions/probe/deno.json', '{"imports":{"marker":"../../../marker.ts"}}')
  await write('supabase/functions/probe/index.ts', PROBE)
  await write('supabase/functions/closed/index.ts', 'export default { fetch: () => new Response("open") }\n')
  await write('supabase/functions/broken/index.ts', 'throw new Error("does not load")\n')
  await write(
    'supabase/config.toml',
    '[api]\nschemas = ["public"]\n[functions.probe]\nverify_jwt = false\n[functions.broken]\nverify_jwt = false\n',
  )
  await write('supabase/migrations/20260101000000_things.sql', MIGRATION)
  return { dir, remove: () => rm(dir, { recursive: true, force: true }) }
}
