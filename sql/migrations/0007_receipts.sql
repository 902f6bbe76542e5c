-- migrate:up
-- 0007_receipts.sql — what happened: one row per call, readable by the person it was made for.

create table if not exists chumbo.receipts (
  id uuid not null default chumbo.uuid_v7(),
  created_at timestamptz not null default clock_timestamp(),
  server text not null,
  kind text not null,
  capability text,
  subject text,
  client_id text,
  strategy text not null,
  trace_id text not null,
  outcome text not null
    constraint receipts_outcome_is_known check (outcome in ('open', 'ok', 'tool_error', 'refused', 'replayed')),
  code text,
  row_count integer,
  bytes integer,
  truncated boolean not null default false,
  duration_ms numeric(12, 3),
  argument_digest text,
  idempotency_key_hash text,
  replay_of uuid,
  primary key (id, created_at)
) partition by range (created_at);
comment on table chumbo.receipts is
  'One row per call, refused ones included. Never arguments, results, tokens or SQL text. Old rows leave with their partition.';
comment on column chumbo.receipts.outcome is
  'open while a TypeScript handler runs, and for ever when its process died: then nobody knows how it ended.';
comment on column chumbo.receipts.capability is 'The name asked for; null when it could not be a name.';
comment on column chumbo.receipts.argument_digest is 'Keyed digest of the arguments: equal calls compare, nothing can be guessed back.';
create index if not exists receipts_subject_created_at_idx on chumbo.receipts (subject, created_at desc);

-- Catches what no dated partition covers, so that a call never fails for want of upkeep.
create table if not exists chumbo.receipts_rest partition of chumbo.receipts default;

create or replace function chumbo.maintain_receipts(keep interval default '90 days', ahead interval default '1 year')
  returns jsonb
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_month timestamptz := date_trunc('month', now(), 'UTC');
  v_partition text;
  v_created integer := 0;
  v_dropped integer := 0;
begin
  -- One upkeep at a time; the lock ends with the transaction.
  perform pg_advisory_xact_lock(hashtext('chumbo.maintain_receipts'));

  while v_month <= now() + ahead loop
    v_partition := format('receipts_%s', to_char(v_month at time zone 'UTC', 'YYYY_MM'));
    if to_regclass('chumbo.' || v_partition) is null
      -- Rows already caught by the rest keep their month there: moving them would lock out every call.
      and not exists (
        select from chumbo.receipts_rest as r where r.created_at >= v_month and r.created_at < v_month + interval '1 month'
      )
    then
      execute format('create table chumbo.%I partition of chumbo.receipts for values from (%L) to (%L)',
        v_partition, v_month, v_month + interval '1 month');
      execute format('alter table chumbo.%I enable row level security', v_partition);
      execute format('revoke all on chumbo.%I from public, anon, authenticated, service_role', v_partition);
      v_created := v_created + 1;
    end if;
    v_month := v_month + interval '1 month';
  end loop;

  for v_partition in
    select c.relname
    from pg_catalog.pg_inherits as i
    join pg_catalog.pg_class as c on c.oid = i.inhrelid
    where i.inhparent = 'chumbo.receipts'::regclass
      and c.relname ~ '^receipts_[0-9]{4}_[0-9]{2}$'
      and to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month' < now() - keep
  loop
    execute format('drop table chumbo.%I', v_partition);
    v_dropped := v_dropped + 1;
  end loop;

  return jsonb_build_object('created', v_created, 'dropped', v_dropped);
end;
$$;
comment on function chumbo.maintain_receipts(interval, interval) is
  'Creates the monthly partitions of the time ahead and drops those whose every receipt is older than keep. Repeating it changes nothing.';
revoke all on function chumbo.maintain_receipts(interval, interval) from public, anon, authenticated, service_role;
select chumbo.maintain_receipts();

alter table chumbo.receipts enable row level security;
alter table chumbo.receipts_rest enable row level security;
drop policy if exists select_own on chumbo.receipts;
create policy select_own on chumbo.receipts for select to authenticated using (subject = (select auth.uid())::text);
drop policy if exists select_runtime on chumbo.receipts;
create policy select_runtime on chumbo.receipts for select to chumbo_runtime using (true);
drop policy if exists insert_runtime on chumbo.receipts;
create policy insert_runtime on chumbo.receipts for insert to chumbo_runtime with check (true);
drop policy if exists update_runtime on chumbo.receipts;
create policy update_runtime on chumbo.receipts for update to chumbo_runtime using (true);

revoke all on chumbo.receipts, chumbo.receipts_rest from public, anon, authenticated, service_role;
grant select, insert on chumbo.receipts to service_role, chumbo_runtime;
grant update (capability, kind, outcome, code, row_count, bytes, truncated, duration_ms) on chumbo.receipts to service_role, chumbo_runtime;
-- The view below runs with its reader's rights, so the reader needs these; the schema itself stays off the Data API.
grant usage on schema chumbo to authenticated;
grant select (id, created_at, server, kind, capability, subject, client_id, strategy, trace_id, outcome, code, row_count, bytes, truncated,
  duration_ms, replay_of) on chumbo.receipts to authenticated;

create or replace view public.chumbo_receipts with (security_invoker = true) as
  select r.id, r.created_at, r.server, r.kind, r.capability, r.client_id, r.strategy, r.outcome, r.code, r.row_count, r.bytes,
    r.truncated, r.duration_ms, r.trace_id, r.replay_of
  from chumbo.receipts as r;
comment on view public.chumbo_receipts is 'What agents did in the reader''s name: the caller''s own receipts.';
revoke all on public.chumbo_receipts from public, anon, authenticated, service_role;
grant select on public.chumbo_receipts to authenticated;

create or replace function chumbo.write_receipt(
  server text, kind text, capability text, request jsonb, outcome text, code text,
  row_count integer, bytes integer, truncated boolean, duration_ms numeric, replay_of uuid
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
    argument_digest, idempotency_key_hash, replay_of
  )
  values (
    server, kind, case when capability ~ '^[A-Za-z0-9_-]{1,64}$' then capability end,
    request ->> 'subject', request ->> 'client_id', coalesce(request ->> 'strategy', 'unknown'), coalesce(request ->> 'trace_id', ''),
    outcome, code, row_count, bytes, coalesce(truncated, false), duration_ms,
    request ->> 'argument_digest', request ->> 'idempotency_key_hash', replay_of
  )
  returning jsonb_build_object('id', r.id, 'created_at', r.created_at) into v_handle;

  return v_handle;
end;
$$;
comment on function chumbo.write_receipt(text, text, text, jsonb, text, text, integer, integer, boolean, numeric, uuid) is
  'Writes one receipt and returns {id, created_at}, by which it can be closed.';
revoke all on function chumbo.write_receipt(text, text, text, jsonb, text, text, integer, integer, boolean, numeric, uuid)
  from public, anon, authenticated;
grant execute on function chumbo.write_receipt(text, text, text, jsonb, text, text, integer, integer, boolean, numeric, uuid)
  to service_role, chumbo_runtime;

insert into chumbo.installed (number, name, hash)
values (7, 'receipts', '71fc67e5c95ba3c5de5ce8888abce18ba76a36a1a9624d2522f661b592c2e449') -- chumbo.installed
on conflict (number) do update set name = excluded.name, hash = excluded.hash;
-- migrate:down
