-- tests/sql/chumbo_enable_test.sql — enable, disable, sync_capabilities: what is offered, without a deploy.
begin;
\ir support/people.psql
select plan(39);
\ir support/runtime.psql

select function_privs_are('chumbo', name, array['text', 'text', 'text'], role, array[]::text[], format('%s may not %s', role, name))
from unnest(array['enable', 'disable']) as name, unnest(array['authenticated', 'service_role', 'chumbo_runtime']) as role;
select function_privs_are('chumbo', 'sync_capabilities', array['jsonb', 'text'], role, array[]::text[], role || ' may not sync')
from unnest(array['authenticated', 'service_role', 'chumbo_runtime']) as role;

create function demo.hello() returns text language sql stable as $$ select 'hello'::text $$;
select chumbo.register_tool('demo.hello', 'demo');
create function tests.revision() returns bigint language sql volatile as $$ select revision from chumbo.servers where slug = 'demo' $$;

-- enable, disable.
select is(tests.answer('alice', 'hello'), 'ok {"result": "hello"}', 'a registered tool is on');
select is(chumbo.disable('hello', 'demo'), true, 'switching it off changes something');
select is(tests.answer('alice', 'hello'), 'refused unknown_capability', 'and takes effect on the next call');
create table tests.before as select tests.revision();
select is(chumbo.disable('hello', 'demo'), false, 'a second time changes nothing');
select is(tests.revision(), (select revision from tests.before), 'and makes nothing stale');
select is(chumbo.enable('hello', 'demo'), true, 'switching it on changes something');
select cmp_ok(tests.revision(), '>', (select revision from tests.before), 'and makes lists stale');
select is(tests.answer('alice', 'hello'), 'ok {"result": "hello"}', 'and it is there again');
select throws_ok($$ select chumbo.disable('absent', 'demo') $$, 'PT404', 'unknown_capability', 'what is not there cannot be switched off');
select throws_ok($$ select chumbo.enable('hello') $$, 'PT404', 'unknown_capability', 'nor what another server has');
select throws_ok($$ select chumbo.enable('hello', 'demo', 'prompt') $$, 'PT404', 'unknown_capability', 'nor a prompt that is a tool');
select throws_ok($$ select chumbo.enable('hello', 'absent') $$, 'PT404', 'unknown_server', 'and the server has to be there');

-- sync_capabilities makes the rows of code equal to its manifest.
select chumbo.define_scope('notes:read');
select is(chumbo.sync_capabilities('{"tools": [{"name": "t", "title": "T", "description": "Does T.", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"},
      "annotations": {"readOnlyHint": true}, "scopes": ["notes:read"], "_meta": {"a": 1}}],
    "resources": [{"name": "r", "uri": "app://r", "mimeType": "text/plain"}, {"name": "rt", "uriTemplate": "app://r/{id}"}], "prompts": [{"name": "p", "title": "P"}]}', 'demo'),
  '{"kept": 4, "removed": 0}', 'a manifest becomes rows');
select results_eq($$ select kind, c.name collate "default", handler, uri, mime_type, required_scopes, is_write from chumbo.capabilities as c
    where server_id = chumbo.server_id('demo') and handler = 'typescript' order by kind $$,
  $$ values ('prompt', 'p', 'typescript', null, null, '{}'::text[], true), ('resource', 'r', 'typescript', 'app://r', 'text/plain', '{}', true),
    ('resource_template', 'rt', 'typescript', 'app://r/{id}', null, '{}', true), ('tool', 't', 'typescript', null, null, '{notes:read}', false) $$, 'one for each');
select is((select chumbo.definition(c) from chumbo.capabilities as c where name = 't'),
  '{"name": "t", "title": "T", "description": "Does T.", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}, "_meta": {"a": 1}}',
  'whose definition is what a client sees');
select is((select chumbo.definition(c) from chumbo.capabilities as c where name = 'rt'), '{"name": "rt", "uriTemplate": "app://r/{id}"}', 'without the keys that have no value');
select chumbo.disable('t', 'demo');
select is(chumbo.sync_capabilities('{"tools": [{"name": "t", "title": "New", "inputSchema": {"type": "object"}}]}', 'demo'), '{"kept": 1, "removed": 3}',
  'what code no longer defines is removed');
select results_eq($$ select title, is_enabled, required_scopes from chumbo.capabilities where name = 't' $$, $$ values ('New', false, '{}'::text[]) $$,
  'what it still defines is renewed and stays off');
select is(tests.answer('alice', 'hello'), 'ok {"result": "hello"}', 'a SQL tool is none of its business');
select throws_ok($$ select chumbo.sync_capabilities('{"tools": [{"name": "hello", "inputSchema": {"type": "object"}}]}', 'demo') $$, 'PT409', 'capability_exists',
  'and its name is taken');
select throws_ok(format('select chumbo.sync_capabilities(%L, ''demo'')', manifest), 'PT400', 'invalid_manifest', format('%s is no manifest', manifest))
from unnest(array['[]', '{"tolls": []}', '"tools"', 'null', null, '{"tools": {}}', '{"tools": null}']) as m (manifest);
select is((select count(*) from chumbo.capabilities where name = 't'), 1::bigint, 'and none of them removes anything');
select throws_ok($$ select chumbo.sync_capabilities('{"tools": [{"name": "u", "inputSchema": {"type": "object"}, "scopes": [""]}]}', 'demo') $$, 'PT400', 'unknown_scope',
  'a blank scope is none');
select throws_ok($$ select chumbo.sync_capabilities('{}', 'absent') $$, 'PT404', 'unknown_server', 'the server has to be there');

select * from finish();
rollback;
