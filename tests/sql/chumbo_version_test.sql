-- tests/sql/chumbo_version_test.sql — chumbo_version and installed: which migrations ran here, and what a newer runtime is told.
begin;
\ir support/people.psql
select plan(19);
\ir support/runtime.psql

select policies_are('chumbo', 'installed', array['select_runtime'], 'the runtime reads what is installed and nobody writes it');
select table_privs_are('chumbo', 'installed', role, array[]::text[], role || ' has no part in it') from unnest(array['anon', 'authenticated']) as role;
select table_privs_are('chumbo', 'installed', role, array['SELECT'], role || ' reads it') from unnest(array['service_role', 'chumbo_runtime']) as role;
select function_privs_are('public', 'chumbo_version', array[]::text[], role, array[]::text[], role || ' may not ask') from unnest(array['anon', 'authenticated']) as role;
select function_privs_are('public', 'chumbo_version', array[]::text[], role, array['EXECUTE'], role || ' may') from unnest(array['service_role', 'chumbo_runtime']) as role;

select is(public.chumbo_version(), (select max(number) from chumbo.installed), 'the version is the newest migration');
select results_eq('select number from chumbo.installed order by number', 'select generate_series(1, public.chumbo_version())', 'and none before it is missing');
select is_empty($$ select name from chumbo.installed where hash = repeat('0', 64) $$, 'each file recorded its hash');
select throws_like($$ insert into chumbo.installed values (999, 'x', 'abc') $$, '%"installed_hash_is_sha256"', 'which is one');

create function demo.hello() returns text language sql stable as $$ select 'hello'::text $$;
select chumbo.register_tool('demo.hello', 'demo');
select tests.act_as_runtime();
select is(tests.answer('alice', 'hello', more => jsonb_build_object('requires', public.chumbo_version())), 'ok {"result": "hello"}', 'a runtime of this version is served');
select is(tests.answer('alice', 'hello', more => '{"requires": 1}'), 'ok {"result": "hello"}', 'and so is an older one');
select is(tests.call('alice', 'hello', more => '{"requires": 999}') -> 'error', jsonb_build_object('code', 'schema_outdated', 'needed', 999, 'found', public.chumbo_version()),
  'a newer one is told what it needs and what it found');
select is(tests.told(tests.enter('alice', '{"operation": "list", "kind": "tool", "requires": 999}')), 'refused schema_outdated', 'when it lists as well');
select tests.act_as_owner();
select results_eq($$ select outcome, code from chumbo.receipts order by id desc limit 1 $$, $$ values ('refused', 'schema_outdated') $$, 'with a receipt for the call');
truncate chumbo.installed;
select is(public.chumbo_version(), 0, 'where none is recorded the version is 0');

select * from finish();
rollback;
