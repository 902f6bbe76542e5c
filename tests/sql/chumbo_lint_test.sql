-- tests/sql/chumbo_lint_test.sql — chumbo.lint: for each rule no finding, the mistake, one finding, the repair, no finding.
begin;
\ir support/people.psql
select plan(135);

-- Arrange: a guarded table, and tools about which there is nothing to say.
create schema demo;
grant usage on schema demo to anon, authenticated;
alter default privileges in schema demo grant execute on functions to authenticated;
alter default privileges revoke execute on functions from public;
create table demo.notes (id bigint generated always as identity primary key, owner_id uuid not null default auth.uid(), body text);
alter table demo.notes enable row level security;
create policy select_own on demo.notes for select to authenticated using (owner_id = (select auth.uid()));
create policy insert_own on demo.notes for insert to authenticated with check (owner_id = (select auth.uid()));
grant select, insert (body) on demo.notes to authenticated;
create function demo.list_notes() returns setof demo.notes language sql stable set search_path = '' as 'select n.* from demo.notes as n';
comment on function demo.list_notes() is 'Lists your notes.';
create function demo.add_note(body text) returns bigint language sql volatile set search_path = ''
  as 'insert into demo.notes (body) values (add_note.body) returning id';
comment on function demo.add_note(text) is 'Adds a note.';
select chumbo.register_server('demo');
select chumbo.register_tool('demo.list_notes', 'demo', strict => true);
select chumbo.register_tool('demo.add_note', 'demo', strict => true);

create table tests.fired (rule text, level text);
-- What lint says by this rule about this server and the project, besides what is always listed of Chumbo. A function behind
-- two tools, or a table behind two functions, is one finding.
create function tests.findings(rule text) returns setof record language sql stable as $$
  select distinct on (l.key) l.level, l.detail, l.fix, l.key
  from chumbo.lint() as l
  where l.rule = findings.rule and coalesce(l.server, 'demo') = 'demo' and l.object not like 'chumbo.%'
$$;
create function tests.count_of(rule text) returns bigint language sql stable as $$
  select count(*) from tests.findings(count_of.rule) as f (level text, detail text, fix text, key text)
$$;
-- Without a repair of its own, what the finding itself advises is the repair.
create function tests.finds(rule text, level text, pattern text, mistake text, repair text default null, title text default null)
  returns text language plpgsql volatile as $$
declare
  v_before bigint := tests.count_of(rule);
  v_found record;
  v_count bigint;
begin
  execute mistake;
  v_count := tests.count_of(rule);
  select * into v_found from tests.findings(rule) as f (level text, detail text, fix text, key text);
  execute coalesce(repair, v_found.fix);
  insert into tests.fired values (rule, v_found.level);
  return is(
    format('%s, %s %s%s, %s', v_before, v_count, v_found.level, case when v_found.detail || ' ' || v_found.fix ~ pattern then '' else ' that says ' || v_found.detail || ' ' || v_found.fix end, tests.count_of(rule)),
    format('0, 1 %s, 0', level),
    coalesce(title, format('%s: none, one, none', rule)));
end;
$$;

select results_eq($$ select rule, level, key from chumbo.lint('demo') $$, $$ values ('listing_size', 'info', 'listing_size demo demo') $$,
  'of good tools only the size of their list is told');
select throws_ok($$ select chumbo.lint('absent') $$, 'PT404', 'unknown_server', 'an unknown server is told as such');
select function_privs_are('chumbo', 'lint', array['text'], role, array[]::text[], role || ' may not look') from unnest(array['anon', 'authenticated', 'service_role', 'chumbo_runtime']) as role;
set local role postgres;
select lives_ok('select * from chumbo.lint()', 'the role that migrations run under may');
reset role;

-- The function behind a capability.
select tests.finds('missing_target', 'error', 'demo.list_notes\(\) of the tool list_notes is gone.*drop_capability\(''list_notes'', ''demo'', ''tool''\)',
  $$ drop function demo.list_notes() $$,
  $$ create function demo.list_notes() returns setof demo.notes language sql stable set search_path = '' as 'select n.* from demo.notes as n';
    comment on function demo.list_notes() is 'Lists your notes.' $$);
select tests.finds('ambiguous_overload', 'error', 'demo.list_notes\(\) could mean another signature as well.*: demo.list_notes\(text\).*drop function demo.list_notes\(\)',
  $$ create function demo.list_notes(tag text default null) returns integer language sql stable set search_path = '' as 'select 1' $$,
  $$ drop function demo.list_notes(text) $$, 'D24: a twin that differs in defaults is told with both signatures');
select tests.finds('overload', 'info', 'demo.list_notes\(text\) stands beside demo.list_notes\(\)',
  $$ create function demo.list_notes(tag text) returns integer language sql stable set search_path = '' as 'select 1' $$,
  $$ drop function demo.list_notes(text) $$);
select tests.finds('drift', 'warning', 'demo.add_note\(text\) says something else today than when the tool add_note was registered: its parameters',
  $$ create or replace function demo.add_note(body text default 'x') returns bigint language sql volatile set search_path = ''
    as 'insert into demo.notes (body) values (add_note.body) returning id' $$,
  $$ select chumbo.register_tool('demo.add_note', 'demo') $$);
select tests.finds('drift', 'warning', ': whether it writes', $$ alter function demo.add_note(text) stable $$, $$ alter function demo.add_note(text) volatile $$, 'drift: of volatility');
create type demo.mood as enum ('calm');
create function demo.feel(mood demo.mood) returns demo.mood language sql stable set search_path = '' as 'select mood';
comment on function demo.feel(demo.mood) is 'Feels.';
select chumbo.register_tool('demo.feel', 'demo');
select tests.finds('drift', 'warning', ': the schema of its inputs', $$ alter type demo.mood add value 'wild' $$, $$ select chumbo.register_tool('demo.feel', 'demo') $$, 'drift: of a label');
select tests.finds('drift', 'warning', ': its result', $$ drop function demo.feel(demo.mood);
  create function demo.feel(mood demo.mood) returns text language sql stable set search_path = '' as $a$ select 'x' $a$ $$, $$ select chumbo.register_tool('demo.feel', 'demo', description => 'Feels.') $$, 'drift: of a result');
select tests.finds('not_executable', 'error', 'authenticated may not execute demo.list_notes\(\)', $$ revoke execute on function demo.list_notes() from authenticated $$);
select tests.finds('not_executable', 'error', 'grant usage on schema other to authenticated;',
  $$ create schema other; create function other.hidden() returns integer language sql stable set search_path = '' as 'select 1';
    comment on function other.hidden() is 'Hidden.'; grant execute on function other.hidden() to authenticated; select chumbo.register_tool('other.hidden', 'demo') $$,
  null, 'not_executable: a schema that callers may not use');
select tests.finds('anon_execute', 'warning', 'revoke execute on function demo.list_notes\(\) from anon;$', $$ grant execute on function demo.list_notes() to anon $$);
select tests.finds('anon_execute', 'warning', 'revoke execute on function demo.list_notes\(\) from public, anon; grant execute on function demo.list_notes\(\) to authenticated;$',
  $$ grant execute on function demo.list_notes() to public, anon; revoke execute on function demo.list_notes() from authenticated $$, null, 'anon_execute: what callers had through public stays theirs');
select is(has_function_privilege('authenticated', 'demo.list_notes()', 'execute'), true, 'and is');
select tests.finds('definer_body', 'error', 'runs with the rights of supabase_admin.*alter function demo.list_notes\(\) security invoker;$', $$ alter function demo.list_notes() security definer $$);
select tests.finds('unpinned_path', 'info', 'demo.list_notes\(\) has no search path. Chumbo sets one', $$ alter function demo.list_notes() reset search_path $$, $$ alter function demo.list_notes() set search_path = '' $$);
select tests.finds('unpinned_path', 'error', 'whoever calls it chooses', $$ alter function demo.list_notes() security definer reset search_path $$,
  $$ alter function demo.list_notes() security invoker set search_path = '' $$, 'unpinned_path: an error with the rights of an owner');
select tests.finds('no_comment', 'warning', 'demo.list_notes\(\) has no comment',
  $$ comment on function demo.list_notes() is null; select chumbo.register_tool('demo.list_notes', 'demo') $$,
  $$ select chumbo.register_tool('demo.list_notes', 'demo', description => 'Lists your notes.') $$, 'no_comment: none once it is described otherwise');
comment on function demo.list_notes() is 'Lists your notes.';

-- Bodies that change role or claims, and those that only look so.
create function tests.rules_of(body text, language text default 'plpgsql') returns text language plpgsql volatile as $$
begin
  execute format('create or replace function demo.probe() returns void language %s volatile set search_path = '''' as %L', language, body);
  comment on function demo.probe() is 'Probes.';
  return (select string_agg(distinct f.rule, ',' order by f.rule) from chumbo.lint_functions(array['demo.probe()'::regprocedure]) as f);
end;
$$;
set local check_function_bodies = off;
select is(tests.rules_of(format('begin %s; end', statement)), expected, format('%s is %s', statement, coalesce(expected, 'nothing')))
from (values
  ('set role postgres', 'sets_role'), ('SET LOCAL  ROLE postgres', 'sets_role'), ('set session role none', 'sets_role'), ('reset role', 'sets_role'),
  ('reset all', 'sets_role'), ('discard all', 'sets_role'), ('set session authorization default', 'sets_role'), ('set local session authorization x', 'sets_role'),
  ('reset session authorization', 'sets_role'), ('set role = ''x''', 'sets_role'), ('set "role" to x', 'sets_role'),
  ('perform set_config(''role'', ''x'', true)', 'sets_role'), ('perform pg_catalog.set_config ( ''role'', ''x'', true)', 'sets_role'),
  ('perform set_config(setting_name => ''role'', new_value => ''x'', is_local => true)', 'sets_role'),
  ('execute ''set role x''', 'body_not_followed,sets_role'),
  ('perform set_config(''request.jwt.claims'', ''{}'', true)', 'sets_claims'), ('set local request.jwt.claims = ''{}''', 'sets_claims'),
  ('set "request.jwt.claims" to ''{}''', 'sets_claims'), ('reset "request.jwt.claims"', 'sets_claims'), ('perform set_config(''request.jwt.claim.sub'', ''x'', true)', 'sets_claims'),
  ('perform set_config(v_name, ''x'', true)', 'body_not_followed'), ('execute v_text', 'body_not_followed'), ('return query execute format(''select 1'')', 'body_not_followed'),
  ('perform set_config(''app.tenant'', ''x'', true)', null), ('perform current_setting(''request.jwt.claims'')', null),
  ('update demo.notes set role = ''x''', null), ('perform 1 -- set role x', null), ('/* reset role */ perform 1', null),
  ('perform 1 from demo.notes where role = ''set_config''', null), ('insert into demo.notes (role) values (1) on conflict (id) do update set role = excluded.role', null)
) as t (statement, expected);
select is(tests.rules_of('select 1', 'sql'), null, 'a select is nothing');
alter function demo.probe() set role = 'anon';
select is((select string_agg(f.rule, ',') from chumbo.lint_functions(array['demo.probe()'::regprocedure]) as f), 'sets_role', 'a setting of the function is a change too');
drop function demo.probe();
select tests.finds('sets_role', 'error', 'The text of demo.probe\(\) changes the role',
  $$ create function demo.probe() returns void language plpgsql set search_path = '' as 'begin reset role; end'; comment on function demo.probe() is 'Probes.'; select chumbo.register_tool('demo.probe', 'demo') $$,
  $$ create or replace function demo.probe() returns void language plpgsql set search_path = '' as 'begin end' $$);
select tests.finds('sets_claims', 'error', 'The text of demo.probe\(\) sets request.jwt claims',
  $$ create or replace function demo.probe() returns void language plpgsql set search_path = '' as $a$ begin perform set_config('request.jwt.claims', '{}', true); end $a$ $$,
  $$ create or replace function demo.probe() returns void language plpgsql set search_path = '' as 'begin end' $$);
select tests.finds('body_not_followed', 'info', 'demo.probe\(\) runs text that it builds',
  $$ create or replace function demo.probe() returns void language plpgsql set search_path = '' as $a$ begin execute format('select %L', 1); end $a$ $$,
  $$ create or replace function demo.probe() returns void language plpgsql set search_path = '' as 'begin end' $$);
select tests.finds('calls_definer', 'info', 'demo.probe\(\) names demo.helper\(\), which runs with the rights of supabase_admin',
  $$ create function demo.helper() returns integer language sql security definer set search_path = '' as 'select 1';
    create or replace function demo.probe() returns void language plpgsql set search_path = '' as $a$ begin perform demo.helper(); end $a$ $$,
  $$ alter function demo.helper() security invoker $$);

-- Identity that a caller could choose.
select tests.finds('identity_default', 'warning', 'The parameter owner of demo.mine\(uuid\) is who the caller is by default \(auth.uid\(\)\)',
  $$ create function demo.mine(owner uuid default auth.uid()) returns integer language sql stable set search_path = '' as 'select 1'; comment on function demo.mine(uuid) is 'Mine.';
    select chumbo.register_tool('demo.mine', 'demo') $$, $$ select chumbo.drop_capability('mine', 'demo') $$);
select tests.finds('identity_argument', 'info', 'The parameter p_user_id of demo.theirs\(uuid\) names a person',
  $$ create function demo.theirs(p_user_id uuid) returns integer language sql stable set search_path = '' as 'select 1'; comment on function demo.theirs(uuid) is 'Theirs.';
    select chumbo.register_tool('demo.theirs', 'demo') $$, $$ select chumbo.drop_capability('theirs', 'demo') $$);
alter function demo.theirs(uuid) security definer;
select is((select f.level from chumbo.lint_functions(array['demo.theirs(uuid)'::regprocedure]) as f where f.rule = 'identity_argument'), 'error', 'and with the rights of an owner it decides');
create function demo.parameters(anything uuid default auth.uid(), "userId" uuid default null, tenant_id text default 'a', user_count integer default 0, username text default '', workspace_id uuid default null)
  returns integer language sql stable set search_path = '' as 'select 1';
select set_eq($$ select f.rule, split_part(f.object, ' ', 2) from chumbo.lint_functions(array['demo.parameters(uuid,uuid,text,integer,text,uuid)'::regprocedure]) as f where f.rule like 'identity%' $$,
  $$ values ('identity_default', 'anything'), ('identity_default', 'userId'), ('identity_default', 'tenant_id') $$, 'a default or a name gives it away; others do not');

-- What a function reads.
create view demo.my_notes with (security_invoker = true) as select * from demo.notes;
create view demo.notes_of_mine with (security_invoker = true) as select * from demo.my_notes;
grant select on demo.my_notes, demo.notes_of_mine to authenticated;
create or replace function demo.list_notes() returns setof demo.notes language sql stable set search_path = '' as 'select n.id, n.owner_id, n.body from demo.my_notes as n';
select tests.finds('owner_view', 'error', 'The view demo.my_notes reads demo.notes with the rights of its owner supabase_admin.*alter view demo.my_notes set \(security_invoker = true\);$',
  $$ alter view demo.my_notes reset (security_invoker) $$, null, 'D29: a view that forgot whose rights to use');
create or replace function demo.list_notes() returns setof demo.notes language sql stable as 'select * from only notes_of_mine';
select tests.finds('owner_view', 'error', 'demo.my_notes', $$ alter view demo.my_notes set (security_invoker = off) $$, null, 'owner_view: below another one, found along the path of the tool');
create or replace function demo.list_notes() returns setof demo.notes language sql stable set search_path = '' begin atomic select id, owner_id, body from demo.my_notes; end;
select tests.finds('owner_view', 'error', 'demo.my_notes', $$ alter view demo.my_notes set (security_invoker = false) $$, null, 'owner_view: read by a body that Postgres itself parsed');
create or replace function demo.probe() returns void language plpgsql set search_path = '' as 'begin end';
create or replace function demo.helper() returns integer language sql security invoker set search_path = '' as 'select count(*)::integer from demo.my_notes';
create or replace function demo.list_notes() returns setof demo.notes language plpgsql stable set search_path = '' as 'begin perform demo.helper(); end';
select tests.finds('owner_view', 'error', 'It is reached through demo.helper\(\)', $$ alter view demo.my_notes set (security_invoker = false) $$, null, 'owner_view: read by a helper');
create or replace function demo.list_notes() returns setof demo.notes language plpgsql stable set search_path = '' as $$
  -- from demo.my_notes
  begin raise notice 'select * from demo.my_notes'; /* demo.my_notes */ perform $q$ select * from demo.my_notes $q$; return query with my_notes as (select 1) select from my_notes; end
$$;
alter view demo.my_notes set (security_invoker = false);
select is(tests.count_of('owner_view'), 0::bigint, 'a comment, a string or a part of the query is not the view');
alter view demo.my_notes set (security_invoker = true);
create table demo.places (id integer);
create view demo.all_places as select * from demo.places;
select is((select string_agg(concat_ws(' ', f.rule, f.level, f.object), ', ' order by f.rule) from chumbo.lint_relations(array['demo.all_places'::regclass]) as f),
  'open_table warning demo.places, owner_view warning demo.all_places', 'over a table without row security it is no error by itself');
create view demo.people as select id, email from auth.users;
select is((select string_agg(concat_ws(' ', f.rule, f.level, f.object), ', ') from chumbo.lint_relations(array['demo.people'::regclass]) as f),
  'owner_view error demo.people', 'the platform''s own tables are never to be shown, and never the author''s to mend');
create materialized view demo.kept_notes as select * from demo.notes;
select tests.finds('materialized_view', 'error', 'demo.kept_notes keeps a copy of demo.notes.*revoke all on demo.kept_notes',
  $$ create or replace function demo.list_notes() returns setof demo.notes language sql stable set search_path = '' as 'select * from demo.kept_notes' $$,
  $$ create or replace function demo.list_notes() returns setof demo.notes language sql stable set search_path = '' as 'select * from demo.notes' $$);
select tests.finds('open_table', 'warning', 'The table demo.notes has no row security.*alter table demo.notes enable row level security;', $$ alter table demo.notes disable row level security $$, $$ alter table demo.notes enable row level security $$);
select is((select string_agg(r.relation::regclass::text || ' ', '' order by r.relation::regclass::text) from chumbo.body_references(array['demo.probe()'::regprocedure]) as r where relation is not null), null, 'a body that reads nothing');
create function demo.reads_much() returns void language plpgsql set search_path = 'demo, public' as $$
declare
  v_note demo.notes;
begin
  with x as (delete from "demo"."places" using notes where true returning 1) select 1 into v_note from x, my_notes as m join demo . notes_of_mine on true;
  merge into demo.kept_notes using (select 1) as s on false when matched then do nothing;
end
$$;
select set_eq($$ select r.relation::regclass::text from chumbo.body_references(array['demo.reads_much()'::regprocedure]) as r where r.relation is not null $$,
  array['demo.places', 'demo.notes', 'demo.my_notes', 'demo.notes_of_mine', 'demo.kept_notes'], 'tables are found wherever one can stand');

-- What a client and a model see.
select tests.finds('missing_description', 'warning', 'The prompt hello has no description', $$ select chumbo.sync_capabilities('{"prompts": [{"name": "hello"}]}', 'demo') $$,
  $$ select chumbo.sync_capabilities('{"prompts": [{"name": "hello", "description": "Says hello."}]}', 'demo') $$);
select tests.finds('long_description', 'warning', 'The description of the tool add_note has 1025 characters; the budget is 1024',
  $$ select chumbo.register_tool('demo.add_note', 'demo', description => repeat('x', 1025)) $$, $$ select chumbo.register_tool('demo.add_note', 'demo', description => repeat('x', 1024)) $$);
select tests.finds('long_description', 'warning', 'The a description of the tool code', format('select chumbo.sync_capabilities(%L, ''demo'')', jsonb_build_object('tools', jsonb_build_array(jsonb_build_object('name', 'code',
    'description', 'C.', 'inputSchema', jsonb_build_object('type', 'object', 'properties', jsonb_build_object('a', jsonb_build_object('description', repeat('y', 1025)))))))),
  $$ select chumbo.sync_capabilities('{}', 'demo') $$, 'long_description: of a parameter');
select tests.finds('invisible_characters', 'error', format('The description of the tool add_note holds characters that nobody sees: %s\.', shown),
  format('select chumbo.register_tool(''demo.add_note'', ''demo'', description => %L)', 'Adds' || character || ' a note.'), $$ select chumbo.register_tool('demo.add_note', 'demo') $$, 'invisible_characters: ' || shown)
from (values (U&'\200B', 'U\+200B'), (U&'\202E', 'U\+202E'), (U&'\2066', 'U\+2066'), (U&'\+0E0041\+0E0042', 'U\+E0041, U\+E0042'), (U&'\0007', 'U\+0007'), (U&'\009B', 'U\+009B'), (U&'\FEFF', 'U\+FEFF'), (U&'\00AD', 'U\+00AD')) as t (character, shown);
select tests.finds('invisible_characters', 'error', format('The %s of the tool code', place), format('select chumbo.sync_capabilities(%L, ''demo'')',
    jsonb_build_object('tools', jsonb_build_array('{"name": "code", "description": "C.", "inputSchema": {"type": "object"}}'::jsonb || entry))), $$ select chumbo.sync_capabilities('{}', 'demo') $$, 'invisible_characters: in ' || place)
from (values ('title', jsonb_build_object('title', U&'T\2060')), ('schema', jsonb_build_object('inputSchema', jsonb_build_object('type', 'object', 'properties', jsonb_build_object(U&'a\200B', '{}'::jsonb)))),
  ('schema', jsonb_build_object('inputSchema', jsonb_build_object('type', 'object', 'properties', jsonb_build_object('a', jsonb_build_object('items', jsonb_build_object('enum', jsonb_build_array(U&'\0001'))))))),
  ('annotations', jsonb_build_object('annotations', jsonb_build_object('title', U&'\E0001'::text || U&'\200D'))), ('meta', jsonb_build_object('_meta', jsonb_build_object('x', U&'\2028')))) as t (place, entry);
select tests.finds('invisible_characters', 'error', 'The instructions of the server demo', format('select chumbo.register_server(''demo'', instructions => %L)', U&'Use\200E it.'), $$ select chumbo.register_server('demo', instructions => 'Use it.') $$, 'invisible_characters: in instructions');
select is(chumbo.invisible_characters(value), null, 'is plain: ' || value) from unnest(array[E'two\nlines\tand a tab', 'héllo שלום ❤️ 中文 – “quoted”']) as t (value);
select tests.finds('long_name', 'warning', 'has 49 characters.*the budget is 48', format('select chumbo.register_tool(''demo.add_note'', ''demo'', name => %L)', repeat('n', 49)), format('select chumbo.drop_capability(%L, ''demo'')', repeat('n', 49)));
select tests.finds('confusable_names', 'warning', 'The tool add_note and Add-Note are one name', $$ select chumbo.register_tool('demo.add_note', 'demo', name => 'Add-Note') $$, $$ select chumbo.drop_capability('Add-Note', 'demo') $$);
create function tests.nested(depth integer) returns jsonb language sql immutable as $$
  select case when depth = 0 then '{"type": "string"}' else jsonb_build_object('type', 'object', 'properties', jsonb_build_object('a', jsonb_build_object('type', 'array', 'items', tests.nested(depth - 1)))) end
$$;
select is(chumbo.schema_depth(tests.nested(3)), 6, 'objects and arrays both nest');
select tests.finds('deep_schema', 'warning', 'nest 6 levels deep; the budget is 5', format('select chumbo.sync_capabilities(%L, ''demo'')',
  jsonb_build_object('tools', jsonb_build_array(jsonb_build_object('name', 'code', 'description', 'C.', 'inputSchema', tests.nested(3))))), $$ select chumbo.sync_capabilities('{}', 'demo') $$);
select tests.finds('large_definition', 'warning', 'has 1[67][0-9]{3} bytes; the budget is 16384', format('select chumbo.sync_capabilities(%L, ''demo'')',
  jsonb_build_object('tools', jsonb_build_array(jsonb_build_object('name', 'code', 'description', 'C.', 'inputSchema', '{"type": "object"}'::jsonb, '_meta', jsonb_build_object('x', repeat('z', 16500)))))), $$ select chumbo.sync_capabilities('{}', 'demo') $$);
select is((select (regexp_match(l.detail, 'has (\d+) entries and (\d+) bytes')) from chumbo.lint('demo') as l where l.rule = 'listing_size'),
  (select array[count(*)::text, sum(octet_length(chumbo.definition(c)::text))::text] from chumbo.capabilities as c where c.server_id = chumbo.server_id('demo') and c.kind = 'tool'), 'the size of a list is told as it is');
insert into tests.fired values ('listing_size', 'info');
select tests.finds('large_listing', 'warning', 'the budget is 131072 bytes', format('select chumbo.sync_capabilities(%L, ''demo'')',
  jsonb_build_object('tools', (select jsonb_agg(jsonb_build_object('name', 'code_' || i, 'description', repeat('d', 1000), 'inputSchema', '{"type": "object"}'::jsonb)) from generate_series(1, 130) as i))),
  $$ select chumbo.register_server('demo', settings => '{"catalog_mode": "search"}') $$, 'large_listing: none where the catalog is searched');
select chumbo.sync_capabilities('{}', 'demo');
select chumbo.register_server('demo', settings => '{}');

-- Who may use it.
select chumbo.define_scope('notes:read');
select tests.finds('ungranted_scope', 'warning', 'needs the scope notes:read, which no grant gives', $$ select chumbo.register_tool('demo.list_notes', 'demo', scopes => '{notes:read}') $$);
select tests.finds('ungranted_scope', 'warning', 'notes:read', $$ update chumbo.grants set expires_at = now() - interval '1 day' $$, $$ select chumbo.define_scope('notes:read', requestable => true) $$, 'ungranted_scope: none where a user may ask for it');
select tests.finds('undefined_scope', 'error', 'needs the scope notes:read, which is not defined', $$ delete from chumbo.scopes $$);
select chumbo.register_tool('demo.list_notes', 'demo');

-- The project around it.
select tests.finds('anon_definer', 'error', 'anon may execute public.above\(\), which runs with the rights of supabase_admin, through the Data API.*revoke execute on function public.above\(\) from anon;$',
  $$ create function public.above() returns integer language sql security definer set search_path = '' as 'select 1'; revoke all on function public.above() from public $$, null, 'D28: the stock privileges of public still open it');
select tests.finds('anon_definer', 'warning', 'anon may execute demo.above\(\)', $$ create function demo.above() returns integer language sql security definer set search_path = '' as 'select 1'; grant execute on function demo.above() to anon $$,
  $$ revoke usage on schema demo from anon $$, 'anon_definer: beyond the schemas of the Data API, as long as anon may enter');
select tests.finds('anon_definer', 'error', 'public.above\(\)', $$ grant execute on function public.above() to anon $$, $$ alter function public.above() security invoker $$, 'anon_definer: none with the rights of the caller');
select is(chumbo.exposed_schemas(), '{public,graphql_public}', 'new projects expose these schemas');
alter role authenticator set pgrst.db_schemas = 'api, "Shop"';
select is(chumbo.exposed_schemas(), '{api,Shop}', 'and a project may say which');
select tests.finds('own_privileges', 'error', pattern, mistake, null, 'own_privileges: ' || mistake)
from (values ('grant execute on function public.chumbo_version() to anon', 'anon may execute public.chumbo_version\(\)'), ('grant select on chumbo.scopes to authenticated', 'authenticated may select chumbo.scopes'),
  ('grant update (title) on chumbo.servers to authenticated', 'authenticated may update chumbo.servers.title'), ('grant select on chumbo.grants to public', 'Everybody may select chumbo.grants'),
  ('grant create on schema chumbo to authenticated', 'authenticated may create objects in the schema chumbo'), ('grant insert on public.chumbo_receipts to authenticated', 'may insert public.chumbo_receipts')) as t (mistake, pattern);
select is((select string_agg(object, ',') from chumbo.lint() as l where l.rule = 'own_row_security'), null, 'row security of our tables is on');
alter table chumbo.scopes disable row level security;
select results_eq($$ select level, object, fix from chumbo.lint() where rule = 'own_row_security' $$, $$ values ('error', 'chumbo.scopes', 'alter table chumbo.scopes enable row level security;') $$, 'own_row_security: one');
alter table chumbo.scopes enable row level security;
alter function chumbo.run_as_authenticated(text, jsonb) security invoker;
select results_eq($$ select level, object from chumbo.lint() where rule = 'runner_tampered' $$, $$ values ('error', 'chumbo.run_as_authenticated(text,jsonb)') $$, 'runner_tampered: one');
alter function chumbo.run_as_authenticated(text, jsonb) security definer;
select is_empty($$ select from chumbo.lint() where rule = 'runner_tampered' $$, 'and none');
select set_eq($$ select object from chumbo.lint() where rule = 'own_definer' $$,
  array['chumbo.run_as_anon(text,jsonb)', 'chumbo.run_as_authenticated(text,jsonb)', 'chumbo.sign_in_is_live(uuid,uuid,uuid)'], 'what of ours has other rights is listed');
insert into tests.fired values ('own_row_security', 'error'), ('runner_tampered', 'error'), ('own_definer', 'info');

-- What was just registered has not drifted, however it answers.
create function demo.page("limit" integer default 20, "cursor" bigint default null) returns setof demo.notes language sql stable set search_path = ''
  as 'select n.* from demo.notes as n where page."cursor" is null or n.id > page."cursor" order by n.id limit page."limit"';
create function demo.say(answer jsonb) returns text language sql immutable set search_path = '' as 'select answer::text';
create function demo.bare() returns setof record language sql stable set search_path = '' as 'select n.id, n.body from demo.notes as n';
create function demo.whole() returns jsonb language sql stable set search_path = '' as $$ select '{"content": []}'::jsonb $$;
select chumbo.register_tool('demo.page', 'demo', result => 'collection', cursor => '{id}', description => 'Pages.');
select chumbo.register_tool('demo.list_notes', 'demo', name => 'said', result => 'hybrid', render => 'demo.say', description => 'Says.');
select chumbo.register_tool('demo.bare', 'demo', columns => 'id bigint, body text', description => 'Bare.');
select chumbo.register_tool('demo.whole', 'demo', result => 'mcp', description => 'Whole.');
select is_empty($$ select capability, detail from chumbo.lint('demo') where rule = 'drift' $$, 'a collection, a rendered answer, declared columns and a whole result are as registered');
drop function demo.say(jsonb);
select results_eq($$ select rule, capability, object from chumbo.lint('demo') where level = 'error' $$, $$ values ('missing_target', 'said', 'demo.say(jsonb)') $$, 'a render function that is gone is told as well');
select chumbo.drop_capability(name, 'demo') from unnest(array['page', 'said', 'bare', 'whole']) as n (name);

-- One odd entry costs the others nothing.
create function demo."we(ird"() returns integer language sql stable set search_path = '' as 'select 1';
comment on function demo."we(ird"() is 'Weird.';
select chumbo.register_tool('demo."we(ird"()', 'demo');
create function demo.changed(a integer) returns integer language sql stable set search_path = '' as 'select 1';
comment on function demo.changed(integer) is 'Changed.';
select chumbo.register_tool('demo.changed', 'demo');
drop function demo.changed(integer);
create function demo.changed(integer) returns integer language sql stable set search_path = '' as 'select 1';
comment on function demo.changed(integer) is 'Changed.';
select results_eq($$ select rule, capability, detail from chumbo.lint('demo') where capability in ('changed', 'we_ird') $$,
  $$ values ('drift', 'changed', 'demo.changed(integer) says something else today than when the tool changed was registered: its signature (Argument 1 of demo.changed(integer) has no name, so no client can pass it.).') $$,
  'a signature that could not be registered any more is drift, and a bracket in a name is a name');
select chumbo.drop_capability(name, 'demo') from unnest(array['changed', 'we_ird']) as n (name);

-- D30: a tool that needs more rights says so, and is listed with its reason.
alter function demo.list_notes() security definer;
select throws_ok($$ select chumbo.register_tool('demo.list_notes', 'demo', strict => true) $$, 'PT400', 'unsafe_target', 'strict refuses it');
select lives_ok($$ select chumbo.accept_finding('definer_body demo.list_notes()', 'It counts what nobody may read.') $$, 'its author may accept that');
select lives_ok($$ select chumbo.register_tool('demo.list_notes', 'demo', strict => true) $$, 'and then strict takes it');
select results_eq($$ select level, capability, detail from chumbo.lint('demo') where rule = 'definer_body' $$,
  $$ values ('info', 'list_notes', 'demo.list_notes() is security definer: it runs with the rights of supabase_admin and not of the caller. Accepted: It counts what nobody may read.') $$, 'it stays listed, with the reason');
select is(chumbo.withdraw_acceptance('definer_body demo.list_notes()'), true, 'which can be taken back');
select is(chumbo.withdraw_acceptance('definer_body demo.list_notes()'), false, 'once');
select is((select level from chumbo.lint('demo') where rule = 'definer_body'), 'error', 'and then counts again');
alter function demo.list_notes() security invoker;
select throws_ok($$ select chumbo.accept_finding('nonsense demo.list_notes()', 'Why not.') $$, 'PT404', 'unknown_rule', 'only a finding is accepted');
select throws_ok(format('select chumbo.accept_finding(''open_table demo.places'', %L)', reason), 'PT400', 'invalid_option', 'and only for a reason') from unnest(array['', '  ', null]) as r (reason);
select policies_are('chumbo', 'accepted_findings', array[]::name[], 'nobody but authors reads what was accepted');

-- The rules and these tests are the same.
select set_eq('select distinct rule from tests.fired', 'select rule from chumbo.lint_rules()', 'each rule was seen to find its mistake');

select * from finish();
rollback;
