-- migrate:up
-- 0008_idempotency.sql — a call repeated with the same key happens once.

create table if not exists chumbo.idempotency (
  server_id bigint not null references chumbo.servers on delete cascade,
  subject text not null,
  client_id text not null,
  capability text collate "C" not null,
  key_hash text not null,
  argument_digest text,
  status text not null constraint idempotency_status_is_known check (status in ('running', 'done')),
  outcome text,
  result text,
  receipt_id uuid,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  -- The unique row is the lock: a second call waits here until the first has committed or rolled back.
  primary key (server_id, subject, client_id, capability, key_hash)
);
comment on table chumbo.idempotency is
  'The answer to each call that carried a key, for 24 hours. For a SQL tool the row commits together with the effect.';
comment on column chumbo.idempotency.result is 'The answer as JSON text; readable by the runtime only.';
create index if not exists idempotency_expires_at_idx on chumbo.idempotency (expires_at);
create index if not exists idempotency_receipt_id_idx on chumbo.idempotency (receipt_id) where status = 'running';

alter table chumbo.idempotency enable row level security;
drop policy if exists select_runtime on chumbo.idempotency;
create policy select_runtime on chumbo.idempotency for select to chumbo_runtime using (true);
drop policy if exists insert_runtime on chumbo.idempotency;
create policy insert_runtime on chumbo.idempotency for insert to chumbo_runtime with check (true);
drop policy if exists update_runtime on chumbo.idempotency;
create policy update_runtime on chumbo.idempotency for update to chumbo_runtime using (true);
drop policy if exists delete_runtime on chumbo.idempotency;
create policy delete_runtime on chumbo.idempotency for delete to chumbo_runtime using (true);
revoke all on chumbo.idempotency from public, anon, authenticated, service_role;
grant select, insert, update, delete on chumbo.idempotency to service_role, chumbo_runtime;

create or replace function chumbo.claim_key(server_id bigint, capability text, request jsonb)
  returns chumbo.idempotency
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_row chumbo.idempotency;
begin
  loop
    -- Waits for a concurrent holder of the same key. An expired row is taken over as if it were not there.
    insert into chumbo.idempotency as i (server_id, subject, client_id, capability, key_hash, argument_digest, status, expires_at)
    values (
      claim_key.server_id, coalesce(request ->> 'subject', ''), coalesce(request ->> 'client_id', ''), claim_key.capability,
      request ->> 'idempotency_key_hash', request ->> 'argument_digest', 'running', clock_timestamp() + interval '24 hours'
    )
    on conflict on constraint idempotency_pkey do update
    set argument_digest = excluded.argument_digest, status = 'running', outcome = null, result = null, receipt_id = null,
      created_at = excluded.created_at, expires_at = excluded.expires_at
    where i.expires_at <= clock_timestamp();
    if found then
      return null;
    end if;

    select i.*
    into v_row
    from chumbo.idempotency as i
    where i.server_id = claim_key.server_id
      and i.subject = coalesce(request ->> 'subject', '')
      and i.client_id = coalesce(request ->> 'client_id', '')
      and i.capability = claim_key.capability
      and i.key_hash = request ->> 'idempotency_key_hash';
    -- Not found means that the holder has just withdrawn its claim because its tool failed; claim again.
    if found then
      return v_row;
    end if;
  end loop;
exception
  -- The holder took longer than this statement may; whether it takes effect is not known yet.
  when query_canceled or lock_not_available then
    v_row.key_hash := request ->> 'idempotency_key_hash';
    v_row.argument_digest := request ->> 'argument_digest';
    v_row.status := 'running';
    return v_row;
end;
$$;
comment on function chumbo.claim_key(bigint, text, jsonb) is
  'Takes the idempotency key of a call and returns null, or returns the row of the call that took it before.';
revoke all on function chumbo.claim_key(bigint, text, jsonb) from public, anon, authenticated;
grant execute on function chumbo.claim_key(bigint, text, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.settle_key(
  server_id bigint, capability text, request jsonb, outcome text, result text, receipt_id uuid
)
  returns void
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
begin
  -- A failed call left no effect, so the same key may try again.
  if outcome = 'ok' then
    update chumbo.idempotency as i
    set status = 'done', outcome = settle_key.outcome, result = settle_key.result, receipt_id = settle_key.receipt_id
    where i.server_id = settle_key.server_id
      and i.subject = coalesce(request ->> 'subject', '')
      and i.client_id = coalesce(request ->> 'client_id', '')
      and i.capability = settle_key.capability
      and i.key_hash = request ->> 'idempotency_key_hash';
  else
    delete from chumbo.idempotency as i
    where i.server_id = settle_key.server_id
      and i.subject = coalesce(request ->> 'subject', '')
      and i.client_id = coalesce(request ->> 'client_id', '')
      and i.capability = settle_key.capability
      and i.key_hash = request ->> 'idempotency_key_hash';
  end if;
end;
$$;
comment on function chumbo.settle_key(bigint, text, jsonb, text, text, uuid) is
  'Keeps the answer under the key when the call succeeded, else frees the key.';
revoke all on function chumbo.settle_key(bigint, text, jsonb, text, text, uuid) from public, anon, authenticated;
grant execute on function chumbo.settle_key(bigint, text, jsonb, text, text, uuid) to service_role, chumbo_runtime;

create or replace function chumbo.maintain(keep interval default '90 days')
  returns jsonb
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_receipts jsonb := chumbo.maintain_receipts(keep);
  v_rest integer;
  v_keys integer;
  v_counters integer;
begin
  -- In batches: one run must not hold locks for long, and the next run goes on.
  delete from chumbo.receipts_rest as r
  where (r.id, r.created_at) in (
    select o.id, o.created_at from chumbo.receipts_rest as o where o.created_at < now() - keep limit 10000);
  get diagnostics v_rest = row_count;

  delete from chumbo.idempotency as i
  where i.ctid = any (array(
    select o.ctid from chumbo.idempotency as o where o.expires_at < now() limit 10000 for update skip locked));
  get diagnostics v_keys = row_count;

  -- The longest window is 31 days, so an older counter counts for nothing.
  delete from chumbo.rate_counters as k
  where k.ctid = any (array(
    select o.ctid from chumbo.rate_counters as o where o.reached_at < now() - interval '31 days' limit 10000 for update skip locked));
  get diagnostics v_counters = row_count;

  return v_receipts || jsonb_build_object('receipts', v_rest, 'keys', v_keys, 'counters', v_counters);
end;
$$;
comment on function chumbo.maintain(interval) is
  'The upkeep of everything that grows: partitions ahead, receipts older than keep, expired keys, idle counters. Run it daily, by '
  'pg_cron or by hand; repeating it changes nothing. Returns how many partitions were created and dropped and how many rows went.';
revoke all on function chumbo.maintain(interval) from public, anon, authenticated, service_role;

insert into chumbo.installed (number, name, hash)
values (8, 'idempotency', 'baa7dca6f26539bd73ca7c5d77c80d56e7bc304b2cd7c29ae980848ec4be6c3c') -- chumbo.installed
on conflict (number) do update set name = excluded.name, hash = excluded.hash;
-- migrate:down
