-- tests/sql/chumbo_search_test.sql — chumbo_search: who may find what, how it counts, what it leaves behind.
begin;
\ir support/people.psql
select plan(67);
\ir support/runtime.psql

select function_privs_are('public', 'chumbo_search', array['text', 'text', 'jsonb'], role, array[]::text[], role || ' may not search') from unnest(array['anon', 'authenticated']) as role;
select function_privs_are('public', 'chumbo_search', array['text', 'text', 'jsonb'], role, array['EXECUTE'], role || ' may') from unnest(array['service_role', 'chumbo_runtime']) as role;
select policies_are('chumbo', t::name, array['select_runtime'], 'the runtime reads ' || t || ' and nobody else')
from unnest(array['search_audiences', 'search_documents', 'search_postings']) as t;

-- Arrange: one tool of each kind of standing. Each has the word gizmo.
select chumbo.register_server('demo', 'Demo', settings => '{"catalog_mode": "search"}');
select chumbo.define_scope('held'), chumbo.define_scope('asked', requestable => true), chumbo.define_scope('hidden'), chumbo.define_scope('of-bob');
delete from chumbo.grants;
select chumbo.grant_scope('held'), chumbo.grant_scope('of-bob', 'user', user_id => tests.person('bob'));
create function demo.one(size integer default 0) returns integer language sql stable as 'select 1';
create function demo.gone() returns integer language sql stable as 'select 1';
select chumbo.register_tool('demo.one', 'demo', name => name, description => 'Turns a gizmo.', scopes => scopes)
from (values ('open', '{}'::text[]), ('of_holders', '{held}'), ('of_asking', '{asked}'), ('of_nobody', '{hidden}'), ('of_bob', '{of-bob,held}'), ('off', '{}')) as t (name, scopes);
select chumbo.register_tool('demo.one', 'demo', name => 'for_app', description => 'Turns a gizmo gizmo.', visibility => '{app}', pinned => true);
select chumbo.register_tool('demo.one', 'demo', name => 'for_models', description => 'Turns a gizmo.', visibility => '{model}');
select chumbo.register_tool('demo.gone', 'demo', description => 'Turns a gizmo.');
drop function demo.gone();
select chumbo.disable('off', 'demo');
select chumbo.sync_capabilities('{"tools": [{"name": "in_code", "description": "Turns a gizmo.", "inputSchema": {"type": "object"}}],
  "prompts": [{"name": "as_prompt", "description": "Turns a gizmo."}], "resources": [{"name": "as_resource", "description": "A gizmo.", "uri": "app://a"}]}', 'demo');

create function tests.search(person text, query text, more jsonb default '{}') returns jsonb language sql volatile as $$
  select public.chumbo_search('demo', query, tests.request(person, more))
$$;
create function tests.found(answer jsonb) returns text language sql immutable as $$
  select coalesce(string_agg(e.entry ->> 'name', ' ' order by e.place), answer #>> '{error,code}', 'nothing') from jsonb_array_elements(answer -> 'entries') with ordinality as e (entry, place)
$$;
create function tests.finds(person text, query text) returns text language sql volatile as $$ select tests.found(tests.search(person, query)) $$;
create function tests.sorted(words text) returns text language sql immutable as $$ select string_agg(w, ' ' order by w collate "C") from string_to_table(words, ' ') as w $$;
select tests.act_as_runtime();

-- Who finds what.
select is(tests.sorted(tests.finds('alice', 'gizmo')), 'for_models in_code of_holders open', 'Alice finds what she may use and models are meant to');
select is(tests.sorted(tests.finds('bob', 'gizmo')), 'for_models in_code of_bob of_holders open', 'Bob one more');
select is(tests.sorted(tests.finds('nobody', 'gizmo')), 'for_models in_code open', 'who is not signed in finds what asks for nothing');
select is(tests.finds('alice', name) ~ ('(^| )' || name || '( |$)'), false, 'what is not for Alice stays out of reach of its own name: ' || name)
from unnest(array['of_asking', 'of_nobody', 'of_bob', 'off', 'for_app', 'gone', 'as_prompt', 'as_resource']) as name;
select is(split_part(tests.finds('bob', 'of_bob'), ' ', 1), 'of_bob', 'though Bob finds his');
select is(tests.finds('alice', 'sprocket'), 'nothing', 'what is nowhere is not found');
select is(tests.finds('alice', query), 'nothing', format('nor is %L', query)) from unnest(array['', ' ', ' , ) " % _ \ '' ; -- ` $$', '%', '_', '*', repeat('%_', 6000)]) as query;
select is(tests.finds('alice', null), 'nothing', 'nor null');
select is(tests.sorted(tests.finds('alice', repeat('gizmo ', 2000))), 'for_models in_code of_holders open', 'ten kilobytes of a word are the word');

-- What is not there for a caller does not show in what is.
select tests.act_as_owner();
create temporary table before on commit drop as select tests.search('alice', 'holders code') - 'revision' as answer;
select chumbo.register_tool('demo.one', 'demo', name => 'more_' || i, description => 'Holders of things, for holders.', scopes => '{hidden}') from generate_series(1, 30) as i;
select is(tests.search('alice', 'holders code') - 'revision', (select answer from before), 'thirty tools that are hidden move nothing');
select tests.act_as_runtime();

-- The answer.
select is(tests.search('alice', 'open') - array['entries', 'revision'], '{"outcome": "found", "error": null, "scopes": ["held"], "server": {"name": "Demo", "version": null,
  "title": null, "instructions": null, "unregistered": "serve", "catalog_mode": "search", "cache_seconds": 0}}', 'an answer says for whom it is');
select is(tests.search('alice', 'open') #> '{entries,0}', jsonb_build_object('id', c.id, 'name', 'open', 'kind', 'tool', 'handler', 'sql', 'definition', chumbo.definition(c)),
  'each entry is complete') from chumbo.capabilities as c where c.name = 'open';
select is(tests.search('alice', 'in code') #>> '{entries,0,handler}', 'typescript', 'and says who answers it');

-- The gate.
select is(tests.found(public.chumbo_search('absent', 'gizmo', tests.request('alice'))), 'unknown_server', 'an unknown server finds nothing');
select is(tests.found(tests.search('alice', 'gizmo', '{"session_id": "00000000-0000-4000-8000-000000000000"}')), 'session_revoked', 'nor does an ended session');
select is(tests.found(tests.search('alice', 'gizmo', '{"requires": 9999}')), 'schema_outdated', 'nor a runtime ahead of the database');
select is(tests.found(tests.search('alice', 'gizmo', '{"rejection": {"code": "invalid_arguments", "message": "No."}}')), 'invalid_arguments', 'nor a request the runtime refused');
select is(tests.found(tests.search('alice', 'gizmo', '{"tool": "call_tool"}')), 'invalid_arguments', 'a call_tool that is no call is refused here');
select results_eq($$ select capability, outcome, code from chumbo.receipts order by created_at desc limit 1 $$, $$ values ('call_tool', 'refused', 'invalid_arguments') $$, 'under its own name');
select is(tests.search('alice', 'gizmo', '{"rejection": {"code": "invalid_arguments"}}') ? 'entries', false, 'a refusal shows nothing');
select is(tests.search('alice', 'gizmo', '{"session_id": "00000000-0000-4000-8000-000000000000"}') ? 'server', false, 'of the server either');

-- Receipts.
select tests.act_as_owner();
truncate chumbo.receipts;
select tests.act_as_runtime();
select tests.found(tests.search('alice', 'gizmo whatsit', '{"argument_digest": "d"}')), tests.found(tests.search('bob', 'sprocket')),
  tests.found(tests.search('alice', 'gizmo', '{"rejection": {"code": "invalid_arguments", "message": "No."}}'));
select results_eq($$ select kind, capability, outcome, code, row_count, replay_of, argument_digest from chumbo.receipts order by created_at $$,
  $$ values ('tool', 'search_tools', 'ok', null, 4, null::uuid, 'd'), ('tool', 'search_tools', 'ok', null, 0, null, null), ('tool', 'search_tools', 'refused', 'invalid_arguments', 0, null, null) $$,
  'a search leaves the receipt of a call, with how much it found');
select is((select count(*) from chumbo.receipts as r where r::text ~* 'whatsit|gizmo|sprocket'), 0::bigint, 'and without a word of what was asked');
select is((select bool_and(bytes > 0 and duration_ms > 0) from chumbo.receipts), true, 'its size and its time are known');

-- Limits.
select tests.act_as_owner();
select chumbo.set_rate_limit('searches', 'demo', capability => 'search_tools', requests => 2, window_seconds => 3600);
select tests.act_as_runtime();
select is(tests.finds('alice', 'sprocket'), outcome, 'the limit of search_tools counts ' || i) from (values (1, 'nothing'), (2, 'nothing'), (3, 'rate_limited'), (4, 'rate_limited')) as t (i, outcome);
select cmp_ok((tests.search('alice', 'x') #>> '{error,retry_after}')::integer, '>', 60, 'and says when to come back');
select is(tests.finds('bob', 'sprocket'), 'nothing', 'for each caller');
select is(tests.found(tests.search('alice', 'sprocket', '{"attempt": 2}')), 'nothing', 'and each request once');
select tests.act_as_owner();
select chumbo.set_rate_limit('searches', 'demo', requests => 1, window_seconds => 3600);
select tests.act_as_runtime();
select is(tests.finds('carol', 'sprocket') || ', ' || tests.finds('carol', 'sprocket'), 'nothing, rate_limited', 'so does a limit of everything');

-- Where a catalog is listed there is no such tool.
select tests.act_as_owner();
delete from chumbo.rate_limits;
select chumbo.register_server('demo', settings => settings::jsonb) from unnest(array['{"catalog_mode": "list"}']) as settings;
select tests.act_as_runtime();
select is(tests.finds('alice', 'gizmo'), 'unknown_capability', 'a listed catalog is not searched');
select is(tests.found(tests.search('alice', 'gizmo', more)), 'unknown_capability', 'whatever is asked: ' || more::text)
from unnest(array['{"rejection": {"code": "invalid_arguments"}}', '{"tool": "call_tool"}', '{"tool": "call_tool", "rejection": {"code": "invalid_arguments"}}']::jsonb[]) as more;
select results_eq($$ select capability, outcome, code from chumbo.receipts order by created_at desc limit 1 $$, $$ values ('call_tool', 'refused', 'unknown_capability') $$, 'which leaves its receipt');
select tests.act_as_owner();
select chumbo.set_rate_limit('all', 'demo', requests => 1, window_seconds => 3600);
select chumbo.set_rate_limit('searches', 'demo', capability => 'search_tools', requests => 1, window_seconds => 3600);
select tests.act_as_runtime();
select is(tests.finds('alice', 'gizmo') || ', ' || tests.finds('alice', 'gizmo'), 'unknown_capability, rate_limited', 'and guessing counts');
select is((select count(*) from chumbo.rate_counters as k join chumbo.rate_limits as l on l.id = k.limit_id where l.name = 'searches'), 0::bigint, 'as a call of nothing');

-- The list of a searched catalog is what is pinned.
select tests.act_as_owner();
select chumbo.register_server('demo', settings => '{"catalog_mode": "search"}');
delete from chumbo.rate_limits;
select tests.act_as_runtime();
select is(tests.found(tests.enter('alice', '{"operation": "list", "kind": "tool"}')), 'for_app', 'only what is pinned is listed');
select is(tests.enter('alice', '{"operation": "list", "kind": "tool"}') #> '{entries,0,definition,_meta,ui,visibility}', '["app"]', 'and says whom it is for');
select is(tests.found(tests.enter('alice', '{"operation": "list", "kind": "prompt"}')), 'as_prompt', 'prompts are listed as ever');
select is(tests.answer('alice', 'open', '{}', '{"via": "call_tool"}'), 'ok {"result": 1}', 'what is found can be called by proxy');
select is(tests.answer('alice', 'for_app', '{}', '{"via": "call_tool"}'), 'refused unknown_capability', 'what is for the app cannot');
select is(tests.answer('alice', 'for_app'), 'ok {"result": 1}', 'though the app can, by its name');
select is(tests.answer('alice', name, '{}', '{"via": "call_tool"}'), 'refused unknown_capability', 'a proxy proxies no proxy: ' || name) from unnest(array['call_tool', 'search_tools']) as name;

select * from finish();
rollback;
