-- migrate:up
-- 0002_servers.sql — one row per MCP server; its revision tells a runtime when its cached definitions are stale.

create table if not exists chumbo.servers (
  id bigint generated always as identity primary key,
  slug text not null constraint servers_slug_key unique
    constraint servers_slug_is_url_safe check (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  name text constraint servers_name_is_short check (length(name) between 1 and 128),
  version text constraint servers_version_is_short check (length(version) between 1 and 64),
  title text,
  instructions text,
  is_enabled boolean not null default true,
  settings jsonb not null default '{}'
    constraint servers_settings_are_known check (
      jsonb_typeof(settings) = 'object'
      and settings - array['unregistered', 'page_size'] = '{}'
      and coalesce(settings ->> 'unregistered', 'serve') in ('serve', 'refuse')
      and coalesce((settings ->> 'page_size')::integer, 100) between 1 and 1000
    ),
  revision bigint not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
comment on table chumbo.servers is
  'The MCP servers one function offers; clients see name, version, title and instructions. Null leaves it to the code.';
comment on column chumbo.servers.settings is
  'unregistered: serve (default) or refuse code handlers without a row; page_size: entries per list page, 1 to 1000, default 100.';
comment on column chumbo.servers.revision is 'Grows with every change to the server or one of its capabilities.';

alter table chumbo.servers enable row level security;
drop policy if exists select_runtime on chumbo.servers;
create policy select_runtime on chumbo.servers for select to chumbo_runtime using (true);
revoke all on chumbo.servers from public, anon, authenticated, service_role;
grant select on chumbo.servers to service_role, chumbo_runtime;

create or replace function chumbo.tg_servers__advance()
  returns trigger
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
begin
  -- Set here, not by the writer: an edit by hand must make cached definitions stale as well.
  new.revision := old.revision + 1;
  new.updated_at := now();
  return new;
end;
$$;
comment on function chumbo.tg_servers__advance() is 'Advances the revision of a server whenever its row is written.';
revoke all on function chumbo.tg_servers__advance() from public, anon, authenticated, service_role;

drop trigger if exists _500_advance on chumbo.servers;
create trigger _500_advance before update on chumbo.servers
  for each row execute function chumbo.tg_servers__advance();

create or replace function chumbo.register_server(
  slug text default 'default',
  name text default null,
  version text default null,
  title text default null,
  instructions text default null,
  settings jsonb default null
)
  returns bigint
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_id bigint;
begin
  insert into chumbo.servers as s (slug, name, version, title, instructions, settings)
  values (
    register_server.slug,
    register_server.name,
    register_server.version,
    register_server.title,
    register_server.instructions,
    coalesce(register_server.settings, '{}')
  )
  on conflict on constraint servers_slug_key do update
  set name = coalesce(register_server.name, s.name),
    version = coalesce(register_server.version, s.version),
    title = coalesce(register_server.title, s.title),
    instructions = coalesce(register_server.instructions, s.instructions),
    settings = coalesce(register_server.settings, s.settings)
  returning id into v_id;

  return v_id;
end;
$$;
comment on function chumbo.register_server(text, text, text, text, text, jsonb) is
  'Creates the server with this slug or changes what is given of it; what is left out stays as it is. Returns its id.';
revoke all on function chumbo.register_server(text, text, text, text, text, jsonb) from public, anon, authenticated, service_role;

-- A project with code handlers alone needs no row of its own to start.
insert into chumbo.servers (slug) values ('default') on conflict do nothing;

create or replace function chumbo.server_id(slug text)
  returns bigint
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_id bigint;
begin
  select s.id into v_id from chumbo.servers as s where s.slug = server_id.slug;
  if not found then
    raise exception using errcode = 'PT404', message = 'unknown_server',
      detail = format('No server is registered under %L.', server_id.slug),
      hint = format('Run select chumbo.register_server(%L); first.', server_id.slug);
  end if;
  return v_id;
end;
$$;
comment on function chumbo.server_id(text) is 'The id of a server. Raises unknown_server.';
revoke all on function chumbo.server_id(text) from public, anon, authenticated, service_role;

insert into chumbo.installed (number, name, hash)
values (2, 'servers', 'bd64535cde30f4e3f05eee973b8f481925d386dac789f7601d7abaf2071d50fb') -- chumbo.installed
on conflict (number) do update set name = excluded.name, hash = excluded.hash;
-- migrate:down
