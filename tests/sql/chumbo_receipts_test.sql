-- tests/sql/chumbo_receipts_test.sql — receipts: who reads them, who writes them, where they are kept, and for how long.
begin;
\ir support/people.psql
select plan(58);
\ir support/runtime.psql

select policies_are('chumbo', 'receipts', array['select_own', 'select_runtime', 'insert_runtime', 'update_runtime'], 'four policies and no more');
select policy_roles_are('chumbo', 'receipts', 'select_own', array['authenticated'], 'a person reads');
select policy_cmd_is('chumbo', 'receipts', 'select_own', 'select', 'and only reads');
select policy_roles_are('chumbo', 'receipts', policy, array['chumbo_runtime'], policy || ' is the runtime''s')
from unnest(array['select_runtime', 'insert_runtime', 'update_runtime']) as policy;
select table_privs_are('chumbo', 'receipts', role, array[]::text[], role || ' has no privilege on the whole table') from unnest(array['anon', 'authenticated']) as role;
select table_privs_are('chumbo', 'receipts', role, array['INSERT', 'SELECT'], role || ' writes receipts and removes none') from unnest(array['service_role', 'chumbo_runtime']) as role;
select table_privs_are('public', 'chumbo_receipts', 'authenticated', array['SELECT'], 'authenticated reads the view');
select table_privs_are('public', 'chumbo_receipts', role, array[]::text[], role || ' does not') from unnest(array['anon', 'service_role', 'chumbo_runtime']) as role;
select function_privs_are('chumbo', 'maintain_receipts', array['interval', 'interval'], role, array[]::text[], role || ' does not maintain them')
from unnest(array['authenticated', 'service_role', 'chumbo_runtime']) as role;
select is_empty($$ select column_name from information_schema.columns where table_schema = 'public' and table_name = 'chumbo_receipts'
    and column_name in ('argument_digest', 'idempotency_key_hash', 'subject') $$, 'the view shows no digest, no key, and whose it is goes without saying');
select columns_are('public', 'chumbo_receipts', array['id', 'created_at', 'server', 'kind', 'capability', 'client_id', 'strategy', 'outcome', 'code', 'row_count', 'bytes',
  'truncated', 'duration_ms', 'trace_id', 'replay_of'], 'but what happened');

-- Arrange: each person has called once, nobody too, and Alice is refused once.
create function demo.hello() returns text language sql stable as $$ select 'hello'::text $$;
grant execute on function demo.hello() to anon;
select chumbo.register_tool('demo.hello', 'demo');
select tests.act_as_runtime();
select tests.answer(person, 'hello', more => '{"argument_digest": "d", "idempotency_key_hash": "k"}') from unnest(array['alice', 'bob', 'nobody']) as person;
select tests.answer('alice', 'absent');
select tests.act_as_owner();

-- Reading.
grant usage on schema tests to authenticated;
select tests.act_as('alice');
select results_eq($$ select server, kind, capability, client_id, strategy, outcome, code, row_count, bytes, truncated, trace_id, replay_of from public.chumbo_receipts order by id $$,
  format($$ values ('demo', 'tool', 'hello', %1$L, 'oauth', 'ok', null, 1, 19, false, 'trace of alice', null::uuid),
    ('demo', 'tool', 'absent', %1$L, 'oauth', 'refused', 'unknown_capability', null, null, false, 'trace of alice', null) $$, tests.client('alice')), 'Alice reads her own receipts, refusals too');
select results_eq('select capability from chumbo.receipts order by id', array['hello', 'absent'], 'and from the table no others');
select throws_ok('select argument_digest from chumbo.receipts', '42501', null, 'a digest she does not read');
select throws_ok('select * from chumbo.receipts', '42501', null, 'so not all columns at once');
select throws_ok('select * from chumbo.receipts_rest', '42501', null, 'nor a partition');
select tests.act_as('bob');
select results_eq('select capability from public.chumbo_receipts', array['hello'], 'Bob reads his');
select tests.act_as('carol');
select is_empty('select * from public.chumbo_receipts', 'Carol, who made no call, reads none');
select set_config('request.jwt.claims', '{"role": "authenticated"}', true);
select is_empty('select * from public.chumbo_receipts', 'who has no subject reads none, and nobody''s are not his');
set local role anon;
select throws_ok('select * from public.chumbo_receipts', '42501', null, 'anon reads none');
select throws_ok('select id from chumbo.receipts', '42501', null, 'by no way');

-- Writing. Blanket statements, without where: a loose policy would show.
select tests.act_as_owner();
create function tests.refuses(statement text) returns text language sql volatile as $$ select throws_ok(statement, '42501', null, 'Alice cannot: ' || statement) $$;
grant execute on function tests.refuses(text) to public;
select tests.act_as('alice');
select tests.refuses(statement)
from unnest(array[$$ insert into chumbo.receipts (server, kind, strategy, trace_id, outcome) values ('demo', 'tool', 'x', 'x', 'ok') $$,
  $$ insert into public.chumbo_receipts (id) values (gen_random_uuid()) $$, $$ update chumbo.receipts set outcome = 'ok' $$, $$ update public.chumbo_receipts set outcome = 'ok' $$,
  'delete from chumbo.receipts', 'delete from public.chumbo_receipts', 'truncate chumbo.receipts', 'truncate chumbo.receipts_rest']) as statement;
select tests.act_as_owner();
set local role chumbo_runtime;
select throws_ok('delete from chumbo.receipts', '42501', null, 'the runtime removes no receipt');
select throws_ok($$ update chumbo.receipts set subject = 'x' $$, '42501', null, 'and gives none to somebody else');
reset role;

-- Partitions.
create function tests.partition_of(at timestamptz) returns text language plpgsql volatile as $$
declare
  v_partition text;
begin
  insert into chumbo.receipts (created_at, server, kind, strategy, trace_id, outcome) values (at, 'demo', 'tool', 'x', 'x', 'ok') returning tableoid::regclass::text into v_partition;
  return v_partition;
end;
$$;
create function tests.partition_name(at timestamptz) returns text language sql immutable as $$ select 'chumbo.receipts_' || to_char(at at time zone 'UTC', 'YYYY_MM') $$;
select is(tests.partition_of(now()), tests.partition_name(now()), 'a receipt of today is in the partition of its month');
select is(tests.partition_of(now() + interval '11 months'), tests.partition_name(now() + interval '11 months'), 'and one of next year in its own');
select is(tests.partition_of(now() + interval '20 years'), 'chumbo.receipts_rest', 'what no partition covers is caught');
select is(tests.partition_of('2001-01-01'), 'chumbo.receipts_rest', 'at both ends');
select is(chumbo.maintain_receipts(), '{"created": 0, "dropped": 0}', 'upkeep that was done is done');
select is(chumbo.maintain_receipts(ahead => '14 months'), '{"created": 2, "dropped": 0}', 'further ahead there are more to make');
select is(chumbo.maintain_receipts(ahead => '14 months'), '{"created": 0, "dropped": 0}', 'once');
select tests.partition_of(date_trunc('month', now(), 'UTC') + interval '16 months');
select is(chumbo.maintain_receipts(ahead => '17 months'), (select jsonb_build_object('created', 2, 'dropped', 0)), 'a month of which the rest holds a receipt is left to it');
select is_empty($$ select from pg_class where relkind = 'r' and relnamespace = 'chumbo'::regnamespace and relname like 'receipts\_%'
    and (not relrowsecurity or has_any_column_privilege('service_role', oid, 'select') or has_any_column_privilege('authenticated', oid, 'select')) $$, 'each partition is closed');

-- Dropping: as if the oldest partition were that of last winter.
do $$ begin
  execute format('create table chumbo.receipts_2020_01 partition of chumbo.receipts for values from (%L) to (%L)', '2020-01-01 00:00+00', '2020-02-01 00:00+00');
end $$;
select is(tests.partition_of('2020-01-15'), 'chumbo.receipts_2020_01', 'an old receipt is in an old partition');
select is(chumbo.maintain_receipts(keep => now() - '2020-01-31'::timestamptz), '{"created": 0, "dropped": 0}', 'which stays while one of its days is to be kept');
select is(chumbo.maintain_receipts(), '{"created": 0, "dropped": 1}', 'and is dropped whole afterwards');
select is(to_regclass('chumbo.receipts_2020_01'), null, 'with all that was in it');
select isnt_empty($$ select from chumbo.receipts where created_at >= now() $$, 'and nothing else');

-- maintain: one upkeep for all that grows.
select is(chumbo.maintain(), '{"created": 0, "dropped": 0, "receipts": 1, "keys": 0, "counters": 0}', 'what the rest holds of old receipts goes too');
select is(chumbo.maintain(), '{"created": 0, "dropped": 0, "receipts": 0, "keys": 0, "counters": 0}', 'once');
update chumbo.idempotency set expires_at = now() - interval '1 second';
select chumbo.set_rate_limit('l', 'demo');
insert into chumbo.rate_counters (limit_id, subject, reached_at) select id, age, now() - age::interval from chumbo.rate_limits, unnest(array['32 days', '30 days']) as age where name = 'l';
select is(chumbo.maintain(), '{"created": 0, "dropped": 0, "receipts": 0, "keys": 3, "counters": 1}', 'expired keys and idle counters as well');

-- What a receipt cannot hold.
select throws_like($$ insert into chumbo.receipts (server, kind, strategy, trace_id, outcome) values ('demo', 'tool', 'x', 'x', 'splendid') $$, '%"receipts_outcome_is_known"', 'an outcome nobody knows');
select results_eq('select count(distinct id), bool_and(substring(id::text, 15, 1) = ''7'') from chumbo.receipts', 'select count(*), true from chumbo.receipts', 'identifiers are of version 7, and each once');

select * from finish();
rollback;
