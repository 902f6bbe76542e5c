-- tests/sql/chumbo_value_schema_test.sql — what a value in a result looks like, and that it leaves with every digit at any depth.
begin;
\ir support/people.psql
select plan(63);
\ir support/runtime.psql
create extension if not exists hstore with schema extensions;

select function_privs_are('chumbo', 'value_schema', array['oid', 'integer', 'integer'], role, array[]::text[], role || ' has no part in describing')
from unnest(array['anon', 'authenticated']) as role;
select function_privs_are('chumbo', 'json_expression', array['oid', 'text'], role, array['EXECUTE'], role || ' writes queries over tables')
from unnest(array['service_role', 'chumbo_runtime']) as role;

create type demo.mood as enum ('calm', 'wild');
create domain demo.price as numeric(10, 2) check (value > 0);
comment on domain demo.price is 'In euro.';
create domain demo.zip as text not null check (value ~ '^[0-9]{5}$');
create domain demo.numbers as bigint[];
create type demo.part as (n bigint, "50%" text);
create domain demo.part_or_not as demo.part;
create type demo.whole as (id bigint, price demo.price, parts demo.part[], main demo.part, others demo.part_or_not[], matrix bigint[][], odd demo.numbers, mood demo.mood, gone text, x double precision);
alter type demo.whole drop attribute gone;
comment on column demo.whole.id is 'Its number.';
create type demo.outer_one as (w demo.whole, ws demo.whole[]);

-- Schemas.
select is(chumbo.value_schema(type, modifier), schema::jsonb, format('%s leaves as %s', format_type(type, modifier), schema))
from (values
  ('integer'::regtype, -1, '{"type": ["integer", "null"], "minimum": -2147483648, "maximum": 2147483647}'), ('bigint', -1, '{"type": ["string", "null"], "pattern": "^-?[0-9]{1,19}$"}'),
  ('real', -1, '{"type": ["number", "string", "null"], "pattern": "^(NaN|-?Infinity)$"}'), ('boolean', -1, '{"type": ["boolean", "null"]}'), ('text', -1, '{"type": ["string", "null"]}'),
  ('varchar', 7, '{"type": ["string", "null"], "maxLength": 3}'), ('uuid', -1, '{"type": ["string", "null"], "format": "uuid"}'), ('date', -1, '{"type": ["string", "null"]}'), ('timestamptz', -1, '{"type": ["string", "null"]}'),
  ('interval', -1, '{"type": ["string", "null"]}'), ('jsonb', -1, '{}'), ('demo.mood', -1, '{"type": ["string", "null"], "enum": ["calm", "wild", null]}'), ('demo.zip', -1, '{"type": ["string", "null"]}'),
  ('demo.price', -1, '{"type": ["string", "null"], "pattern": "^(-?[0-9]+([.][0-9]+)?|NaN|-?Infinity)$", "description": "In euro."}'), ('extensions.hstore', -1, '{}'),
  ('text[]', -1, '{"type": ["array", "null"], "items": {"type": ["string", "null", "array"], "items": {"description": "The next dimension, where there is one."}}}'),
  ('demo.mood[]', -1, '{"type": ["array", "null"], "items": {"type": ["string", "null", "array"], "items": {"description": "The next dimension, where there is one."}}}'),
  ('jsonb[]', -1, '{"type": ["array", "null"], "items": {"description": "Any JSON value."}}'),
  ('demo.part', -1, '{"type": ["object", "null"], "properties": {"n": {"type": ["string", "null"], "pattern": "^-?[0-9]{1,19}$"}, "50%": {"type": ["string", "null"]}}}'),
  ('demo.part_or_not', -1, '{"type": ["object", "null"], "properties": {"n": {"type": ["string", "null"], "pattern": "^-?[0-9]{1,19}$"}, "50%": {"type": ["string", "null"]}}}'),
  ('record', -1, null), ('anyelement', -1, null), ('regclass', -1, null), ('regclass[]', -1, null)) as t (type, modifier, schema);
select is(chumbo.value_schema('demo.whole'::regtype) #> '{properties,id}', '{"type": ["string", "null"], "pattern": "^-?[0-9]{1,19}$", "description": "Its number."}', 'the comment of a column describes it');
select is(chumbo.value_schema('demo.whole'::regtype) #> '{properties,parts,items,properties,n,type}', '["string", "null"]', 'what is in arrays is written out');
select is(chumbo.type_schema('demo.whole'::regtype), chumbo.value_schema('demo.whole'::regtype), 'type_schema says the same');
select is(chumbo.nullable_schema(chumbo.value_schema('demo.part'::regtype)), chumbo.value_schema('demo.part'::regtype), 'and what admits null is not made to twice');

-- Which types hold a wide number.
select is(chumbo.has_wide_number(type), wide, format('%s %s a wide number', type, case when wide then 'holds' else 'holds no' end))
from (values ('bigint'::regtype, true), ('numeric[]', true), ('demo.price', true), ('demo.numbers', true), ('demo.part_or_not[]', true), ('demo.outer_one', true), ('integer', false),
  ('double precision', false), ('int8range', false), ('text[]', false), ('jsonb', false)) as t (type, wide);

-- Values.
create function tests.written(type regtype, value text) returns text language plpgsql volatile as $$
declare
  v_json jsonb;
begin
  execute format('select %s', chumbo.json_expression(type, format('(%s)::%s', value, type))) into v_json;
  return v_json::text;
end;
$$;
select is(tests.written(type, value), (json::jsonb)::text, format('%s leaves as %s', value, coalesce(json, 'null')))
from (values
  ('bigint'::regtype, '-9223372036854775808', '"-9223372036854775808"'), ('numeric', '''1.50''', '"1.50"'), ('numeric', '''NaN''', '"NaN"'), ('numeric', '''-Infinity''', '"-Infinity"'),
  ('real', '''Infinity''', '"Infinity"'), ('bigint[]', '''{{1,null},{9007199254740993,4}}''', '[["1", null], ["9007199254740993", "4"]]'), ('bigint[]', '''{}''', '[]'), ('numeric[]', 'null', null),
  ('demo.numbers', '''{1}''', '["1"]'), ('demo.part[]', '''{}''', '[]'), ('demo.part[]', 'null', null),
  ('demo.part[]', 'array[row(1, ''x''), null, row(null, null)]::demo.part[]', '[{"n": "1", "50%": "x"}, null, {"n": null, "50%": null}]'),
  ('demo.part[]', 'array[array[row(9007199254740993, ''x'')::demo.part], array[null::demo.part]]', '[[{"n": 9007199254740993, "50%": "x"}], [null]]'),
  ('demo.part', 'row(null, null)', '{"n": null, "50%": null}'), ('demo.part', 'null', null), ('demo.part_or_not', 'row(1, null)', '{"n": "1", "50%": null}'),
  ('demo.whole', 'row(1, 1.5, array[row(2, null)::demo.part], row(3, null), array[row(4, null)::demo.part_or_not], ''{{5}}'', ''{6}'', ''calm'', ''NaN'')',
    '{"id": "1", "price": "1.50", "parts": [{"n": "2", "50%": null}], "main": {"n": "3", "50%": null}, "others": [{"n": "4", "50%": null}], "matrix": [["5"]], "odd": ["6"], "mood": "calm", "x": "NaN"}'),
  ('demo.outer_one', 'row(row(1, null, null, null, null, null, null, null, null), array[row(2, null, array[row(3, ''y'')::demo.part], null, null, null, null, null, 0.5)::demo.whole])',
    '{"w": {"id": "1", "price": null, "parts": null, "main": null, "others": null, "matrix": null, "odd": null, "mood": null, "x": null},
      "ws": [{"id": "2", "price": null, "parts": [{"n": "3", "50%": "y"}], "main": null, "others": null, "matrix": null, "odd": null, "mood": null, "x": 0.5}]}')) as t (type, value, json);

-- A type as wide as Postgres allows.
do $$ begin execute (select format('create type demo.broad as (%s)', string_agg(format('c%s bigint', n), ', ')) from generate_series(1, 1600) as n); end $$;
select is((select count(*) from jsonb_object_keys(chumbo.value_schema('demo.broad'::regtype) -> 'properties')), 1600::bigint, 'sixteen hundred columns are described');
select is((tests.written('demo.broad', (select format('row(%s)', string_agg(n::text, ', ')) from generate_series(1, 1600) as n))::jsonb) ->> 'c1600', '1600', 'and leave in one call');

select * from finish();
rollback;
