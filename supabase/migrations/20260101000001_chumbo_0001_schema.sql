-- migrate:up
-- 0001_schema.sql — the schema, the role the runtime acts as, and the record of what is installed.

create schema if not exists chumbo;
comment on schema chumbo is
  'What Chumbo offers, to whom, how often, and what happened. Never exposed through the Data API.';
revoke all on schema chumbo from public, anon, authenticated;

-- A direct login acts through this role. It has no BYPASSRLS, so nothing it reaches escapes the application's policies.
do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'chumbo_runtime') then
    create role chumbo_runtime nologin noinherit;
  end if;
end
$$;
comment on role chumbo_runtime is 'What the Chumbo runtime may do; granted to the login of a direct connection.';
grant usage on schema chumbo to service_role, chumbo_runtime;

create table if not exists chumbo.installed (
  number integer primary key,
  name text not null,
  hash text not null constraint installed_hash_is_sha256 check (hash ~ '^[0-9a-f]{64}$'),
  installed_at timestamptz not null default now()
);
comment on table chumbo.installed is 'One row per migration file of Chumbo that ran here; doctor and the runtime compare against it.';
comment on column chumbo.installed.hash is 'SHA-256 of the file with this hash written as zeros.';

alter table chumbo.installed enable row level security;
drop policy if exists select_runtime on chumbo.installed;
create policy select_runtime on chumbo.installed for select to chumbo_runtime using (true);
revoke all on chumbo.installed from public, anon, authenticated, service_role;
grant select on chumbo.installed to service_role, chumbo_runtime;

create or replace function public.chumbo_version()
  returns integer
  language sql stable
  security invoker
  set search_path = ''
as $$
  select coalesce(max(i.number), 0) from chumbo.installed as i
$$;
comment on function public.chumbo_version() is 'The number of the newest installed Chumbo migration; 0 when none is recorded.';
revoke all on function public.chumbo_version() from public, anon, authenticated, service_role;
grant execute on function public.chumbo_version() to service_role, chumbo_runtime;

-- UUID version 7 (RFC 9562 §5.7). Postgres has a generator of its own from version 18 on.
-- Here and below, what runs on every call is plpgsql even for one statement: Postgres 17 plans the body of a pinned sql
-- function anew at each call, and keeps the plans of plpgsql.
create or replace function chumbo.uuid_v7()
  returns uuid
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
begin
  -- 12 digits of time, the version, and the rest of a random UUID, whose variant is already in place.
  return (lpad(to_hex(floor(extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0')
    || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid;
end;
$$;
comment on function chumbo.uuid_v7() is 'A time-ordered identifier: 48 bits of Unix milliseconds, then random bits.';
revoke all on function chumbo.uuid_v7() from public, anon, authenticated;
grant execute on function chumbo.uuid_v7() to service_role, chumbo_runtime;

insert into chumbo.installed (number, name, hash)
values (1, 'schema', '62559245d051bd7d58575c6940b34e7288d345aa2e9039224b2359156809ae2b') -- chumbo.installed
on conflict (number) do update set name = excluded.name, hash = excluded.hash;
-- migrate:down
