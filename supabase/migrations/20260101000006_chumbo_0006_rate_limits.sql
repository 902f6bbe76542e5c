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
  constraint rate_limits_server_id_name_key unique (server_id, name)
);
comment on table chumbo.rate_limits is 'Each row limits the calls of a server, or of one capability, for each principal, each client, or all together.';
comment on column chumbo.rate_limits.capability is 'The tool it counts; null counts every call of the server.';
comment on column chumbo.rate_limits.weight is 'How many requests one call counts for.';
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

create or replace function chumbo.consume_limits(server_id bigint, capability text, request jsonb)
  returns integer
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_now timestamptz;
  v_wait interval;
begin
  if not exists (
    select from chumbo.rate_limits as r
    where r.server_id = consume_limits.server_id and (r.capability is null or r.capability = consume_limits.capability)
  ) then
    return null;
  end if;

  -- Every counter of this call is locked first, in one order, so that two calls cannot read the same state and cannot
  -- wait for each other in a ring. The lock lasts until the call commits: calls that share a counter pass one by one.
  -- A counter further ahead than one window stems from an older, stricter policy. It is brought back here and not where
  -- it is read, because a refused call writes nothing more and would find it as far ahead the next time.
  insert into chumbo.rate_counters as k (limit_id, subject, reached_at)
  select r.id, chumbo.limit_subject(r.per, consume_limits.request), '-infinity'
  from chumbo.rate_limits as r
  where r.server_id = consume_limits.server_id and (r.capability is null or r.capability = consume_limits.capability)
  order by r.id
  on conflict on constraint rate_counters_pkey do update
  set reached_at = least(k.reached_at, clock_timestamp() + (
    select make_interval(secs => r.window_seconds) from chumbo.rate_limits as r where r.id = k.limit_id
  ));

  -- Read only after the locks are held: time spent waiting for them counts.
  v_now := clock_timestamp();

  select max(s.free_at - v_now)
  into v_wait
  from chumbo.limit_standings(consume_limits.server_id, consume_limits.capability, consume_limits.request, v_now) as s
  where s.free_at > v_now;

  -- One limit refuses, none is charged.
  if v_wait is not null then
    return greatest(1, ceil(extract(epoch from v_wait)))::integer;
  end if;

  update chumbo.rate_counters as k
  set reached_at = s.next_reached_at, used = s.next_used
  from chumbo.limit_standings(consume_limits.server_id, consume_limits.capability, consume_limits.request, v_now) as s
  where k.limit_id = s.limit_id and k.subject = s.subject;
  return null;
end;
$$;
comment on function chumbo.consume_limits(bigint, text, jsonb) is
  'Counts one call against every limit that applies, all or none. Returns null when it may run, else the seconds to wait.';

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

-- GCRA as in ITU-T I.371 with a burst of the whole allowance: a call of weight w moves the arrival time on by w intervals
-- and conforms while that stays within one window of now.
create or replace function chumbo.limit_standings(server_id bigint, capability text, request jsonb, at timestamptz)
  returns table (limit_id bigint, subject text, free_at timestamptz, next_reached_at timestamptz, next_used integer)
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  return query
  select
    r.id,
    k.subject,
    case r.method
      when 'gcra' then g.arrival - w.length
      when 'fixed_window' then case when f.used + r.weight > r.requests then f.start + w.length else at end
    end,
    case r.method when 'gcra' then g.arrival else f.start end,
    case r.method when 'gcra' then 0 else f.used + r.weight end
  from chumbo.rate_limits as r
  join chumbo.rate_counters as k
    on k.limit_id = r.id and k.subject = chumbo.limit_subject(r.per, limit_standings.request)
  cross join lateral (select make_interval(secs => r.window_seconds) as length) as w
  cross join lateral (
    select greatest(k.reached_at, at) + w.length * r.weight / r.requests as arrival
  ) as g
  cross join lateral (
    select date_bin(w.length, at, 'epoch') as start,
      case when k.reached_at = date_bin(w.length, at, 'epoch') then k.used else 0 end as used
  ) as f
  where r.server_id = limit_standings.server_id
    and (r.capability is null or r.capability = limit_standings.capability);
end;
$$;
comment on function chumbo.limit_standings(bigint, text, jsonb, timestamptz) is
  'For each limit of a call: when it is free, and where its counter stands if the call runs.';

revoke all on function chumbo.consume_limits(bigint, text, jsonb) from public, anon, authenticated;
revoke all on function chumbo.limit_subject(text, jsonb) from public, anon, authenticated;
revoke all on function chumbo.limit_standings(bigint, text, jsonb, timestamptz) from public, anon, authenticated;
grant execute on function chumbo.consume_limits(bigint, text, jsonb) to service_role, chumbo_runtime;
grant execute on function chumbo.limit_subject(text, jsonb) to service_role, chumbo_runtime;
grant execute on function chumbo.limit_standings(bigint, text, jsonb, timestamptz) to service_role, chumbo_runtime;

insert into chumbo.installed (number, name, hash)
values (6, 'rate_limits', '2abda40a21947b1c37d7fd2276e9a481623933de1090db09c689331290a114bc') -- chumbo.installed
on conflict (number) do update set name = excluded.name, hash = excluded.hash;
-- migrate:down
