-- tests/sql/chumbo_describe_parameters_test.sql — what a signature and its comment say of the inputs of a function.
begin;
\ir support/people.psql
select plan(44);
\ir support/runtime.psql

create function tests.properties(target text) returns jsonb language sql stable as $$
  select chumbo.input_schema(chumbo.describe_parameters(chumbo.resolve_target(target))) -> 'properties'
$$;

-- Modes: what goes in is a parameter, whatever else it is.
create function demo.modes(a integer, out b integer, inout c integer, variadic d integer[]) language sql stable as 'select a, c';
create function demo.tabular(a integer) returns table (b integer) language sql stable as 'select a';
create function demo.fixed(variadic d text[] default '{x}') returns text language sql stable as 'select d[1]';
select is((select jsonb_agg(p - 'schema' - 'shape') from jsonb_array_elements(chumbo.describe_parameters('demo.modes'::regproc)) as p),
  '[{"name": "a", "position": 1, "type": "integer", "kind": "number", "required": true}, {"name": "c", "position": 3, "type": "integer", "kind": "number", "required": true},
    {"name": "d", "position": 4, "type": "integer[]", "kind": "array", "required": true, "variadic": true}]', 'out is left out, inout and variadic are in');
select is((select array_agg(p ->> 'name') from jsonb_array_elements(chumbo.describe_parameters('demo.tabular'::regproc)) as p), '{a}', 'the columns of a table are no inputs');
select is((select p ->> 'required' from jsonb_array_elements(chumbo.describe_parameters('demo.fixed'::regproc)) as p), 'false', 'a variadic one may have a default');
select is(tests.properties('demo.fixed'), '{"d": {"type": "array", "items": {"type": "string"}, "default": ["x"]}}', 'and is described as the array it is');

-- Names that are hard to carry.
create function demo.odd("input" integer, "$1" integer, "select" integer, "50%" integer, "it's ""so""" integer, "ä
b" integer, abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk integer) returns text
  language sql stable as $$ select concat_ws(',', $1, $2, $3, $4, $5, $6, $7) $$;
select is((select array_agg(p ->> 'name' order by (p ->> 'position')::integer) from jsonb_array_elements(chumbo.describe_parameters('demo.odd'::regproc)) as p),
  array['input', '$1', 'select', '50%', 'it''s "so"', e'ä\nb', 'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk'], 'a name is what it is');

-- Shapes are there where the kind does not say enough, and each composite type is in them once.
create type demo.addr as (street text, city text);
create type demo.pair as (home demo.addr, work demo.addr);
create domain demo.price as numeric(10, 2);
create function demo.shapes(a integer, b text, c bytea, d demo.price, e text[], f demo.pair, g jsonb) returns integer language sql stable as 'select 1';
select is((select jsonb_object_agg(p ->> 'name', jsonb_build_array(p ? 'shape', p ? 'fields')) from jsonb_array_elements(chumbo.describe_parameters('demo.shapes'::regproc)) as p),
  '{"a": [false, false], "b": [false, false], "c": [true, false], "d": [true, false], "e": [true, false], "f": [true, true], "g": [false, false]}', 'scalars need no second look');
select is((select p -> 'fields' from jsonb_array_elements(chumbo.describe_parameters('demo.shapes'::regproc)) as p where p ->> 'name' = 'f'),
  '{"demo.addr": {"street": {"kind": "string", "type": "text"}, "city": {"kind": "string", "type": "text"}},
    "demo.pair": {"home": {"kind": "object", "type": "demo.addr", "fields": "demo.addr"}, "work": {"kind": "object", "type": "demo.addr", "fields": "demo.addr"}}}',
  'a type that is used twice is kept once');

-- Defaults.
create type demo.mood as enum ('calm', 'it''s 50%');
create domain demo.even as integer check (value % 2 = 0);
create type demo."Odd ""Type%" as enum ('x');
create function demo.constants(
  a integer default -7, b text default 'it''s', c bigint default 5, d numeric default 1.50, e boolean default false, f demo.mood default 'it''s 50%', g text[] default array['x', 'y,z', null],
  h date default '2026-01-31', i timestamp default '2026-01-31 12:00', j integer[] default '{{1,2},{3,4}}', k jsonb default '{"a": [1.50]}', l demo.addr default row('x', null),
  m smallint default 3::smallint, n double precision default -1.5, o interval default '1 day', p bytea default '\x00ff', q demo.addr[] default array[row('a', 'b')::demo.addr],
  r demo."Odd ""Type%" default 'x', s bigint[] default '{9007199254740993}', t demo.even default 4, u varchar(3) default 'abc', v bit(3) default b'101', w real default 'NaN', x timestamp(3) default '2026-01-01',
  y numeric default 2::numeric(5, 2), z text default e'back\\slash')
  returns integer language sql stable as 'select 1';
select is((select jsonb_object_agg(key, value -> 'default') from jsonb_each(tests.properties('demo.constants')) where value ? 'default'),
  '{"a": -7, "b": "it''s", "c": "5", "d": "1.50", "e": false, "f": "it''s 50%", "g": ["x", "y,z", null], "h": "2026-01-31", "i": "2026-01-31T12:00:00", "j": [[1, 2], [3, 4]], "k": {"a": [1.50]},
    "l": {"street": "x", "city": null}, "m": 3, "n": -1.5, "o": "1 day", "p": "\\x00ff", "q": [{"street": "a", "city": "b"}], "r": "x", "s": ["9007199254740993"], "t": 4, "u": "abc", "v": "101", "w": "NaN",
    "x": "2026-01-01T00:00:00", "y": "2.00", "z": "back\\slash"}', 'constants are shown, in the form in which the argument would be sent');
create function demo.expressions(
  a timestamptz default now(), b text default current_user, c integer default 2 + 3, d uuid default gen_random_uuid(), e date default 'today'::text::date, f text default 'a' || 'b', g integer default abs(-1),
  h integer[] default array[1, 2 + 3], i timestamptz default 'now'::text::timestamptz, j text default null, k jsonb default 'null', l date default current_date, m text default upper('x'), n text default 'a' collate "C",
  o demo.even default 3, p boolean default not true)
  returns integer language sql stable as 'select 1';
select is((select jsonb_object_agg(key, value -> 'default') from jsonb_each(tests.properties('demo.expressions')) where value ? 'default'), null,
  'expressions are not, nor null, nor what the type itself refuses');

-- Comments.
create function demo.described(body text, "tag of it" text default null, grid integer[] default '{}', home demo.addr default null) returns integer language sql stable as 'select 1';
create domain demo.zip as text;
comment on domain demo.zip is 'A postal code.';
comment on type demo.addr is 'Where somebody lives.';
comment on function demo.described(text, text, integer[], demo.addr) is e'Adds a note.\nUse it to remember.\n\n@param body: The text,\n  over two lines.\r\n@param "tag of it" One word.\n@param grid[][] Row by row.\n@param home\n';
select is(chumbo.target_description('demo.described'::regproc), e'Adds a note.\nUse it to remember.', 'what is before the parameters is the description');
select is(tests.properties('demo.described'), '{"body": {"type": "string", "description": "The text, over two lines."}, "tag of it": {"type": "string", "description": "One word."},
  "grid": {"type": "array", "default": [], "description": "Row by row.", "items": {"type": "array", "items": {"type": "integer", "minimum": -2147483648, "maximum": 2147483647}}},
  "home": {"type": "object", "description": "Where somebody lives.", "required": [], "additionalProperties": false, "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}}',
  'each line describes its parameter, brackets say how deep an array is, and without words the type speaks');
select is((chumbo.read_comment(comment)).description, description, format('%L: %s', comment, coalesce(description, 'nothing')))
from (values (null, null), ('', null), (e' \n ', null), ('Plain.', 'Plain.'), ('Mail me@param.example.', 'Mail me@param.example.'), (e'@omit\nPlain.', e'@omit\nPlain.'), ('@param a The first.', null),
  (e'Plain.\n@param a The first.\n@deprecated since 2', e'Plain.\n@deprecated since 2'), (e'Plain.\n@params a', e'Plain.\n@params a')) as c (comment, description);
select is((chumbo.read_comment(comment)).parameters, parameters::jsonb, format('%L: %s', comment, parameters))
from (values ('Plain.', '[]'), ('@param a The first.', '[{"name": "a", "dimensions": 0, "description": "The first."}]'), (e'x\n\t@param  a :  b ', '[{"name": "a", "dimensions": 0, "description": "b"}]'),
  ('@param "a ""b""" c', '[{"name": "a \"b\"", "dimensions": 0, "description": "c"}]'), ('@param a[][][]', '[{"name": "a", "dimensions": 3, "description": ""}]'),
  (e'@param a one\n\ntwo\n@param b', '[{"name": "a", "dimensions": 0, "description": "one two"}, {"name": "b", "dimensions": 0, "description": ""}]'),
  ('@param ä:b', '[]'), ('@param ä b', '[{"name": "ä", "dimensions": 0, "description": "b"}]')) as c (comment, parameters);
create function demo.misspelt(body text, out total integer) language sql stable as 'select 1';
comment on function demo.misspelt(text) is e'Counts.\n@param boddy The text.';
select throws_ok($$ select chumbo.register_tool('demo.misspelt', 'demo') $$, 'PT400', 'unknown_parameter', 'a name that is no input is refused');
create function tests.detail_of(statement text) returns text language plpgsql as $$
declare
  v_detail text;
begin
  execute statement;
  return null;
exception
  when others then
    get stacked diagnostics v_detail = pg_exception_detail;
    return v_detail;
end;
$$;
select is(tests.detail_of($$ select chumbo.register_tool('demo.misspelt', 'demo') $$), 'The comment of demo.misspelt(text) describes boddy, which is none of its inputs: body.', 'and told, beside those there are');
comment on function demo.misspelt(text) is e'Counts.\n@param total The sum.';
select throws_ok($$ select chumbo.register_tool('demo.misspelt', 'demo') $$, 'PT400', 'unknown_parameter', 'an output is no input');
comment on function demo.misspelt(text) is e'Counts.\n@param body The text.';
select lives_ok($$ select chumbo.register_tool('demo.misspelt', 'demo') $$, 'a right one registers');
select results_eq($$ select description, input_schema #>> '{properties,body,description}' from chumbo.capabilities where name = 'misspelt' $$, $$ values ('Counts.', 'The text.') $$, 'and is listed with its words');

-- Reasons.
create type demo.with_class as (id integer, of regclass);
create function demo.any_kind(a anyelement) returns integer language sql stable as 'select 1';
create function demo.class_of(a regclass) returns integer language sql stable as 'select 1';
create function demo.inside(parts demo.with_class[]) returns integer language sql stable as 'select 1';
create function demo.unnamed(integer) returns integer language sql stable as 'select 1';
create function demo.many(variadic "any") returns integer language internal stable as 'pg_num_nulls';
select is(tests.detail_of(format('select chumbo.describe_parameters(%L::regproc)', target)), detail, format('%s is refused with its reason', target))
from (values ('demo.any_kind', 'demo.any_kind(anyelement) takes a as anyelement, which is polymorphic: nothing tells the type of what a client sends.'),
  ('demo.class_of', 'demo.class_of(regclass) takes a as regclass, with which a client could name anything in the database.'),
  ('demo.inside', 'demo.inside(demo.with_class[]) takes parts as demo.with_class[], whose field of is regclass, with which a client could name anything in the database.'),
  ('demo.unnamed', 'Argument 1 of demo.unnamed(integer) has no name, so no client can pass it.'),
  ('demo.many', 'Argument 1 of demo.many("any") has no name, so no client can pass it.')) as t (target, detail);

-- And the names arrive.
select chumbo.register_tool('demo.odd', 'demo');
select chumbo.register_tool('demo.modes', 'demo');
select chumbo.register_tool('demo.fixed', 'demo');
select tests.act_as_runtime();
select is(tests.answer('alice', 'odd', jsonb_build_object('input', 1, '$1', 2, 'select', 3, '50%', 4, 'it''s "so"', 5, e'ä\nb', 6, 'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk', 7)),
  'ok {"result": "1,2,3,4,5,6,7"}', 'each name brings its argument');
select is(tests.answer('alice', 'modes', '{"a": 1, "c": 2, "d": [3, 4]}'), 'ok {"b": 1, "c": 2}', 'a variadic one takes its array');
select is(tests.answer('alice', 'fixed', arguments::jsonb), told, format('fixed(%s)', arguments))
from (values ('{}', 'ok {"result": "x"}'), ('{"d": ["y", "z"]}', 'ok {"result": "y"}'), ('{"d": []}', 'ok {"result": null}'), ('{"d": "y"}', 'tool_error invalid_arguments The argument `d` must be an array, and its text is not the JSON of one.')) as t (arguments, told);

select * from finish();
rollback;
