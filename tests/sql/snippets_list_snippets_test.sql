-- tests/sql/snippets_list_snippets_test.sql — app.list_snippets: filters, bounds, pages, and text that is only text.
begin;
\ir support/people.psql
\ir support/snippets.psql
select plan(47);

select function_privs_are('app', 'list_snippets', array['uuid', 'text', 'text', 'integer', 'text'], 'anon', array[]::text[],
  'anon may not list');
select function_privs_are('app', 'list_snippets', array['uuid', 'text', 'text', 'integer', 'text'], 'authenticated',
  array['EXECUTE'], 'people may list');
select isnt_definer('app', 'list_snippets', array['uuid', 'text', 'text', 'integer', 'text'], 'with their own rights');
select volatility_is('app', 'list_snippets', array['uuid', 'text', 'text', 'integer', 'text'], 'stable', 'and change nothing');

-- Who gets what; newest first, and the text stays out.
select tests.act_as('carol');
select results_eq('select title, author::text from app.list_snippets()',
  $$ values ('Carol public', 'you'), ('Carol workspace', 'you'), ('Carol private', 'you') $$, 'Carol lists all of hers, newest first');
select tests.act_as('dave');
select results_eq('select title, author::text from app.list_snippets()',
  $$ values ('Carol public', 'teammate'), ('Carol workspace', 'teammate') $$, 'Dave lists what the team shares');
select tests.act_as('bob');
select results_eq('select title, author::text from app.list_snippets()',
  $$ values ('Carol public', 'outsider') $$, 'Bob lists what is public, marked as a stranger''s');
select is_empty(format('select from app.list_snippets(workspace_id => %L)', tests.bobs()), 'and nothing in his empty workspace');
select results_eq(format('select title from app.list_snippets(workspace_id => %L)', tests.w()), $$ values ('Carol public') $$,
  'asking for W shows Bob no more of it');
select tests.act_as('alice');
update public.snippets set body = 'edited' where id = tests.snippet('workspace');
select results_eq('select title from app.list_snippets()', $$ values ('Carol workspace'), ('Carol public') $$,
  'a change moves a snippet to the front');

-- Bounds.
select throws_ok(format('select app.list_snippets("limit" => %s)', bad), 'PT400', 'invalid_arguments', 'a limit of ' || bad || ' is refused')
from unnest(array['0', '51', '-1', 'null']) as c (bad);
select throws_ok(format('select app.list_snippets(cursor => %L)', bad), 'PT400', 'invalid_arguments', label)
from (values
  ('', 'an empty cursor is refused'),
  ('nonsense', 'a made-up cursor is refused'),
  ('2026-13-45T00:00:00Z_' || tests.snippet('public'), 'a cursor with an impossible date is refused'),
  ('2026-01-01T00:00:00Z_7', 'a cursor with a broken id is refused'),
  (''' or true --', 'a cursor of SQL is refused')
) as c (bad, label);

-- Search: whatever is looked for is looked for as written.
reset role;
insert into public.snippets (workspace_id, created_by, title, body, tags, updated_at)
select tests.bobs(), tests.person('bob'), title, body, tags, '2025-01-01'
from (values
  ('comma', 'a,b', array['x']),
  ('parens', 'f(x) or (y)', array['x', 'y']),
  ('double quote', 'say "hi"', array['"']),
  ('single quote', 'it''s', array['a,b']),
  ('percent', '100% sure', array['%']),
  ('underscore', 'snake_case', array['_']),
  ('backslash', 'C:\temp', array['\']),
  ('star', '2 * 3', array['*']),
  ('GRÜSSE', 'shout', array['Grüße'])
) as c (title, body, tags);
select tests.act_as('bob');
select results_eq(format('select title from app.list_snippets(workspace_id => %L, search => %L)', tests.bobs(), search),
  format('values (%L)', expected), 'searching ' || search || ' finds ' || expected || ' and nothing else')
from (values
  (',', 'comma'),
  (') or (', 'parens'),
  ('"', 'double quote'),
  ('''', 'single quote'),
  ('%', 'percent'),
  ('_', 'underscore'),
  ('\', 'backslash'),
  ('*', 'star'),
  ('grüsse', 'GRÜSSE'),
  ('SNAKE', 'underscore')
) as c (search, expected);
select is_empty(format('select from app.list_snippets(search => %L)', search), 'searching ' || search || ' finds nothing')
from unnest(array['1__', 'a%b', '%,title.ilike.*', 'x'' or ''1''=''1', '\%', 'private']) as c (search);
select results_eq($$ select title from app.list_snippets(search => 'BODY OF pub') $$, $$ values ('Carol public') $$,
  'the text is searched too, in any case');

-- Tags: whole, exact, and bound as well.
select set_eq($$ select title from app.list_snippets(tag => 'x') $$, array['comma', 'parens'], 'a tag finds who carries it');
select is_empty($$ select from app.list_snippets(tag => 'X') $$, 'tags are exact');
select results_eq(format('select title from app.list_snippets(tag => %L)', tag), format('values (%L)', expected), 'the tag ' || tag || ' is only a tag')
from (values ('a,b', 'single quote'), ('%', 'percent'), ('"', 'double quote'), ('\', 'backslash')) as c (tag, expected);

-- Pages: ten rows of one moment and Carol's public one, in steps of four.
create function pg_temp.walk(step integer) returns setof text language plpgsql as $$
declare
  v_row record;
  v_cursor text;
begin
  loop
    for v_row in select title, next_cursor, row_number() over () as place from app.list_snippets("limit" => step, cursor => v_cursor) loop
      return next v_row.title;
      v_cursor := v_row.next_cursor;
    end loop;
    exit when v_cursor is null;
  end loop;
end;
$$;
select results_eq('select pg_temp.walk(4)', 'select title from app.list_snippets("limit" => 50)', 'pages of four make the whole, in order');
select results_eq('select pg_temp.walk(5)', 'select title from app.list_snippets("limit" => 50)', 'and so do pages that end evenly');
select results_eq('select count(*), count(next_cursor) from app.list_snippets("limit" => 10)', 'values (10::bigint, 0::bigint)',
  'a page that holds everything says so: no cursor');
select results_eq('select count(*), count(next_cursor) from app.list_snippets("limit" => 9)', 'values (9::bigint, 1::bigint)',
  'one that does not carries a cursor on its last row');

insert into public.snippets (workspace_id, title, body) select tests.bobs(), 'more', 'more' from generate_series(1, 20);
select results_eq('select count(*), count(next_cursor) from app.list_snippets()', 'values (20::bigint, 1::bigint)',
  'without a limit a page holds twenty');

select * from finish();
rollback;
