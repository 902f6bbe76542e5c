-- migrate:up
-- 0006_rate_limits.sql — how often a caller may call, decided by the database's clock while the call is admitted.

create table if not exists chumbo.rate_limits (
  id bigint generated always as identity primary key,
  server_id bigint not null references chumbo.servers on delete cascade,
  name text not null constraint rate_limits_name_is_token check (name ~ '^[A-Za-z0-9_-]{1,64}$'),
  capability text collate "C",
  per text not null constraint rate_limits_per_is_known check (per in ('principal', 'client', 'server')),
  requests integer not null constraint rate_limits_requests_are_positive check (requests > 0),
  window_seconds integer not null constraint rate_limits_window_is_bounded check (window_seconds between 1 and 2678400),
  weight integer not null constraint rate_limits_weight_fits check (weight between 1 and requests),
  method text not null constraint rate_limits_method_is_known check (method in ('gcra', 'fixed_window')),
  length interval not null generated always as (make_interval(secs => window_seconds)) stored,
  -- Rounded down, so that the whole allowance always fits into one window.
  step interval not null generated always as (
    make_interval(secs => floor(window_seconds * 1e6::double precision * weight / requests) / 1e6::double precision)
  ) stored,
  constraint rate_limits_server_id_name_key unique (server_id, name)
);
comment on table chumbo.rate_limits is 'Each row limits the calls of a server, or of one capability, for each principal, each client, or all together.';
comment on column chumbo.rate_limits.capability is 'The tool it counts; null counts every call of the server.';
comment on column chumbo.rate_limits.weight is 'How many requests one call counts for.';
comment on column chumbo.rate_limits.step is 'How far one call moves the clock of gcra.';
comment on column chumbo.rate_limits.method is
  'gcra spreads requests evenly after a burst of the whole allowance; fixed_window starts anew at each multiple of the window.';

alter table chumbo.rate_limits enable row level security;
drop policy if exists select_runtime on chumbo.rate_limits;
create policy select_runtime on chumbo.rate_limits for select to chumbo_runtime using (true);
revoke all on chumbo.rate_limits from public, anon, authenticated, service_role;
grant select on chumbo.rate_limits to service_role, chumbo_runtime;

create table if not exists chumbo.rate_counters (
  limit_id bigint not null references chumbo.rate_limits on delete cascade,
  subject text not null,
  -- GCRA: the theoretical arrival time. Fixed window: the start of the window counted.
  reached_at timestamptz not null,
  used integer not null default 0,
  primary key (limit_id, subject)
) with (fillfactor = 70);
comment on table chumbo.rate_counters is 'Where each counted subject stands; one row per limit and subject, changed in place.';

alter table chumbo.rate_counters enable row level security;
drop policy if exists select_runtime on chumbo.rate_counters;
create policy select_runtime on chumbo.rate_counters for select to chumbo_runtime using (true);
drop policy if exists insert_runtime on chumbo.rate_counters;
create policy insert_runtime on chumbo.rate_counters for insert to chumbo_runtime with check (true);
drop policy if exists update_runtime on chumbo.rate_counters;
create policy update_runtime on chumbo.rate_counters for update to chumbo_runtime using (true);
revoke all on chumbo.rate_counters from public, anon, authenticated, service_role;
grant select, insert, update on chumbo.rate_counters to service_role, chumbo_runtime;

create or replace function chumbo.set_rate_limit(
  name text,
  server text default 'default',
  capability text default null,
  per text default 'principal',
  requests integer default 60,
  window_seconds integer default 60,
  weight integer default 1,
  method text default 'gcra'
)
  returns bigint
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_id bigint;
begin
  if not coalesce(
    per in ('principal', 'client', 'server') and method in ('gcra', 'fixed_window') and requests > 0
      and window_seconds between 1 and 2678400 and weight between 1 and requests and name ~ '^[A-Za-z0-9_-]{1,64}$',
    false
  ) then
    raise exception using errcode = 'PT400', message = 'invalid_option',
      detail = format('The limit %L cannot count %s requests of weight %s in %s seconds per %s by %s.',
        name, requests, weight, window_seconds, per, method),
      hint = 'per is principal, client or server; method gcra or fixed_window; the window 1 second to 31 days; the weight fits.';
  end if;

  insert into chumbo.rate_limits as r (server_id, name, capability, per, requests, window_seconds, weight, method)
  values (
    chumbo.server_id(set_rate_limit.server), set_rate_limit.name, set_rate_limit.capability, set_rate_limit.per,
    set_rate_limit.requests, set_rate_limit.window_seconds, set_rate_limit.weight, set_rate_limit.method
  )
  on conflict on constraint rate_limits_server_id_name_key do update
  set capability = excluded.capability, per = excluded.per, requests = excluded.requests,
    window_seconds = excluded.window_seconds, weight = excluded.weight, method = excluded.method
  returning r.id into v_id;

  return v_id;
end;
$$;
comment on function chumbo.set_rate_limit(text, text, text, text, integer, integer, integer, text) is
  'Creates or changes the limit of this name from the next call on and returns it. What was counted so far stays counted. '
  'Raises invalid_option, unknown_server.';
revoke all on function chumbo.set_rate_limit(text, text, text, text, integer, integer, integer, text) from public, anon, authenticated, service_role;

-- GCRA as in ITU-T I.371 with a burst of the whole allowance: a call of weight w moves the arrival time on by w intervals
-- and conforms while that stays within one window of now.
create or replace function chumbo.limit_subject(per text, request jsonb)
  returns text
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
begin
  return case per
    when 'principal' then coalesce(request ->> 'subject', 'anonymous')
    when 'client' then coalesce(request ->> 'client_id', 'first-party')
    else ''
  end;
end;
$$;
comment on function chumbo.limit_subject(text, jsonb) is 'Who a limit counts for this verified caller.';
revoke all on function chumbo.limit_subject(text, jsonb) from public, anon, authenticated;
grant execute on function chumbo.limit_subject(text, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.consume_limits(server_id bigint, capability text, request jsonb)
  returns integer
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_limit record;
  v_wait interval;
begin
  -- In the order of their ids, so that two calls never wait for each other in a ring. A counter stays locked until its call
  -- commits: calls that share one pass one by one, and none reads what another is about to write.
  for v_limit in
    select l.*, chumbo.limit_subject(l.per, request) as subject
    from chumbo.rate_limits as l
    where l.server_id = consume_limits.server_id and (l.capability is null or l.capability = consume_limits.capability)
    order by l.id
  loop
    -- One statement decides and counts. The clock is read inside it, after the lock is held: time spent waiting counts.
    if v_limit.method = 'gcra' then
      insert into chumbo.rate_counters as k (limit_id, subject, reached_at)
      values (v_limit.id, v_limit.subject, clock_timestamp() + v_limit.step)
      on conflict on constraint rate_counters_pkey do update
      set reached_at = greatest(k.reached_at, clock_timestamp()) + v_limit.step
      where greatest(k.reached_at, clock_timestamp()) + v_limit.step <= clock_timestamp() + v_limit.length;
    else
      insert into chumbo.rate_counters as k (limit_id, subject, reached_at, used)
      values (v_limit.id, v_limit.subject, date_bin(v_limit.length, clock_timestamp(), 'epoch'), v_limit.weight)
      on conflict on constraint rate_counters_pkey do update
      set reached_at = excluded.reached_at,
        used = case when k.reached_at = excluded.reached_at then k.used else 0 end + v_limit.weight
      where case when k.reached_at = excluded.reached_at then k.used else 0 end + v_limit.weight <= v_limit.requests;
    end if;
    continue when found;

    -- One limit refuses, none is charged: what those before it counted is given back. A counter further ahead than one
    -- window stems from an older, stricter policy, and heals here.
    update chumbo.rate_counters as k
    set reached_at = case
        when l.method = 'gcra' and l.id < v_limit.id then k.reached_at - l.step
        when l.method = 'gcra' then least(k.reached_at, clock_timestamp() + l.length)
        else k.reached_at
      end,
      used = case when l.method = 'fixed_window' and l.id < v_limit.id then k.used - l.weight else k.used end
    from chumbo.rate_limits as l
    where l.server_id = consume_limits.server_id and (l.capability is null or l.capability = consume_limits.capability)
      and l.id <= v_limit.id and k.limit_id = l.id and k.subject = chumbo.limit_subject(l.per, request);

    select max(case
      when l.method = 'gcra' then k.reached_at + l.step - l.length
      when k.reached_at = date_bin(l.length, clock_timestamp(), 'epoch') and k.used + l.weight > l.requests then k.reached_at + l.length
    end - clock_timestamp())
    into v_wait
    from chumbo.rate_limits as l
    join chumbo.rate_counters as k on k.limit_id = l.id and k.subject = chumbo.limit_subject(l.per, request)
    where l.server_id = consume_limits.server_id and (l.capability is null or l.capability = consume_limits.capability);
    return greatest(1, ceil(extract(epoch from v_wait)))::integer;
  end loop;

  return null;
exception
  -- Waited for a counter until the statement's time was up. What was counted is undone with this block.
  when query_canceled or lock_not_available or deadlock_detected then
    return 0;
end;
$$;
comment on function chumbo.consume_limits(bigint, text, jsonb) is
  'Counts one call against every limit that applies, all or none. Returns null when it may run, else the '
  'seconds to wait; 0 when the calls before it on the same counter took too long.';
revoke all on function chumbo.consume_limits(bigint, text, jsonb) from public, anon, authenticated;
grant execute on function chumbo.consume_limits(bigint, text, jsonb) to service_role, chumbo_runtime;

insert into chumbo.installed (number, name, hash)
values (6, 'rate_limits', '31d0ba259cdbbdcde8ca22ddc40ac5a859e68d21e99fd64c522cfa22ba86c43e') -- chumbo.installed
on conflict (number) do update set name = excluded.name, hash = excluded.hash;
-- migrate:down
