-- tests/sql/chumbo_registry_test.sql — what a row can say beyond its function: names, sizes, who it is for, that it only reads.
begin;
\ir support/people.psql
select plan(32);
\ir support/runtime.psql

-- Arrange: two functions, and a table one of them writes.
create table demo.marks (note text);
grant select, insert on demo.marks to authenticated;
create function demo.read() returns integer language sql stable as 'select 1';
create function demo.other() returns integer language sql stable as 'select 2';
create function demo.write() returns integer language plpgsql volatile as 'begin insert into demo.marks values (''x''); return 1; end';
create function demo.unlock() returns integer language plpgsql volatile as
  'begin perform set_config(''transaction_read_only'', ''off'', true); insert into demo.marks values (''x''); return 1; end';

-- Names.
select is(chumbo.public_name('Créer Élément'), 'Creer_Element', 'letters lose their marks, and what has no plain letter becomes _');
select is(chumbo.public_name('  … '), '', 'nothing may be left');
select is(length(chumbo.public_name(repeat('ﬃ', 40))), 64, 'a name that grows is cut to what clients take');
select lives_ok($$ select chumbo.register_tool('demo.read', 'demo', name => 'reading') $$, 'a function takes a name');
select lives_ok($$ select chumbo.register_tool('demo.read', 'demo', name => 'reading', title => 'Again') $$, 'and takes it again');
select throws_ok($$ select chumbo.register_tool('demo.other', 'demo', name => 'reading') $$, 'PT409', 'name_taken', 'another function cannot have it');
select lives_ok($$ select chumbo.register_tool('demo.other', 'demo', name => 'Reading') $$, 'a name in other letters is another name');
create function demo.gone() returns integer language sql stable as 'select 3';
select chumbo.register_tool('demo.gone', 'demo', name => 'heir');
drop function demo.gone();
select lives_ok($$ select chumbo.register_tool('demo.other', 'demo', name => 'heir') $$, 'the name of a function that is gone is free');
select throws_ok(format('select chumbo.register_tool(''demo.read'', ''demo'', name => %L)', name), 'PT409', 'reserved_name', name || ' belongs to the searched catalog')
from unnest(array['search_tools', 'call_tool']) as name;
select throws_ok($$ select chumbo.sync_capabilities('{"tools": [{"name": "call_tool", "inputSchema": {"type": "object"}}]}', 'demo') $$, 'PT409', 'reserved_name',
  'in code too');

-- Withdrawing for good.
select ok(chumbo.drop_capability('heir', 'demo'), 'a capability can be dropped');
select ok(not chumbo.drop_capability('heir', 'demo'), 'once');
select function_privs_are('chumbo', 'drop_capability', array['text', 'text', 'text'], role, array[]::text[], role || ' may drop nothing')
from unnest(array['anon', 'authenticated', 'service_role', 'chumbo_runtime']) as role;

-- Sizes.
select throws_ok($$ select chumbo.register_tool('demo.read', 'demo', name => 'long', description => repeat('x', 70000)) $$, 'PT413', 'definition_too_large',
  'an entry has a bound');
select is((select definition_bytes from chumbo.capabilities where name = 'reading'),
  (select octet_length(chumbo.definition(c)::text) from chumbo.capabilities as c where name = 'reading'), 'and its size is known');
select chumbo.register_server('demo', 'Demo', settings => '{"page_size": 1000}');
select chumbo.register_tool('demo.read', 'demo', name => 'big_' || n, description => repeat('x', 60000)) from generate_series(1, 10) as n;
select tests.act_as_runtime();
select is(jsonb_array_length(tests.enter('alice', '{"operation": "list", "kind": "tool"}') -> 'entries'), 9, 'a page ends at 512 KiB');
select is(tests.enter('alice', '{"operation": "list", "kind": "tool"}') ->> 'next', 'big_7', 'and the next one goes on from there');
select tests.act_as_owner();
select chumbo.drop_capability('big_' || n, 'demo') from generate_series(1, 10) as n;

-- What says that it only reads.
select chumbo.register_tool(target, 'demo', annotations => '{"readOnlyHint": true}') from unnest(array['demo.write', 'demo.unlock']) as target;
select chumbo.register_tool('demo.write', 'demo', name => 'honest');
select tests.act_as_runtime();
select is(tests.answer('alice', 'write'), 'tool_error tool_failed', 'a tool that says it only reads cannot write');
select is(tests.answer('alice', 'unlock'), 'tool_error tool_failed', 'nor switch that off');
select is(tests.answer('alice', 'honest'), 'ok {"result": 1}', 'one that says it writes can');
select tests.act_as_owner();
select is((select count(*)::integer from demo.marks), 1, 'and only that one did');

-- For whom it is.
select chumbo.register_tool('demo.read', 'demo', name => 'hosts_only', visibility => '{app}', meta => '{"ui": {"resourceUri": "ui://x"}, "a": 1}');
select is((select chumbo.definition(c) -> '_meta' from chumbo.capabilities as c where name = 'hosts_only'),
  '{"a": 1, "ui": {"resourceUri": "ui://x", "visibility": ["app"]}}', 'what is for the application says so beside what its author says');
select tests.act_as_runtime();
select is(tests.answer('alice', 'hosts_only', more => '{"via": "call_tool"}'), 'refused unknown_capability', 'where nothing is searched the proxy reaches nothing');
select tests.act_as_owner();
select chumbo.register_server('demo', settings => '{"catalog_mode": "search"}');
select tests.act_as_runtime();
select is(tests.answer('alice', 'reading', more => '{"via": "call_tool"}'), 'ok {"result": 1}', 'where it is searched, it reaches what models may use');
select is(tests.answer('alice', 'hosts_only', more => '{"via": "call_tool"}'), 'refused unknown_capability', 'and not what is for the application');

-- Instructions of each caller.
select tests.act_as_owner();
create function demo.greet() returns text language sql stable as $$ select 'Caller ' || auth.uid() $$;
create function demo.break() returns text language sql stable as $$ select (1 / 0)::text $$;
select chumbo.register_server('demo', instructions => 'Be kind.', instructions_target => 'demo.greet');
select tests.act_as_runtime();
select is(tests.enter('alice', '{"operation": "describe", "kind": "tool,prompt"}') #>> '{server,instructions}', 'Caller ' || tests.person('alice'), 'a function can write the instructions for each caller');
select is(tests.enter('alice', '{"operation": "list", "kind": "tool"}') #>> '{server,instructions}', 'Be kind.', 'a list does not run it');
select tests.act_as_owner();
select chumbo.register_server('demo', instructions_target => 'demo.break');
select tests.act_as_runtime();
select is(tests.enter('alice', '{"operation": "describe", "kind": "tool"}') #>> '{server,instructions}', 'Be kind.', 'one that fails leaves the fixed ones');

select * from finish();
rollback;
