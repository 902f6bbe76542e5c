-- tests/sql/chumbo_old_registrations_test.sql — tools that 0.1.0 registered run as they did, until they are registered again.
begin;
\ir support/people.psql
select plan(10);
\ir support/runtime.psql

create table demo.notes (id bigint generated always as identity primary key, body text not null);
grant select, insert on demo.notes to authenticated;
create function demo.add_note(body text, tags text[] default '{}', n bigint default 5) returns demo.notes language sql volatile
  as $$ insert into demo.notes (body) values (concat_ws(' ', body, tags::text, n::text)) returning * $$;

-- Word for word what register_tool of 0.1.0 wrote.
insert into chumbo.capabilities (server_id, kind, name, description, input_schema, output_schema, annotations, handler, target, target_schema, target_name, parameters,
  result_shape, result_query, row_cap, is_write, empty_is_error)
values (chumbo.server_id('demo'), 'tool', 'add_note', 'add note',
  '{"type": "object", "required": ["body"], "properties": {"n": {"type": "string", "default": "5", "pattern": "^-?[0-9]{1,19}$"}, "body": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}, "default": []}}, "additionalProperties": false}',
  '{"type": "object", "properties": {"id": {"type": ["string", "null"], "pattern": "^-?[0-9]{1,19}$"}, "body": {"type": ["string", "null"]}}}',
  '{"openWorldHint": false, "readOnlyHint": false}', 'sql', 'demo.add_note(text,text[],bigint)', 'demo', 'add_note',
  '[{"kind": "string", "name": "body", "type": "text", "position": 1, "required": true}, {"kind": "array", "name": "tags", "type": "text[]", "position": 2, "required": false}, {"kind": "number", "name": "n", "type": "bigint", "position": 3, "required": false}]',
  'row',
  'select jsonb_build_object(''count'', case when t is null then 0 else 1 end, ''value'', case when not (t is null) then to_jsonb(t) || jsonb_build_object(''id'', to_jsonb((t.id)::text)) end) from (select t.* from %s as t) as t',
  1000, true, true);
create table tests.before as select input_schema, output_schema from chumbo.capabilities where name = 'add_note';

create function tests.outcomes() returns setof text language sql volatile as $$
  select tests.answer('alice', 'add_note', arguments::jsonb)
  from unnest(array['{"body": "x"}', '{"body": "x", "tags": ["a", "b"], "n": "9007199254740993"}', '{"body": "x", "n": 7}', '{"tags": []}', '{"body": 1}', '{"body": "x", "tags": "[\"a\"]"}', '{"body": "x", "tags": ["a", 1]}',
    '{"body": "x", "n": "y"}', '{"body": "x", "other": 1}']) as arguments
$$;
select tests.act_as_runtime();
select is(array(select tests.outcomes()), array[
  'ok {"id": "1", "body": "x {} 5"}', 'ok {"id": "2", "body": "x {a,b} 9007199254740993"}', 'ok {"id": "3", "body": "x {} 7"}', 'refused invalid_arguments The argument `body` is required.',
  'refused invalid_arguments The argument `body` must be a string, not number.', 'refused invalid_arguments The argument `tags` must be an array, not string.', 'ok {"id": "4", "body": "x {a,1} 5"}',
  'tool_error invalid_arguments The argument `n` is not a valid bigint.', 'refused invalid_arguments There is no argument `other`.'], 'an old row answers as it did');
select is(tests.enter('alice', '{"operation": "list", "kind": "tool"}') #> '{entries,0,definition}' ->> 'name', 'add_note', 'and is listed');
select tests.act_as_owner();
select chumbo.register_tool('demo.add_note', 'demo');
select results_eq($$ select input_schema, output_schema from chumbo.capabilities where name = 'add_note' $$, 'table tests.before', 'registered again it shows the same schemas');
select is((select parameters -> 1 ? 'shape' from chumbo.capabilities where name = 'add_note'), true, 'and knows more of its array');
select tests.act_as_runtime();
select is(tests.answer('alice', 'add_note', arguments::jsonb), told, format('then %s: %s', arguments, told))
from (values ('{"body": "x", "tags": "[\"a\"]"}', 'ok {"id": "5", "body": "x {a} 5"}'), ('{"body": "x", "tags": ["a", 1]}', 'tool_error invalid_arguments The argument `tags[1]` must be a string, not number.')) as t (arguments, told);

-- A column or an enum label that was added since is read as the type is now; the shape that was kept refuses what it does not know.
select tests.act_as_owner();
create type demo.addr as (street text);
create type demo.mood as enum ('calm');
create function demo.take(a demo.addr default null, m demo.mood default null) returns jsonb language sql stable as $$ select jsonb_build_array(a, m) $$;
select chumbo.register_tool('demo.take', 'demo');
alter type demo.addr add attribute city text;
alter type demo.mood add value 'wild';
select tests.act_as_runtime();
select is(tests.answer('alice', 'take', '{"a": {"street": "x"}}'), 'ok {"result": [{"city": null, "street": "x"}, null]}', 'a field that was added is null');
select is(tests.answer('alice', 'take', '{"a": {"city": "x"}}'), 'tool_error invalid_arguments There is no field `a.city`.', 'and unknown');
select is(tests.answer('alice', 'take', '{"m": "calm"}'), 'ok {"result": [null, "calm"]}', 'an enum that grew takes what it took');
select tests.act_as_owner();
select chumbo.register_tool('demo.take', 'demo');
select tests.act_as_runtime();
select is(tests.answer('alice', 'take', '{"a": {"city": "x"}}'), 'ok {"result": [{"city": "x", "street": null}, null]}', 'until the tool is registered again');

select * from finish();
rollback;
