-- tests/sql/chumbo_register_tool_test.sql — register_tool: what a function's signature and comment make of a tool.
begin;
\ir support/people.psql
select plan(95);
\ir support/runtime.psql

select policies_are('chumbo', 'capabilities', array['select_runtime'], 'the runtime reads capabilities and nobody writes them');
select table_privs_are('chumbo', 'capabilities', role, array[]::text[], role || ' has no part in capabilities') from unnest(array['anon', 'authenticated']) as role;
select table_privs_are('chumbo', 'capabilities', role, array['SELECT'], role || ' reads them') from unnest(array['service_role', 'chumbo_runtime']) as role;
select function_privs_are('chumbo', 'register_tool', array['text', 'text', 'text', 'text', 'text', 'text[]', 'jsonb', 'integer', 'text', 'boolean', 'text', 'text', 'text[]', 'integer', 'text', 'text[]', 'boolean', 'text', 'jsonb', 'jsonb'], role,
  array[]::text[], role || ' may not register') from unnest(array['anon', 'authenticated', 'service_role', 'chumbo_runtime']) as role;

-- The smallest registration.
create table demo.notes (id bigint generated always as identity primary key, body text not null);
alter table demo.notes enable row level security;
create policy all_signed_in on demo.notes to authenticated using (true) with check (true);
grant select, insert, update, delete on demo.notes to authenticated;
create function demo.add_note(body text, tag text default null) returns demo.notes language sql volatile
  as $$ insert into demo.notes (body) values (add_note.body) returning * $$;
comment on function demo.add_note(text, text) is 'Adds a note. Use it to remember.';
create function demo.count_notes() returns integer language sql stable as 'select count(*)::integer from demo.notes';
select isnt(chumbo.register_tool('demo.add_note', 'demo'), null, 'one line registers a tool');
select results_eq(
  $$ select c.name collate "default", title, description, handler, target, target_name, row_cap, is_write, empty_is_error, is_enabled, required_scopes
    from chumbo.capabilities as c where server_id = chumbo.server_id('demo') $$,
  $$ values ('add_note', null, 'Adds a note. Use it to remember.', 'sql', 'demo.add_note(text,text)', 'add_note', 1000, true, true, true, '{}'::text[]) $$,
  'its name, its comment and its exact signature, with safe defaults');
select is((select input_schema from chumbo.capabilities where name = 'add_note'),
  '{"type": "object", "properties": {"body": {"type": "string"}, "tag": {"type": "string"}}, "required": ["body"], "additionalProperties": false}',
  'its inputs, closed, of which the one without a default is required');
select is((select output_schema from chumbo.capabilities where name = 'add_note'),
  '{"type": "object", "properties": {"id": {"type": ["string", "null"], "pattern": "^-?[0-9]{1,19}$"}, "body": {"type": ["string", "null"]}}}',
  'and the columns of its row');
select is((select annotations from chumbo.capabilities where name = 'add_note'), '{"readOnlyHint": false, "openWorldHint": false}', 'a volatile function writes');
select chumbo.register_tool('demo.count_notes', 'demo', annotations => '{"title": "Count"}');
select results_eq($$ select annotations, is_write, empty_is_error, description from chumbo.capabilities where name = 'count_notes' $$,
  $$ values ('{"readOnlyHint": true, "openWorldHint": false, "title": "Count"}'::jsonb, false, false, 'count notes') $$,
  'a stable one reads, annotations are added to, and a name stands in for a comment');
select is((select input_schema -> 'properties' from chumbo.capabilities where name = 'count_notes'), '{}', 'no parameters, no properties');

-- Repeating.
create function tests.revision() returns bigint language sql stable as $$ select revision from chumbo.servers where slug = 'demo' $$;
select chumbo.disable('add_note', 'demo');
select is(chumbo.register_tool('demo.add_note', 'demo', title => 'Add', description => 'Mine.', row_cap => 5, empty => 'ok'),
  (select id from chumbo.capabilities where name = 'add_note'), 'registering again meets the same row');
select results_eq($$ select title, description, row_cap, empty_is_error, is_enabled from chumbo.capabilities where name = 'add_note' $$,
  $$ values ('Add', 'Mine.', 5, false, false) $$, 'renews what it says and keeps that it is off');
select chumbo.register_tool('demo.add_note', 'demo');
select results_eq($$ select title, description, row_cap, empty_is_error, is_enabled from chumbo.capabilities where name = 'add_note' $$,
  $$ values (null, 'Adds a note. Use it to remember.', 1000, true, false) $$, 'what is left out goes back to the function');
create temporary table before as select tests.revision();
select chumbo.enable('add_note', 'demo');
select cmp_ok(tests.revision(), '>', (select revision from before), 'each change makes cached definitions stale');
drop table before;

-- Every refusal.
create function demo.twin(a integer) returns integer language sql stable as 'select 1';
create function demo.twin(a text) returns integer language sql stable as 'select 2';
create procedure demo.act() language sql as 'select 1';
create function demo.unnamed(integer) returns integer language sql stable as 'select 1';
create function demo.many(variadic a anyarray) returns integer language sql stable as 'select 1';
create type demo.with_class as (id integer, of regclass);
create domain demo.row_of as integer[];
create function demo.takes_row(part demo.with_class) returns integer language sql stable as 'select 1';
create function demo.takes_rows(grid demo.row_of[]) returns integer language sql stable as 'select 1';
create function demo.takes_class(of regclass) returns integer language sql stable as 'select 1';
create function demo.takes_any(a anyelement) returns integer language sql stable as 'select 1';
create function demo.bare() returns record language sql stable as 'select 1, 2';
create function demo.bare_rows() returns setof record language sql stable as 'select 1, 2';
create function demo.fires() returns trigger language plpgsql as 'begin return null; end';
create function demo.classy() returns regclass language sql stable as 'select null::regclass';
create function demo."Größe"() returns integer language sql stable as 'select 1';
create function demo."…"() returns integer language sql stable as 'select 1';
create aggregate demo.total(integer) (sfunc = int4pl, stype = integer);
select throws_ok(format('select chumbo.register_tool(%L, ''demo'')', target), 'PT404', 'unknown_target', format('%L is no function', target))
from unnest(array['demo.absent', 'demo.twin(uuid)', 'demo.twin(nothing)', 'demo.twin(', 'count_notes', 'a.b.c', null]) as t (target);
select throws_ok(format('select chumbo.register_tool(%L, ''demo'')', target), 'PT404', 'unknown_target', format('%L is not even a name', target))
from unnest(array['', 'demo.', 'drop table']) as t (target);
select throws_ok($$ select chumbo.register_tool('demo.twin', 'demo') $$, 'PT409', 'ambiguous_target', 'of two signatures one has to be named');
select lives_ok($$ select chumbo.register_tool('demo.twin(text)', 'demo') $$, 'and then is');
select throws_ok(format('select chumbo.register_tool(%L, ''demo'')', target), 'PT400', slug, format('%s: %s', target, slug))
from (values ('demo.act', 'unsupported_target'), ('demo.total', 'unsupported_target'), ('demo.unnamed', 'unnamed_parameter'),
  ('demo.many', 'unsupported_parameter'), ('demo.takes_row', 'unsupported_parameter'), ('demo.takes_rows', 'unsupported_parameter'),
  ('demo.takes_class', 'unsupported_parameter'), ('demo.takes_any', 'unsupported_parameter'),
  ('demo.bare', 'undeclared_result'), ('demo.bare_rows', 'undeclared_result'), ('demo.fires', 'unsupported_result'), ('demo.classy', 'unsupported_result'),
  ('demo."…"', 'invalid_name')) as t (target, slug);
select throws_ok(format('select chumbo.register_tool(''demo.count_notes'', ''demo'', name => %L)', name), 'PT400', 'invalid_name', format('%L is no name', name))
from unnest(array['', 'a b', 'ä', repeat('a', 65)]) as n (name);
select throws_ok($$ select chumbo.register_tool('demo.count_notes', 'demo', empty => 'maybe') $$, 'PT400', 'invalid_option', 'empty is ok or error');
select throws_ok(format('select chumbo.register_tool(''demo.count_notes'', ''demo'', scopes => %L)', scopes), 'PT400', 'unknown_scope', format('the scopes %s are not defined', scopes))
from unnest(array['{absent}', '{""}', '{" "}', '{NULL}']) as s (scopes);
select throws_ok($$ select chumbo.register_tool('demo.count_notes', 'absent') $$, 'PT404', 'unknown_server', 'an unknown server is told as such');
select throws_like(format('select chumbo.register_tool(''demo.count_notes'', ''demo'', row_cap => %s)', cap), '%"capabilities_row_cap_is_bounded"', format('%s rows are no cap', cap))
from unnest(array[0, 10001]) as c (cap);

-- Warnings, which strict turns into a refusal.
create function demo.above() returns integer language sql stable security definer as 'select 1';
comment on function demo.above() is 'Above.';
create function demo.open_to_anon() returns integer language sql stable as 'select 1';
comment on function demo.open_to_anon() is 'Open.';
grant execute on function demo.open_to_anon() to anon;
create function demo.shut() returns integer language sql stable as 'select 1';
comment on function demo.shut() is 'Shut.';
revoke execute on function demo.shut() from authenticated;
select is((select array_agg(w) from chumbo.target_warnings('demo.add_note(text,text)', false) as w), null, 'nothing is to be said about a good one');
select matches((select string_agg(w, '|') from chumbo.target_warnings(target::regprocedure, false) as w), pattern, format('%s draws a warning', target))
from (values ('demo.above()', '^demo.above\(\) is security definer: it runs with the rights of supabase_admin and not of the caller. Next: alter function demo.above\(\) security invoker;'),
  ('demo.open_to_anon()', '^anon may execute demo.open_to_anon\(\), without Chumbo and without signing in. Next: revoke execute on function demo.open_to_anon\(\) from anon;$'),
  ('demo.shut()', '^authenticated may not execute demo.shut\(\)'), ('demo.count_notes()', '^demo.count_notes\(\) has no comment')) as t (target, pattern);
select throws_ok(format('select chumbo.register_tool(%L, ''demo'', strict => true)', target), 'PT400', 'unsafe_target', format('%s is refused by strict', target))
from unnest(array['demo.above', 'demo.open_to_anon', 'demo.shut', 'demo.count_notes']) as t (target);
select lives_ok($$ select chumbo.register_tool('demo.above', 'demo') $$, 'and registered with a warning without it');
select lives_ok($$ select chumbo.register_tool('demo.add_note', 'demo', strict => true) $$, 'strict takes a good one');

-- Schemas of inputs, for every kind of type.
create type demo.mood as enum ('calm', 'very wild');
create type demo."Odd %Type" as enum ('50%');
create domain demo.short as text check (length(value) < 5);
create domain demo.amount as numeric(10, 2);
create function demo.every(
  a smallint, b integer, c bigint, d numeric, e real, f double precision, g boolean, h uuid, i date, j timestamptz, k json, l jsonb, m text,
  n demo.mood, o text[], p integer[], q demo.short, r demo.amount, s bigint[], t bytea, u interval, v demo."Odd %Type", w demo.mood[], x character(3), y varchar(3)
) returns jsonb language sql stable as $$
  select jsonb_build_array(a::text, b::text, c::text, d::text, e::text, f::text, g::text, h::text, i::text, j at time zone 'UTC', k, l, m, n, o, p, q, r::text, s::text, t::text, u::text, v, w, x, y)
$$;
select chumbo.register_tool('demo.every', 'demo');
select is((select input_schema #> array['properties', parameter] from chumbo.capabilities where name = 'every'), schema::jsonb, format('%s is %s', parameter, schema))
from (values ('a', '{"type": "integer", "minimum": -32768, "maximum": 32767}'), ('b', '{"type": "integer", "minimum": -2147483648, "maximum": 2147483647}'),
  ('c', '{"type": "string", "pattern": "^-?[0-9]{1,19}$"}'), ('d', '{"type": "string", "pattern": "^(-?[0-9]+([.][0-9]+)?|NaN|-?Infinity)$"}'),
  ('f', '{"type": "number"}'), ('g', '{"type": "boolean"}'), ('h', '{"type": "string", "format": "uuid"}'),
  ('j', '{"type": "string", "format": "date-time"}'), ('l', '{"description": "Any JSON value."}'), ('n', '{"type": "string", "enum": ["calm", "very wild"]}'),
  ('o', '{"type": "array", "items": {"type": "string"}}'), ('q', '{"type": "string", "maxLength": 4}'),
  ('s', '{"type": "array", "items": {"type": "string", "pattern": "^-?[0-9]{1,19}$"}}'), ('v', '{"type": "string", "enum": ["50%"]}'),
  ('w', '{"type": "array", "items": {"type": "string", "enum": ["calm", "very wild"]}}')) as t (parameter, schema);

-- Defaults: constants are shown in the form of their type, expressions are not.
create function demo.defaults(a integer default -7, b text default 'it''s', c bigint default 5, d numeric default 1.50, e boolean default true,
  f demo.mood default 'calm', g text[] default '{x,y}', h timestamptz default now(), i text default null, j text default current_user, k bigint[] default '{9007199254740993}')
  returns text language sql stable as $$ select concat_ws(' ', a, b, c, d, e, f, g, i, j, k) $$;
select chumbo.register_tool('demo.defaults', 'demo');
select is((select jsonb_object_agg(key, value -> 'default') filter (where value ? 'default') from chumbo.capabilities, jsonb_each(input_schema -> 'properties') where name = 'defaults'),
  '{"a": -7, "b": "it''s", "c": "5", "d": "1.50", "e": true, "f": "calm", "g": ["x", "y"], "k": ["9007199254740993"]}',
  'constants are shown, in the form their schema asks for');
select is((select input_schema -> 'required' from chumbo.capabilities where name = 'defaults'), '[]', 'and nothing is required');

-- D24: an overload takes no tool over, and a signature that is gone is not replaced.
select chumbo.register_tool('demo.twin(integer)', 'demo', name => 'twin_of_numbers');
create function demo.twin(a text, b text default 'x') returns integer language sql stable as 'select 3';
create function tests.names() returns text language sql volatile as $$
  select string_agg(entry ->> 'name', ',') from jsonb_array_elements(tests.enter('alice', '{"operation": "list", "kind": "tool"}') -> 'entries') as entry
$$;
select throws_ok($$ select chumbo.register_tool('demo.twin(text)', 'demo') $$, 'PT409', 'ambiguous_target', 'Postgres could not tell two signatures apart, so neither does register_tool');
select lives_ok($$ select chumbo.register_tool('demo.twin(text, text)', 'demo', name => 'twin_of_two') $$, 'the longer one can always be told');
select tests.act_as_runtime();
select is(tests.answer('alice', 'twin', '{"a": "1"}'), 'refused tool_unavailable', 'a call that could mean either is refused and runs neither');
select unalike(tests.names(), '%twin,%', 'and the tool is not offered');
select is(tests.answer('alice', 'twin_of_numbers', '{"a": 1}'), 'ok {"result": 1}', 'its twin of another type is not concerned');
select is(tests.answer('alice', 'twin_of_two', '{"a": "1"}'), 'ok {"result": 3}', 'nor is the longer one');
select tests.act_as_owner();
create function demo.twin(a text, b integer) returns integer language sql stable as 'select 4';
drop function demo.twin(text, text);
select tests.act_as_runtime();
select is(tests.answer('alice', 'twin', '{"a": "1"}'), 'ok {"result": 2}', 'with the other gone the tool calls what it was registered with, whatever needs more arguments');
select is(tests.answer('alice', 'twin_of_two', '{"a": "1"}'), 'refused tool_unavailable', 'and the other tool is gone, whatever else carries the name');

-- What every type holds on the way in, and the form defaults take when they are live.
select is(tests.call('alice', 'every', '{"a": 1, "b": 2, "c": "9007199254740993", "d": "123456789012345678901234567890.5", "e": 1.5, "f": 0.1, "g": true,
    "h": "00000000-0000-4000-8000-00000000000a", "i": "2026-01-31", "j": "2026-01-31T12:00:00.123456+02:00", "k": {"a": [1]}, "l": [null], "m": "ä👩‍👩‍👧", "n": "very wild",
    "o": ["a,b", "\"", null], "p": [1, null], "q": "four", "r": "1.50", "s": ["9007199254740993"], "t": "\\x00ff", "u": "1 day", "v": "50%", "w": ["calm"], "x": "abc", "y": "abc"}')
    ->> 'result',
  '{"result": ["1", "2", "9007199254740993", "123456789012345678901234567890.5", "1.5", "0.1", "true", "00000000-0000-4000-8000-00000000000a", "2026-01-31", "2026-01-31T10:00:00.123456", {"a": [1]}, [null], "ä👩‍👩‍👧", "very wild", ["a,b", "\"", null], [1, null], "four", "1.50", "{9007199254740993}", "\\x00ff", "1 day", "50%", ["calm"], "abc", "abc"]}',
  'every type takes its value whole');
select is(tests.answer('alice', 'defaults'), 'ok {"result": "-7 it''s 5 1.50 t calm {x,y} authenticated {9007199254740993}"}', 'what is left out takes its default, as the caller');

select * from finish();
rollback;
