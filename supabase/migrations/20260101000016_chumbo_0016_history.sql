-- migrate:up
-- 0016_history.sql — versions of capabilities, every change of them with who made it, and receipts that name the version they ran.

create table if not exists chumbo.capability_changes (
  id bigint generated always as identity primary key,
  server text not null,
  kind text not null,
  name text collate "C" not null,
  version integer not null,
  change text not null
    constraint capability_changes_change_is_known check (change in ('added', 'changed', 'removed', 'enabled', 'disabled')),
  old_digest text,
  digest text,
  registration jsonb,
  changed_by text default session_user,
  subject text,
  changed_at timestamptz not null default now(),
  transaction_id xid8 not null default pg_current_xact_id()
);
comment on table chumbo.capability_changes is
  'What happened to every capability, in the order of the ids; only added to. It outlives the capability and its server: a name that '
  'comes back goes on counting its versions, so a receipt never names two things alike.';
comment on column chumbo.capability_changes.server is 'The slug the server had then.';
comment on column chumbo.capability_changes.version is 'The version from then on; of what was removed, the last one.';
comment on column chumbo.capability_changes.old_digest is 'Digest of what was registered before; null when there was nothing.';
comment on column chumbo.capability_changes.digest is 'Digest of what is registered since; null when it was removed.';
comment on column chumbo.capability_changes.registration is
  'All that was registered, for added and changed: two of these show what differs between two versions.';
comment on column chumbo.capability_changes.changed_by is 'The database login; null for what was there before changes were recorded.';
comment on column chumbo.capability_changes.subject is 'The sub claim in force, when a signed-in user made the change through the application.';
comment on column chumbo.capability_changes.transaction_id is 'What one migration did has the same.';
create index if not exists capability_changes_server_kind_name_version_idx
  on chumbo.capability_changes (server, kind, name, version);

-- No policy on purpose: who may use a tool has no business in its history. Its owner, the role of the migrations, reads it.
alter table chumbo.capability_changes enable row level security;
revoke all on chumbo.capability_changes from public, anon, authenticated, service_role;

create or replace function chumbo.tg_capability_changes__refuse()
  returns trigger
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
begin
  raise exception using errcode = 'PT409', message = 'append_only_history',
    detail = format('%s of chumbo.capability_changes was refused: what happened is only added to.', lower(tg_op)),
    hint = 'Disable the trigger _500_refuse for the one statement if a row really has to go.';
end;
$$;
comment on function chumbo.tg_capability_changes__refuse() is 'Keeps the history as it happened. Raises append_only_history.';
revoke all on function chumbo.tg_capability_changes__refuse() from public, anon, authenticated, service_role;

drop trigger if exists _500_refuse on chumbo.capability_changes;
create trigger _500_refuse before update or delete or truncate on chumbo.capability_changes
  for each statement execute function chumbo.tg_capability_changes__refuse();

alter table chumbo.capabilities add column if not exists version integer not null default 1;
alter table chumbo.capabilities add column if not exists digest text;
comment on column chumbo.capabilities.version is
  'Counts what was ever registered under this server, kind and name. Kept by a trigger; enabling and disabling leave it as it is.';
comment on column chumbo.capabilities.digest is 'SHA-256 over all that clients see of it and that decides what runs. Kept by a trigger.';

-- Takes the row as JSON, since the rows a statement changed have no row type of their own.
create or replace function chumbo.registration(capability jsonb)
  returns jsonb
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
begin
  -- Named are the columns that do not count, so that a column added later counts by itself.
  return capability - array['id', 'server_id', 'is_enabled', 'version', 'digest', 'definition_bytes', 'created_at', 'updated_at'];
end;
$$;
comment on function chumbo.registration(jsonb) is 'What was registered, of a row of chumbo.capabilities as JSON.';
revoke all on function chumbo.registration(jsonb) from public, anon, authenticated, service_role;

create or replace function chumbo.registration_digest(registration jsonb)
  returns text
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
begin
  -- The text of a jsonb has one order of keys and one spelling of each value.
  return encode(sha256(convert_to(registration::text, 'UTF8')), 'hex');
end;
$$;
comment on function chumbo.registration_digest(jsonb) is 'SHA-256 of a registration, 64 hexadecimal digits.';
revoke all on function chumbo.registration_digest(jsonb) from public, anon, authenticated, service_role;

create or replace function chumbo.next_version(server_id bigint, kind text, name text)
  returns integer
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
begin
  return 1 + coalesce(
    (
      select max(h.version)
      from chumbo.capability_changes as h
      where h.server = (select s.slug from chumbo.servers as s where s.id = next_version.server_id)
        and h.kind = next_version.kind
        and h.name = next_version.name
    ),
    0
  );
end;
$$;
comment on function chumbo.next_version(bigint, text, text) is 'The version after the last one that was ever registered under this server, kind and name.';
revoke all on function chumbo.next_version(bigint, text, text) from public, anon, authenticated, service_role;

create or replace function chumbo.tg_capabilities__keep_version()
  returns trigger
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_registration jsonb := chumbo.registration(to_jsonb(new));
begin
  -- Rows are compared and not digests: one that was made before a column was added is still the same registration.
  if tg_op = 'UPDATE' and new.server_id = old.server_id and v_registration = chumbo.registration(to_jsonb(old)) then
    new.version := old.version;
    new.digest := old.digest;
    return new;
  end if;

  new.version := chumbo.next_version(new.server_id, new.kind, new.name);
  -- The slug may be another by now, without a history.
  if tg_op = 'UPDATE' and (new.server_id, new.kind, new.name) = (old.server_id, old.kind, old.name) then
    new.version := greatest(new.version, old.version + 1);
  end if;
  new.digest := chumbo.registration_digest(v_registration);
  return new;
end;
$$;
comment on function chumbo.tg_capabilities__keep_version() is 'Counts versions whoever writes the row, and leaves them alone when nothing was changed.';
revoke all on function chumbo.tg_capabilities__keep_version() from public, anon, authenticated, service_role;

create or replace function chumbo.current_subject()
  returns text
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  return nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub';
exception
  -- Whatever stands there, a change is not refused for it.
  when invalid_text_representation then return null;
end;
$$;
comment on function chumbo.current_subject() is 'The sub claim of the request in force, or null.';
revoke all on function chumbo.current_subject() from public, anon, authenticated, service_role;

-- Statement level, as ten thousand registrations must stay quick. Half of an upsert has no rows, and costs next to nothing.
create or replace function chumbo.tg_capabilities__record_added()
  returns trigger
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
begin
  insert into chumbo.capability_changes (server, kind, name, version, change, digest, registration, subject)
  select s.slug, c.kind, c.name, c.version, 'added', c.digest, chumbo.registration(to_jsonb(c)), chumbo.current_subject()
  from new_rows as c
  join chumbo.servers as s on s.id = c.server_id
  order by c.id;
  return null;
end;
$$;
comment on function chumbo.tg_capabilities__record_added() is 'Records what was registered for the first time, or anew after it was removed.';
revoke all on function chumbo.tg_capabilities__record_added() from public, anon, authenticated, service_role;

create or replace function chumbo.tg_capabilities__record_changed()
  returns trigger
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
begin
  insert into chumbo.capability_changes (server, kind, name, version, change, old_digest, digest, registration, subject)
  select s.slug, e.kind, e.name, e.version, e.change, e.old_digest, e.digest, e.registration, chumbo.current_subject()
  from old_rows as o
  join new_rows as n on n.id = o.id
  cross join lateral (
    -- A row that was given another name, kind or server is one capability less and one more.
    select o.server_id, o.kind, o.name, o.version, 'removed' as change, o.digest as old_digest, null as digest, null::jsonb as registration
    where (o.server_id, o.kind, o.name) <> (n.server_id, n.kind, n.name)
    union all
    select n.server_id, n.kind, n.name, n.version, 'added', null, n.digest, chumbo.registration(to_jsonb(n))
    where (o.server_id, o.kind, o.name) <> (n.server_id, n.kind, n.name)
    union all
    select n.server_id, n.kind, n.name, n.version, 'changed', o.digest, n.digest, chumbo.registration(to_jsonb(n))
    where (o.server_id, o.kind, o.name) = (n.server_id, n.kind, n.name) and o.version <> n.version
    union all
    select n.server_id, n.kind, n.name, n.version, case when n.is_enabled then 'enabled' else 'disabled' end, n.digest, n.digest, null
    where o.is_enabled <> n.is_enabled
  ) as e
  join chumbo.servers as s on s.id = e.server_id
  order by n.id;
  return null;
end;
$$;
comment on function chumbo.tg_capabilities__record_changed() is 'Records new versions, and what was enabled or disabled; a write that changed neither leaves nothing.';
revoke all on function chumbo.tg_capabilities__record_changed() from public, anon, authenticated, service_role;

create or replace function chumbo.tg_capabilities__record_removed()
  returns trigger
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
begin
  insert into chumbo.capability_changes (server, kind, name, version, change, old_digest, subject)
  select s.slug, c.kind, c.name, c.version, 'removed', c.digest, chumbo.current_subject()
  from old_rows as c
  join chumbo.servers as s on s.id = c.server_id
  order by c.id;
  return null;
end;
$$;
comment on function chumbo.tg_capabilities__record_removed() is 'Records what was removed.';
revoke all on function chumbo.tg_capabilities__record_removed() from public, anon, authenticated, service_role;

-- A server takes its capabilities with it by a foreign key, which deletes them when its slug can no longer be read.
create or replace function chumbo.tg_servers__record_removed()
  returns trigger
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
begin
  insert into chumbo.capability_changes (server, kind, name, version, change, old_digest, subject)
  select old.slug, c.kind, c.name, c.version, 'removed', c.digest, chumbo.current_subject()
  from chumbo.capabilities as c
  where c.server_id = old.id
  order by c.id;
  return old;
end;
$$;
comment on function chumbo.tg_servers__record_removed() is 'Records the capabilities that go with their server, while its slug is there.';
revoke all on function chumbo.tg_servers__record_removed() from public, anon, authenticated, service_role;

-- What 0.1.0 left behind becomes version 1. Before the triggers are there, so that nobody seems to have changed anything.
update chumbo.capabilities as c
set digest = chumbo.registration_digest(chumbo.registration(to_jsonb(c)))
where c.digest is null;

insert into chumbo.capability_changes (server, kind, name, version, change, digest, registration, changed_by, changed_at)
select s.slug, c.kind, c.name, c.version, 'added', c.digest, chumbo.registration(to_jsonb(c)), null, c.updated_at
from chumbo.capabilities as c
join chumbo.servers as s on s.id = c.server_id
where not exists (
  select from chumbo.capability_changes as h where h.server = s.slug and h.kind = c.kind and h.name = c.name and h.version = c.version
)
order by c.id;

drop trigger if exists _900_keep_version on chumbo.capabilities;
create trigger _900_keep_version before insert or update on chumbo.capabilities
  for each row execute function chumbo.tg_capabilities__keep_version();
drop trigger if exists _600_record_added on chumbo.capabilities;
create trigger _600_record_added after insert on chumbo.capabilities
  referencing new table as new_rows
  for each statement execute function chumbo.tg_capabilities__record_added();
drop trigger if exists _600_record_changed on chumbo.capabilities;
create trigger _600_record_changed after update on chumbo.capabilities
  referencing old table as old_rows new table as new_rows
  for each statement execute function chumbo.tg_capabilities__record_changed();
drop trigger if exists _600_record_removed on chumbo.capabilities;
create trigger _600_record_removed after delete on chumbo.capabilities
  referencing old table as old_rows
  for each statement execute function chumbo.tg_capabilities__record_removed();
drop trigger if exists _600_record_removed on chumbo.servers;
create trigger _600_record_removed before delete on chumbo.servers
  for each row execute function chumbo.tg_servers__record_removed();

-- Receipts. The view public.chumbo_receipts keeps its columns: 0007 writes it anew when it runs again, and Postgres lets
-- no view lose one.
alter table chumbo.receipts add column if not exists capability_version integer;
comment on column chumbo.receipts.capability_version is
  'The version of the capability that ran; null when none did, when code without a row answered, and before versions were kept.';
grant select (capability_version) on chumbo.receipts to authenticated;

drop function if exists chumbo.write_receipt(text, text, text, jsonb, text, text, integer, integer, boolean, numeric, uuid);
create or replace function chumbo.write_receipt(
  server text, kind text, capability text, request jsonb, outcome text, code text,
  row_count integer, bytes integer, truncated boolean, duration_ms numeric, replay_of uuid, version integer default null
)
  returns jsonb
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_handle jsonb;
begin
  insert into chumbo.receipts as r (
    server, kind, capability, subject, client_id, strategy, trace_id, outcome, code, row_count, bytes, truncated, duration_ms,
    argument_digest, idempotency_key_hash, replay_of, capability_version
  )
  values (
    server, kind, case when capability ~ '^[A-Za-z0-9_-]{1,64}$' then capability end,
    request ->> 'subject', request ->> 'client_id', coalesce(request ->> 'strategy', 'unknown'), coalesce(request ->> 'trace_id', ''),
    outcome, code, row_count, bytes, coalesce(truncated, false), duration_ms,
    request ->> 'argument_digest', request ->> 'idempotency_key_hash', replay_of, version
  )
  returning jsonb_build_object('id', r.id, 'created_at', r.created_at) into v_handle;

  return v_handle;
end;
$$;
comment on function chumbo.write_receipt(text, text, text, jsonb, text, text, integer, integer, boolean, numeric, uuid, integer) is
  'Writes one receipt and returns {id, created_at}, by which it can be closed.';
revoke all on function chumbo.write_receipt(text, text, text, jsonb, text, text, integer, integer, boolean, numeric, uuid, integer)
  from public, anon, authenticated;
grant execute on function chumbo.write_receipt(text, text, text, jsonb, text, text, integer, integer, boolean, numeric, uuid, integer)
  to service_role, chumbo_runtime;

insert into chumbo.installed (number, name, hash)
values (16, 'history', '4340833f3704b1d52944ac3e205a167dc6142a7eb26c05187f432304e2ea6a74') -- chumbo.installed
on conflict (number) do update set name = excluded.name, hash = excluded.hash;
-- migrate:down
