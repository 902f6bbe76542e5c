-- tests/sql/chumbo_register_server_test.sql — chumbo.servers and register_server: what a server is called, and its revision.
begin;
select plan(21);

select policies_are('chumbo', 'servers', array['select_runtime'], 'the runtime reads servers and nobody writes them');
select policy_roles_are('chumbo', 'servers', 'select_runtime', array['chumbo_runtime'], 'that policy is the runtime''s');
select table_privs_are('chumbo', 'servers', 'anon', array[]::text[], 'anon has no part in servers');
select table_privs_are('chumbo', 'servers', 'authenticated', array[]::text[], 'nor has authenticated');
select table_privs_are('chumbo', 'servers', 'service_role', array['SELECT'], 'service_role reads them');
select function_privs_are('chumbo', 'register_server', array['text', 'text', 'text', 'text', 'text', 'jsonb', 'text'], 'service_role', array[]::text[],
  'servers are registered by migrations only');

select isnt_empty($$ select from chumbo.servers where slug = 'default' and is_enabled $$, 'a project starts with the default server');

select isnt(chumbo.register_server('demo', 'Demo', '1.2.3', 'The demo', 'Be kind.', '{"page_size": 5}'), null, 'registering returns the id');
select results_eq($$ select name, version, title, instructions, settings, revision from chumbo.servers where slug = 'demo' $$,
  $$ values ('Demo', '1.2.3', 'The demo', 'Be kind.', '{"page_size": 5}'::jsonb, 1::bigint) $$, 'it is kept as given');
select is(chumbo.register_server('demo', title => 'Another title'), chumbo.server_id('demo'), 'repeating it meets the same server');
select results_eq($$ select name, version, title, instructions, settings, revision from chumbo.servers where slug = 'demo' $$,
  $$ values ('Demo', '1.2.3', 'Another title', 'Be kind.', '{"page_size": 5}'::jsonb, 2::bigint) $$,
  'changes what is given, keeps the rest, and advances the revision');
update chumbo.servers set title = 'By hand', revision = 1 where slug = 'demo';
select is((select revision from chumbo.servers where slug = 'demo'), 3::bigint, 'an edit by hand cannot hold the revision back');

select throws_ok($$ select chumbo.server_id('absent') $$, 'PT404', 'unknown_server', 'an unknown server is told as such');
select throws_ok($$ select chumbo.server_id(null) $$, 'PT404', 'unknown_server', 'and so is null');
select throws_ok(format('select chumbo.register_server(%L)', slug), 'PT400', 'invalid_name', format('%L cannot stand in a URL', slug))
from unnest(array['', 'Demo', 'a/b', '-a']) as s (slug);
select throws_like($$ select chumbo.register_server('demo', settings => '{"page_size": 0}') $$, '%"servers_settings_are_known"', 'a page holds something');
select throws_like($$ select chumbo.register_server('demo', settings => '{"page_sise": 5}') $$, '%"servers_settings_are_known"', 'a misspelt setting is refused');
select throws_like($$ select chumbo.register_server('demo', settings => '{"unregistered": "maybe"}') $$, '%"servers_settings_are_known"',
  'unregistered is serve or refuse');

select * from finish();
rollback;
