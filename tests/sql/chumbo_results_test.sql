-- tests/sql/chumbo_results_test.sql — how the answer of a function leaves: its shape, its schema, every digit of it.
begin;
\ir support/people.psql
select plan(50);
\ir support/runtime.psql

create type demo.part as (n bigint, "50%" text);
create domain demo.amount as numeric(20, 2);
create type demo.whole as (id bigint, price demo.amount, parts demo.part[], main demo.part, tags text[], counts bigint[], small integer);
create type demo."Odd ""Type" as ("a b" bigint, "it's" numeric);

create function demo.an_integer() returns integer language sql stable as 'select 7';
create function demo.a_bigint() returns bigint language sql stable as 'select 9007199254740993';
create function demo.a_numeric() returns numeric language sql stable as 'select 123456789012345678901234567890.50';
create function demo.an_amount() returns demo.amount language sql stable as 'select 12345678901234567.5';
create function demo.bigints() returns bigint[] language sql stable as 'select array[1, null, 9007199254740993]';
create function demo.no_bigints() returns bigint[] language sql stable as 'select null::bigint[]';
create function demo.a_whole() returns demo.whole language sql stable
  as $$ select row(9007199254740993, 1.5, array[row(1, 'x'), null, row(null, null)]::demo.part[], row(2, 'y'), '{a}', '{3,4}', 5)::demo.whole $$;
create function demo.an_empty_whole() returns demo.whole language sql stable as $$ select row(1, null, null, null, null, null, null)::demo.whole $$;
create function demo.no_whole() returns demo.whole language sql stable as 'select null::demo.whole';
create function demo.wholes() returns setof demo.whole language sql stable as 'select * from demo.a_whole() union all select * from demo.an_empty_whole()';
create function demo.odd() returns demo."Odd ""Type" language sql stable as 'select row(1, 2.50)::demo."Odd ""Type"';
create function demo.one_out(out total bigint) language sql stable as 'select 5';
create function demo.one_out_of_none(out total integer) language sql stable as 'select null::integer';
create function demo.two_out(out a bigint, out "100%" text) language sql stable as $$ select 5, 'x' $$;
create function demo.in_out(inout a integer, b integer default 2) language sql stable as 'select a + b';
create function demo.table_of_one() returns table (id bigint) language sql stable as 'select * from generate_series(1, 2)';
create function demo.table_of_two() returns table ("a %I %s" bigint, b jsonb) language sql stable as $$ select 1, '{"n": 9007199254740993}'::jsonb $$;
create function demo.integers(until integer default 3) returns setof integer language sql stable as 'select * from generate_series(1, until)';
create function demo.a_jsonb() returns jsonb language sql stable as $$ select '{"n": 9007199254740993, "x": 1.50}'::jsonb $$;
create function demo.a_json_array() returns json language sql stable as $$ select '[1, 2]'::json $$;
create function demo.a_json_null() returns jsonb language sql stable as $$ select 'null'::jsonb $$;
create function demo.no_json() returns jsonb language sql stable as 'select null::jsonb';
create function demo.a_time() returns timestamptz language sql stable as $$ select '2026-01-31 12:00:00.123456+00'::timestamptz $$;
create function demo.for_ever() returns date language sql stable as $$ select 'infinity'::date $$;
create function demo.not_a_number() returns numeric language sql stable as $$ select 'NaN'::numeric $$;
create function demo.no_row() returns setof integer language sql stable as 'select 1 where false';
create function demo.nothing() returns void language sql stable as 'select 1';
select chumbo.register_tool(format('demo.%I', p.proname), 'demo', row_cap => 3) from pg_proc as p where p.pronamespace = 'demo'::regnamespace;

create function tests.result_of(tool text, arguments jsonb default '{}') returns jsonb language sql volatile as $$ select (tests.call('alice', tool, arguments) ->> 'result')::jsonb $$;
create function tests.schema_of(tool text) returns jsonb language sql stable as $$
  select output_schema from chumbo.capabilities where server_id = chumbo.server_id('demo') and name = tool
$$;
select tests.act_as_runtime();

select is(tests.result_of(tool), result::jsonb, format('%s gives %s', tool, result))
from (values
  ('an_integer', '{"result": 7}'), ('a_bigint', '{"result": "9007199254740993"}'), ('a_numeric', '{"result": "123456789012345678901234567890.50"}'),
  ('an_amount', '{"result": "12345678901234567.50"}'), ('bigints', '{"result": ["1", null, "9007199254740993"]}'), ('no_bigints', '{"result": null}'),
  ('a_whole', '{"id": "9007199254740993", "price": "1.50", "parts": [{"n": "1", "50%": "x"}, null, {"n": null, "50%": null}], "main": {"n": "2", "50%": "y"},
    "tags": ["a"], "counts": ["3", "4"], "small": 5}'),
  ('an_empty_whole', '{"id": "1", "price": null, "parts": null, "main": null, "tags": null, "counts": null, "small": null}'),
  ('no_whole', '{"result": null}'), ('odd', '{"a b": "1", "it''s": "2.50"}'),
  ('one_out', '{"total": "5"}'), ('one_out_of_none', '{"result": null}'), ('two_out', '{"a": "5", "100%": "x"}'),
  ('table_of_one', '{"rows": [{"id": "1"}, {"id": "2"}]}'), ('table_of_two', '{"rows": [{"a %I %s": "1", "b": {"n": 9007199254740993}}]}'),
  ('integers', '{"rows": [1, 2, 3]}'), ('a_jsonb', '{"n": 9007199254740993, "x": 1.50}'), ('a_json_array', '{"result": [1, 2]}'),
  ('a_json_null', '{"result": null}'), ('no_json', '{"result": null}'), ('a_time', '{"result": "2026-01-31T12:00:00.123456+00:00"}'),
  ('for_ever', '{"result": "infinity"}'), ('not_a_number', '{"result": "NaN"}'), ('no_row', '{"rows": []}'), ('nothing', '{"result": null}')) as t (tool, result);
select is(tests.result_of('wholes') #> '{rows,0}', tests.result_of('a_whole'), 'a row among many looks as it does alone');
select is(tests.result_of('wholes') #> '{rows,1}', tests.result_of('an_empty_whole'), 'and so does an empty one');
select is(tests.result_of('in_out', '{"a": 1}'), '{"a": 3}', 'an inout parameter is input and output');
select is(tests.call('alice', 'a_numeric') ->> 'result', '{"result": "123456789012345678901234567890.50"}', 'the result travels as text, so nobody rounds it');

-- Schemas.
select tests.act_as_owner();
select is(tests.schema_of(tool), schema::jsonb, format('the schema of %s', tool))
from (values
  ('an_integer', '{"type": "object", "properties": {"result": {"type": ["integer", "null"], "minimum": -2147483648, "maximum": 2147483647}}, "required": ["result"]}'),
  ('a_bigint', '{"type": "object", "properties": {"result": {"type": ["string", "null"], "pattern": "^-?[0-9]{1,19}$"}}, "required": ["result"]}'),
  ('bigints', '{"type": "object", "properties": {"result": {"type": ["array", "null"], "items": {"type": ["string", "null", "array"], "pattern": "^-?[0-9]{1,19}$",
    "items": {"description": "The next dimension, where there is one."}}}}, "required": ["result"]}'),
  ('one_out', '{"type": "object", "properties": {"total": {"type": ["string", "null"], "pattern": "^-?[0-9]{1,19}$"}}}'),
  ('table_of_one', '{"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": ["string", "null"], "pattern": "^-?[0-9]{1,19}$"}}, "required": ["id"]}},
    "truncated": {"type": "boolean"}}, "required": ["rows"]}'),
  ('integers', '{"type": "object", "properties": {"rows": {"type": "array", "items": {"type": ["integer", "null"], "minimum": -2147483648, "maximum": 2147483647}},
    "truncated": {"type": "boolean"}}, "required": ["rows"]}'),
  ('a_jsonb', '{"type": "object"}'), ('a_json_array', '{"type": "object"}'), ('for_ever', '{"type": "object", "properties": {"result": {"type": ["string", "null"]}}, "required": ["result"]}'),
  ('nothing', '{"type": "object", "properties": {"result": {"type": "null"}}, "required": ["result"]}')) as t (tool, schema);
select is(tests.schema_of('a_whole') #> '{properties,main}',
  '{"type": ["object", "null"], "properties": {"n": {"type": ["string", "null"], "pattern": "^-?[0-9]{1,19}$"}, "50%": {"type": ["string", "null"]}}}', 'a composite in a composite is written out');
select is(tests.schema_of('a_whole') #> '{properties,parts,items,properties,n}', '{"type": ["string", "null"], "pattern": "^-?[0-9]{1,19}$"}', 'and so is one in an array');

-- The row cap cuts, says so, and counts what it kept.
select tests.act_as_runtime();
select is(tests.call('alice', 'integers', '{"until": 3}') - array['revision', 'is_whole'], '{"outcome": "ok", "result": "{\"rows\": [1, 2, 3]}", "error": null, "truncated": false, "row_cap": 3}',
  'as many rows as the cap are all of them');
select is(tests.call('alice', 'integers', '{"until": 4}') - array['revision', 'result'], '{"outcome": "ok", "is_whole": true, "error": null, "truncated": true, "row_cap": 3}',
  'one more is cut');
select is(tests.result_of('integers', '{"until": 4}'),
  '{"content": [{"type": "text", "text": "{\"rows\": [1, 2, 3], \"truncated\": true}"}, {"type": "text", "text": "Cut after 3 rows; narrow the request to see others."}],
    "structuredContent": {"rows": [1, 2, 3], "truncated": true}}', 'and said to be, in both forms');
select tests.act_as_owner();
select results_eq($$ select row_count, truncated, bytes from chumbo.receipts where capability = 'integers' order by id desc limit 3 $$,
  $$ values (3, true, 227), (3, true, 227), (3, false, 19) $$, 'the receipts count the rows that were given');
select results_eq($$ select distinct row_count from chumbo.receipts where capability = any (array['a_whole', 'a_bigint', 'a_jsonb', 'one_out']) $$,
  $$ values (1) $$, 'a row or a value counts as one');
select results_eq($$ select distinct row_count from chumbo.receipts where capability = any (array['no_whole', 'no_json', 'no_bigints', 'no_row']) $$,
  $$ values (0) $$, 'none as zero');
select is((select row_count from chumbo.receipts where capability = 'nothing'), null, 'and nobody knows of nothing');

-- A registered tool whose column types change under it keeps working, or says so.
select tests.act_as_owner();
drop function demo.an_integer();
create function demo.an_integer() returns text language sql stable as $$ select 'seven' $$;
select tests.act_as_runtime();
select is(tests.result_of('an_integer'), '{"result": "seven"}', 'another result type under the same signature is converted as it comes');
select tests.act_as_owner();
drop function demo.a_bigint();
create function demo.a_bigint() returns setof text language sql stable as $$ select 'seven' $$;
select tests.act_as_runtime();
select alike(tests.answer('alice', 'a_bigint'), 'ok%', 'and so is another shape');

select * from finish();
rollback;
