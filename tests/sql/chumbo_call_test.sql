-- tests/sql/chumbo_call_test.sql — chumbo_call: admits, runs as the caller, undoes what fails, and always leaves one receipt.
begin;
\ir support/people.psql
select plan(118);
\ir support/runtime.psql

select function_privs_are('public', 'chumbo_call', array['text', 'text', 'jsonb', 'jsonb'], role, array[]::text[], role || ' may not call')
from unnest(array['anon', 'authenticated']) as role;
select function_privs_are('public', 'chumbo_call', array['text', 'text', 'jsonb', 'jsonb'], role, array['EXECUTE'], role || ' may')
from unnest(array['service_role', 'chumbo_runtime']) as role;
select isnt_definer('public', 'chumbo_call', array['text', 'text', 'jsonb', 'jsonb'], 'with its own rights');

-- Arrange: notes are private to their owner; each tool shows one thing.
create table demo.notes (id integer generated always as identity primary key, owner_id uuid not null default auth.uid(), body text not null
  constraint notes_body_is_short check (length(body) < 20), constraint notes_body_key unique (body));
alter table demo.notes enable row level security;
create policy all_own on demo.notes to authenticated using (owner_id = (select auth.uid())) with check (owner_id = (select auth.uid()));
grant select, insert, update, delete on demo.notes to authenticated;
create function demo.add_note(body text) returns integer language sql volatile as 'insert into demo.notes (body) values (add_note.body) returning id';
create function demo.list_notes() returns setof text language sql stable as 'select body from demo.notes order by body';
create function demo.edit_note(body text, to_body text) returns setof demo.notes language sql volatile
  as 'update demo.notes as n set body = to_body where n.body = edit_note.body returning *';
create function demo.edit_note_id(body text, to_body text) returns integer language sql volatile
  as 'update demo.notes as n set body = to_body where n.body = edit_note_id.body returning id';
create function demo.edit_note_void(body text, to_body text) returns void language sql volatile
  as 'update demo.notes as n set body = to_body where n.body = edit_note_void.body';
create function demo.edit_note_row(body text, to_body text) returns demo.notes language sql volatile
  as 'update demo.notes as n set body = to_body where n.body = edit_note_row.body returning *';
create function demo.touch() returns void language plpgsql volatile as 'begin end';
create function demo.write_and_fail(state text) returns void language plpgsql volatile as $$
begin
  insert into demo.notes (body) values ('half done');
  raise exception using errcode = state, message = 'secret: row 7 of demo.notes';
end;
$$;
create function demo.fail(state text, message text, detail text default '', hint text default '') returns void language plpgsql volatile as $$
begin
  raise exception using errcode = state, message = fail.message, detail = fail.detail, hint = fail.hint;
end;
$$;
create function demo.plain() returns void language plpgsql volatile as $$ begin raise exception 'The moon is wrong.'; end $$;
create function demo.falsely() returns void language plpgsql volatile as $$ begin assert false, 'secret'; end $$;
create function demo.divide(by integer) returns integer language sql stable as 'select 1 / by';
create function demo.sleep() returns void language sql volatile as 'select pg_sleep(20)';
create function demo.who() returns jsonb language sql stable as $$
  select jsonb_build_object('user', current_user, 'uid', auth.uid(), 'role', auth.role(), 'claims', auth.jwt(), 'path', current_setting('search_path'))
$$;
create function demo.open_to_all() returns text language sql stable as 'select current_user::text';
grant execute on function demo.open_to_all() to anon;
create function demo.shut() returns integer language sql stable as 'select 1';
revoke execute on function demo.shut() from authenticated;
create function demo.maybe(a text, b text default 'given'::text, c integer default 1) returns text language sql stable as $$ select concat_ws(',', a, coalesce(b, 'null'), coalesce(c, -1)) $$;
create function demo."odd %s ""name""" ("a b" text, "50%" integer default 2) returns text language sql stable as $$ select "a b" || "50%" $$;
create domain demo.even as integer constraint even_is_even check (value % 2 = 0);
create function demo.take(n integer default 0, i bigint default 0, at timestamptz default '2026-01-01', id uuid default null, e demo.even default 0, list integer[] default '{}', x jsonb default null)
  returns text language sql stable as $$ select concat_ws('|', n, i, at at time zone 'UTC', id, e, list, x) $$;
create function demo.relaxed() returns void language plpgsql volatile as 'begin end';
select chumbo.register_tool(format('demo.%I', p.proname), 'demo', name => regexp_replace(p.proname, '[^a-z_]', '_', 'g'))
from pg_proc as p where p.pronamespace = 'demo'::regnamespace;
select chumbo.register_tool('demo.relaxed', 'demo', empty => 'ok');
create function tests.last_receipt() returns text language sql volatile as $$
  select concat_ws(' ', capability, outcome, code, row_count) from chumbo.receipts order by id desc limit 1
$$;
select tests.act_as_runtime();

-- Runs as its caller.
select is(tests.answer('alice', 'add_note', '{"body": "of Alice"}'), 'ok {"result": 1}', 'Alice adds a note');
select is(tests.last_receipt(), 'add_note ok 1', 'and a receipt says so');
select is(tests.answer('alice', 'list_notes'), 'ok {"rows": ["of Alice"]}', 'Alice sees it');
select is(tests.answer('bob', 'list_notes'), 'ok {"rows": []}', 'Bob does not');
select is(tests.answer('nobody', 'list_notes'), 'tool_error forbidden', 'and nobody may not even look');
select is(tests.answer('nobody', 'open_to_all'), 'ok {"result": "anon"}', 'what is open to anon runs as anon');
select is(tests.answer('alice', 'open_to_all'), 'ok {"result": "authenticated"}', 'and for Alice as authenticated');
select is((tests.call('alice', 'who') ->> 'result')::jsonb,
  jsonb_build_object('user', 'authenticated', 'uid', tests.person('alice'), 'role', 'authenticated', 'path', 'demo, public, extensions, pg_temp',
    'claims', jsonb_build_object('sub', tests.person('alice'), 'role', 'authenticated')), 'a body sees the verified caller and the path of its schema');
select is(current_user || ' ' || current_setting('request.jwt.claims'), 'service_role ', 'nothing of it is left afterwards');
select is(tests.answer('alice', 'open_to_all', more => '{"role": "service_role"}'), 'tool_error forbidden Tools run as anon or authenticated only.', 'no tool runs as service_role');
select is(tests.answer('alice', 'open_to_all', more => '{"role": null}'), 'tool_error forbidden Tools run as anon or authenticated only.', 'nor without a role');
select is(tests.answer('alice', 'shut'), 'tool_error forbidden', 'a function that authenticated may not execute stays shut');

-- D27: nothing changed is not success, alike for what is not hers and for what does not exist.
select is(tests.answer('bob', tool, '{"body": "of Alice", "to_body": "of Bob"}'), 'tool_error no_rows_changed', format('%s: Bob changes nothing of Alice''s', tool))
from unnest(array['edit_note', 'edit_note_id', 'edit_note_void', 'edit_note_row']) as tool;
select is(tests.call('bob', tool, '{"body": "absent", "to_body": "of Bob"}'), tests.call('bob', tool, '{"body": "of Alice", "to_body": "of Bob"}'),
  format('%s: and is told the same of what is not there', tool)) from unnest(array['edit_note', 'edit_note_id', 'edit_note_void', 'edit_note_row']) as tool;
select is(tests.last_receipt(), 'edit_note_row tool_error no_rows_changed 0', 'the receipt records zero rows');
select is(tests.answer('alice', 'list_notes'), 'ok {"rows": ["of Alice"]}', 'her note is as it was');
select is(tests.call('alice', 'edit_note', '{"body": "of Alice", "to_body": "1"}') ->> 'outcome', 'ok', 'Alice herself changes it, told by the rows');
select is(tests.answer('alice', 'edit_note_id', '{"body": "1", "to_body": "2"}'), 'ok {"result": 1}', 'by a value');
select is(tests.answer('alice', 'edit_note_void', '{"body": "2", "to_body": "3"}'), 'ok {"result": null}', 'by what the database counted');
select is(tests.last_receipt(), 'edit_note_void ok 1', 'which the receipt has too');
select is(tests.call('alice', 'edit_note_row', '{"body": "3", "to_body": "of Alice"}') ->> 'outcome', 'ok', 'by the row');
select is(tests.answer('alice', 'touch'), 'tool_error no_rows_changed', 'a write without a trace is no success');
select is(tests.answer('alice', 'relaxed'), 'ok {"result": null}', 'unless its author said that it is');

-- A failing tool writes nothing and leaves a receipt.
select is(tests.answer('alice', 'write_and_fail', '{"state": "XX000"}'), 'tool_error tool_failed', 'what Postgres says of a failure is not passed on');
select is(tests.answer('alice', 'list_notes'), 'ok {"rows": ["of Alice"]}', 'what was half done is undone');
select is((select count(*) from chumbo.receipts where capability = 'write_and_fail'), 1::bigint, 'and has one receipt');

-- Every SQLSTATE has one meaning. Only texts written for people pass.
select is(tests.answer('alice', 'fail', jsonb_build_object('state', state, 'message', 'Row 7 of demo.notes!')), 'tool_error ' || told, format('%s is %s', state, told))
from (values
  ('P0001', 'tool_failed Row 7 of demo.notes!'), ('PT400', 'tool_failed Row 7 of demo.notes!'), ('42501', 'forbidden'),
  ('23505', 'conflict'), ('23503', 'conflict'), ('23P01', 'conflict'), ('23514', 'invalid_value'), ('23502', 'invalid_value'), ('22012', 'invalid_value'),
  ('57014', 'timeout'), ('55P03', 'timeout'), ('40001', 'busy'), ('40P01', 'busy'), ('42P01', 'tool_failed'), ('42883', 'tool_failed'), ('XX000', 'tool_failed'),
  ('P0004', 'tool_failed'), ('P0002', 'tool_failed'), ('08006', 'tool_failed'), ('53200', 'tool_failed'), ('25006', 'tool_failed'), ('2D000', 'tool_failed'), ('0A000', 'tool_failed')) as s (state, told);
select is(tests.call('alice', 'fail', '{"state": "PT404", "message": "note_not_found", "detail": "No such note.", "hint": "List them."}') -> 'error',
  '{"code": "note_not_found", "message": "No such note.", "hint": "List them."}', 'a slug of the author''s passes with its sentence and next step');
select is(tests.call('alice', 'fail', '{"state": "PT404", "message": "note_not_found"}') -> 'error',
  '{"code": "note_not_found", "message": null, "hint": null}', 'or without');
select is(tests.answer('alice', 'plain'), 'tool_error tool_failed The moon is wrong.', 'a plain raise speaks to people');
select is(tests.answer('alice', 'falsely'), 'tool_error tool_failed', 'an assertion does not');
select is(tests.last_receipt(), 'falsely tool_error tool_failed 0', 'and leaves a receipt as well');
select is(tests.answer('alice', 'add_note', '{"body": "of Alice"}'), 'tool_error conflict', 'a duplicate is a conflict, without naming the constraint');
select is(tests.answer('alice', 'add_note', '{"body": "much too long for a note"}'), 'tool_error invalid_value', 'a value that a table refuses is invalid');
select is(tests.answer('alice', 'divide', '{"by": 0}'), 'tool_error invalid_value', 'and so is one that cannot be computed with');
set local statement_timeout = 100;
select is(tests.answer('alice', 'sleep'), 'tool_error timeout', 'a timeout is trapped');
set local statement_timeout = 60000;
select is(tests.last_receipt(), 'sleep tool_error timeout 0', 'and leaves a receipt');
select is(tests.answer('alice', 'list_notes'), 'ok {"rows": ["of Alice"]}', 'the next call works');

-- Arguments.
select is(tests.answer('alice', 'maybe', arguments::jsonb), told, format('maybe(%s): %s', arguments, told))
from (values
  ('{"a": "x"}', 'ok {"result": "x,given,1"}'), ('{"a": "x", "b": "y", "c": 2}', 'ok {"result": "x,y,2"}'), ('{"a": "x", "c": 2}', 'ok {"result": "x,given,2"}'),
  ('{"a": "x", "b": null}', 'ok {"result": "x,null,1"}'),
  ('{}', 'refused invalid_arguments The argument `a` is required.'), ('{"a": null}', 'refused invalid_arguments The argument `a` is required.'),
  ('{"a": "x", "z": 1}', 'refused invalid_arguments There is no argument `z`.'), ('{"z": 1}', 'refused invalid_arguments There is no argument `z`.'),
  ('{"a": 1}', 'refused invalid_arguments The argument `a` must be a string, not number.'), ('{"a": ["x"]}', 'refused invalid_arguments The argument `a` must be a string, not array.'),
  ('{"a": "x", "c": true}', 'refused invalid_arguments The argument `c` must be a number, not boolean.'), ('{"a": "x", "c": "2"}', 'ok {"result": "x,given,2"}'),
  ('{"a": "x", "c": "two"}', 'tool_error invalid_arguments The argument `c` is not a valid integer.'), ('{"a": "x", "c": 1.5}', 'tool_error invalid_arguments The argument `c` is not a valid integer.'),
  ('{"a": "x", "c": 99999999999}', 'tool_error invalid_arguments The argument `c` is not a valid integer.'),
  ('{"a": "x''; drop table demo.notes; --"}', 'ok {"result": "x''; drop table demo.notes; --,given,1"}')) as t (arguments, told);
select is(tests.told(public.chumbo_call('demo', 'maybe', null, tests.request('alice'))), 'refused invalid_arguments The argument `a` is required.', 'no arguments are none');
select is(tests.told(public.chumbo_call('demo', 'open_to_all', null, tests.request('alice'))), 'ok {"result": "authenticated"}', 'which may be enough');
select is(tests.answer('alice', 'take', arguments::jsonb), told, format('take(%s): %s', arguments, told))
from (values
  ('{"at": "yesterdy"}', 'tool_error invalid_arguments The argument `at` must be written as 2026-01-31T13:45:00Z.'), ('{"id": "7"}', 'tool_error invalid_arguments The argument `id` is not a valid uuid.'),
  ('{"e": 3}', 'tool_error invalid_arguments The argument `e` is not a valid demo.even.'), ('{"e": 4, "list": ["x"]}', 'tool_error invalid_arguments The argument `list[0]` is not a valid integer.'),
  ('{"i": "9223372036854775807"}', 'ok {"result": "0|9223372036854775807|2026-01-01 00:00:00|0|{}"}'), ('{"i": 9007199254740993}', 'ok {"result": "0|9007199254740993|2026-01-01 00:00:00|0|{}"}'),
  ('{"i": "9223372036854775808"}', 'tool_error invalid_arguments The argument `i` is not a valid bigint.'), ('{"list": {"a": 1}}', 'refused invalid_arguments The argument `list` must be an array, not object.'),
  ('{"x": {"deep": [1.50, null]}}', 'ok {"result": "0|0|2026-01-01 00:00:00|0|{}|{\"deep\": [1.50, null]}"}')) as t (arguments, told);
select is(tests.answer('alice', 'odd__s__name_', '{"a b": "x"}'), 'ok {"result": "x2"}', 'names with quotes, spaces and % are but names');
select throws_ok($$ select tests.call('alice', 'maybe', '["a"]') $$, '22023', null, 'arguments that are no object are a mistake of the runtime');

-- Refusals.
select is(tests.answer('alice', 'absent'), 'refused unknown_capability', 'what is not registered is unknown');
select is(tests.last_receipt(), 'absent refused unknown_capability', 'with a receipt');
select is(tests.answer('alice', 'x"; drop table'), 'refused unknown_capability', 'what cannot be a name as well');
select is(tests.last_receipt(), 'refused unknown_capability', 'whose receipt does not repeat it');
select is(tests.told(public.chumbo_call('absent', 'maybe', '{}', tests.request('alice'))), 'refused unknown_server', 'a server that is not registered is unknown');
select is(tests.answer('alice', 'maybe', '{"a": "x"}', '{"rejection": {"code": "invalid_arguments", "message": "Too large."}}'), 'refused invalid_arguments Too large.',
  'what the runtime found wrong is refused here, for the receipt');
select tests.act_as_owner();
select results_eq($$ select strategy, trace_id, subject, client_id, server, kind, code from chumbo.receipts order by id desc limit 1 $$,
  $$ values ('oauth', 'trace of alice', tests.person('alice')::text, tests.client('alice')::text, 'demo', 'tool', 'invalid_arguments') $$, 'which knows the caller');
select chumbo.disable('maybe', 'demo');
update chumbo.servers set is_enabled = false where slug = 'default';
select chumbo.sync_capabilities('{"tools": [{"name": "from_code", "inputSchema": {"type": "object"}}]}', 'demo');
drop function demo.plain();
select tests.act_as_runtime();
select is(tests.answer('alice', 'maybe', '{"a": "x"}'), 'refused unknown_capability', 'a disabled tool is unknown from the next call on');
select is(tests.answer('alice', 'plain'), 'refused tool_unavailable', 'one whose function is gone is unavailable');
select is(tests.told(public.chumbo_call('default', 'list_snippets', '{}', tests.request('alice'))), 'refused unknown_server', 'a disabled server is unknown');
select is(tests.call('alice', 'from_code') - 'revision', '{"outcome": "moved"}', 'what code handles is not run here');
select is(tests.last_receipt(), 'list_snippets refused unknown_server', 'and leaves its receipt to code');

-- Defaults are those of the function as it is now.
select tests.act_as_owner();
select chumbo.enable('maybe', 'demo');
create or replace function demo.maybe(a text, b text default session_user::text || '/' || current_user, c integer default 3) returns text language sql stable
  as $$ select concat_ws(',', a, b, c) $$;
select tests.act_as_runtime();
select is(tests.answer('alice', 'maybe', '{"a": "x"}'), 'ok {"result": "x,authenticator/authenticated,3"}', 'a default that changed is live, and computed as the caller');

-- The other gate, with fewer rights, gives the same answers.
select tests.act_as_owner();
create role tests_login nologin noinherit in role anon, authenticated, chumbo_runtime;
grant usage on schema tests to tests_login;
select set_config('session_authorization', 'tests_login', true), set_config('role', 'chumbo_runtime', true);
select is(tests.answer('alice', 'list_notes'), 'ok {"rows": ["of Alice"]}', 'through a direct login Alice sees her note');
select is(tests.answer('bob', 'list_notes'), 'ok {"rows": []}', 'and Bob does not');
select is(tests.answer('alice', 'write_and_fail', '{"state": "XX000"}'), 'tool_error tool_failed', 'failures are told alike');
select is(tests.last_receipt(), 'write_and_fail tool_error tool_failed 0', 'and leave their receipts');
select is(current_user::text, 'chumbo_runtime', 'and the role is back');
select tests.act_as_owner();

select * from finish();
rollback;
