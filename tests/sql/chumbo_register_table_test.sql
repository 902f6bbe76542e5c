-- tests/sql/chumbo_register_table_test.sql — register_table and unregister_table: what may be offered, and the three tools.
begin;
\ir support/people.psql
select plan(74);
\ir support/runtime.psql

select function_privs_are('chumbo', f, a, role, array[]::text[], format('%s may not call %s', role, f))
from unnest(array['anon', 'authenticated', 'service_role', 'chumbo_runtime']) as role,
  (values
    ('register_table', array['text', 'text', 'text', 'text[]', 'text', 'text[]', 'integer', 'integer', 'text[]', 'text[]', 'text[]', 'boolean']),
    ('unregister_table', array['text', 'text'])) as v (f, a);
select policies_are('chumbo', 'readable_tables', array['select_runtime'], 'only the runtime reads what is registered');

-- Arrange: one of each.
create table demo.notes (id integer primary key, owner_id uuid not null, body text, secret text);
comment on table demo.notes is 'Notes.';
alter table demo.notes enable row level security;
create policy select_own on demo.notes for select to authenticated using (owner_id = (select auth.uid()));
grant select on demo.notes to authenticated;
create table demo.bare (id integer primary key);
grant select on demo.bare to authenticated;
comment on table demo.bare is 'Bare.';
create table demo.shut (id integer primary key);
alter table demo.shut enable row level security;
create view demo.loose as select * from demo.notes;
create view demo.tight with (security_invoker = true) as select * from demo.notes;
comment on view demo.tight is 'Tight.';
create view demo.spelled with (security_invoker = on) as select id from demo.notes;
create view demo.over_loose with (security_invoker = true) as select * from demo.loose;
create view demo.far_over_loose with (security_invoker = true) as select * from demo.over_loose;
create view demo.over_bare with (security_invoker = true) as select * from demo.bare;
create materialized view demo.frozen as select * from demo.notes;
create view demo.over_frozen with (security_invoker = true) as select * from demo.frozen;
create schema far;
create table far.away (id integer primary key);
comment on table far.away is 'Away.';
alter table far.away enable row level security;
grant select on far.away to authenticated;
create sequence demo.counter;
create foreign data wrapper demo_wrapper;
create server demo_elsewhere foreign data wrapper demo_wrapper;
create foreign table demo.remote (id integer) server demo_elsewhere;
create table demo."Créer ""Élément""" (id integer primary key);
alter table demo."Créer ""Élément""" enable row level security;
create table demo.parted (id integer primary key) partition by range (id);
alter table demo.parted enable row level security;
create table demo.empty ();
alter table demo.empty enable row level security;
grant select on demo.tight, demo.spelled, demo.over_bare, demo.parted to authenticated;
create function tests.refusal(statement text) returns text language plpgsql volatile as $$
declare
  v_detail text;
  v_hint text;
begin
  execute statement;
  return 'none';
exception
  when others then
    get stacked diagnostics v_detail = pg_exception_detail, v_hint = pg_exception_hint;
    return concat_ws(' | ', sqlstate, sqlerrm, v_detail, v_hint);
end;
$$;
create function tests.tools() returns text language sql stable as $$
  select string_agg(c.name, ' ' order by c.name) from chumbo.capabilities as c where c.handler = 'table' and c.server_id = chumbo.server_id('demo')
$$;

-- What is refused, with its one-line fix.
select is(tests.tools(), null, 'before the first table there is no tool');
select is(tests.refusal(format('select chumbo.register_table(%L, ''demo''%s)', target, more)), expected, format('%s%s is refused', target, more))
from (values
  ('demo.loose', '', 'PT400 | unsafe_view | The view demo.loose reads with the rights of its owner, so row security does not see the caller. | Run alter view demo.loose set (security_invoker = true);'),
  ('demo.over_loose', '', 'PT400 | unsafe_view | The view demo.loose reads with the rights of its owner, so row security does not see the caller. | Run alter view demo.loose set (security_invoker = true);'),
  ('demo.far_over_loose', '', 'PT400 | unsafe_view | The view demo.loose reads with the rights of its owner, so row security does not see the caller. | Run alter view demo.loose set (security_invoker = true);'),
  ('demo.over_frozen', '', 'PT400 | unsafe_view | demo.over_frozen reads the materialized view demo.frozen, which holds the rows of its owner for everybody. | Take demo.frozen out of demo.over_frozen.'),
  ('demo.frozen', '', 'PT400 | unsupported_table | demo.frozen is a materialized view, so no policy of a table decides who reads which row. | Offer the tables it is made from, or a view of them with security_invoker.'),
  ('demo.remote', '', 'PT400 | unsupported_table | demo.remote is a foreign table, so no policy of a table decides who reads which row. | Offer the tables it is made from, or a view of them with security_invoker.'),
  ('demo.counter', '', 'PT400 | unsupported_table | demo.counter is neither a table nor a view, so no policy of a table decides who reads which row. | Offer the tables it is made from, or a view of them with security_invoker.'),
  ('demo.notes_pkey', '', 'PT400 | unsupported_table | demo.notes_pkey is neither a table nor a view, so no policy of a table decides who reads which row. | Offer the tables it is made from, or a view of them with security_invoker.'),
  ('pg_catalog.pg_class', '', 'PT400 | unsupported_table | pg_class belongs to the platform: nothing in the schema pg_catalog can be offered. | Offer a view of your own, with security_invoker, over what your users may know.'),
  ('information_schema.tables', '', 'PT400 | unsupported_table | information_schema.tables belongs to the platform: nothing in the schema information_schema can be offered. | Offer a view of your own, with security_invoker, over what your users may know.'),
  ('auth.users', '', 'PT400 | unsupported_table | auth.users belongs to the platform: nothing in the schema auth can be offered. | Offer a view of your own, with security_invoker, over what your users may know.'),
  ('chumbo.grants', '', 'PT400 | unsupported_table | chumbo.grants belongs to the platform: nothing in the schema chumbo can be offered. | Offer a view of your own, with security_invoker, over what your users may know.'),
  ('demo.nothing', '', 'PT404 | unknown_table | There is no table or view demo.nothing. | Write schema.name of one that exists.'),
  ('notes', '', 'PT404 | unknown_table | There is no table or view notes. | Write schema.name of one that exists.'),
  ('demo.notes; drop table demo.notes', '', 'PT404 | unknown_table | There is no table or view demo.notes; drop table demo.notes. | Write schema.name of one that exists.'),
  ('demo.notes', ', columns => ''{id,nothing}''', 'PT404 | unknown_column | demo.notes has no column ''nothing''. | Name columns as the table does.'),
  ('demo.notes', ', columns => ''{ctid}''', 'PT404 | unknown_column | demo.notes has no column ''ctid''. | Name columns as the table does.'),
  ('demo.notes', ', columns => ''{id,NULL}''', 'PT404 | unknown_column | demo.notes has no column ''(null)''. | Name columns as the table does.'),
  ('demo.notes', ', key => ''{nothing}''', 'PT404 | unknown_column | demo.notes has no column ''nothing''. | Name columns as the table does.'),
  ('demo.notes', ', columns => ''{}''', 'PT400 | columns_required | No column of demo.notes is offered. | Name at least one with columns => array[…].'),
  ('demo.empty', '', 'PT400 | columns_required | No column of demo.empty is offered. | Name at least one with columns => array[…].'),
  ('demo.notes', ', name => ''a b''', 'PT400 | invalid_name | ''a b'' cannot be the name of a table: it takes 1 to 64 letters, digits, _ and -. | Pass another one with name => …'),
  ('demo.notes', ', scopes => ''{nothing}''', 'PT400 | unknown_scope | The scope ''nothing'' is not defined. | Define it first with chumbo.define_scope.')
) as v (target, more, expected);
select alike(tests.refusal(format('select chumbo.register_table(''demo.notes'', ''demo'', %s)', more)), 'PT400 | invalid_option | demo.notes cannot be offered %', format('%s is refused', more))
from unnest(array['columns => ''{id,id}''', 'columns => ''{id}'', filterable => ''{body}''', 'columns => ''{id}'', sortable => ''{body}''', 'key => ''{}''',
  'max_limit => 0', 'max_limit => 10001', 'max_limit => 10, default_limit => 11', 'default_limit => 0']) as more;
select alike(tests.refusal('select chumbo.register_table(''demo.notes'', ''nowhere'')'), 'PT404 | unknown_server%', 'a server has to exist');
select is((select count(*) from chumbo.readable_tables), 0::bigint, 'and nothing of it was registered');

-- What is risky is told, and refused where asked.
select results_eq($$ select * from chumbo.table_warnings('demo.bare'::regclass, false) $$,
  $$ values ('Row security is off on demo.bare, so whoever may select from it reads every row; alter table demo.bare enable row level security;') $$, 'a table without row security');
select results_eq($$ select * from chumbo.table_warnings('demo.over_bare'::regclass, false) $$,
  $$ values ('Row security is off on demo.bare, so whoever may select from it reads every row; alter table demo.bare enable row level security;'),
    ('demo.over_bare has no comment, and the description is all a model has to choose by.') $$, 'also beneath a view');
select results_eq($$ select * from chumbo.table_warnings('demo.shut'::regclass, false) $$,
  $$ values ('authenticated may not select from demo.shut, so nobody will find it; grant select on demo.shut to authenticated;'),
    ('demo.shut has no comment, and the description is all a model has to choose by.') $$, 'a table nobody may read');
select results_eq($$ select * from chumbo.table_warnings('far.away'::regclass, false) $$,
  $$ values ('authenticated may not look into the schema far, so nobody will find far.away; grant usage on schema far to authenticated;') $$, 'a table out of reach');
select is_empty($$ select * from chumbo.table_warnings('demo.notes'::regclass, false) union all select * from chumbo.table_warnings('demo.tight'::regclass, false) $$, 'nothing is wrong with the others');
select alike(tests.refusal('select chumbo.register_table(''demo.bare'', ''demo'', strict => true)'), 'PT400 | unsafe_target | Row security is off on demo.bare%', 'strict refuses what would be a warning');

-- The first table makes the tools, the last one takes them away.
select isnt(chumbo.register_table('demo.notes', 'demo', columns => '{id,body}'), null, 'notes are offered');
select is(tests.tools(), 'describe_table list_allowed_tables select_rows', 'and with them the three tools');
select is((select array_agg(distinct (annotations, is_write, required_scopes, input_schema -> 'additionalProperties', output_schema ->> 'type')::text)
    from chumbo.capabilities where handler = 'table'),
  array['("{""readOnlyHint"": true, ""openWorldHint"": false, ""idempotentHint"": true, ""destructiveHint"": false}",f,{},false,object)'], 'which are closed, described, and only read');
select is_empty($$ with recursive nodes (node) as (
    select s from chumbo.capabilities as c, unnest(array[c.input_schema, c.output_schema]) as s where c.handler = 'table'
    union all select child.value from nodes, lateral (
      select value from jsonb_each(case jsonb_typeof(node) when 'object' then node else '{}' end)
      union all select value from jsonb_array_elements(case jsonb_typeof(node) when 'array' then node else '[]' end)) as child (value)
  ) select node from nodes where jsonb_typeof(node) = 'object' and (node ->> 'type' = 'array' and coalesce(node -> 'items', '{}') = '{}' or node ? '$ref') $$, 'every list says what it holds');
select is(chumbo.register_table('demo.tight', 'demo', key => '{id}', max_limit => 20), chumbo.register_table('demo.tight', 'demo', max_limit => 10), 'registering again keeps the row');
select results_eq($$ select name, columns, key, default_limit, max_limit, is_protected from chumbo.readable_tables order by name $$,
  $$ values ('notes' collate "C", '{id,body}'::text[], null::text[], 50, 200, true), ('tight', '{id,owner_id,body,secret}', null, 10, 10, true) $$, 'and renews everything in it');
select lives_ok($$ select chumbo.register_table('demo.spelled', 'demo'), chumbo.register_table('demo.parted', 'demo'), chumbo.register_table('demo.notes', 'demo', name => 'all-notes') $$,
  'an option may be spelled otherwise, a table may be partitioned, or offered twice');
select lives_ok($$ select chumbo.register_table('demo."Créer ""Élément"""', 'demo') $$, 'a name may hold anything');
select is((select name from chumbo.readable_tables where table_name like 'Cr%'), 'Creer_Element', 'and is told in plain letters');
select is(tests.refusal('select chumbo.register_table(''demo.bare'', ''demo'', name => ''notes'')'),
  'PT409 | name_taken | Another table is offered as ''notes'' on this server. | Pass another one with name => …', 'two tables cannot share a name');
select lives_ok($$ alter table demo.parted rename to partitioned; select chumbo.register_table('demo.partitioned', 'demo', name => 'parted') $$, 'unless the other one is gone');
select is(chumbo.unregister_table('nothing', 'demo'), false, 'what is not there cannot be withdrawn');
select is((select array_agg(chumbo.unregister_table(t.name, 'demo')) from chumbo.readable_tables as t where t.name <> 'tight'), '{t,t,t,t,t}', 'the others can');
select is(tests.tools(), 'describe_table list_allowed_tables select_rows', 'the tools stay for the last one');
select is(chumbo.unregister_table('tight', 'demo'), true, 'which goes');
select is(tests.tools(), null, 'and they with it');

-- Names, other servers, and what the rows of the tools say.
create function demo.select_rows() returns integer language sql stable as 'select 1';
select chumbo.register_tool('demo.select_rows', 'demo');
select alike(tests.refusal('select chumbo.register_table(''demo.notes'', ''demo'')'), 'PT409 | name_taken | A tool named ''select_rows'' exists on this server%', 'a tool keeps its name');
select chumbo.register_server('other');
select lives_ok($$ select chumbo.register_table('demo.notes', 'other') $$, 'on another server the tables have theirs');
select is(tests.tools(), null, 'and this one has none of them');
select chumbo.drop_capability('select_rows', 'demo');
select chumbo.define_scope('notes:read'), chumbo.define_scope('tight:read'), chumbo.define_scope('all:read');
select chumbo.register_table('demo.notes', 'demo', description => 'Secret notes.', scopes => '{all:read,notes:read}'), chumbo.register_table('demo.tight', 'demo', description => 'Tight notes.', scopes => '{all:read,tight:read}');
select is((select array_agg(distinct (required_scopes, search_terms)::text) from chumbo.capabilities where handler = 'table' and server_id = chumbo.server_id('demo')), array['({all:read},)'],
  'what every table needs the tools need, and search finds them by no table that more is needed for');
select chumbo.register_table('demo.spelled', 'demo', description => 'Spelled out.');
select is((select array_agg(distinct (required_scopes, search_terms)::text) from chumbo.capabilities where handler = 'table' and server_id = chumbo.server_id('demo')), array['({},"spelled Spelled out.")'],
  'which is nothing as soon as one needs nothing');
create table tests.before as select s.revision from chumbo.servers as s where s.slug = 'demo';
select chumbo.register_table('demo.spelled', 'demo', description => 'Spelled out.');
select is((select s.revision from chumbo.servers as s where s.slug = 'demo'), (select revision from tests.before), 'repeating a registration changes no tool');

-- What became of it since.
select is_empty($$ select * from chumbo.table_problems() where name in ('notes', 'tight') $$, 'nothing is wrong while all is well');
alter table demo.notes rename column body to words;
alter view demo.tight reset (security_invoker);
drop view demo.spelled;
alter table demo.notes disable row level security;
select results_eq('select * from chumbo.table_problems()', $$ values
  ('demo', 'notes', 'Row security is off on demo.notes, so whoever may select from it reads every row; alter table demo.notes enable row level security;'),
  ('demo', 'notes', 'demo.notes has no column body any more.'),
  ('demo', 'spelled', 'There is no such table or view. Write schema.name of a table or view that exists.'),
  ('demo', 'tight', 'The view demo.tight reads with the rights of its owner, so row security does not see the caller. Run alter view demo.tight set (security_invoker = true);'),
  ('other', 'notes', 'Row security is off on demo.notes, so whoever may select from it reads every row; alter table demo.notes enable row level security;'),
  ('other', 'notes', 'demo.notes has no column body any more.') $$,
  'what is gone, loose or open is told, for every table');
delete from chumbo.servers where slug = 'demo';
select is((select count(*) from chumbo.readable_tables), 1::bigint, 'a server takes its tables along');

select * from finish();
rollback;
