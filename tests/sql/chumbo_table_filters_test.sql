-- tests/sql/chumbo_table_filters_test.sql — the ten operators against every kind of column, and values that are none.
begin;
\ir support/people.psql
select plan(175);
\ir support/runtime.psql

-- Arrange: three rows in the order of every column, and a fourth of nulls.
create type demo.mood as enum ('low', 'mid', 'high');
create domain demo.count as integer check (value >= 0);
create domain demo.feeling as demo.mood;
create schema citext_home;
create extension citext schema citext_home;
grant usage on schema citext_home to authenticated;
grant execute on all functions in schema citext_home to authenticated;
create collation demo.loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
create schema unseen;
create type unseen.mood as enum ('low', 'high');
create table demo.things (
  id integer primary key,
  i2 smallint, i4 integer, i8 bigint, num numeric, f4 real, f8 double precision, yes boolean, u uuid,
  txt text, vc varchar(20), ch char(5), nm name, ci citext_home.citext,
  d date, t time, tz timetz, ts timestamp, tstz timestamptz, iv interval,
  mood demo.mood, cnt demo.count, feel demo.feeling, ip inet, net cidr, mac macaddr,
  j json, jb jsonb, list integer[], span int4range, b bytea, cash money, pt point, "odd "" name %s" text
);
insert into demo.things values
  (1, 1, 1, 9007199254740993, 0.1, 0.1, 0.1, false, '00000000-0000-4000-8000-000000000001',
    'apple', 'apple', 'ab', 'apple', 'Apple',
    '2026-01-01', '08:00', '08:00+00', '2026-01-01 08:00', '2026-01-01 08:00+00', '1 day',
    'low', 1, 'low', '10.0.0.1', '10.0.0.0/24', '08:00:2b:01:02:01',
    '1', '1', '{1}', '[1,2)', '\x01', '1', '(1,1)', 'x'),
  (2, 2, 2, 9007199254740994, 123456789012345678901234567890.5, 1.5, 1.5, true, '00000000-0000-4000-8000-000000000002',
    '50% off_', '50% off_', 'cd', 'banana', 'Banana',
    '2026-01-02', '12:30:15.5', '12:30:15.5+00', '2026-01-02 12:30:15.5', '2026-01-02 12:30:15.5+00', '2 days',
    'mid', 2, 'mid', '10.0.0.2', '10.0.1.0/24', '08:00:2b:01:02:02',
    '2', '2', '{2}', '[2,3)', '\x02', '2', '(2,2)', 'y'),
  (3, 3, 3, 9223372036854775807, 'NaN', 2.5, 'Infinity', true, '00000000-0000-4000-8000-000000000003',
    'cherry', 'cherry', 'ef', 'cherry', 'Cherry',
    '2026-01-03', '23:59', '23:59+00', 'infinity', '2026-01-03 23:59+00', '3 days',
    'high', 3, 'high', '10.0.0.3', '10.0.2.0/24', '08:00:2b:01:02:03',
    '3', '3', '{3}', '[3,4)', '\x03', '3', '(3,3)', 'z');
insert into demo.things (id) values (4);
create table demo.odd (id integer primary key, word text collate demo.loose, feeling unseen.mood);
insert into demo.odd values (1, 'Word', 'low');
alter table demo.odd enable row level security;
create policy select_all on demo.odd for select to authenticated using (true);
grant select on demo.odd to authenticated;
comment on table demo.things is 'Things of every type.';
alter table demo.things enable row level security;
create policy select_all on demo.things for select to authenticated using (true);
grant select on demo.things to authenticated;
select chumbo.register_table('demo.things', 'demo'), chumbo.register_table('demo.odd', 'demo');

-- The ids that a filter finds for Alice, or the code of the refusal.
create function tests.find(filter_column text, operator text, value jsonb) returns text language plpgsql volatile as $$
declare
  v_answer jsonb;
begin
  perform set_config('timezone', 'America/Monterrey', true);
  v_answer := tests.call('alice', 'select_rows', jsonb_build_object('table', 'things', 'columns', array['id'],
    'filters', jsonb_build_array(jsonb_build_object('column', filter_column, 'operator', operator, 'value', value))));
  return coalesce(v_answer #>> '{error,code}',
    (select string_agg(r ->> 'id', ',') from jsonb_array_elements((v_answer ->> 'result')::jsonb -> 'rows') as r), '');
end;
$$;
select tests.act_as_runtime();

-- Every column that has an order, with its middle value written as a client would.
select is(array_to_string(array[
    tests.find(c, 'eq', v), tests.find(c, 'ne', v), tests.find(c, 'gt', v), tests.find(c, 'gte', v), tests.find(c, 'lt', v),
    tests.find(c, 'lte', v), tests.find(c, 'in', jsonb_build_array(v)), tests.find(c, 'is_null', 'true'), tests.find(c, 'is_null', 'false')], '|'),
  '2|1,3|3|2,3|1|1,2|2|4|1,2,3', format('%s takes every comparison', c))
from (values
  ('i2', '2'::jsonb), ('i4', '2'), ('i4', '"2"'), ('i4', '2.0'), ('i8', '"9007199254740994"'), ('i8', '9007199254740994'),
  ('num', '"123456789012345678901234567890.5"'), ('num', '123456789012345678901234567890.5'),
  ('f4', '1.5'), ('f8', '"1.5"'), ('u', '"00000000-0000-4000-8000-000000000002"'), ('nm', '"banana"'), ('ch', '"cd"'), ('ci', '"BANANA"'),
  ('d', '"2026-01-02"'), ('d', '"2026-01-02T23:59:59-06:00"'), ('d', '"2026-01-02 00:00"'),
  ('t', '"12:30:15.5"'), ('tz', '"12:30:15.5Z"'),  ('tz', '"12:30:15.5"'),
  ('ts', '"2026-01-02T12:30:15.5"'), ('ts', '"2026-01-02T12:30:15.5Z"'), ('ts', '"2026-01-02 06:30:15.5-06"'),
  ('tstz', '"2026-01-02T12:30:15.5Z"'), ('tstz', '"2026-01-02 12:30:15.5+00:00"'), ('tstz', '"2026-01-02t06:30:15.500-0600"'), ('tstz', '"2026-01-02 12:30:15.5"'),
  ('iv', '"2 days"'), ('iv', '"P2D"'), ('mood', '"mid"'), ('cnt', '2'), ('feel', '"mid"'), ('ip', '"10.0.0.2"'), ('net', '"10.0.1.0/24"'), ('mac', '"08:00:2b:01:02:02"')
) as m (c, v);
select is(tests.find('txt', 'eq', '"50% off_"') || '|' || tests.find('vc', 'ne', '"50% off_"') || '|' || tests.find('txt', 'gt', '"apple"') || '|' || tests.find('txt', 'in', '["apple", "cherry", "x"]'),
  '2|1,3|3|1,3', 'text is compared as it is, wildcards and all');
select is(tests.find('yes', 'eq', 'true') || '|' || tests.find('yes', 'ne', '"true"') || '|' || tests.find('yes', 'in', '[true, false]') || '|' || tests.find('yes', 'is_null', 'true') || '|' || tests.find('yes', 'gt', 'false'),
  '2,3|1|1,2,3|4|operator_not_allowed', 'a boolean is equal or not');
select is(tests.find('num', 'eq', '"NaN"') || '|' || tests.find('f8', 'eq', '"Infinity"') || '|' || tests.find('i8', 'in', '["9007199254740993", 9223372036854775807]'),
  '3|3|1,3', 'what only a string can say, and 64 bits either way');
select is(tests.find('d', 'in', '["2026-01-01", "2026-01-03T00:00:00Z"]') || '|' || tests.find('tstz', 'gte', '"2026-01-02"'), '1,3|2,3', 'each entry of a list in its own spelling, and a day alone begins it in UTC');

-- Patterns.
select is(tests.find(c, 'like', '"%rr%"') || '|' || tests.find(c, 'like', '"%RR%"') || '|' || tests.find(c, 'ilike', '"%RR%"'), expected, format('%s takes patterns', c))
from (values ('txt', '3||3'), ('vc', '3||3'), ('nm', '3||3'), ('ci', '3|3|3')) as p (c, expected);
select is(tests.find('ch', 'like', '"cd%"'), '2', 'a padded column too');
select is(tests.find('txt', 'like', '"50\\% off\\_"') || '|' || tests.find('txt', 'like', '"%\\\\"'), '2|', 'with escapes');
select is(tests.find('txt', 'like', '"%\\"') || ' ' || tests.find('txt', 'ilike', '"a\\\\\\"') || ' ' || tests.find('txt', 'like', '5'),
  'invalid_filter_value invalid_filter_value invalid_filter_value', 'an open escape and a number are no pattern');
select is(tests.find(c, 'like', '"%"'), 'operator_not_allowed', format('%s has no patterns', c))
from unnest(array['i4', 'num', 'yes', 'u', 'd', 'tstz', 'mood', 'ip', 'jb', 'list']) as c;

-- What has no comparison is found by whether it is there.
select is(tests.find(c, 'is_null', 'true') || '|' || tests.find(c, 'is_null', 'false') || '|' || tests.find(c, 'eq', '1') || '|' || tests.find(c, 'in', '[1]'),
  '4|1,2,3|operator_not_allowed|operator_not_allowed', format('%s takes is_null only', c))
from unnest(array['j', 'jb', 'list', 'span', 'b', 'cash', 'pt']) as c;
select is(tests.told(tests.call('alice', 'select_rows', '{"table": "things", "columns": ["odd \" name %s"], "order_by": [{"column": "odd \" name %s", "direction": "desc"}], "limit": 2}')),
  'ok {"rows": [{"odd \" name %s": null}, {"odd \" name %s": "z"}], "limit": 2, "offset": 0, "row_count": 2, "truncated": true}', 'a column may have any name');
select is(tests.find('odd " name %s', 'eq', '"y"') || '|' || tests.find('odd " name %s', 'is_null', 'true'), '2|4', 'a name may hold anything');

-- What Postgres could not do for this caller is not offered either.
select is((select string_agg(concat_ws(' ', c ->> 'name', c -> 'operators', c -> 'sortable'), ', ') from jsonb_array_elements((tests.call('alice', 'describe_table', '{"table": "odd"}') ->> 'result')::jsonb -> 'columns') as c),
  'id ["eq", "ne", "gt", "gte", "lt", "lte", "in", "is_null"] true, word ["eq", "ne", "gt", "gte", "lt", "lte", "in", "is_null"] true, feeling ["is_null"] false',
  'a collation that takes different texts for equal has no patterns, a type that the caller may not name no comparison');
select is(tests.told(tests.call('alice', 'select_rows', '{"table": "odd", "filters": [{"column": "word", "operator": "eq", "value": "wORD"}, {"column": "feeling", "operator": "is_null", "value": false}]}')),
  'ok {"rows": [{"id": 1, "word": "Word", "feeling": "low"}], "limit": 50, "offset": 0, "row_count": 1, "truncated": false}', 'and what is left works');

-- Values that are none.
select is(tests.find(c, o, v), 'invalid_filter_value', format('%s %s %s', c, o, v))
from (values
  ('i4', 'eq', '"1; drop table demo.things"'::jsonb), ('i4', 'eq', '1.5'), ('i4', 'eq', 'true'), ('i4', 'eq', '""'), ('i4', 'eq', '" 1"'), ('i4', 'eq', '"0x1"'), ('i4', 'eq', '"1_0"'),
  ('i4', 'eq', 'null'), ('i4', 'eq', '[1]'), ('i4', 'eq', '{}'), ('i4', 'in', '1'), ('i4', 'in', '[]'), ('i4', 'in', '[1, null]'), ('i4', 'in', '[[1]]'), ('i4', 'in', '[1, "x"]'), ('i4', 'in', '"[1]"'),
  ('i8', 'eq', '"9223372036854775808"'), ('i8', 'gt', '1e30'), ('num', 'eq', '"1,5"'), ('num', 'eq', '"1e999999"'), ('num', 'eq', '"nan()"'), ('f4', 'eq', '1e300'), ('f8', 'eq', '"1e9999"'),
  ('yes', 'eq', '1'), ('yes', 'eq', '"yes"'), ('yes', 'is_null', '"true"'), ('yes', 'is_null', '1'), ('txt', 'is_null', 'null'),
  ('u', 'eq', '"1"'), ('u', 'eq', '5'), ('txt', 'eq', '5'), ('txt', 'eq', 'true'), ('txt', 'eq', 'null'), ('txt', 'eq', '["a"]'),
  ('mood', 'eq', '"angry"'), ('mood', 'eq', '"low''::text) or true --"'), ('mood', 'eq', '1'), ('feel', 'in', '["low", "LOW"]'),
  ('cnt', 'eq', '"-"'), ('ip', 'eq', '"localhost"'), ('net', 'eq', '"10.0.0.1/24"'), ('iv', 'eq', '"soon"'), ('iv', 'eq', '1'),
  ('d', 'eq', '"now"'), ('d', 'eq', '"today"'), ('d', 'eq', '"infinity"'), ('d', 'eq', '"-infinity"'), ('d', 'eq', '"epoch"'), ('d', 'eq', '"yesterday"'),
  ('d', 'eq', '"01/02/2026"'), ('d', 'eq', '"2 Jan 2026"'), ('d', 'eq', '"20260102"'), ('d', 'eq', '"2026-1-2"'), ('d', 'eq', '"2026-02-30"'), ('d', 'eq', '"0000-01-01"'), ('d', 'eq', '"2026-13-01"'),
  ('d', 'eq', '20260102'), ('d', 'eq', '1767312000'), ('d', 'eq', '"not-a-date"'), ('d', 'eq', '""'), ('d', 'eq', '"T"'), ('d', 'eq', '"2026-01-02T"'), ('d', 'eq', '"2026-01-02T25:00"'), ('d', 'eq', '"2026-01-02Z"'), ('d', 'eq', '"2026-01-0212:00"'),
  ('d', 'in', '["2026-01-01", "tomorrow"]'), ('d', 'in', '[1]'),
  ('tstz', 'eq', '"now"'), ('tstz', 'gt', '"2026-01-02 12:00 America/Monterrey"'), ('tstz', 'gt', '"2026-01-02 12:00 PM"'), ('tstz', 'gt', '"2026-02-30T00:00:00Z"'), ('tstz', 'gt', '"2026-01-02T24:00"'), ('tstz', 'gt', '"2026-01-02T12:00:60Z"'), ('tstz', 'gt', '1767312000'), ('tstz', 'gt', '"12:00"'),
  ('ts', 'lt', '"infinity"'), ('ts', 'lt', '"allballs"'), ('t', 'eq', '"noon"'), ('t', 'eq', '"now"'), ('t', 'eq', '"12:00Z"'), ('t', 'eq', '"2026-01-02T12:00:00"'), ('t', 'eq', '"allballs"'), ('tz', 'eq', '"2026-01-02T12:00Z"'), ('tz', 'eq', '"12"')
) as m (c, o, v);
select is(tests.find('i4', 'in', (select jsonb_agg(n) from generate_series(1, 100) as n)) || '|' || tests.find('i4', 'in', (select jsonb_agg(n) from generate_series(1, 101) as n)),
  '1,2,3|invalid_filter_value', 'a list has a hundred entries at most');
select is((select array_agg(distinct tests.told(tests.call('alice', 'select_rows', jsonb_build_object('table', 'things', 'filters', jsonb_build_array(jsonb_build_object('column', c, 'operator', 'eq', 'value', v)))))) from (values
    ('d', '"now"'::jsonb)) as m (c, v)), array['tool_error invalid_filter_value eq on d, a date, takes a value in ISO 8601.'], 'a date says which form it takes');

-- Nothing a caller writes becomes SQL.
select is(tests.told(tests.call('alice', 'select_rows', a)), expected, format('%s', a))
from (values
  ('{"table": "things; drop table demo.things"}'::jsonb, 'tool_error object_not_allowed There is no table ''things; drop table demo.things'' here.'),
  ('{"table": "demo.things"}', 'tool_error object_not_allowed There is no table ''demo.things'' here.'),
  ('{"table": "\"things\""}', 'tool_error object_not_allowed There is no table ''"things"'' here.'),
  ('{"table": "pg_class"}', 'tool_error object_not_allowed There is no table ''pg_class'' here.'),
  ('{"table": "things", "columns": ["id\", (select 1) as \"x"]}', 'tool_error column_not_allowed There is no column ''id", (select 1) as "x'' here.'),
  ('{"table": "things", "columns": ["*"]}', 'tool_error column_not_allowed There is no column ''*'' here.'),
  ('{"table": "things", "columns": ["ctid"]}', 'tool_error column_not_allowed There is no column ''ctid'' here.'),
  ('{"table": "things", "filters": [{"column": "1=1 or id", "operator": "eq", "value": 1}]}', 'tool_error column_not_allowed There is no column ''1=1 or id'' to filter by here.'),
  ('{"table": "things", "filters": [{"column": "tableoid", "operator": "is_null", "value": true}]}', 'tool_error column_not_allowed There is no column ''tableoid'' to filter by here.'),
  ('{"table": "things", "filters": [{"column": "id", "operator": "= 1 or 1 =", "value": 1}]}', 'tool_error operator_not_allowed The column id does not take the operator ''= 1 or 1 =''.'),
  ('{"table": "things", "filters": [{"column": "id", "operator": "EQ", "value": 1}]}', 'tool_error operator_not_allowed The column id does not take the operator ''EQ''.'),
  ('{"table": "things", "order_by": [{"column": "id", "direction": "asc; drop table demo.things"}]}', 'tool_error invalid_arguments Order 1 must be an object of column and direction, asc or desc.'),
  ('{"table": "things", "order_by": [{"column": "pg_sleep(1)"}]}', 'tool_error column_not_allowed There is no column ''pg_sleep(1)'' to order by here.'),
  ('{"table": "things", "order_by": [{"column": "1"}]}', 'tool_error column_not_allowed There is no column ''1'' to order by here.'),
  ('{"table": "things", "limit": "1; drop table demo.things"}', 'tool_error invalid_arguments The argument `limit` must be a whole number from 1 on.'),
  ('{"table": "things", "offset": "0 union select 1"}', 'tool_error invalid_arguments The argument `offset` must be a whole number from 0 on.')
) as m (a, expected);
select is(tests.find('txt', 'eq', v), '', format('%s is text', v))
from (values ('"'' or true --"'::jsonb), ('"$1"'), ('"{}''::text) or (true"'), ('"\\"'), ('"%s%I%L%1$s"')) as m (v);
select is(tests.find('id', 'gte', '1'), '1,2,3,4', 'and all rows are still there');

select * from finish();
rollback;
