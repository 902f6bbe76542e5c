-- tests/sql/snippets_get_snippet_test.sql — app.get_snippet: one snippet whole, or one answer for everything else.
begin;
\ir support/people.psql
\ir support/snippets.psql
select plan(13);

select function_privs_are('app', 'get_snippet', array['uuid'], 'anon', array[]::text[], 'anon may not read');
select function_privs_are('app', 'get_snippet', array['uuid'], 'authenticated', array['EXECUTE'], 'people may');
select isnt_definer('app', 'get_snippet', array['uuid'], 'with their own rights');
select volatility_is('app', 'get_snippet', array['uuid'], 'stable', 'and change nothing');

select tests.act_as('carol');
select results_eq($$ select title, body, author::text, workspace_name, version from app.get_snippet(tests.snippet('private')) $$,
  $$ values ('Carol private', 'body of private', 'you', 'W', 1) $$, 'Carol reads her private snippet');

select tests.act_as('dave');
select results_eq($$ select body, author::text, created_by from app.get_snippet(tests.snippet('workspace')) $$,
  $$ values ('body of workspace', 'teammate', tests.person('carol')) $$, 'Dave reads what she shares, and who wrote it');

select tests.act_as('bob');
select results_eq($$ select body, author::text, workspace_name from app.get_snippet(tests.snippet('public')) $$,
  $$ values ('body of public', 'outsider', null) $$, 'Bob reads what is public, without the name of her team');

select throws_ok(format('select app.get_snippet(%L)', tests.snippet('workspace')), 'PT404', 'snippet_not_found',
  'Bob does not find a snippet of W');
select throws_ok($$ select app.get_snippet('00000000-0000-4000-8000-00000000dead') $$, 'PT404', 'snippet_not_found',
  'one that does not exist is not found, in the same words');
select throws_ok('select app.get_snippet(null)', 'PT404', 'snippet_not_found', 'nor is null');

select tests.act_as('alice');
select throws_ok(format('select app.get_snippet(%L)', tests.snippet('private')), 'PT404', 'snippet_not_found',
  'Alice owns the workspace and still does not find Carol''s private snippet');

-- Same words, down to the detail: only the id the caller gave differs.
create function pg_temp.refusal(id uuid) returns text language plpgsql as $$
declare
  v_detail text;
  v_hint text;
begin
  perform app.get_snippet(id);
  return null;
exception when others then
  get stacked diagnostics v_detail = pg_exception_detail, v_hint = pg_exception_hint;
  return concat_ws(' | ', sqlstate, sqlerrm, replace(v_detail, id::text, 'ID'), v_hint);
end;
$$;
select is(pg_temp.refusal(tests.snippet('private')), pg_temp.refusal(gen_random_uuid()), 'absent and invisible are one answer');

select tests.act_as_nobody();
select throws_ok(format('select app.get_snippet(%L)', tests.snippet('public')), '42501', null, 'anon reads not even what is public');

select * from finish();
rollback;
