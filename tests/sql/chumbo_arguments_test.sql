-- tests/sql/chumbo_arguments_test.sql — what clients send is read as its type asks for, or refused by name before anything ran.
begin;
\ir support/people.psql
select plan(149);
\ir support/runtime.psql
create extension if not exists citext with schema extensions;

select function_privs_are('chumbo', name, arguments, role, array[]::text[], format('%s has no part in %s', role, name))
from (values ('read_value', array['jsonb', 'jsonb', 'jsonb', 'text', 'integer']), ('find_bad_value', array['jsonb', 'jsonb', 'jsonb', 'text', 'text', 'jsonb']), ('is_valid', array['text', 'jsonb', 'text', 'jsonb'])) as f (name, arguments)
cross join unnest(array['anon', 'authenticated']) as role;

-- Arrange: each tool answers what it took. A sequence keeps count of the bodies that ran: it is not undone with the rest.
create sequence demo.ran;
grant usage on sequence demo.ran to authenticated;
create type demo.mood as enum ('calm', 'it''s "wild", {x}', '50%', '\back');
create domain demo.zip as text not null check (value ~ '^[0-9]{5}$');
create domain demo.price as numeric(10, 2) check (value >= 0);
create domain demo.tens as numeric(5, -1);
create domain demo.grid as integer[][];
create domain demo.some as text[] check (cardinality(value) between 1 and 3);
create type demo.addr as (street text, city text);
create domain demo.near as demo.addr check ((value).city <> 'far');
create type demo.deep as (id bigint, zip demo.zip, home demo.addr, "we""ird %s 'n" varchar(3), parts demo.addr[], gone text, matrix integer[][], mood demo.mood, price demo.price, raw bytea, extra jsonb, ok boolean);
alter type demo.deep drop attribute gone;
create function demo.check_slowly(value text) returns boolean language plpgsql stable as $$
begin
  if value = 'raise' then
    raise exception 'Not this one.';
  end if;
  return value <> 'bad' and current_user = 'authenticated';
end;
$$;
create domain demo.asked as text check (demo.check_slowly(value));
create schema "Other %s";
grant usage on schema "Other %s" to authenticated;
create type "Other %s"."Odd ""Type" as enum ('a');

do $$
declare
  v_type text;
begin
  foreach v_type in array array['integer', 'bigint', 'numeric', 'double precision', 'boolean', 'text', 'jsonb', 'bytea', 'date', 'timestamptz', 'text[]', 'integer[]', 'bigint[]', 'jsonb[]', 'demo.mood', 'demo.mood[]', 'demo.zip',
    'demo.price', 'demo.price[]', 'demo.tens', 'demo.grid', 'demo.some', 'demo.addr', 'demo.addr[]', 'demo.near', 'demo.near[]', 'demo.deep', 'demo.deep[]', 'demo.asked', 'extensions.citext', '"Other %s"."Odd ""Type"[]',
    'int4range', 'int4multirange', 'interval', 'inet', 'point', 'varbit', 'xml', 'tsvector', 'tsquery', 'money', 'uuid', 'varchar', 'bpchar', 'timetz', 'oid', 'tstzrange[]'] loop
    execute format('create function demo.%I(p %s) returns %s language plpgsql volatile as $b$ begin perform nextval(''demo.ran''); return p; end $b$', 'f ' || v_type, v_type, v_type);
    perform chumbo.register_tool(format('demo.%I', 'f ' || v_type), 'demo', name => 'f' || abs(hashtext(v_type)));
  end loop;
end
$$;
create function tests.take(type text, value text) returns text language plpgsql volatile as $$
declare
  v_before bigint := (select last_value + case when is_called then 1 else 0 end from demo.ran);
  v_told text := tests.answer('alice', 'f' || abs(hashtext(type)), format('{"p": %s}', value)::jsonb);
begin
  return v_told || case when v_told not like 'ok%' and v_before <> (select last_value + case when is_called then 1 else 0 end from demo.ran) then ' AND THE BODY RAN' else '' end;
end;
$$;
grant usage on schema demo to service_role;
grant select on demo.ran to service_role;
select tests.act_as_runtime();

-- What goes in comes out.
select is(tests.take(type, value), case when value like '{%' and type not like '%[]' and type <> 'jsonb' then 'ok ' else 'ok {"result": ' end || coalesce(told, value) || case when value like '{%' and type not like '%[]' and type <> 'jsonb' then '' else '}' end,
  format('%s takes %s', type, value))
from (values
  ('integer', '-2147483648', null), ('integer', '"7"', '7'), ('bigint', '"9007199254740993"', null), ('bigint', '"-9223372036854775808"', null), ('bigint', '42', '"42"'), ('bigint', '9007199254740993', '"9007199254740993"'),
  ('numeric', '"123456789012345678901234567890.123456789012345678901234567890"', null), ('numeric', '123456789012345678901234567890.50', '"123456789012345678901234567890.50"'), ('numeric', '"NaN"', null), ('numeric', '"-Infinity"', null),
  ('double precision', '1.5', null), ('double precision', '"NaN"', null), ('double precision', '"-Infinity"', null), ('double precision', '0.1', null), ('boolean', 'true', null), ('boolean', '"false"', 'false'),
  ('text', '"[1,2]"', null), ('text', '"{\"a\": 1}"', null), ('text', '"héllo 👩‍👩‍👧 שלום‏"', null), ('text', '""', null), ('text', '"\\u0000"', null),
  ('jsonb', '"{\"a\": 1}"', null), ('jsonb', '[1.50, null, {"n": 9007199254740993}]', null), ('bytea', '"\\x00ff"', null), ('bytea', '"\\x"', null), ('bytea', '"\\x00FF"', '"\\x00ff"'),
  ('date', '"infinity"', null), ('date', '"2026-01-31"', null), ('timestamptz', '"-infinity"', null), ('timestamptz', '"2026-01-31T12:00:00.123456+02:00"', '"2026-01-31T10:00:00.123456+00:00"'),
  ('text[]', '["a,b", "c\"d", "", null, "NULL", "{}", "\\"]', null), ('text[]', '[]', null), ('text[]', '"[\"a\", \"b\"]"', '["a", "b"]'), ('text[]', '[["a"], [null]]', null),
  ('integer[]', '[[1, 2], [3, 4]]', null), ('integer[]', '["1", null, 3]', '[1, null, 3]'), ('integer[]', '"[[1],[2]]"', '[[1], [2]]'), ('bigint[]', '["9007199254740993", 9007199254740993, null]', '["9007199254740993", "9007199254740993", null]'),
  ('jsonb[]', '[{"a": 1}, "x", null, 2]', null), ('demo.mood', '"it''s \"wild\", {x}"', null), ('demo.mood', '"\\back"', null), ('demo.mood[]', '["50%", "it''s \"wild\", {x}", null]', null),
  ('demo.zip', '"12345"', null), ('demo.price', '"1.50"', null), ('demo.price', '1.5', '"1.50"'), ('demo.price', '"1.500"', '"1.50"'), ('demo.price', '"NaN"', null), ('demo.price[]', '["1.50", null]', null), ('demo.tens', '120', '"120"'),
  ('demo.grid', '[[1, 2], [3, 4]]', null), ('demo.some', '["a"]', null),
  ('demo.addr', '{"city": "y", "street": "x"}', null), ('demo.addr', '{"city": "y"}', '{"city": "y", "street": null}'), ('demo.addr[]', '[{"city": "y", "street": null}, null]', null),
  ('demo.addr[]', '["{\"city\": \"y\"}", {"street": "x"}]', '[{"city": "y", "street": null}, {"city": null, "street": "x"}]'), ('demo.addr[]', '[[{"city": "y", "street": "x"}]]', null), ('demo.near[]', '[{"city": "y", "street": "x"}]', null),
  ('demo.deep[]', '[{"id": "9007199254740993", "ok": true, "raw": "\\x00", "zip": "12345", "home": {"city": "c", "street": null}, "mood": "50%", "extra": "[1]", "parts": [{"city": "d", "street": "{}"}], "price": "1.25", "matrix": [[1]], "we\"ird %s ''n": "abc"}]', null),
  ('demo.asked', '"good"', null), ('extensions.citext', '"MiXed"', null), ('"Other %s"."Odd ""Type"[]', '["a"]', null), ('int4range', '"[1,10)"', null), ('int4multirange', '"{[1,3),[5,8)}"', null), ('interval', '"P1DT2H"', '"1 day 02:00:00"'),
  ('inet', '"192.168.0.1/24"', null), ('point', '"(1,2)"', null), ('varbit', '"101"', null), ('xml', '"<a b=\"c\"/>"', null), ('tsvector', '"''cat'':1"', null), ('money', '"$1.50"', null), ('uuid', '"00000000-0000-4000-8000-00000000000a"', null),
  ('varchar', '" a "', null), ('bpchar', '"abc"', null), ('timetz', '"12:00:00+02"', null), ('oid', '"4294967295"', null), ('tstzrange[]', '["[\"2026-01-01 00:00:00+00\",infinity)"]', null)) as t (type, value, told);
select is(tests.take('demo.addr', '"{\"street\": \"x\", \"city\": \"y\"}"'), 'ok {"city": "y", "street": "x"}', 'demo.addr takes its JSON as text');
select is(tests.take('demo.deep', '{"zip": "12345", "home": "{\"city\": \"c\"}", "parts": "[{\"city\": \"d\"}]", "extra": null}') like 'ok {"id": null, "ok": null%', true, 'so does what is inside of one');

-- What is wrong is named, and nothing ran.
select is(tests.take(type, value), told, format('%s refuses %s', type, value))
from (values
  ('integer', '1.5', 'tool_error invalid_arguments The argument `p` is not a valid integer.'), ('integer', '2147483648', 'tool_error invalid_arguments The argument `p` is not a valid integer.'),
  ('bigint', '"9223372036854775808"', 'tool_error invalid_arguments The argument `p` is not a valid bigint.'), ('bigint', '"1e9999"', 'refused invalid_arguments The argument `p` is too large or too small; write it without an exponent.'),
  ('numeric', '"1e131071"', 'refused invalid_arguments The argument `p` is too large or too small; write it without an exponent.'), ('boolean', '"yes"', 'refused invalid_arguments The argument `p` must be a boolean, not string.'),
  ('boolean', '1', 'refused invalid_arguments The argument `p` must be a boolean, not number.'), ('text', '1', 'refused invalid_arguments The argument `p` must be a string, not number.'), ('text', '["x"]', 'refused invalid_arguments The argument `p` must be a string, not array.'),
  ('bytea', '"AAAA"', 'tool_error invalid_arguments The argument `p` must be written as \x and hexadecimal digits, two for a byte.'), ('bytea', '"\\x0"', 'tool_error invalid_arguments The argument `p` must be written as \x and hexadecimal digits, two for a byte.'),
  ('text[]', '"{a,b}"', 'tool_error invalid_arguments The argument `p` must be an array, and its text is not the JSON of one.'), ('text[]', '"{\"a\": 1}"', 'tool_error invalid_arguments The argument `p` must be an array, and its text is not the JSON of one.'),
  ('text[]', '"\"[]\""', 'tool_error invalid_arguments The argument `p` must be an array, and its text is not the JSON of one.'), ('text[]', '{"a": 1}', 'refused invalid_arguments The argument `p` must be an array, not object.'),
  ('text[]', '["a", 1]', 'tool_error invalid_arguments The argument `p[1]` must be a string, not number.'), ('text[]', '"[\"\\u0000\"]"', 'tool_error invalid_arguments The argument `p` contains a NUL character or half of a surrogate pair, which cannot be stored.'),
  ('text[]', '"[\"\\ud800\"]"', 'tool_error invalid_arguments The argument `p` must be an array, and its text is not the JSON of one.'),
  ('integer[]', '[1, "x"]', 'tool_error invalid_arguments The argument `p[1]` is not a valid integer.'), ('integer[]', '[1, true]', 'tool_error invalid_arguments The argument `p[1]` must be a number, not boolean.'),
  ('integer[]', '[[1, 2], [3]]', 'tool_error invalid_arguments The argument `p` is not a valid integer[].'), ('integer[]', '[1, [2]]', 'tool_error invalid_arguments The argument `p` mixes elements and arrays, or arrays of several depths.'),
  ('text[]', '["a", ["b"]]', 'tool_error invalid_arguments The argument `p` mixes elements and arrays, or arrays of several depths.'), ('text[]', '[["a"], [["b"]]]', 'tool_error invalid_arguments The argument `p` mixes elements and arrays, or arrays of several depths.'),
  ('text[]', '[null, ["b"]]', 'tool_error invalid_arguments The argument `p` mixes elements and arrays, or arrays of several depths.'),
  ('integer[]', '[[1], [99999999999]]', 'tool_error invalid_arguments The argument `p[1][0]` is not a valid integer.'), ('integer[]', '[[[[[[[1]]]]]]]', 'tool_error invalid_arguments The argument `p[0][0][0][0][0][0]` has more than six dimensions.'),
  ('integer[]', '"[1e200000]"', 'tool_error invalid_arguments The argument `p` holds a number that is too large or too small; write it without an exponent.'), ('bigint[]', '["1e200000"]', 'tool_error invalid_arguments The argument `p[0]` is too large or too small; write it without an exponent.'),
  ('demo.mood', '"x"', 'tool_error invalid_arguments The argument `p` is not a valid demo.mood.'), ('demo.mood[]', '["calm", "x"]', 'tool_error invalid_arguments The argument `p[1]` is not a valid demo.mood.'), ('demo.zip', '"1234"', 'tool_error invalid_arguments The argument `p` is not a valid demo.zip.'),
  ('demo.price', '1.255', 'tool_error invalid_arguments The argument `p` has more digits than demo.price keeps.'), ('demo.price', '"1.001"', 'tool_error invalid_arguments The argument `p` has more digits than demo.price keeps.'), ('demo.tens', '125', 'tool_error invalid_arguments The argument `p` has more digits than demo.tens keeps.'),
  ('demo.price', '-1', 'tool_error invalid_arguments The argument `p` is not a valid demo.price.'), ('demo.price', '"abc"', 'tool_error invalid_arguments The argument `p` is not a valid demo.price.'), ('demo.price[]', '["1.5", "1.555"]', 'tool_error invalid_arguments The argument `p[1]` has more digits than demo.price keeps.'),
  ('demo.some', '[]', 'tool_error invalid_arguments The argument `p` is not a valid demo."some".'),
  ('demo.addr', '{"colour": "x"}', 'tool_error invalid_arguments There is no field `p.colour`.'), ('demo.addr', '{"street": {"a": 1}}', 'tool_error invalid_arguments The argument `p.street` must be a string, not object.'), ('demo.addr', '"(x,y)"', 'tool_error invalid_arguments The argument `p` must be an object, and its text is not the JSON of one.'),
  ('demo.addr', '"[1]"', 'tool_error invalid_arguments The argument `p` must be an object, and its text is not the JSON of one.'), ('demo.addr', '[]', 'refused invalid_arguments The argument `p` must be an object, not array.'), ('demo.addr', 'null', 'refused invalid_arguments The argument `p` is required.'),
  ('demo.addr[]', '[{"city": "x"}, {"town": "y"}]', 'tool_error invalid_arguments There is no field `p[1].town`.'), ('demo.addr[]', '[7]', 'tool_error invalid_arguments The argument `p[0]` must be an object, not number.'), ('demo.addr[]', '["x"]', 'tool_error invalid_arguments The argument `p[0]` must be an object, and its text is not the JSON of one.'),
  ('demo.near', '{"city": "far"}', 'tool_error invalid_arguments The argument `p` is not a valid demo.near.'), ('demo.near[]', '[null, {"city": "far"}]', 'tool_error invalid_arguments The argument `p[1]` is not a valid demo.near.'),
  ('demo.deep', '{"id": 1}', 'tool_error invalid_arguments The argument `p.zip` is required.'), ('demo.deep', '{"zip": null}', 'tool_error invalid_arguments The argument `p.zip` is required.'), ('demo.deep', '{"zip": "1"}', 'tool_error invalid_arguments The argument `p.zip` is not a valid demo.zip.'),
  ('demo.deep', '{"zip": "12345", "gone": "x"}', 'tool_error invalid_arguments There is no field `p.gone`.'), ('demo.deep', '{"zip": "12345", "we\"ird %s ''n": "abcd"}', 'tool_error invalid_arguments The argument `p.we"ird %s ''n` is not a valid character varying(3).'),
  ('demo.deep', '{"zip": "12345", "parts": [{"city": "a"}, {"city": 1}]}', 'tool_error invalid_arguments The argument `p.parts[1].city` must be a string, not number.'), ('demo.deep', '{"zip": "12345", "matrix": [[1], ["x"]]}', 'tool_error invalid_arguments The argument `p.matrix[1][0]` is not a valid integer.'),
  ('demo.deep[]', '[{"zip": "12345"}, {"zip": "12345", "home": {"city": "a", "x": 1}}]', 'tool_error invalid_arguments There is no field `p[1].home.x`.'), ('demo.deep', '{"zip": "12345", "raw": "abc"}', 'tool_error invalid_arguments The argument `p.raw` must be written as \x and hexadecimal digits, two for a byte.'),
  ('demo.asked', '"bad"', 'tool_error invalid_arguments The argument `p` is not a valid demo.asked.'), ('demo.asked', '"raise"', 'tool_error tool_failed Not this one.'), ('tsquery', '"''cat'' &"', 'tool_error invalid_arguments The argument `p` is not a valid tsquery.'), ('varbit', '"102"', 'tool_error invalid_arguments The argument `p` must be written as digits 0 and 1.'), ('varbit', '"x1F"', 'tool_error invalid_arguments The argument `p` must be written as digits 0 and 1.')) as t (type, value, told);

-- A long array is searched by halves.
select is(tests.take('integer[]', (select jsonb_agg(case n when 7777 then '"x"'::jsonb else to_jsonb(n) end order by n)::text from generate_series(0, 9999) as n)),
  'tool_error invalid_arguments The argument `p[7777]` is not a valid integer.', 'the one in ten thousand is found');

select * from finish();
rollback;
