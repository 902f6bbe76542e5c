-- tests/sql/chumbo_rate_limits_test.sql — set_rate_limit, consume_limits: how often, for whom, all or none. The clock is the
-- database's, so a test moves the counters instead of waiting.
begin;
\ir support/people.psql
select plan(73);
\ir support/runtime.psql

select policies_are('chumbo', 'rate_limits', array['select_runtime'], 'the runtime reads limits');
select policies_are('chumbo', 'rate_counters', array['select_runtime', 'insert_runtime', 'update_runtime'], 'and keeps the counters');
select policy_roles_are('chumbo', 'rate_counters', policy, array['chumbo_runtime'], policy || ' is the runtime''s')
from unnest(array['select_runtime', 'insert_runtime', 'update_runtime']) as policy;
select table_privs_are('chumbo', relation, role, array[]::text[], format('%s has no part in %s', role, relation))
from unnest(array['rate_limits', 'rate_counters']) as relation, unnest(array['anon', 'authenticated']) as role;
select table_privs_are('chumbo', 'rate_counters', role, array['SELECT', 'INSERT', 'UPDATE'], role || ' counts') from unnest(array['service_role', 'chumbo_runtime']) as role;
select table_privs_are('chumbo', 'rate_limits', role, array['SELECT'], role || ' changes no limit') from unnest(array['service_role', 'chumbo_runtime']) as role;
select function_privs_are('chumbo', 'set_rate_limit', array['text', 'text', 'text', 'text', 'integer', 'integer', 'integer', 'text'], role, array[]::text[], role || ' sets none')
from unnest(array['authenticated', 'service_role', 'chumbo_runtime']) as role;

-- set_rate_limit.
select throws_ok(format('select chumbo.set_rate_limit(%s)', arguments), 'PT400', 'invalid_option', arguments || ' is refused')
from unnest(array[$$ 'l', per => 'person' $$, $$ 'l', method => 'token' $$, $$ 'l', requests => 0 $$, $$ 'l', window_seconds => 0 $$, $$ 'l', window_seconds => 2678401 $$,
  $$ 'l', weight => 0 $$, $$ 'l', requests => 5, weight => 6 $$, $$ 'a b' $$, $$ null $$, $$ 'l', per => null $$]) as a (arguments);
select throws_ok($$ select chumbo.set_rate_limit('l', 'absent') $$, 'PT404', 'unknown_server', 'the server has to be there');
select is(chumbo.set_rate_limit('l', 'demo', requests => 3), chumbo.set_rate_limit('l', 'demo', requests => 4), 'repeating it meets the same limit');
select results_eq($$ select capability collate "default", per, requests, window_seconds, weight, method from chumbo.rate_limits where name = 'l' and server_id = chumbo.server_id('demo') $$,
  $$ values (null, 'principal', 4, 60, 1, 'gcra') $$, 'and changes it');

-- Arrange: a tool to call and a way to say how many of a number of calls run.
create function demo.hello() returns text language sql stable as $$ select 'hello'::text $$;
grant execute on function demo.hello() to anon;
create function demo.other() returns text language sql stable as $$ select 'other'::text $$;
select chumbo.register_tool('demo.' || name, 'demo') from unnest(array['hello', 'other']) as t (name);
create function tests.limit_to(variadic options text[]) returns void language plpgsql as $$
declare
  v_options text;
begin
  truncate chumbo.rate_counters;
  delete from chumbo.rate_limits where server_id = chumbo.server_id('demo');
  foreach v_options in array options loop
    execute format('select chumbo.set_rate_limit(%s)', v_options);
  end loop;
end;
$$;
create function tests.run(calls integer, person text default 'alice', tool text default 'hello') returns integer language sql volatile as $$
  select count(*) filter (where tests.answer(person, tool) like 'ok %')::integer from generate_series(1, calls)
$$;
create function tests.wait(person text default 'alice', tool text default 'hello') returns integer language sql volatile as $$
  select (tests.call(person, tool) #>> '{error,retry_after}')::integer
$$;
-- As if this much time had passed.
create function tests.pass(seconds numeric) returns void language sql volatile as $$
  update chumbo.rate_counters set reached_at = reached_at - make_interval(secs => seconds)
$$;

-- gcra: the whole allowance at once, then evenly.
select tests.limit_to($$ 'l', 'demo', requests => 6, window_seconds => 60 $$);
select is(tests.run(10), 6, 'of ten calls at once six run');
select is(tests.answer('alice', 'hello'), 'refused rate_limited', 'the next is refused');
select is(tests.wait(), 10, 'and told to wait a sixth of the window');
select results_eq($$ select outcome, code, count(*) from chumbo.receipts group by 1, 2 order by 1 $$, $$ values ('ok', null, 6::bigint), ('refused', 'rate_limited', 6) $$,
  'each call, run or refused, left its receipt');
select is(tests.run(1, 'bob'), 1, 'Bob has his own allowance');
select tests.pass(9);
select is(tests.run(3), 0, 'a moment too early is too early');
select is(tests.wait(), 1, 'with a second left');
select tests.pass(1.1);
select is(tests.run(3), 1, 'after a sixth of the window one call runs');
select tests.pass(30);
select is(tests.run(10), 3, 'after half of it three');
select tests.pass(10000);
select is(tests.run(10), 6, 'and after however long no more than the allowance');

-- fixed_window: anew at each multiple of the window. A window of a month, so that this test meets no edge.
select tests.limit_to($$ 'l', 'demo', requests => 3, window_seconds => 2678400, method => 'fixed_window' $$);
select is(tests.run(5), 3, 'of five calls three run');
select cmp_ok(tests.wait(), '<=', 2678400, 'the wait ends with the window');
select is((select reached_at from chumbo.rate_counters), date_bin('2678400 seconds', now(), 'epoch'), 'which begins at a multiple of its length');
select tests.pass(2678400);
select is(tests.run(5), 3, 'in the next window three more');

-- Weight.
select tests.limit_to($$ 'l', 'demo', requests => 6, weight => 2 $$);
select is(tests.run(10), 3, 'a call of weight two counts twice');
select tests.limit_to($$ 'l', 'demo', requests => 6, weight => 4, window_seconds => 2678400, method => 'fixed_window' $$);
select is(tests.run(10), 1, 'a second one that would not fit whole does not run');

-- Whom it counts.
select tests.limit_to($$ 'l', 'demo', per => 'client', requests => 3 $$);
select is(tests.run(2), 2, 'Alice calls twice');
select is((select count(*) filter (where tests.answer('alice', 'hello', more => jsonb_build_object('subject', tests.person('bob'))) like 'ok %') from generate_series(1, 3)), 1::bigint,
  'another user of her client has what she left');
select is(tests.run(3, 'bob'), 3, 'another client its own');
select is(tests.run(3, 'carol') + tests.run(3, 'nobody'), 3, 'and callers without a client share one');
select tests.limit_to($$ 'l', 'demo', per => 'server', requests => 4 $$);
select is(array[tests.run(2), tests.run(2, 'bob'), tests.run(2, 'carol')], array[2, 2, 0], 'a limit of the server counts everybody together');
select tests.limit_to($$ 'l', 'demo', requests => 2 $$);
select is(array[tests.run(3, 'nobody'), tests.run(3, 'carol')], array[2, 2], 'nobody is one principal, and not Carol');

-- What it counts.
select tests.limit_to($$ 'l', 'demo', 'hello', requests => 2 $$);
select is(array[tests.run(3), tests.run(3, tool => 'other')], array[2, 3], 'a limit of one tool leaves the others alone');
select tests.limit_to($$ 'l', 'demo', requests => 2 $$);
select is(array[tests.run(1), tests.run(3, tool => 'other')], array[1, 1], 'a limit of every call counts all tools');
select tests.limit_to($$ 'l', 'default', requests => 1 $$);
select is(tests.run(3), 3, 'a limit of another server none');
select tests.limit_to($$ 'l', 'demo', requests => 2 $$);
select is((select count(*) from generate_series(1, 5) where tests.enter('alice', '{"operation": "list", "kind": "tool"}') ->> 'outcome' = 'listed'), 5::bigint, 'lists are not calls');
select is(tests.run(3), 2, 'and are not counted');

-- Several limits: all or none.
select tests.limit_to($$ 'all', 'demo', requests => 3 $$, $$ 'one', 'demo', 'hello', requests => 1 $$);
select is(array[tests.run(3), tests.run(3, tool => 'other')], array[1, 2], 'a call that one limit refuses costs nothing of another');
select is(tests.wait(), 60, 'and the wait is the longest of them');
select tests.limit_to($$ 'all', 'demo', requests => 3, window_seconds => 2678400, method => 'fixed_window' $$, $$ 'one', 'demo', 'hello', requests => 1 $$);
select is(array[tests.run(3), tests.run(3, tool => 'other')], array[1, 2], 'nor of one that counts by the window');
select tests.limit_to($$ 'one', 'demo', 'hello', requests => 1 $$, $$ 'all', 'demo', requests => 3 $$);
select is(array[tests.run(3), tests.run(3, tool => 'other')], array[1, 2], 'whichever of them was there first');

-- What was not run does not count twice, and what is unknown counts as a call of the server alone.
select tests.limit_to($$ 'l', 'demo', requests => 2 $$);
select is(tests.told(tests.call('alice', 'hello', more => '{"attempt": 2}')), 'ok {"result": "hello"}', 'a call that asks again');
select is(tests.run(3), 2, 'is not counted again');
select tests.limit_to($$ 'l', 'demo', requests => 2 $$);
select is(array[tests.answer('alice', 'absent'), tests.answer('alice', 'absent'), tests.answer('alice', 'absent')],
  array['refused unknown_capability', 'refused unknown_capability', 'refused rate_limited'], 'guessing names is limited as well');
select chumbo.define_scope('hidden');
select chumbo.register_tool('demo.other', 'demo', name => 'hidden', scopes => '{hidden}');
select tests.limit_to($$ 'l', 'demo', 'hidden', requests => 1 $$);
select is(array[tests.answer('alice', 'hidden'), tests.answer('alice', 'hidden')], array['refused unknown_capability', 'refused unknown_capability'],
  'a hidden tool is not given away by its limit');
select is_empty('select from chumbo.rate_counters', 'which it does not touch');

-- Changing a policy.
select tests.limit_to($$ 'l', 'demo', requests => 1, window_seconds => 2678400 $$);
select is(tests.run(2), 1, 'one call a month');
select chumbo.set_rate_limit('l', 'demo', requests => 4, window_seconds => 60);
select is(tests.run(1), 0, 'a milder policy does not forget what was counted');
select is(tests.wait(), 15, 'but heals within its own window');
select tests.pass(15.1);
select is(tests.run(5), 1, 'and goes on from there');
select chumbo.set_rate_limit('l', 'demo', requests => 4, window_seconds => 60, method => 'fixed_window');
select cmp_ok(tests.run(10), '>=', 4, 'another method begins anew');
select is(chumbo.consume_limits(chumbo.server_id('demo'), 'absent', '{}'), null, 'whoever is counted for the first time may call');

-- With the rights of the runtime, both ways.
select tests.limit_to($$ 'l', 'demo', requests => 1 $$);
select tests.act_as_runtime();
select is(tests.run(2), 1, 'service_role counts');
select tests.act_as_owner();
select tests.limit_to($$ 'l', 'demo', requests => 1 $$);
set local role chumbo_runtime;
select is(tests.run(2), 1, 'and so does chumbo_runtime');

select * from finish();
rollback;
