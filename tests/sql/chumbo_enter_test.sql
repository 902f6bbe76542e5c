-- tests/sql/chumbo_enter_test.sql — chumbo_enter and chumbo_finish: lists, and the calls that code answers.
begin;
\ir support/people.psql
select plan(63);
\ir support/runtime.psql

select function_privs_are('public', 'chumbo_enter', array['text', 'jsonb'], role, array[]::text[], role || ' may not enter') from unnest(array['anon', 'authenticated']) as role;
select function_privs_are('public', 'chumbo_finish', array['jsonb'], role, array[]::text[], role || ' may not finish') from unnest(array['anon', 'authenticated']) as role;
select function_privs_are('public', 'chumbo_enter', array['text', 'jsonb'], role, array['EXECUTE'], role || ' may enter') from unnest(array['service_role', 'chumbo_runtime']) as role;
select function_privs_are('public', 'chumbo_finish', array['jsonb'], role, array['EXECUTE'], role || ' may finish') from unnest(array['service_role', 'chumbo_runtime']) as role;

-- Arrange: tools under three scopes, one off, one whose function is gone; code with rows and without.
select chumbo.register_server('demo', 'Demo', '1.0.0', 'The demo', 'Be kind.', '{"page_size": 2}');
select chumbo.define_scope('held'), chumbo.define_scope('asked', requestable => true), chumbo.define_scope('asked:too', requestable => true), chumbo.define_scope('hidden');
delete from chumbo.grants;
select chumbo.grant_scope('held');
create function demo.one() returns integer language sql stable as 'select 1';
create function demo.gone() returns integer language sql stable as 'select 1';
select chumbo.register_tool('demo.one', 'demo', name => name, scopes => scopes)
from (values ('a', '{}'::text[]), ('b', '{held}'), ('B', '{}'), ('c-asked', '{asked}'), ('c-both', '{asked,hidden}'), ('c-two', '{held,asked,asked:too}'), ('c-hidden', '{hidden}'),
  ('off', '{}'), ('_z', '{}'), ('9', '{}')) as t (name, scopes);
select chumbo.register_tool('demo.gone', 'demo');
drop function demo.gone();
select chumbo.disable('off', 'demo');
select chumbo.sync_capabilities('{"tools": [{"name": "code", "inputSchema": {"type": "object"}}, {"name": "code-hidden", "inputSchema": {"type": "object"}, "scopes": ["hidden"]},
    {"name": "code-off", "inputSchema": {"type": "object"}}], "resources": [{"name": "a", "uri": "app://a"}], "prompts": [{"name": "a"}]}', 'demo');
select chumbo.disable('code-off', 'demo');

create function tests.list(person text, more jsonb default '{}') returns jsonb language sql volatile as $$
  select tests.enter(person, '{"operation": "list", "kind": "tool"}' || more)
$$;
create function tests.names(answer jsonb) returns text language sql immutable as $$ select string_agg(entry ->> 'name', ' ' order by place) from jsonb_array_elements(answer -> 'entries') with ordinality as e (entry, place) $$;
-- Every page in a row, a bar between them, and an end to it if the lists have none.
create function tests.pages(person text) returns text language plpgsql volatile as $$
declare
  v_answer jsonb := tests.list(person);
  v_pages text[] := array[tests.names(v_answer)];
begin
  while v_answer ->> 'next' is not null and cardinality(v_pages) < 50 loop
    v_answer := tests.list(person, jsonb_build_object('after', v_answer ->> 'next'));
    v_pages := v_pages || tests.names(v_answer);
  end loop;
  return array_to_string(v_pages, ' | ', '-');
end;
$$;
create function tests.code(person text, name text, more jsonb default '{}') returns jsonb language sql volatile as $$
  select tests.enter(person, jsonb_build_object('operation', 'call', 'kind', 'tool', 'name', name, 'has_code', true) || more)
$$;
select tests.act_as_runtime();

-- Lists: by name, each once, to the end, and exactly what can be called.
select is(tests.pages('alice'), '9 B | _z a | b code', 'pages end, in one order, without what cannot be called');
select is(tests.pages('nobody'), '9 B | _z a | code', 'nobody has one less');
select is(tests.pages('bob'), tests.pages('alice'), 'who holds the same sees the same');
select set_eq($$ select c.name collate "default" from chumbo.capabilities as c where server_id = (select id from chumbo.servers where slug = 'demo') and kind = 'tool' and handler = 'sql'
    and name <> 'gone' and is_enabled and required_scopes <@ '{held}' $$, array['9', 'B', '_z', 'a', 'b'], 'which the rows say as well');
select is(tests.answer('alice', name), told, format('%s, which is on %s list, is %s', name, case told when 'ok {"result": 1}' then 'the' else 'no' end, told))
from (values ('9', 'ok {"result": 1}'), ('B', 'ok {"result": 1}'), ('_z', 'ok {"result": 1}'), ('a', 'ok {"result": 1}'), ('b', 'ok {"result": 1}'), ('c-asked', 'refused scope_required'),
  ('c-both', 'refused unknown_capability'), ('c-hidden', 'refused unknown_capability'), ('c-two', 'refused scope_required'), ('off', 'refused unknown_capability'), ('gone', 'refused tool_unavailable')) as t (name, told);
select is(tests.call('alice', 'c-two') #> '{error,scopes}', '["asked", "asked:too"]', 'the scopes that are missing are named, where all of them can be given');
select is(tests.list('alice') -> 'next', '"B"', 'the cursor is the last name of the page');
select is(tests.list('alice', '{"after": "b"}') -> 'next', 'null', 'and none follows the last page');
select is(tests.names(tests.list('alice', '{"after": "A"}')), 'B _z', 'a cursor need not be a name that is still there');
select is(tests.list('alice', '{"after": "zz"}') -> 'entries', '[]', 'behind the last name there is nothing');
select is(tests.list('alice') -> 'entries' -> 0 -> 'definition' ->> 'name', '9', 'a first list brings the definitions');
select is(tests.list('alice') - array['entries', 'next', 'revision'], '{"outcome": "listed", "server": {"name": "Demo", "version": "1.0.0", "title": "The demo", "instructions": "Be kind.", "unregistered": "serve", "catalog_mode": "list", "cache_seconds": 0}, "scopes": ["held"]}',
  'with what the server says of itself and the scopes of the caller');
select is(tests.list('alice', jsonb_build_object('known_revision', (tests.list('alice') ->> 'revision')::bigint)) #> '{entries,0,definition}', null, 'a runtime that knows this revision gets the names alone');
select isnt(tests.list('alice', '{"known_revision": 1}') #> '{entries,0,definition}', null, 'one that knows another gets all');
select is(tests.names(tests.enter('alice', '{"operation": "list", "kind": "prompt"}')), 'a', 'each kind is listed by itself');
select is(tests.enter('alice', '{"operation": "describe", "kind": "tool"}') ? 'entries', false, 'a description lists nothing');
select is(tests.enter('alice', '{"operation": "describe", "kind": "tool", "code_names": ["code", "code-hidden", "code-off", "a", "unregistered"]}') -> 'code',
  '{"code": true, "code-hidden": false, "code-off": false, "a": false}', 'but says of names that code handles whether this caller may use them');
select is(tests.enter('alice', '{"operation": "describe", "kind": "resource,prompt", "code_names": ["code", "a"]}') -> 'code', '{"a": true}', 'among the kinds asked for');
select is((select count(*) from chumbo.receipts where outcome = 'ok'), 5::bigint, 'lists leave no receipts');
select is(tests.told(public.chumbo_enter('absent', tests.request('alice', '{"operation": "list", "kind": "tool"}'))), 'refused unknown_server', 'an unknown server has no list');

-- A call that code answers opens a receipt.
select is(tests.code('alice', 'code') - array['receipt', 'revision', 'server'], '{"outcome": "admitted", "scopes": ["held"], "result": null, "error": null}', 'a call of code is admitted');
select results_eq($$ select capability, outcome, code, duration_ms, subject from chumbo.receipts order by id desc limit 1 $$,
  format($$ values ('code', 'open', null, null::numeric, %L) $$, tests.person('alice')), 'with an open receipt');
select is(tests.code('alice', 'a') - 'revision', '{"outcome": "sql"}', 'a name that is a SQL tool is for chumbo_call');
select is((select count(*) from chumbo.receipts where capability = 'a' and outcome = 'open'), 0::bigint, 'and opens none');
select is(tests.told(tests.code('alice', name, more)), told, format('code %s %s: %s', name, more, told))
from (values ('code-hidden', '{}'::jsonb, 'refused unknown_capability'), ('code-off', '{}', 'refused unknown_capability'), ('unregistered', '{}', 'admitted'),
  ('unregistered', '{"has_code": false}', 'refused unknown_capability'), ('unregistered', '{"has_code": null}', 'refused unknown_capability'),
  ('code', '{"kind": "prompt"}', 'admitted'), ('a', '{"kind": "prompt"}', 'admitted'), ('code', '{"rejection": {"code": "invalid_arguments", "message": "No."}}', 'refused invalid_arguments No.')) as t (name, more, told);
select is((select concat_ws(' ', kind, capability, outcome, code, duration_ms is not null) from chumbo.receipts order by id desc limit 1), 'tool code refused invalid_arguments t',
  'a refusal is closed at once');
select tests.act_as_owner();
select chumbo.register_server('demo', settings => '{"unregistered": "refuse"}');
select tests.act_as_runtime();
select is(tests.told(tests.code('alice', 'unregistered')), 'refused unknown_capability', 'a server may refuse code that has no row');
select is(tests.told(tests.code('alice', 'code')), 'admitted', 'and serve code that has one');

-- A scope that is gone hides what asks for it.
select tests.act_as_owner();
delete from chumbo.scopes where name = 'asked';
select tests.act_as_runtime();
select is(tests.answer('alice', 'c-asked'), 'refused unknown_capability', 'nobody is sent to ask for a scope that is not defined any more');

-- chumbo_finish.
create temporary table opened on commit drop as
  select name, tests.code('alice', 'code', jsonb_build_object('trace_id', name)) -> 'receipt' as handle from unnest(array['first', 'second', 'third']) as t (name);
create function pg_temp.close(name text, more jsonb) returns integer language sql volatile as $$
  select public.chumbo_finish(jsonb_build_array(handle || more)) from opened where opened.name = close.name
$$;
select is(pg_temp.close('first', '{"outcome": "ok", "bytes": 12, "duration_ms": 1.5, "row_count": 2, "truncated": true}'), 1, 'finishing closes a receipt');
select results_eq($$ select outcome, code, bytes, duration_ms, row_count, truncated, capability from chumbo.receipts where trace_id = 'first' $$,
  $$ values ('ok', null, 12, 1.5, 2, true, 'code') $$, 'as it is told');
select is(pg_temp.close('first', '{"outcome": "tool_error", "code": "late"}'), 0, 'closing it again changes nothing');
select is((select outcome from chumbo.receipts where trace_id = 'first'), 'ok', 'whatever it says');
select is((select public.chumbo_finish(jsonb_agg(handle || '{"outcome": "tool_error", "code": "tool_failed", "duration_ms": 2, "capability": "other", "kind": "prompt"}')) from opened), 2,
  'many are closed at once, those that are open');
select results_eq($$ select distinct outcome, code, capability, kind from chumbo.receipts where trace_id in ('second', 'third') $$, $$ values ('tool_error', 'tool_failed', 'code', 'prompt') $$,
  'and a name that is known stays');
select is(public.chumbo_finish('[]'), 0, 'no receipts are none');
select is(public.chumbo_finish(jsonb_build_array(jsonb_build_object('id', gen_random_uuid(), 'created_at', now(), 'outcome', 'ok'))), 0, 'nor is one that never was');
select throws_like($$ select public.chumbo_finish(jsonb_build_array((tests.code('alice', 'code') -> 'receipt') || '{"outcome": "splendid"}')) $$,
  '%"receipts_outcome_is_known"', 'an outcome nobody knows is refused');

select * from finish();
rollback;
