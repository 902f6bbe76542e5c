-- tests/sql/hostile_body_test.sql — what the body of a tool can do beyond its caller's rights: nothing, through either gate.
-- The worst body there is runs whatever text it is given. What it still can do is said and shown under "Not contained".
begin;
\ir support/people.psql
select plan(312);
\ir support/runtime.psql

-- Arrange: two injectable tools, one for anon as well, and something to steal.
create function demo.query(code text) returns text language plpgsql volatile as $$
declare
  v_answer text;
begin
  execute code into v_answer;
  return coalesce(v_answer, 'null');
end;
$$;
create function demo.act(code text) returns text language plpgsql volatile as $$ begin execute code; return 'done'; end $$;
create function demo.act_and_fail(code text) returns text language plpgsql volatile as $$ begin execute code; raise exception 'After all.'; end $$;
grant execute on function demo.query(text), demo.act(text) to anon;
create table demo.notes (owner_id uuid not null default auth.uid(), body text not null);
alter table demo.notes enable row level security;
create policy all_own on demo.notes to authenticated using (owner_id = (select auth.uid())) with check (owner_id = (select auth.uid()));
-- As on a stock project, where authenticated may do all of this to every table.
grant all on demo.notes to authenticated;
insert into demo.notes values (tests.person('alice'), 'of Alice'), (tests.person('bob'), 'of Bob');
select chumbo.register_tool('demo.' || name, 'demo') from unnest(array['query', 'act', 'act_and_fail']) as t (name);
create table demo.seen (who text, at text);
grant usage on schema demo to public;
grant all on demo.seen to public;

-- A direct login, as cli and docs tell to make it: member of three roles and of nothing else.
create role tests_login nologin noinherit in role anon, authenticated, chumbo_runtime;
grant usage on schema tests to tests_login;
create function tests.act_as_gate(gate text) returns void language sql volatile as $$
  select tests.act_as_owner(),
    set_config('session_authorization', case gate when 'rest' then 'authenticator' else 'tests_login' end, true),
    set_config('role', case gate when 'rest' then 'service_role' else 'chumbo_runtime' end, true)
$$;
create function tests.query(person text, code text) returns text language sql volatile as $$ select tests.answer(person, 'query', jsonb_build_object('code', code)) $$;
create function tests.act(person text, code text) returns text language sql volatile as $$ select tests.answer(person, 'act', jsonb_build_object('code', code)) $$;
create function tests.fail(person text, code text) returns text language sql volatile as $$ select tests.answer(person, 'act_and_fail', jsonb_build_object('code', code)) $$;

-- Every attempt below is refused. Alice makes it, then nobody does.
create function tests.refused(gate text) returns setof text language plpgsql as $body$
begin
  perform tests.act_as_gate(gate);
  return query
    select is(tests.act(person, code), told, format('%s, %s: %s', gate, person, code))
    from (values
      -- Another role, by every way there is.
      ('set role service_role', 'tool_error forbidden'),
      ('set local role service_role', 'tool_error forbidden'),
      ('set role chumbo_runtime', 'tool_error forbidden'),
      ('set role authenticated', 'tool_error forbidden'),
      ('reset role', 'tool_error forbidden'),
      ('set role none', 'tool_error forbidden'),
      ($$ select set_config('role', 'service_role', true) $$, 'tool_error forbidden'),
      ($$ select set_config('role', 'none', false) $$, 'tool_error forbidden'),
      ('set session authorization default', 'tool_error forbidden'),
      ('reset session authorization', 'tool_error forbidden'),
      ('grant service_role to authenticated, anon', 'tool_error forbidden'),
      ('alter role authenticated bypassrls', 'tool_error forbidden'),
      ('create role evil', 'tool_error forbidden'),
      -- Our own functions and tables.
      ($$ select public.chumbo_call('demo', 'query', '{"code": "select 1"}', tests.request('bob')) $$, 'tool_error forbidden'),
      ($$ select public.chumbo_enter('demo', tests.request('bob')) $$, 'tool_error forbidden'),
      ($$ select public.chumbo_finish('[]') $$, 'tool_error forbidden'),
      ($$ select chumbo.run('select to_jsonb(1)', '{}', '', tests.request('bob')) $$, 'tool_error forbidden'),
      ($$ select chumbo.grant_scope('workspaces:manage') $$, 'tool_error forbidden'),
      ($$ insert into chumbo.receipts (server, kind, strategy, trace_id, outcome) values ('demo', 'tool', 'x', 'x', 'ok') $$, 'tool_error forbidden'),
      ($$ insert into chumbo.receipts_rest (server, kind, strategy, trace_id, outcome) values ('demo', 'tool', 'x', 'x', 'ok') $$, 'tool_error forbidden'),
      ($$ update chumbo.receipts set outcome = 'ok' $$, 'tool_error forbidden'),
      ('delete from chumbo.receipts', 'tool_error forbidden'),
      ('delete from public.chumbo_receipts', 'tool_error forbidden'),
      ('truncate chumbo.receipts', 'tool_error forbidden'),
      ('select argument_digest from chumbo.receipts', 'tool_error forbidden'),
      ('select * from chumbo.idempotency', 'tool_error forbidden'),
      ('select * from chumbo.grants', 'tool_error forbidden'),
      ('update chumbo.capabilities set is_enabled = false', 'tool_error forbidden'),
      ('update chumbo.rate_counters set used = 0', 'tool_error forbidden'),
      ('create table chumbo.evil (id integer)', 'tool_error forbidden'),
      ($$ create or replace function chumbo.run_as_authenticated(statement text, arguments jsonb) returns jsonb language sql as 'select null::jsonb' $$, 'tool_error forbidden'),
      ('alter function chumbo.run(text, jsonb, text, jsonb) security definer', 'tool_error forbidden'),
      ('alter function chumbo.run_as_authenticated(text, jsonb) owner to service_role', 'tool_error forbidden'),
      ('alter function chumbo.run_as_authenticated(text, jsonb) rename to run_as_you_like', 'tool_error forbidden'),
      -- The server and its other users.
      ('select pg_terminate_backend(pg_backend_pid())', 'tool_error forbidden'),
      ('select pg_cancel_backend(pg_backend_pid())', 'tool_error forbidden'),
      ($$ select pg_read_file('postgresql.conf') $$, 'tool_error forbidden'),
      ($$ copy demo.seen to program 'cat' $$, 'tool_error forbidden'),
      ('set session_replication_role = replica', 'tool_error forbidden'),
      ('alter system set log_statement = ''all''', 'tool_error tool_failed'),
      ('create schema evil', 'tool_error forbidden'),
      ('create function public.evil() returns integer language sql as ''select 1''', 'tool_error forbidden'),
      ('select encrypted_password from auth.users', 'tool_error forbidden'),
      -- The transaction is ours.
      ('commit', 'tool_error tool_failed'),
      ('rollback', 'tool_error tool_failed'),
      ('do ''begin commit; end''', 'tool_error tool_failed'),
      ('savepoint evil', 'tool_error tool_failed')) as t (code, told),
      unnest(array['alice', 'nobody']) as person;
  return next is(tests.query('alice', 'select current_user'), 'ok {"result": "authenticated"}', gate || ': and the next call is well');
  return next is(tests.act('nobody', $$ select chumbo.run_as_authenticated('select to_jsonb(1)', '{}') $$), 'tool_error forbidden', gate || ': anon cannot borrow the rights of authenticated');
  return next is(tests.act('alice', $$ select chumbo.run_as_anon('select to_jsonb(1)', '{}') $$), 'tool_error forbidden', gate || ': nor the other way');
  return next is(tests.query('alice', $$ select chumbo.run_as_authenticated('select to_jsonb(current_user)', '{}') $$), 'ok {"result": "\"authenticated\""}', gate || ': to run inside oneself gains nothing');
  return next is(tests.act('alice', $$ do 'begin begin set local role service_role; exception when others then null; end; insert into demo.seen values (current_user, ''after''); end' $$),
    'ok {"result": "done"}', gate || ': trapping the refusal');
  return next is((select string_agg(who, ',') from demo.seen where at = 'after'), 'authenticated', gate || ': changes nothing about it');
  delete from demo.seen;
end;
$body$;
select tests.refused('rest');
select tests.refused('direct');

-- The shim belongs to authenticated, so a body may alter it, but for one call only: the next one notices.
select tests.act_as_owner();
create function tests.noticed(gate text, code text) returns setof text language plpgsql as $body$
begin
  begin
    perform tests.act_as_gate(gate);
    return next is(tests.act('alice', code), 'ok {"result": "done"}', format('%s: %s can be done', gate, code));
    return next is(tests.answer('bob', 'query', '{"code": "select 1"}'),
      'tool_error runner_tampered The function that confines tools was altered, so no tool runs.', format('%s: and no tool runs afterwards', gate));
    raise sqlstate 'TAP00';
  exception
    when sqlstate 'TAP00' then null;
  end;
end;
$body$;
select tests.noticed(gate, code)
from unnest(array['rest', 'direct']) as gate,
  unnest(array['alter function chumbo.run_as_authenticated(text, jsonb) security invoker', 'alter function chumbo.run_as_authenticated(text, jsonb) set search_path = public',
    'alter function chumbo.run_as_authenticated(text, jsonb) strict', 'alter function chumbo.run_as_authenticated(text, jsonb) stable',
    'drop function chumbo.run_as_authenticated(text, jsonb)',
    'grant execute on function chumbo.run_as_authenticated(text, jsonb) to anon', 'grant execute on function chumbo.run_as_authenticated(text, jsonb) to public']) as code;
select tests.act_as_owner();
savepoint before;
grant execute on function chumbo.run_as_authenticated(text, jsonb) to anon;
select tests.act_as_gate('rest');
select is(tests.answer('nobody', 'query', '{"code": "select 1"}'), 'tool_error runner_tampered The function that confines tools was altered, so no tool runs.', 'a shim that was lent to anon stops anon too');
rollback to savepoint before;

-- What is left for the commit, or for the next request on the connection.
create table demo.ledger (id integer);
grant all on demo.ledger to authenticated;
create function demo.tg_ledger__note() returns trigger language plpgsql as $$ begin insert into demo.seen values (current_user, 'deferred trigger'); return null; end $$;
create constraint trigger note after insert on demo.ledger deferrable initially deferred for each row execute function demo.tg_ledger__note();

create function tests.nothing_left(gate text) returns setof text language plpgsql as $body$
declare
  v_bob text := jsonb_build_object('sub', tests.person('bob'), 'role', 'authenticated');
  v_answers text[];
begin
  perform tests.act_as_gate(gate);
  delete from demo.seen;

  -- Deferred triggers fire inside, as the caller.
  return next is(tests.act('alice', 'insert into demo.ledger values (1)'), 'ok {"result": "done"}', gate || ': a deferred trigger');
  return next is(tests.act('alice', 'do ''begin set constraints all deferred; insert into demo.ledger values (2); set constraints all deferred; end'''), 'ok {"result": "done"}', gate || ': and one deferred again');
  return next is((select string_agg(who, ',') from demo.seen), 'authenticated,authenticated', gate || ': fire within the call and as its caller');
  -- A trigger that runs a function of the body's own, and defers itself: its function is temporary and goes first.
  perform tests.act('alice', $$ do 'begin
      create function pg_temp.evil() returns trigger language plpgsql as ''begin set constraints all deferred; insert into demo.ledger values (99); return null; end'';
      create constraint trigger evil after insert on demo.ledger deferrable initially deferred for each row execute function pg_temp.evil();
      insert into demo.ledger values (3);
    end' $$);
  return next is((select count(*) from pg_trigger where tgname = 'evil'), 0::bigint, gate || ': a trigger of its own that defers itself for the commit is gone before');
  set constraints all immediate;
  return next is((select string_agg(distinct who, ',') from demo.seen), 'authenticated', gate || ': and so is what it deferred');

  -- A cursor with hold would run its query at the commit, as the runtime.
  return next is(tests.act('alice', $$ declare evil cursor with hold for select query_to_xml('select current_user', true, true, '') $$), 'ok {"result": "done"}', gate || ': a cursor with hold');
  return next is((select count(*) from pg_cursors where name = 'evil'), 0::bigint, gate || ': is closed before the commit');

  -- A prepared statement could carry the name of one of the driver's.
  return next is(tests.act('alice', 'prepare evil as select 1'), 'ok {"result": "done"}', gate || ': a prepared statement');
  return next is((select count(*) from pg_prepared_statements where from_sql), 0::bigint, gate || ': is gone');
  return next is(tests.fail('alice', 'prepare evil as select 1'), 'tool_error tool_failed After all.', gate || ': one whose body failed');
  return next is((select count(*) from pg_prepared_statements where from_sql), 0::bigint, gate || ': is gone as well');
  return next is(tests.act('alice', 'select pg_advisory_lock(7)'), 'ok {"result": "done"}', gate || ': an advisory lock');
  return next is((select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid() and objid = 7), 0::bigint, gate || ': is released');
  return next is(tests.fail('alice', 'select pg_advisory_lock(7)'), 'tool_error tool_failed After all.', gate || ': one whose body failed');
  return next is((select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid() and objid = 7), 0::bigint, gate || ': is released as well');

  -- Temporary objects that stand in for a name.
  return next is(tests.act('alice', $$ do 'begin
      create temporary table notes as select ''forged'' as body; create temporary view seen as select 1; create type pg_temp.evil as (a integer);
      create function pg_temp.evil() returns integer language sql as ''select 1''; end' $$), 'ok {"result": "done"}', gate || ': temporary objects');
  return next is((select count(*) from pg_class where relnamespace = pg_my_temp_schema()) + (select count(*) from pg_proc where pronamespace = pg_my_temp_schema())
    + (select count(*) from pg_type where typnamespace = pg_my_temp_schema()), 0::bigint, gate || ': are dropped with the call');
  return next is(tests.query('alice', $$ create temporary table notes as select 'forged' as body; select string_agg(body, ',') from notes $$), 'ok {"result": "of Alice"}',
    gate || ': and within the call the schema of the tool comes before them');

  -- Settings of the request: the session keeps none of them, and the next caller inherits none.
  perform set_config('request.headers', '{"apikey": "sb_secret_x"}', true), set_config('request.cookies', '{"a": "secret"}', true);
  return next is(tests.query('alice', $$ select current_setting('request.headers') || current_setting('request.cookies') $$), 'ok {"result": "{}{}"}', gate || ': the secret key is out of sight');
  perform set_config('request.jwt.claim.sub', tests.person('bob')::text, false), set_config('request.jwt.claims', v_bob, false);
  return next is(tests.query('alice', 'select auth.uid()'), format('ok {"result": "%s"}', tests.person('alice')), gate || ': what the connection was left with does not matter');
  -- The direct gate switches row security on itself, since without it chumbo_runtime could not read our own tables.
  perform set_config('row_security', case gate when 'rest' then 'off' else 'on' end, true);
  return next is(tests.query('alice', 'select string_agg(body, '','') from demo.notes'), 'ok {"result": "of Alice"}', gate || ': nor for row security');
  return next is(tests.act('alice', format('do $x$ begin perform set_config(%L, %L, false), set_config(%L, %L, false), set_config(%L, %L, false), set_config(%L, %L, false), set_config(%L, %L, false); end $x$',
      'request.jwt.claims', v_bob, 'request.jwt.claim.sub', tests.person('bob'), 'request.jwt.claim.role', 'service_role', 'request.jwt.claim.email', 'bob@example.test', 'request.jwt.claim', v_bob)),
    'ok {"result": "done"}', gate || ': claims set for the session');
  return next is(concat(current_setting('request.jwt.claims'), current_setting('request.jwt.claim.sub'), current_setting('request.jwt.claim.role'),
    current_setting('request.jwt.claim.email'), current_setting('request.jwt.claim')), '', gate || ': are gone from the session');
  return next is(tests.query('carol', 'select auth.uid()'), format('ok {"result": "%s"}', tests.person('carol')), gate || ': Carol, who calls next, is Carol');
  return next is(tests.query('nobody', 'select auth.uid()'), 'ok {"result": "null"}', gate || ': and nobody is nobody');
  -- pgTAP itself needs its path, so both answers are looked at afterwards.
  v_answers := array[tests.act('alice', $$ select set_config('search_path', 'evil, pg_catalog', false) $$), tests.query('alice', $$ select current_setting('search_path') $$)];
  perform pg_catalog.set_config('search_path', 'tap, public, extensions', false);
  return next is(v_answers, array['ok {"result": "done"}', 'ok {"result": "demo, public, extensions, pg_temp"}'], gate || ': a search path for the session is not the next call''s');

  -- The transaction and its clock.
  return next is(tests.act('alice', 'set transaction read only'), 'ok {"result": "done"}', gate || ': a body that makes the transaction read only');
  return next is((select code is null and outcome = 'ok' from chumbo.receipts order by id desc limit 1), true, gate || ': does not escape its receipt');
  return next is(tests.query('alice', 'select count(*) from demo.notes where set_config(''row_security'', ''off'', false) = ''off'''), 'ok {"result": "1"}', gate || ': row security cannot be switched off halfway');
  return next is(tests.act('alice', 'do ''begin set row_security = off; perform from demo.notes; end'''), 'tool_error forbidden', gate || ': nor at all');
  perform set_config('row_security', 'on', false);

  -- Slugs that are not the tool's to give: the outcome says who speaks, and the runtime acts on refusals alone.
  return next is(tests.act('alice', 'do ''begin raise sqlstate ''''PT401'''' using message = ''''session_revoked''''; end'''), 'tool_error session_revoked', gate || ': a forged slug is a tool error');
  return next is((select concat_ws(' ', outcome, code) from chumbo.receipts order by id desc limit 1), 'tool_error session_revoked', gate || ': in the receipt too');
end;
$body$;
select tests.nothing_left('rest');
select tests.nothing_left('direct');

-- A tool cannot outrun the timeout by lifting it.
select tests.act_as_gate('rest');
set local statement_timeout = 200;
select is(tests.act('alice', 'do ''begin set statement_timeout = 0; perform pg_sleep(20); end'''), 'tool_error timeout', 'lifting the timeout does not stop the clock that runs');
set local statement_timeout = 60000;

-- A result is as large as jsonb can hold, 256 MB, above which the call fails; the runtime has a limit of its own below that.
select is(length(tests.query('alice', 'select repeat(''x'', 2000000)')), 2000000 + length('ok {"result": ""}'), 'two million characters pass');

-- What a body sets for the session is back before the next call on the connection.
do 'begin perform set_config(''tests.before'', current_setting(''statement_timeout''), true); end';
select is(tests.act('alice', 'set statement_timeout = ''1'''), 'ok {"result": "done"}', 'a body sets statement_timeout for the session');
select is(current_setting('statement_timeout'), current_setting('tests.before'), 'and it is back afterwards');
do 'begin perform set_config(''tests.before'', current_setting(''lock_timeout''), true); end';
select is(tests.act('alice', 'set lock_timeout = ''1'''), 'ok {"result": "done"}', 'a body sets lock_timeout for the session');
select is(current_setting('lock_timeout'), current_setting('tests.before'), 'and it is back afterwards');
do 'begin perform set_config(''tests.before'', current_setting(''client_encoding''), true); end';
select is(tests.act('alice', 'set client_encoding = ''LATIN1'''), 'ok {"result": "done"}', 'a body sets client_encoding for the session');
select is(current_setting('client_encoding'), current_setting('tests.before'), 'and it is back afterwards');
do 'begin perform set_config(''tests.before'', current_setting(''timezone''), true); end';
select is(tests.act('alice', 'set timezone = ''Asia/Tokyo'''), 'ok {"result": "done"}', 'a body sets timezone for the session');
select is(current_setting('timezone'), current_setting('tests.before'), 'and it is back afterwards');
do 'begin perform set_config(''tests.before'', current_setting(''datestyle''), true); end';
select is(tests.act('alice', 'set datestyle = ''German'''), 'ok {"result": "done"}', 'a body sets datestyle for the session');
select is(current_setting('datestyle'), current_setting('tests.before'), 'and it is back afterwards');
do 'begin perform set_config(''tests.before'', current_setting(''default_transaction_read_only''), true); end';
select is(tests.act('alice', 'set default_transaction_read_only = ''on'''), 'ok {"result": "done"}', 'a body sets default_transaction_read_only for the session');
select is(current_setting('default_transaction_read_only'), current_setting('tests.before'), 'and it is back afterwards');
do 'begin perform set_config(''tests.before'', current_setting(''row_security''), true); end';
select is(tests.act('alice', 'set row_security = ''off'''), 'ok {"result": "done"}', 'a body sets row_security for the session');
select is(current_setting('row_security'), current_setting('tests.before'), 'and it is back afterwards');

-- Not contained, so that nobody believes it is. A body can, within its own call,
--   pretend to be another user: row security believes the claims, and the claims are a setting;
select is(tests.query('alice', format('select string_agg(body, '','') from demo.notes, set_config(''request.jwt.claims'', %L, true)', jsonb_build_object('sub', tests.person('bob')))),
  'ok {"result": "of Bob"}', 'within its own call a body can pretend to be Bob');
--   and whatever setting chumbo.run does not put back, such as app.*, stays on a pooled connection.
--   and, with `deallocate all`, make a driver prepare its statements again; and drop the shim, after which no tool runs (above);
--   and, as on any stock project, attach triggers to a table on which authenticated holds the trigger privilege.

select tests.act_as_owner();
select is((select count(*) from chumbo.receipts where outcome = 'open'), 0::bigint, 'every attempt has left a closed receipt');
select is((select count(distinct subject) from chumbo.receipts), 2::bigint, 'of Alice and Carol, who made them, and of nobody else');

select * from finish();
rollback;
