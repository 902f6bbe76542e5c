-- tests/sql/hostile_leftover_test.sql — what a committed call leaves on its connection, for the commit and for the next request.
-- It commits on purpose, each request in a transaction of its own as the Data API makes them; the database is this file's alone.
begin;
\ir support/people.psql
select plan(18);
\ir support/runtime.psql
create function demo.act(code text) returns text language plpgsql volatile as $$ begin execute code; return 'done'; end $$;
create function demo.who() returns text language sql stable as $$ select concat_ws(' ', current_user, auth.uid()) $$;
select chumbo.register_tool('demo.' || name, 'demo') from unnest(array['act', 'who']) as t (name);
create table demo.seen (id integer generated always as identity, who text);
create table demo.ledger (id integer);
create function demo.tg_ledger__note() returns trigger language plpgsql as $$ begin insert into demo.seen (who) values (current_user); return null; end $$;
create constraint trigger note after insert on demo.ledger deferrable initially deferred for each row execute function demo.tg_ledger__note();
grant all on demo.seen, demo.ledger to authenticated, service_role;
create function demo.write_who() returns text language sql volatile as 'insert into demo.seen (who) values (current_user) returning who';
grant usage on schema demo to service_role;
grant execute on function demo.write_who() to service_role;
create function tests.act(code text) returns text language sql volatile as $$ select tests.answer('alice', 'act', jsonb_build_object('code', code)) $$;
commit;

-- A cursor with hold: its query would run when the transaction commits, as whoever the session is by then.
begin;
select tests.act_as_runtime();
select is(tests.act($$ declare evil cursor with hold for select query_to_xml('select demo.write_who()', true, true, '') $$), 'ok {"result": "done"}', 'a body declares a cursor with hold');
commit;
select is_empty('select who from demo.seen', 'whose query never runs');
select is_empty($$ select name from pg_cursors where is_holdable $$, 'and which is gone');

-- Deferred triggers.
begin;
select tests.act_as_runtime();
select is(tests.act('insert into demo.ledger values (1)'), 'ok {"result": "done"}', 'a body fires a deferred trigger');
commit;
begin;
select tests.act_as_runtime();
select is(tests.act($$ do 'begin
    create function pg_temp.evil() returns trigger language plpgsql as ''begin set constraints all deferred; insert into demo.ledger values (99); return null; end'';
    create constraint trigger evil after insert on demo.ledger deferrable initially deferred for each row execute function pg_temp.evil();
    insert into demo.ledger values (2);
  end' $$), 'ok {"result": "done"}', 'another attaches a trigger of its own, which defers what it causes');
commit;
select results_eq('select distinct who from demo.seen', array['authenticated'], 'and all of it ran as the caller');
select is_empty($$ select tgname from pg_trigger where tgname = 'evil' $$, 'nor is that trigger left');

-- Settings for the session.
begin;
select tests.act_as_runtime();
select is(tests.act(format('do $x$ begin perform set_config(%1$L, %6$L, false), set_config(%2$L, %6$L, false), set_config(%3$L, %7$L, false), set_config(%4$L, %8$L, false), set_config(%5$L, %9$L, false); end $x$',
    'request.jwt.claims', 'request.jwt.claim', 'request.jwt.claim.sub', 'request.jwt.claim.role', 'request.jwt.claim.email',
    jsonb_build_object('sub', tests.person('bob')), tests.person('bob'), 'service_role', 'bob@example.test')), 'ok {"result": "done"}', 'a body sets claims for good');
commit;
select is(current_setting(setting, true), '', format('%s is empty again', setting))
from unnest(array['request.jwt.claims', 'request.jwt.claim', 'request.jwt.claim.sub', 'request.jwt.claim.role', 'request.jwt.claim.email']) as setting;
begin;
select tests.act_as_runtime();
select is(tests.answer('carol', 'who'), format('ok {"result": "authenticated %s"}', tests.person('carol')), 'and Carol, who calls next, is Carol');
commit;

-- Names.
begin;
select tests.act_as_runtime();
select is(tests.act($$ do 'begin create temporary table seen (who text); create function pg_temp.evil() returns integer language sql as ''select 1''; end' $$), 'ok {"result": "done"}', 'a body makes temporary objects');
commit;
select is((select count(*) from pg_class where relnamespace = pg_my_temp_schema()) + (select count(*) from pg_proc where pronamespace = pg_my_temp_schema()), 0::bigint, 'and none is left');
begin;
select tests.act_as_runtime();
select is(tests.act('prepare evil as select 1'), 'ok {"result": "done"}', 'a body prepares a statement');
commit;
select is_empty('select name from pg_prepared_statements where from_sql', 'and none is left');

select * from finish();
