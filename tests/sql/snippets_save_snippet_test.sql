-- tests/sql/snippets_save_snippet_test.sql — app.save_snippet: creating, changing exactly what is given, and refusals.
begin;
\ir support/people.psql
\ir support/snippets.psql
select plan(50);

select function_privs_are('app', 'save_snippet',
  array['uuid', 'uuid', 'text', 'text', 'text[]', 'public.snippet_visibility', 'integer'], 'anon', array[]::text[],
  'anon may not save');
select function_privs_are('app', 'save_snippet',
  array['uuid', 'uuid', 'text', 'text', 'text[]', 'public.snippet_visibility', 'integer'], 'authenticated', array['EXECUTE'],
  'people may');
select isnt_definer('app', 'save_snippet',
  array['uuid', 'uuid', 'text', 'text', 'text[]', 'public.snippet_visibility', 'integer'], 'with their own rights');
select volatility_is('app', 'save_snippet',
  array['uuid', 'uuid', 'text', 'text', 'text[]', 'public.snippet_visibility', 'integer'], 'volatile', 'and it is a write');

-- Creating.
select tests.act_as('dave');
select results_eq(
  format($$ select workspace_id, title, tags, visibility::text, version, is_new from app.save_snippet(
    workspace_id => %L, title => 'New', body => 'text') $$, tests.w()),
  format($$ values (%L::uuid, 'New', '{}'::text[], 'workspace', 1, true) $$, tests.w()),
  'Dave creates a snippet; unless told otherwise the team sees it');
select results_eq($$ select author::text, created_by from public.readable_snippets where title = 'New' $$,
  $$ values ('you', tests.person('dave')) $$, 'and is its author');
select results_eq($$ select title from app.list_snippets("limit" => 1) $$, $$ values ('New') $$, 'and lists it first');
select results_eq(
  format($$ select visibility::text, tags from app.save_snippet(
    workspace_id => %L, title => 'P', body => 'text', tags => array['a', 'b'], visibility => 'private') $$, tests.w()),
  $$ values ('private', array['a', 'b']) $$, 'every field may be given');
select is((app.save_snippet(workspace_id => tests.w(), title => 'Open', body => 'text', visibility => 'public')).visibility::text,
  'public', 'a new one may be public when that is what was asked for');
select throws_ok(
  format($$ select app.save_snippet(workspace_id => %L, title => 't', body => 'b') $$, workspace_id),
  'PT404', 'workspace_not_found', label)
from (values
  (tests.bobs(), 'Dave cannot write into Bob''s workspace'),
  (gen_random_uuid(), 'nor into one that does not exist, in the same words')
) as c (workspace_id, label);

-- Bounds, at the edge and one over.
select lives_ok(
  format('select app.save_snippet(workspace_id => %L, title => %L, body => %L, tags => %L)', tests.w(), title, body, tags), label)
from (values
  ('t', 'b', array[]::text[], 'the shortest title and body are taken'),
  (repeat('t', 120), repeat('b', 60000), array_fill(repeat('g', 40), array[20]), 'and so are the longest, with twenty tags'),
  (repeat('ü', 120), 'b', array['ü'], 'characters are counted, not bytes')
) as c (title, body, tags, label);
select throws_ok(
  format('select app.save_snippet(workspace_id => %L, title => %L, body => %L, tags => %L)', tests.w(), title, body, tags),
  'PT400', 'invalid_arguments', label)
from (values
  ('', 'b', array['t'], 'an empty title is refused'),
  (repeat('t', 121), 'b', array['t'], 'a title of 121 characters is refused'),
  ('t', '', array['t'], 'an empty body is refused'),
  ('t', repeat('b', 60001), array['t'], 'a body of 60001 characters is refused'),
  ('t', 'b', array_fill('t'::text, array[21]), '21 tags are refused'),
  ('t', 'b', array[repeat('t', 41)], 'a tag of 41 characters is refused'),
  ('t', 'b', array[''], 'an empty tag is refused'),
  ('t', 'b', array[null]::text[], 'a null among the tags is refused'),
  ('t', 'b', array[['a'], ['b']], 'a table of tags is refused'),
  (null, 'b', array['t'], 'a new snippet needs a title'),
  ('t', null, array['t'], 'and a body')
) as c (title, body, tags, label);
select throws_ok($$ select app.save_snippet(title => 't', body => 'b') $$, 'PT400', 'invalid_arguments', 'and a workspace');
select throws_ok(format($$ select app.save_snippet(workspace_id => %L, title => 't', body => 'b', expected_version => 1) $$, tests.w()),
  'PT400', 'invalid_arguments', 'and has no version to expect');

-- Changing: exactly what is given.
select tests.act_as('carol');
update public.snippets set tags = array['keep'] where id = tests.snippet('private');
select results_eq(
  $$ select title, tags, visibility::text, version, is_new from app.save_snippet(id => tests.snippet('private'), title => 'Renamed') $$,
  $$ values ('Renamed', array['keep'], 'private', 3, false) $$, 'a new title leaves tags and visibility as they were');
select is((select body from public.snippets where id = tests.snippet('private')), 'body of private', 'and the body');
select results_eq(
  $$ select title, tags from app.save_snippet(id => tests.snippet('private'), tags => '{}') $$,
  $$ values ('Renamed', '{}'::text[]) $$, 'tags can be emptied by saying so');
select is((app.save_snippet(id => tests.snippet('private'), body => 'other')).version, 5, 'each change counts');
select is((app.save_snippet(id => tests.snippet('private'), body => 'other')).version, 5, 'the same again does not');
select is((select updated_at from public.snippets where id = tests.snippet('private')), now(), 'and the time moved');
select is((app.save_snippet(id => tests.snippet('private'), workspace_id => tests.w(), title => 'x')).workspace_id, tests.w(),
  'naming the workspace it is in does no harm');
select throws_ok(
  $$ select app.save_snippet(id => tests.snippet('private'), workspace_id => tests.bobs(), title => 'x') $$,
  'PT400', 'invalid_arguments', 'a snippet cannot be moved');
select throws_ok($$ select app.save_snippet(id => tests.snippet('private')) $$, 'PT400', 'invalid_arguments',
  'a change that names nothing is refused');
select throws_ok($$ select app.save_snippet(id => tests.snippet('private'), title => 'x', expected_version => 5) $$,
  'PT409', 'conflict', 'a change of an older version is refused');
select is((app.save_snippet(id => tests.snippet('private'), title => 'y', expected_version => 6)).version, 7,
  'a change of the version that was read goes through');
select is((app.save_snippet(id => tests.snippet('private'), visibility => 'workspace')).visibility::text, 'workspace',
  'an author shares with the team');
select throws_ok($$ select app.save_snippet(id => tests.snippet('workspace'), visibility => 'public') $$,
  'PT409', 'confirmation_required', 'but widening to everybody is an act of its own');
select is((app.save_snippet(id => tests.snippet('public'), visibility => 'public', title => 'z')).title, 'z',
  'what is public already may be saved as it is');
select is((app.save_snippet(id => tests.snippet('public'), visibility => 'private')).visibility::text, 'private',
  'and narrowed at once');

-- By others. What Carol narrowed above is hers alone; what she shared is not.
select tests.act_as('alice');
select is((app.save_snippet(id => tests.snippet('workspace'), title => 'By Alice')).title, 'By Alice',
  'the owner of the workspace edits a member''s snippet');
select throws_ok($$ select app.save_snippet(id => tests.snippet('workspace'), visibility => 'private') $$, 'PT403', 'forbidden',
  'but cannot take it away from the team');
select throws_ok($$ select app.save_snippet(id => tests.snippet('public'), title => 'x') $$, 'PT404', 'snippet_not_found',
  'nor find what is private to Carol');
select tests.act_as('dave');
select throws_ok($$ select app.save_snippet(id => tests.snippet('workspace'), title => 'x') $$, 'PT403', 'forbidden',
  'a member cannot edit what he can read');
select tests.act_as('bob');
select throws_ok($$ select app.save_snippet(id => tests.snippet('workspace'), title => 'x') $$, 'PT404', 'snippet_not_found',
  'a stranger does not find it');
select throws_ok($$ select app.save_snippet(id => gen_random_uuid(), title => 'x') $$, 'PT404', 'snippet_not_found',
  'as he does not find what does not exist');
reset role;
select is((select title from public.snippets where id = tests.snippet('workspace')), 'By Alice', 'and nothing changed');
select tests.act_as_nobody();
select throws_ok(format($$ select app.save_snippet(workspace_id => %L, title => 't', body => 'b') $$, tests.w()), '42501', null,
  'anon saves nothing');

select * from finish();
rollback;
