-- tests/sql/chumbo_idempotency_test.sql — a call repeated with the same key happens once, for SQL tools and for code.
-- What two connections do at the same moment is tested where there are two: tests/e2e.
begin;
\ir support/people.psql
select plan(48);
\ir support/runtime.psql

select policies_are('chumbo', 'idempotency', array['select_runtime', 'insert_runtime', 'update_runtime', 'delete_runtime'], 'the runtime keeps the keys');
select policy_roles_are('chumbo', 'idempotency', policy, array['chumbo_runtime'], policy || ' is the runtime''s')
from unnest(array['select_runtime', 'insert_runtime', 'update_runtime', 'delete_runtime']) as policy;
select table_privs_are('chumbo', 'idempotency', role, array[]::text[], role || ' has no part in them') from unnest(array['anon', 'authenticated']) as role;
select table_privs_are('chumbo', 'idempotency', role, array['SELECT', 'INSERT', 'UPDATE', 'DELETE'], role || ' claims and settles')
from unnest(array['service_role', 'chumbo_runtime']) as role;

-- Arrange: a tool that counts how often it ran.
create table demo.runs (id integer generated always as identity, body text);
grant select, insert on demo.runs to authenticated;
grant usage on schema demo to service_role;
create function demo.add(body text) returns integer language plpgsql volatile as $$
declare
  v_id integer;
begin
  insert into demo.runs (body) values (add.body) returning id into v_id;
  if body = 'fails' then
    raise exception 'It failed.';
  end if;
  return v_id;
end;
$$;
create function demo.add_too(body text) returns integer language sql volatile as 'insert into demo.runs (body) values (add_too.body) returning id';
create function demo.nothing(body text) returns setof integer language sql volatile as 'select 1 where false';
select chumbo.register_tool('demo.' || name, 'demo') from unnest(array['add', 'add_too', 'nothing']) as t (name);
select chumbo.sync_capabilities('{"tools": [{"name": "code", "inputSchema": {"type": "object"}}]}', 'demo');
grant select on demo.runs to service_role;
create function tests.add(person text, body text, key text, tool text default 'add', more jsonb default '{}') returns text language sql volatile as $$
  select tests.answer(person, tool, jsonb_build_object('body', body), jsonb_build_object('idempotency_key_hash', key, 'argument_digest', 'digest of ' || body) || more)
$$;
create function tests.code(person text, key text, digest text default 'd', more jsonb default '{}') returns jsonb language sql volatile as $$
  select tests.enter(person, jsonb_build_object('operation', 'call', 'kind', 'tool', 'name', 'code', 'has_code', true, 'idempotency_key_hash', key, 'argument_digest', digest) || more)
$$;
create table tests.handles (name text, handle jsonb);
grant all on tests.handles to public;
create function tests.open(name text, key text) returns text language sql volatile as $$
  insert into tests.handles select open.name, tests.code('alice', key) -> 'receipt' returning 'opened'
$$;
create function tests.close(name text, more jsonb) returns integer language sql volatile as $$
  select public.chumbo_finish(jsonb_build_array(handle || more)) from tests.handles as h where h.name = close.name
$$;
create function tests.runs() returns bigint language sql volatile as 'select count(*) from demo.runs';
select tests.act_as_runtime();

-- SQL tools.
select is(tests.add('alice', 'x', 'k1'), 'ok {"result": 1}', 'Alice calls with a key');
select is(tests.add('alice', 'x', 'k1'), 'replayed {"result": 1}', 'and gets the same answer again');
select is(tests.runs(), 1::bigint, 'without a second row');
select results_eq($$ select r.outcome, r.bytes, first.outcome from chumbo.receipts as r left join chumbo.receipts as first on first.id = r.replay_of order by r.id $$,
  $$ values ('ok', 13, null), ('replayed', 13, 'ok') $$, 'the receipt of the replay points to the first');
select is(tests.add('alice', 'y', 'k1'), 'refused idempotency_key_reused', 'other arguments under the key are refused');
select is(tests.runs(), 1::bigint, 'and run nothing');
select is(tests.add('alice', 'x', 'k1'), 'replayed {"result": 1}', 'which the first answer survives');
select is(tests.add('alice', 'x', 'k2'), 'ok {"result": 2}', 'another key is another call');
select is(tests.add('bob', 'x', 'k1'), 'ok {"result": 3}', 'Bob''s key is Bob''s');
select is(tests.add('nobody', 'x', 'k1'), 'tool_error forbidden', 'and nobody gets nobody else''s answer');
select is(tests.add('alice', 'x', 'k1', more => '{"client_id": null}'), 'ok {"result": 4}', 'a key belongs to a client');
select is(tests.add('alice', 'x', 'k1', 'add_too'), 'ok {"result": 5}', 'another tool under the same key is another call');
select is(tests.answer('alice', 'add', '{"body": "x"}'), 'ok {"result": 6}', 'without a key every call happens');
select is(tests.answer('alice', 'add', '{"body": "x"}'), 'ok {"result": 7}', 'each time');

-- A call that failed left nothing, so its key is free.
select is(tests.add('alice', 'fails', 'k3'), 'tool_error tool_failed It failed.', 'a failing call');
select is_empty($$ select from chumbo.idempotency where key_hash = 'k3' $$, 'keeps no key');
select is(tests.add('alice', 'fails', 'k3'), 'tool_error tool_failed It failed.', 'is tried again with the same key');
select is(tests.add('alice', 'x', 'k3'), 'ok {"result": 10}', 'or with other arguments');
select is(tests.add('alice', 'x', 'k4', 'nothing'), 'tool_error no_rows_changed', 'a call that changed nothing');
select is_empty($$ select from chumbo.idempotency where key_hash = 'k4' $$, 'keeps no key either');
select is(tests.answer('alice', 'add', '{"bdoy": "x"}', '{"idempotency_key_hash": "k5"}'), 'refused invalid_arguments There is no argument `bdoy`.', 'a call with bad arguments');
select is_empty($$ select from chumbo.idempotency where key_hash = 'k5' $$, 'never claims one');

-- For 24 hours.
select results_eq($$ select distinct date_trunc('hour', expires_at - created_at) from chumbo.idempotency $$, $$ values (interval '24 hours') $$, 'a key is kept for a day');
select tests.act_as_owner();
update chumbo.idempotency set expires_at = clock_timestamp() where key_hash = 'k1';
select tests.act_as_runtime();
select is(tests.add('alice', 'y', 'k1'), 'ok {"result": 11}', 'after that it is new');
select is(tests.add('alice', 'y', 'k1'), 'replayed {"result": 11}', 'and kept anew');

-- Code: the claim is made when the call is admitted and settled when it is finished.
select is(tests.open('first', 'c1'), 'opened', 'a call of code with a key is admitted');
select results_eq($$ select status, receipt_id from chumbo.idempotency where key_hash = 'c1' $$, $$ select 'running', (handle ->> 'id')::uuid from tests.handles where name = 'first' $$, 'and claims it');
select is(tests.told(tests.code('alice', 'c1')), 'refused idempotency_in_progress', 'meanwhile the same call is refused');
select is(tests.code('alice', 'c1', more => '{"may_wait": true}') - 'revision', '{"outcome": "wait"}', 'or asked to wait, if it can');
select is((select count(*) from chumbo.receipts where capability = 'code'), 2::bigint, 'and waiting leaves no receipt');
select is(tests.told(tests.code('alice', 'c1', 'other')), 'refused idempotency_key_reused', 'other arguments do not wait');
select is(tests.told(tests.code('bob', 'c1')), 'admitted', 'Bob waits for nobody');
select is(tests.close('first', '{"outcome": "ok", "result": "{\"a\": 1}"}'), 1, 'when it is finished');
select is(tests.code('alice', 'c1') - array['receipt', 'revision', 'server', 'scopes'], '{"outcome": "replayed", "result": "{\"a\": 1}", "error": null}', 'its answer is replayed');
select is((select r.replay_of from chumbo.receipts as r where r.outcome = 'replayed' order by id desc limit 1), (select (handle ->> 'id')::uuid from tests.handles where name = 'first'),
  'and the receipt points to it');
select tests.open('second', 'c2');
select tests.close('second', '{"outcome": "tool_error", "code": "tool_failed", "result": "{\"isError\": true}"}');
select is(tests.code('alice', 'c2') ->> 'result', '{"isError": true}', 'a failure is replayed as well: what code did before it cannot be undone');
select tests.open('third', 'c3');
select tests.close('third', '{"outcome": "refused", "code": "unknown_capability"}');
select is(tests.told(tests.code('alice', 'c3')), 'admitted', 'a call that never ran frees its key');

-- A name that changes hands.
select tests.open('fourth', 'c4');
select tests.act_as_owner();
delete from chumbo.capabilities where name = 'code';
select chumbo.register_tool('demo.add_too', 'demo', name => 'code');
select tests.act_as_runtime();
select is(tests.answer('alice', 'code', '{"body": "x"}', '{"idempotency_key_hash": "c4", "argument_digest": "d"}'), 'refused idempotency_in_progress', 'a key that code holds is not answered by a SQL tool');
select is(tests.answer('alice', 'code', '{"body": "x"}', '{"idempotency_key_hash": "c1", "argument_digest": "d"}'), 'replayed {"a": 1}', 'one that code has answered is');

select * from finish();
rollback;
