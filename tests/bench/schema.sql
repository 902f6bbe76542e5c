-- tests/bench/schema.sql — the function every variant calls, Chumbo's gates for it, and the same gates made by hand.

create table public.bench_notes (
  id bigint generated always as identity primary key,
  owner_id uuid not null references auth.users on delete cascade,
  title text not null,
  body text not null
);
create index bench_notes_owner_id_id_idx on public.bench_notes (owner_id, id);
alter table public.bench_notes enable row level security;
create policy select_own on public.bench_notes for select to authenticated using (owner_id = (select auth.uid()));
revoke all on public.bench_notes from public, anon, authenticated;
grant select on public.bench_notes to authenticated;

create function public.bench_list_notes("limit" integer default 10)
  returns table (id bigint, title text, body text)
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  return query select n.id, n.title, n.body from public.bench_notes as n order by n.id limit bench_list_notes."limit";
end;
$$;
comment on function public.bench_list_notes(integer) is 'Lists the first notes of the caller.';
revoke all on function public.bench_list_notes(integer) from public, anon, authenticated;
grant execute on function public.bench_list_notes(integer) to authenticated;

-- Chumbo: a scope, a limit nobody reaches, receipts by themselves; ten tools, so that a list is one.
select chumbo.register_server('bench', name => 'bench');
select chumbo.register_server('bench-growth', name => 'bench-growth');
select chumbo.register_server('bench-search', name => 'bench-search', settings => '{"catalog_mode": "search"}');
select chumbo.define_scope('bench:read', title => 'Read notes');
select chumbo.grant_scope('bench:read', 'authenticated');
select chumbo.set_rate_limit('bench', server => slug, requests => 1000000, window_seconds => 60)
from unnest(array['bench', 'bench-growth', 'bench-search']) as slug;
select chumbo.register_tool('public.bench_list_notes', server => slug, scopes => array['bench:read'])
from unnest(array['bench', 'bench-growth']) as slug;
select chumbo.register_tool('public.bench_list_notes', server => slug, name => format('list_notes_%s', i), scopes => array['bench:read'])
from unnest(array['bench', 'bench-growth']) as slug, generate_series(1, case slug when 'bench' then 7 else 9 end) as i;
select chumbo.sync_capabilities($manifest$
{
  "tools": [
    {
      "name": "list_notes_code",
      "description": "Lists the first notes of the caller, through supabase-js.",
      "inputSchema": {"type": "object", "properties": {"limit": {"type": "integer", "default": 10}}, "additionalProperties": false},
      "annotations": {"readOnlyHint": true},
      "scopes": ["bench:read"]
    },
    {
      "name": "ping_code",
      "description": "Answers without asking the database anything.",
      "inputSchema": {"type": "object", "properties": {}, "additionalProperties": false},
      "annotations": {"readOnlyHint": true},
      "scopes": ["bench:read"]
    }
  ]
}
$manifest$, 'bench');

-- By hand: what a careful developer would write for one endpoint, and no more.
create table public.bench_scopes (
  user_id uuid references auth.users on delete cascade,
  scope text,
  primary key (user_id, scope)
);
create table public.bench_counters (
  user_id uuid primary key references auth.users on delete cascade,
  window_start timestamptz not null,
  used integer not null
) with (fillfactor = 70);
create table public.bench_receipts (
  id bigint generated always as identity primary key,
  created_at timestamptz not null default now(),
  user_id uuid not null,
  client_id text,
  tool text not null,
  outcome text not null,
  row_count integer,
  duration_ms numeric not null
);
alter table public.bench_scopes enable row level security;
alter table public.bench_counters enable row level security;
alter table public.bench_receipts enable row level security;
create policy select_own on public.bench_scopes for select to authenticated using (user_id = (select auth.uid()));
revoke all on public.bench_scopes, public.bench_counters, public.bench_receipts from public, anon, authenticated;
grant select on public.bench_scopes to authenticated;
grant select, insert, update on public.bench_counters to service_role;
grant insert on public.bench_receipts to service_role;

create function public.bench_has_scope(scope text)
  returns boolean
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  return exists (
    select from public.bench_scopes as s where s.user_id = (select auth.uid()) and s.scope = bench_has_scope.scope
  );
end;
$$;
comment on function public.bench_has_scope(text) is 'Whether the caller holds a scope.';
revoke all on function public.bench_has_scope(text) from public, anon, authenticated;
grant execute on function public.bench_has_scope(text) to authenticated;

create function public.bench_take_slot(user_id uuid, requests integer, window_seconds integer)
  returns boolean
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_start timestamptz := date_bin(make_interval(secs => window_seconds), clock_timestamp(), 'epoch');
  v_used integer;
begin
  insert into public.bench_counters as c (user_id, window_start, used)
  values (bench_take_slot.user_id, v_start, 1)
  on conflict on constraint bench_counters_pkey do update
  set used = case when c.window_start = v_start then c.used + 1 else 1 end, window_start = v_start
  returning c.used into v_used;
  return v_used <= requests;
end;
$$;
comment on function public.bench_take_slot(uuid, integer, integer) is 'Counts one call and tells whether it may run.';
revoke all on function public.bench_take_slot(uuid, integer, integer) from public, anon, authenticated;
grant execute on function public.bench_take_slot(uuid, integer, integer) to service_role;

create function public.bench_write_receipt(
  user_id uuid, client_id text, tool text, outcome text, row_count integer, duration_ms numeric
)
  returns void
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
begin
  insert into public.bench_receipts (user_id, client_id, tool, outcome, row_count, duration_ms)
  values (user_id, client_id, tool, outcome, row_count, duration_ms);
end;
$$;
comment on function public.bench_write_receipt(uuid, text, text, text, integer, numeric) is 'Keeps what happened.';
revoke all on function public.bench_write_receipt(uuid, text, text, text, integer, numeric) from public, anon, authenticated;
grant execute on function public.bench_write_receipt(uuid, text, text, text, integer, numeric) to service_role;

-- Everybody's own rows; a hundred each, of which a call reads ten.
insert into public.bench_notes (owner_id, title, body)
select u.id, format('Note %s of %s', i, u.email), repeat('Words that somebody wrote down once. ', 3)
from auth.users as u, generate_series(1, 100) as i;
insert into public.bench_scopes (user_id, scope)
select u.id, 'bench:read' from auth.users as u;
analyze public.bench_notes, public.bench_scopes;
