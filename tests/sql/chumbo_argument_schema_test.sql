-- tests/sql/chumbo_argument_schema_test.sql — what a client is told to send for each type, and which types nobody can send.
begin;
\ir support/people.psql
select plan(117);
\ir support/runtime.psql
create extension if not exists citext with schema extensions;

select function_privs_are('chumbo', 'argument_schema', array['oid', 'integer', 'integer'], role, array[]::text[], role || ' has no part in describing')
from unnest(array['anon', 'authenticated', 'service_role', 'chumbo_runtime']) as role;

-- Types with a form of their own.
create function tests.schema_of(type regtype, modifier integer default -1) returns jsonb language sql stable as $$ select chumbo.argument_schema(type, modifier) $$;
select is(tests.schema_of(type), schema::jsonb, format('%s is %s', type, schema))
from (values
  ('smallint'::regtype, '{"type": "integer", "minimum": -32768, "maximum": 32767}'), ('integer', '{"type": "integer", "minimum": -2147483648, "maximum": 2147483647}'),
  ('bigint', '{"type": "string", "pattern": "^-?[0-9]{1,19}$"}'), ('numeric', '{"type": "string", "pattern": "^(-?[0-9]+([.][0-9]+)?|NaN|-?Infinity)$"}'),
  ('real', '{"type": "number"}'), ('double precision', '{"type": "number"}'), ('boolean', '{"type": "boolean"}'),
  ('text', '{"type": "string"}'), ('varchar', '{"type": "string"}'), ('bpchar', '{"type": "string"}'), ('"char"', '{"type": "string"}'), ('name', '{"type": "string"}'),
  ('extensions.citext', '{"type": "string"}'), ('uuid', '{"type": "string", "format": "uuid"}'), ('date', '{"type": "string", "format": "date"}'),
  ('timestamptz', '{"type": "string", "format": "date-time"}'), ('json', '{"description": "Any JSON value."}'), ('jsonb', '{"description": "Any JSON value."}'),
  ('oid', '{"type": "string"}'), ('text[]', '{"type": "array", "items": {"type": "string"}}'), ('bigint[]', '{"type": "array", "items": {"type": "string", "pattern": "^-?[0-9]{1,19}$"}}'),
  ('jsonb[]', '{"type": "array", "items": {"description": "Any JSON value."}}'),
  ('bytea', '{"type": "string", "pattern": "^\\\\x([0-9a-fA-F]{2})*$", "description": "Bytes in hexadecimal after \\x, such as \\x00ff."}')) as t (type, schema);
select is(tests.schema_of(type, modifier) - 'description', schema::jsonb, format('%s is %s', format_type(type, modifier), schema))
from (values
  ('varchar'::regtype, 7, '{"type": "string", "maxLength": 3}'), ('bpchar', 7, '{"type": "string", "maxLength": 3}'), ('varchar[]', 7, '{"type": "array", "items": {"type": "string", "maxLength": 3}}'),
  ('bit', 3, '{"type": "string", "pattern": "^[01]{3}$"}'), ('varbit', 3, '{"type": "string", "pattern": "^[01]*$"}')) as t (type, modifier, schema);

-- What travels as text says how it is written, and the example in those words is one that Postgres reads.
select ok(tests.schema_of(type) ->> 'type' = 'string' and tests.schema_of(type) ? 'description', format('%s is a text that is explained', type))
from unnest(array['time', 'timetz', 'timestamp', 'interval', 'bit', 'varbit', 'money', 'xml', 'inet', 'cidr', 'macaddr', 'macaddr8', 'point', 'line', 'lseg', 'box', 'path',
  'polygon', 'circle', 'tsvector', 'tsquery', 'int4range', 'tstzrange', 'nummultirange']::regtype[]) as type;
create function tests.accepts(type text, value text) returns boolean language plpgsql stable as $$
declare
  v_is_null boolean;
begin
  execute format('select %L::%s is null', value, type) into v_is_null;
  return not v_is_null;
exception
  when others then return false;
end;
$$;
select is_empty($$
  select type, example
  from unnest(array['time', 'timetz', 'timestamp', 'interval', 'bytea', 'money', 'cidr', 'macaddr', 'macaddr8', 'point', 'line', 'lseg', 'box', 'circle', 'tsvector', 'tsquery', 'varbit']::regtype[]) as type
  cross join regexp_replace(chumbo.text_form(type), '^.*such as (.*?)( or .*)?\.$', '\1') as example
  where not tests.accepts(type::text, example)
$$, 'every example is accepted by its type');

-- Enums, domains and what of their checks can be said.
create type demo.mood as enum ('calm', 'it''s "wild", {x}', '50%', '\back');
comment on type demo.mood is 'How it feels.';
create domain demo.plain as text;
create domain demo.zip as text not null check (value ~ '^[0-9]{5}$');
comment on domain demo.zip is 'A postal code.';
create domain demo.zip_or_not as demo.zip;
create domain demo.between_them as smallint check (value between 1 and 10);
create domain demo.negative as integer check (value < 0);
create domain demo.fraction as real check (value >= 0 and value < 1.5);
create domain demo.from_to as bigint check (value >= 0) check (value < 100);
create domain demo.price as numeric(10, 2) check (value > -1.5);
create domain demo.short as text check (char_length(value) <= 10 and length(btrim(value)) > 2);
create domain demo.filled as text check (btrim(value) <> '');
create domain demo.narrow as varchar(5) check (length(value) <= 10);
create domain demo.listed as text check (value in ('a', 'b''c', 'd\e'));
create domain demo.listed_numbers as integer check (value in (1, 2, -3));
create domain demo.null_or as text check (value is null or value ~ '^[a-z]+$');
create domain demo.either as text check (value like 'a%' or value = 'b');
create domain demo.wordy as text check (value ~ '^\w+$');
create domain demo.classy as text check (value ~ '^[[:alpha:]]+$');
create domain demo.loud as text check (value ~* '^a$') check (value !~ 'b');
create domain demo.optioned as text check (value ~ '(?i)^a$');
create domain demo.blunt as bytea check (length(value) < 9);
create domain demo.some as text[] check (cardinality(value) between 1 and 3);
create domain demo.grid as integer[][];
create domain demo.not_valid as integer check (value <> 5);
alter domain demo.not_valid add constraint not_valid_upper check (value <= 9) not valid;
select is(tests.schema_of(format('demo.%I', type)::regtype), schema::jsonb, format('%s is %s', type, schema))
from (values
  ('mood', '{"type": "string", "enum": ["calm", "it''s \"wild\", {x}", "50%", "\\back"], "description": "How it feels."}'), ('plain', '{"type": "string"}'),
  ('zip', '{"type": "string", "pattern": "^[0-9]{5}$", "description": "A postal code."}'), ('zip_or_not', '{"type": "string", "pattern": "^[0-9]{5}$", "description": "A postal code."}'),
  ('between_them', '{"type": "integer", "minimum": 1, "maximum": 10}'), ('negative', '{"type": "integer", "minimum": -2147483648, "maximum": -1}'),
  ('fraction', '{"type": "number", "minimum": 0, "exclusiveMaximum": 1.5}'), ('from_to', '{"type": "string", "pattern": "^-?[0-9]{1,19}$", "description": "At least 0, less than 100."}'),
  ('price', '{"type": "string", "pattern": "^(-?[0-9]+([.][0-9]+)?|NaN|-?Infinity)$", "description": "More than -1.5."}'),
  ('short', '{"type": "string", "maxLength": 10, "minLength": 3}'), ('filled', '{"type": "string", "minLength": 1}'), ('narrow', '{"type": "string", "maxLength": 5}'),
  ('listed', '{"type": "string", "enum": ["a", "b''c", "d\\e"]}'), ('listed_numbers', '{"type": "integer", "minimum": -2147483648, "maximum": 2147483647, "enum": [1, 2, -3]}'),
  ('null_or', '{"type": "string", "pattern": "^[a-z]+$"}'), ('either', '{"type": "string"}'), ('wordy', '{"type": "string"}'), ('classy', '{"type": "string"}'), ('loud', '{"type": "string"}'),
  ('optioned', '{"type": "string"}'), ('blunt', '{"type": "string", "pattern": "^\\\\x([0-9a-fA-F]{2})*$", "description": "Bytes in hexadecimal after \\x, such as \\x00ff."}'),
  ('some', '{"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3}'),
  ('grid', '{"type": "array", "items": {"type": "array", "items": {"type": "integer", "minimum": -2147483648, "maximum": 2147483647}}}'),
  ('not_valid', '{"type": "integer", "minimum": -2147483648, "maximum": 9}')) as t (type, schema);
select is(chumbo.portable_pattern(pattern), case when is_portable then pattern end, format('%s %s', pattern, case when is_portable then 'is portable' else 'is not' end))
from (values ('^a.b*(?:c|d){2,3}[^\d\]-]\.$', true), ('^https?://', true), ('(?=a)b', true), ('a{2}', true), ('***=a', false), ('a\mb', false), ('(a)\1', false), ('[[.hyphen.]]', false),
  ('\u00e4', false), ('[a\-z]', true), ('a{x', false), ('(?<=a)b', false)) as t (pattern, is_portable);

-- Composites: closed, written out, without what is dropped.
create type demo.addr as (street text, city text);
comment on type demo.addr is 'Where somebody lives.';
comment on column demo.addr.street is 'With the number.';
create type demo.deep as (id bigint, zip demo.zip, home demo.addr, "we""ird %s 'n" varchar(3), parts demo.addr[], matrix integer[][], gone integer);
alter type demo.deep drop attribute gone;
create domain demo.checked as demo.deep check ((value).id > 0);
comment on domain demo.checked is 'A checked one.';
create table demo.rows (id bigint primary key, body text not null);
comment on table demo.rows is 'Rows that are kept.';
select is(tests.schema_of('demo.addr'), '{"type": "object", "description": "Where somebody lives.", "required": [], "additionalProperties": false,
  "properties": {"street": {"type": "string", "description": "With the number."}, "city": {"type": "string"}}}', 'a composite is a closed object, described by its comments');
select is(tests.schema_of('demo.deep'), jsonb_build_object('type', 'object', 'additionalProperties', false, 'required', '["zip"]'::jsonb, 'properties', jsonb_build_object(
  'id', tests.schema_of('bigint'), 'zip', tests.schema_of('demo.zip'), 'home', tests.schema_of('demo.addr'), 'we"ird %s ''n', '{"type": "string", "maxLength": 3}'::jsonb,
  'parts', jsonb_build_object('type', 'array', 'items', tests.schema_of('demo.addr')), 'matrix', tests.schema_of('demo.grid'))),
  'its parts are written out, odd names and all; what refuses null is required');
select is(tests.schema_of('demo.checked'), tests.schema_of('demo.deep') || '{"description": "A checked one."}', 'a domain over it is one too');
select is(tests.schema_of('demo.rows'), '{"type": "object", "description": "Rows that are kept.", "required": [], "additionalProperties": false,
  "properties": {"id": {"type": "string", "pattern": "^-?[0-9]{1,19}$"}, "body": {"type": "string"}}}', 'a row of a table as well; the not null of a column binds the table alone');
create type demo.level1 as (v integer); create type demo.level2 as (below demo.level1); create type demo.level3 as (below demo.level2); create type demo.level4 as (below demo.level3[]);
create type demo.level5 as (below demo.level4); create type demo.level6 as (below demo.level5);
select is(tests.schema_of('demo.level5') #> '{properties,below,properties,below,items,properties,below,properties,below}',
  '{"type": "object", "properties": {"v": {"type": "integer", "minimum": -2147483648, "maximum": 2147483647}}, "required": [], "additionalProperties": false}', 'five levels are written out');
select is(tests.schema_of('demo.level6') #> '{properties,below,properties,below,properties,below,items,properties,below,properties,below}', '{"type": "object"}', 'the sixth is any object');
select unalike(tests.schema_of('demo.deep')::text, '%"$%', 'and there is no reference in any of it');

-- What nobody can send.
create type demo.with_class as (id integer, of regclass);
create domain demo.class as regclass;
create type demo.shell;
select matches(chumbo.refuse_type(type::regtype), reason, format('%s is refused: %s', type, reason))
from (values ('anyelement', 'polymorphic'), ('anyarray', 'polymorphic'), ('anycompatiblemultirange', 'polymorphic'), ('"any"', 'polymorphic'), ('record', 'pseudo-type'), ('void', 'pseudo-type'), ('cstring', 'pseudo-type'),
  ('trigger', 'pseudo-type'), ('internal', 'pseudo-type'), ('regclass', 'name anything'), ('regrole[]', 'name anything'), ('demo.class', 'name anything'),
  ('demo.with_class', 'whose field of is regclass, with which'), ('demo.with_class[]', 'whose field of is'), ('demo.grid[]', 'array of arrays')) as t (type, reason);
select is(chumbo.refuse_type((select oid from pg_type where typname = 'shell')), 'which is not defined', 'a type that is only announced is refused');
select is(tests.schema_of('demo.with_class'), null, 'and has no schema');

select * from finish();
rollback;
