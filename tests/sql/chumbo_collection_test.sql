-- tests/sql/chumbo_collection_test.sql — a list read page by page: nothing lost, nothing twice, no cursor that strays.
begin;
\ir support/people.psql
select plan(90);
\ir support/runtime.psql

create table demo.notes (
  id bigint primary key, owner_id uuid not null, score numeric, created_at timestamptz not null, kind text not null default 'a', body text
);
alter table demo.notes enable row level security;
create policy own on demo.notes for select to authenticated using (owner_id = (select auth.uid()));
grant select on demo.notes to authenticated;
-- Ids beyond a double, scores of thirty digits, times a microsecond apart of which three are one.
insert into demo.notes (id, owner_id, score, created_at, body)
select 9007199254740993 + n, tests.person('alice'), 123456789012345678901234567890.5 + n / 3, '2026-01-01 00:00:00.000001+00'::timestamptz + make_interval(secs => (n / 3) / 1e6),
  'note ' || n
from generate_series(1, 45) as n;
insert into demo.notes (id, owner_id, created_at, body) values (1, tests.person('bob'), '2026-01-01', 'of Bob');
create type demo.note_key as (created_at timestamptz, id bigint);

create function demo.list_notes("limit" integer default 20, "cursor" jsonb default null, kind text default 'a')
  returns table (id bigint, score numeric, created_at timestamptz, body text) language sql stable set search_path = ''
as $$
  select n.id, n.score, n.created_at, n.body from demo.notes as n
  where n.kind = list_notes.kind
    and ("cursor" is null or (n.created_at, n.id) > (("cursor" ->> 'created_at')::timestamptz, ("cursor" ->> 'id')::bigint))
  order by n.created_at, n.id limit "limit"
$$;
create function demo.by_row_type("limit" bigint, "cursor" demo.note_key default null) returns setof demo.notes language plpgsql stable set search_path = ''
as $$
begin
  return query select n.* from demo.notes as n
    where "cursor" is null or (n.created_at, n.id) > (("cursor").created_at, ("cursor").id) order by n.created_at, n.id limit "limit";
end;
$$;
create function demo.by_id("limit" integer, "cursor" bigint default null) returns setof demo.notes language sql stable set search_path = ''
  as $$ select n.* from demo.notes as n where "cursor" is null or n.id < "cursor" order by n.id desc limit "limit" $$;
create function demo.by_score("limit" integer, "cursor" numeric default null) returns table (id bigint, score numeric) language sql stable set search_path = ''
  as $$ select n.id, n.score from demo.notes as n where "cursor" is null or n.score > "cursor" order by n.score, n.id limit "limit" $$;
create function demo.as_records("limit" integer, "cursor" jsonb default null) returns setof record language sql stable set search_path = ''
  as $$ select n.id, n.body from demo.notes as n where "cursor" is null or n.id > ("cursor" ->> 'id')::bigint order by n.id limit "limit" $$;
-- Functions that do not keep their word.
create function demo.deaf("limit" integer, "cursor" jsonb default null) returns table (id integer) language sql stable as $$ select * from generate_series(1, 9) limit "limit" $$;
create function demo.repeating("limit" integer, "cursor" integer default null) returns table (id integer) language sql stable
  as $$ select n from generate_series(1, 9) as n where n >= coalesce("cursor", 1) limit "limit" $$;
create function demo.boundless("limit" integer, "cursor" integer default null) returns table (id integer) language sql stable
  as $$ select n from generate_series(1, 500) as n where n > coalesce("cursor", 0) order by n $$;
create function demo.with_nulls("limit" integer, "cursor" jsonb default null) returns table (id integer, at date) language sql stable
  as $$ select n, d from (values (1, '2026-01-01'::date), (2, null), (3, null)) as t (n, d)
    where "cursor" is null or (t.d, t.n) > (("cursor" ->> 'at')::date, ("cursor" ->> 'id')::integer) order by t.d, t.n limit "limit" $$;
create function demo.with_nulls_minded("limit" integer, "cursor" jsonb default null) returns table (id integer, at date) language sql stable
  as $$ select n, d from (values (1, '2026-01-01'::date), (2, null), (3, null), (4, null)) as t (n, d)
    where "cursor" is null or (coalesce(t.d, 'infinity'), t.n) > (coalesce(("cursor" ->> 'at')::date, 'infinity'), ("cursor" ->> 'id')::integer)
    order by t.d, t.n limit "limit" $$;
create function demo.sized("limit" integer, "cursor" integer default null, poison integer default 0, bytes integer default 20000)
  returns table (id integer, body text) language sql stable
  as $$ select n, case when n = poison then repeat('"', bytes) else 'short ' || n end from generate_series(1, 6) as n where n > coalesce("cursor", 0) order by n limit "limit" $$;
create function demo.long_keys("limit" integer, "cursor" text default null) returns table (id text) language sql stable
  as $$ select n from unnest(array[repeat('a', 1600), 'b', 'c']) as n where n > coalesce("cursor", '') order by n limit "limit" $$;
create function demo.none("limit" integer, "cursor" integer default null) returns table (id integer) language sql stable as $$ select 1 where false $$;

select chumbo.register_tool('demo.list_notes', 'demo', result => 'collection', cursor => array['created_at', 'id']);
select chumbo.register_tool('demo.list_notes', 'demo', name => 'other_notes', result => 'collection', cursor => array['created_at', 'id']);
select chumbo.register_tool('demo.by_row_type', 'demo', result => 'collection', cursor => array['created_at', 'id']);
select chumbo.register_tool(format('demo.%I', f), 'demo', result => 'collection', cursor => array['id'])
from unnest(array['by_id', 'deaf', 'repeating', 'boundless', 'sized', 'long_keys', 'none']) as f;
select chumbo.register_tool('demo.by_score', 'demo', result => 'collection', cursor => array['score']);
select chumbo.register_tool('demo.as_records', 'demo', result => 'collection', cursor => array['id'], columns => 'id bigint, body text');
select chumbo.register_tool(format('demo.%I', f), 'demo', result => 'collection', cursor => array['at', 'id']) from unnest(array['with_nulls', 'with_nulls_minded']) as f;
select chumbo.register_tool('demo.sized', 'demo', name => 'sized_512', result => 'collection', cursor => array['id'], max_bytes => 512, row_cap => 5);
select chumbo.register_tool('demo.sized', 'demo', name => 'sized_1m', result => 'collection', cursor => array['id'], max_bytes => 1048576);

-- A call, its structured content, and a walk by next_call to the end or to the first error.
create function tests.whole(person text, tool text, arguments jsonb default '{}') returns jsonb language sql volatile
  as $$ select (tests.call(person, tool, arguments) ->> 'result')::jsonb $$;
create function tests.page(person text, tool text, arguments jsonb default '{}') returns jsonb language sql volatile
  as $$ select tests.whole(person, tool, arguments) -> 'structuredContent' $$;
create function tests.walk(tool text, arguments jsonb, most integer default 100) returns table (page integer, items jsonb) language plpgsql volatile as $$
declare
  v_page jsonb;
begin
  for page in 1 .. most loop
    v_page := tests.page('alice', tool, arguments);
    items := coalesce(v_page -> 'items', to_jsonb(tests.answer('alice', tool, arguments)));
    walk.page := page;
    return next;
    exit when v_page is null or not (v_page ->> 'has_more')::boolean;
    arguments := v_page #> '{next_call,arguments}';
  end loop;
end;
$$;
create function tests.ids(tool text, arguments jsonb) returns text language sql volatile
  as $$ select string_agg(i ->> 'id', ',' order by w.page, i.place) from tests.walk(tool, arguments) as w, jsonb_array_elements(case jsonb_typeof(w.items) when 'array' then w.items else jsonb_build_array(jsonb_build_object('id', w.items)) end) with ordinality as i (i, place) $$;
-- Read by their owner: the runtime may not.
select set_config('tests.' || name, (select string_agg(id::text, ',' order by case name when 'up' then id else -id end) from demo.notes where owner_id = tests.person('alice')), true)
from unnest(array['up', 'down']) as name;
create function tests.definition(tool text) returns chumbo.capabilities language sql stable
  as $$ select c from chumbo.capabilities as c where c.server_id = chumbo.server_id('demo') and c.name = tool $$;

create function tests.cursor_after(limited integer) returns text language sql volatile as $$ select tests.page('alice', 'list_notes', jsonb_build_object('limit', limited)) ->> 'next_cursor' $$;
create function tests.refused(person text, tool text, given text, more jsonb default '{}', facts jsonb default '{}') returns text language sql volatile as $$
  select tests.call(person, tool, jsonb_build_object('cursor', given) || more, facts) #>> '{error,code}' $$;

-- What is listed.
select is((tests.definition('list_notes')).input_schema -> 'properties',
  '{"limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20, "description": "How many items to return at most."},
    "cursor": {"type": "string", "maxLength": 2048, "description": "The next_cursor of the page before; leave it out for the first page."},
    "kind": {"type": "string", "default": "a"}}', 'limit and cursor are listed as every collection has them');
select is((tests.definition('by_row_type')).input_schema -> 'required', '[]', 'and are never required');
select is((tests.definition('sized_512')).input_schema #> '{properties,limit}',
  '{"type": "integer", "minimum": 1, "maximum": 5, "default": 5, "description": "How many items to return at most."}', 'a row cap lowers them');
select is((tests.definition('none')).output_schema,
  '{"type": "object", "properties": {
    "items": {"type": "array", "maxItems": 100, "items": {"type": "object", "properties": {"id": {"type": ["integer", "null"], "minimum": -2147483648, "maximum": 2147483647}}, "required": ["id"]}},
    "has_more": {"type": "boolean"}, "next_cursor": {"type": ["string", "null"], "maxLength": 2048},
    "next_call": {"type": ["object", "null"], "properties": {"tool": {"type": "string"}, "arguments": {"type": "object"}}, "required": ["tool", "arguments"]}},
    "required": ["items", "has_more", "next_cursor", "next_call"]}', 'and so is the page');

-- A page.
select tests.act_as_runtime();
select is(tests.page('alice', 'none'), '{"items": [], "has_more": false, "next_cursor": null, "next_call": null}', 'an empty list is one page');
select is(jsonb_array_length(tests.page('alice', 'list_notes', '{"limit": 7}') -> 'items'), 7, 'a page has as many items as asked for');
select is(jsonb_array_length(tests.page('alice', 'none' , '{}') -> 'items'), 0, 'and none when there are none');
select is(tests.page('alice', 'list_notes', '{"limit": 7, "kind": "a"}') -> 'next_call',
  jsonb_build_object('tool', 'list_notes', 'arguments', jsonb_build_object('limit', 7, 'kind', 'a', 'cursor', tests.page('alice', 'list_notes', '{"limit": 7, "kind": "a"}') ->> 'next_cursor')),
  'the next call has the same filters and limit, and the cursor');
select is((tests.whole('alice', 'list_notes', '{"limit": 2}') #>> '{content,0,text}')::jsonb, tests.page('alice', 'list_notes', '{"limit": 2}'), 'the text is the same data');
select matches(tests.page('alice', 'list_notes', '{"limit": 2}') ->> 'next_cursor', '^[A-Za-z0-9_-]+$', 'a cursor needs no escape anywhere');
select is(jsonb_array_length(tests.page('alice', 'boundless') -> 'items'), 20, 'twenty without a limit, also of a function that minds none');
select is(jsonb_array_length(tests.page('alice', 'boundless', '{"limit": 100}') -> 'items'), 100, 'a hundred at most');
select is((tests.page('alice', 'boundless', '{"limit": 100}') ->> 'has_more')::boolean, true, 'of which there are more');
select is(tests.answer('alice', 'list_notes', jsonb_build_object('limit', v::jsonb)), 'tool_error invalid_arguments The argument `limit` must be a whole number from 1 to 100.', format('a limit of %s is refused', v))
from unnest(array['0', '101', '-1', '1.5', '1e3', '"x"', '99999999999999999999']) as v;
select is(tests.answer('alice', 'sized_512', '{"limit": 6}'), 'tool_error invalid_arguments The argument `limit` must be a whole number from 1 to 5.', 'as is one over the cap of the tool');
select is(jsonb_array_length(tests.page('alice', 'list_notes', '{"limit": "3"}') -> 'items'), 3, 'a number as text is one');

-- Walks: every item once, in order, every digit of its key kept.
select is(tests.ids('list_notes', jsonb_build_object('limit', n)), current_setting('tests.up'), format('%s by %s, nothing is lost or told twice', n, n)) from unnest(array[1, 2, 3, 7, 44, 45, 46, 100]) as n;
select is(tests.ids('by_row_type', '{"limit": 4}'), current_setting('tests.up'), 'nor with a row type');
select is(tests.ids('as_records', '{"limit": 4}'), current_setting('tests.up'), 'nor with a record whose columns were declared');
select is(tests.ids('by_id', '{"limit": 4}'), current_setting('tests.down'), 'nor with the one column itself, downwards');
select is((select string_agg(items::text, '') from tests.walk('with_nulls_minded', '{"limit": 1}')), '[{"at": "2026-01-01", "id": 1}][{"at": null, "id": 2}][{"at": null, "id": 3}][{"at": null, "id": 4}]',
  'a null in a key reaches a function that minds it');
select is((select count(*) from tests.walk('boundless', '{"limit": 100}')), 5::bigint, 'a list ends');
select is(tests.ids('sized', '{"limit": 2}'), '1,2,3,4,5,6', 'the last page has no cursor');

-- Ties: three rows share a score, so a page ends before or after them and never between.
select is((select string_agg(jsonb_array_length(items)::text, ',' order by page) from tests.walk('by_score', '{"limit": 4}')), '2,3,3,3,3,3,3,3,3,3,3,3,3,3,4', 'a page ends where the key changes');
select is((select count(distinct i ->> 'id') from tests.walk('by_score', '{"limit": 4}') as w, jsonb_array_elements(w.items) as i), 45::bigint, 'and nothing is lost');
select is((select page || ' ' || (items #>> '{}') from tests.walk('by_score', '{"limit": 2}') order by page desc limit 1),
  '2 tool_error collection_stuck The list cannot go on: more items than fit into a page share one key, so no cursor could tell them apart.', 'more ties than a page holds are an error and no loss');

-- Functions that go in circles.
select is((select page || ' ' || (items #>> '{}') from tests.walk('repeating', '{"limit": 3}') order by page desc limit 1),
  '2 tool_error collection_stuck The list cannot go on: the function returned the item after which it was to go on.', 'a cursor that does not move on is an error');
select is((select page || ' ' || (items #>> '{}') from tests.walk('deaf', '{"limit": 3}') order by page desc limit 1),
  '2 tool_error collection_stuck The list cannot go on: the function returned the item after which it was to go on.', 'as is one that the function does not heed');
select is((select page || ' ' || (items #>> '{}') from tests.walk('with_nulls', '{"limit": 2}') order by page desc limit 1),
  '2 tool_error collection_stuck The list cannot go on: nothing comes after an item whose key holds a null.', 'and a null that the function did not mind');

-- Rows come and go between two pages.
select set_config('tests.cursor', tests.cursor_after(10), true);
select tests.act_as_owner();
insert into demo.notes (id, owner_id, created_at, body) values
  (2, tests.person('alice'), '2025-01-01', 'before'), (3, tests.person('alice'), '2027-01-01', 'after');
delete from demo.notes where id = 9007199254740993 + 10;
select tests.act_as_runtime();
select is(
  (select string_agg(i ->> 'id', ',' order by w.page, i.place) from tests.walk('list_notes', jsonb_build_object('limit', 10, 'cursor', current_setting('tests.cursor'))) as w,
    jsonb_array_elements(w.items) with ordinality as i (i, place)),
  (select string_agg((9007199254740993 + n)::text, ',' order by n) from generate_series(11, 45) as n) || ',3',
  'a page goes on after its last item although that is gone, shows what came after it, and nothing that came before');

-- Hostile cursors.
select set_config('tests.cursor', tests.cursor_after(5), true);
select is(tests.refused('alice', 'list_notes', current_setting('tests.cursor')), null, 'a cursor serves');
select is(tests.refused('alice', 'list_notes', current_setting('tests.cursor'), '{"limit": 50}'), null, 'also with another limit');
select is(tests.refused('bob', 'list_notes', current_setting('tests.cursor')), 'invalid_cursor', 'not another caller');
select is(tests.refused('nobody', 'list_notes', current_setting('tests.cursor')), 'invalid_cursor', 'nor nobody');
select is(tests.refused('bob', 'list_notes', current_setting('tests.cursor'), '{}', jsonb_build_object('client_id', tests.client('alice'), 'user_id', null)), 'invalid_cursor', 'be it with the same client');
select is(tests.refused('alice', 'list_notes', current_setting('tests.cursor'), '{}', jsonb_build_object('client_id', tests.client('bob'), 'user_id', null)), 'invalid_cursor', 'nor another client of the same one');
select is(tests.refused('alice', 'other_notes', current_setting('tests.cursor')), 'invalid_cursor', 'not another tool, be it of the same function');
select is(tests.refused('alice', 'list_notes', current_setting('tests.cursor'), '{"kind": "b"}'), 'invalid_cursor', 'not other filters');
select is(tests.refused('alice', 'list_notes', g.given), 'invalid_cursor', format('nor %s', g.title))
from (values
  ('one that was cut', left(current_setting('tests.cursor'), -1)), ('one that was cut by four', left(current_setting('tests.cursor'), -4)),
  ('one with a letter more', current_setting('tests.cursor') || 'A'), ('one with a letter changed', overlay(current_setting('tests.cursor') placing 'zz' from 30)),
  ('one with = at its end', current_setting('tests.cursor') || '='), ('one with a space', ' ' || current_setting('tests.cursor')),
  ('an empty one', ''), ('what is no base64', '%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%'), ('a word', 'hello'), ('an emoji', '👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧'),
  ('one too long', repeat('A', 2049)), ('a huge one', repeat('A', 1000000)), ('one of zeros', repeat('A', 64)), ('JSON', '["2026-01-01", "1"]'), ('null bytes', '\x00'), ('a seal alone', left(current_setting('tests.cursor'), 22)),
  ('SQL', 'x'' or true; drop table demo.notes; --------------')) as g (title, given);
select is(tests.refused('alice', 'list_notes', null), null, 'null is none');
select is(tests.call('alice', 'list_notes', '{"cursor": 7}') #>> '{error,code}', 'invalid_arguments', 'a number is no cursor');
select tests.act_as_owner();
select chumbo.register_tool('demo.list_notes', 'demo', result => 'collection', cursor => array['id']);
select tests.act_as_runtime();
select is(tests.refused('alice', 'list_notes', current_setting('tests.cursor')), 'invalid_cursor', 'a list ordered otherwise takes none of before');

-- Size: the most items that fit, the first that does not is named and can be passed.
select is(tests.ids('sized_512', '{}'), '1,2,3,4,5,6', 'a page of 512 bytes walks the whole list too');
select cmp_ok(max(octet_length(tests.call('alice', 'sized_512', jsonb_build_object('limit', n)) ->> 'result')), '<=', 512, 'and none is larger') from generate_series(1, 5) as n;
select is(
  (select max(n) from generate_series(1, 5) as n where octet_length(chumbo.whole_result(chumbo.compact_json(tests.page('alice', 'sized', jsonb_build_object('limit', n))))) <= 512),
  jsonb_array_length(tests.page('alice', 'sized_512', '{"limit": 5}') -> 'items'), 'nor has fewer items than fit');
select set_config('tests.exact', octet_length(chumbo.whole_result(chumbo.compact_json(tests.page('alice', 'sized_1m', '{"limit": 3}'))))::text, true);
select tests.act_as_owner();
update chumbo.capabilities set max_bytes = current_setting('tests.exact')::integer where name = 'sized_1m';
select tests.act_as_runtime();
select is(jsonb_array_length(tests.page('alice', 'sized_1m', '{"limit": 3}') -> 'items'), 3, 'a page may be as large as it may be');
select tests.act_as_owner();
update chumbo.capabilities set max_bytes = current_setting('tests.exact')::integer - 1 where name = 'sized_1m';
select tests.act_as_runtime();
select is(jsonb_array_length(tests.page('alice', 'sized_1m', '{"limit": 3}') -> 'items'), 2, 'and not a byte larger');
select tests.act_as_owner();
update chumbo.capabilities set max_bytes = 1048576 where name = 'sized_1m';
select tests.act_as_runtime();
select is(tests.page('alice', 'sized', '{"poison": 3}') -> 'items', '[{"id": 1, "body": "short 1"}, {"id": 2, "body": "short 2"}]', 'an item too large ends the page before it');
select is((tests.call('alice', 'sized', '{"poison": 3}') ->> 'truncated')::boolean, true, 'which the receipt says');
select set_config('tests.error', (tests.call('alice', 'sized', tests.page('alice', 'sized', '{"poison": 3, "limit": 4}') #> '{next_call,arguments}') -> 'error')::text, true);
select is(current_setting('tests.error')::jsonb ->> 'code', 'item_too_large', 'and is an error of its own');
select is(current_setting('tests.error')::jsonb ->> 'message', 'The next item (id = 3) does not fit into a page of 16384 bytes together with what leads on from it.', 'that names it');
select is(current_setting('tests.error')::jsonb ->> 'hint', format('To go on after it, call sized with the same arguments and the cursor %s.', current_setting('tests.error')::jsonb ->> 'next_cursor'), 'says how to pass it');
select is(tests.page('alice', 'sized', (current_setting('tests.error')::jsonb ->> 'next_call')::jsonb -> 'arguments') -> 'items',
  '[{"id": 4, "body": "short 4"}, {"id": 5, "body": "short 5"}, {"id": 6, "body": "short 6"}]', 'and is passed');
select cmp_ok(octet_length(tests.call('alice', 'sized', '{"poison": 1, "bytes": 50000000}') ->> 'error'), '<', 1200, 'a row of fifty megabytes makes no larger an error');
select is(tests.page('alice', 'sized', (tests.call('alice', 'sized', '{"poison": 1, "bytes": 50000000}') #>> '{error,next_call}')::jsonb -> 'arguments') #>> '{items,0,id}', '2', 'and is passed likewise');
select is(jsonb_array_length(tests.page('alice', 'sized_1m', '{"poison": 2, "bytes": 100000}') -> 'items'), 6, 'a larger page takes what fits into it');
select is(tests.answer('alice', 'long_keys', '{"limit": 1}'), format('tool_error item_too_large The next item (id = %s) does not fit into a page of 16384 bytes together with what leads on from it.', repeat('a', 195)),
  'a key too long for a cursor is an error');
select is(jsonb_array_length(tests.page('alice', 'long_keys', '{"limit": 2}') -> 'items'), 2, 'unless the page ends elsewhere');

-- Receipts.
select tests.act_as_owner();
select results_eq($$ select distinct outcome, code, row_count from chumbo.receipts where capability = 'deaf' order by 1 $$, $$ values ('ok', null, 3), ('tool_error', 'collection_stuck', 0) $$, 'a receipt tells items and errors');
select results_eq($$ select distinct outcome, row_count from chumbo.receipts where code = 'invalid_cursor' $$, $$ values ('tool_error', 0) $$, 'a refused cursor ran nothing');
select results_eq($$ select bytes > 512, count(*) from chumbo.receipts where capability = 'sized_512' and outcome = 'ok' group by 1 $$, $$ values (false, 8::bigint) $$, 'and every page its bytes');

select * from finish();
rollback;
