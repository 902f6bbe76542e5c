-- tests/sql/chumbo_history_test.sql — versions of capabilities, the record of their changes, and receipts that name a version.
begin;
\ir support/people.psql
select plan(41);
\ir support/runtime.psql

-- Who may read and write it.
select policies_are('chumbo', 'capability_changes', array[]::text[], 'no policy opens the history');
select table_privs_are('chumbo', 'capability_changes', role, array[]::text[], role || ' has no part in it')
from unnest(array['anon', 'authenticated', 'service_role', 'chumbo_runtime']) as role;
select table_privs_are('chumbo', 'capability_changes', 'postgres',
  array['DELETE', 'INSERT', 'REFERENCES', 'SELECT', 'TRIGGER', 'TRUNCATE', 'UPDATE'], 'who runs the migrations reads it');
select is_empty($$ select attname from pg_attribute where attrelid = 'chumbo.capabilities'::regclass and attgenerated <> '' $$,
  'no column of a capability is generated: a trigger before the write would compare it unmade');

create function tests.history(name text) returns setof text language sql stable as $$
  select format('%s %s%s', h.change, h.version, case when h.registration is null then '' else ' ' || coalesce(h.registration ->> 'description', '-') end)
  from chumbo.capability_changes as h where h.server = 'demo' and h.name = history.name order by h.id
$$;
create function tests.version(name text) returns integer language sql stable as $$
  select c.version from chumbo.capabilities as c join chumbo.servers as s on s.id = c.server_id where s.slug = 'demo' and c.name = version.name
$$;
create function demo.hello(name text default 'you') returns text language sql stable as $$ select 'hello ' || name $$;
comment on function demo.hello(text) is 'First.';

-- Added.
select chumbo.register_tool('demo.hello', 'demo');
select results_eq($$ select tests.history('hello') $$, array['added 1 First.'], 'what is registered is recorded');
select results_eq($$ select h.kind, h.old_digest is null, h.digest, h.changed_by = session_user, h.subject is null, h.transaction_id from chumbo.capability_changes as h where h.name = 'hello' $$,
  $$ select 'tool', true, c.digest, true, true, pg_current_xact_id() from chumbo.capabilities as c where c.name = 'hello' $$, 'with its digest, who did it and with what else');
select matches((select c.digest from chumbo.capabilities as c where c.name = 'hello'), '^[0-9a-f]{64}$', 'the digest is a SHA-256');
select is((select h.registration ->> 'target' from chumbo.capability_changes as h where h.name = 'hello'), 'demo.hello(text)', 'and what runs is part of the record');

-- The same again.
select chumbo.register_tool('demo.hello', 'demo');
update chumbo.capabilities set updated_at = now() + interval '1 hour' where name = 'hello';
select results_eq($$ select tests.history('hello') $$, array['added 1 First.'], 'registering the same again is no change');
select is(tests.version('hello'), 1, 'and no new version');

-- Changed.
create temporary table before on commit drop as select c.digest from chumbo.capabilities as c where c.name = 'hello';
comment on function demo.hello(text) is 'Second.';
select tests.act_as_owner();
select set_config('request.jwt.claims', '{"sub": "alice"}', true);
select chumbo.register_tool('demo.hello', 'demo');
select set_config('request.jwt.claims', '', true);
select results_eq($$ select tests.history('hello') $$, array['added 1 First.', 'changed 2 Second.'], 'another description is a new version');
select is((select h.subject from chumbo.capability_changes as h where h.version = 2), 'alice', 'with the signed-in user who made it');
select chumbo.register_tool('demo.hello', 'demo', row_cap => 5);
select chumbo.define_scope('greet');
select chumbo.register_tool('demo.hello', 'demo', row_cap => 5, scopes => '{greet}');
select is(tests.version('hello'), 4, 'so is another row cap, and another scope');
select chumbo.register_tool('demo.hello', 'demo', description => 'First.');
select is((select array_agg(distinct h.digest) from chumbo.capability_changes as h where h.server = 'demo' and h.version in (1, 5)),
  (select array_agg(c.digest) from chumbo.capabilities as c where c.name = 'hello'), 'what comes back has its digest back');
select is(tests.version('hello'), 5, 'and a version of its own');
select is((select array[h.old_digest <> h.digest, h.old_digest = b.digest] from chumbo.capability_changes as h
  join chumbo.capability_changes as b on b.version = h.version - 1 and b.name = h.name where h.version = 5 and h.name = 'hello'), '{t,t}', 'each change names the digest before it');

-- Enabled and disabled.
select chumbo.disable('hello', 'demo');
select chumbo.disable('hello', 'demo');
select chumbo.enable('hello', 'demo');
select results_eq($$ select t from tests.history('hello') with ordinality as h (t, n) order by n desc limit 2 $$, array['enabled 5', 'disabled 5'], 'switching off and on is recorded, once each');
select is(tests.version('hello'), 5, 'and is no new version');

-- The columns are the trigger's.
update chumbo.capabilities set version = 99, digest = 'x' where name = 'hello';
select results_eq($$ select c.version, length(c.digest) from chumbo.capabilities as c where c.name = 'hello' $$, 'values (5, 64)', 'nobody else writes version and digest');
insert into chumbo.capabilities (server_id, kind, name, handler, version, digest) values (chumbo.server_id('demo'), 'tool', 'forged', 'typescript', 7, 'x');
select results_eq($$ select c.version, length(c.digest) from chumbo.capabilities as c where c.name = 'forged' $$, 'values (1, 64)', 'not on the first day either');

-- Removed, and back.
select chumbo.drop_capability('hello', 'demo');
select results_eq($$ select t from tests.history('hello') with ordinality as h (t, n) order by n desc limit 1 $$, array['removed 5'], 'removal is recorded with the last version');
select chumbo.register_tool('demo.hello', 'demo');
select is(tests.version('hello'), 6, 'a name that comes back goes on counting');
select chumbo.drop_capability('hello', 'demo');
select chumbo.register_tool('demo.hello', 'demo');
select is(tests.version('hello'), 7, 'even when it was the same');

-- A whole manifest in one statement after another, and many rows in one.
select chumbo.sync_capabilities('{"tools": [{"name": "one", "inputSchema": {"type": "object"}}, {"name": "two", "inputSchema": {"type": "object"}}]}', 'demo');
select chumbo.sync_capabilities('{"tools": [{"name": "two", "title": "Two", "inputSchema": {"type": "object"}}]}', 'demo');
select results_eq($$ select tests.history('one') $$, array['added 1 -', 'removed 1'], 'what a manifest no longer names is removed');
select results_eq($$ select tests.history('two') $$, array['added 1 -', 'changed 2 -'], 'what it says otherwise is changed');
insert into chumbo.capabilities (server_id, kind, name, handler) select chumbo.server_id('demo'), 'prompt', 'p' || i, 'typescript' from generate_series(1, 3) as i;
update chumbo.capabilities set title = 'T', is_enabled = false where kind = 'prompt' and name <> 'p2';
select set_eq($$ select h.name || ' ' || h.change || ' ' || h.version from chumbo.capability_changes as h where h.server = 'demo' and h.kind = 'prompt' $$,
  array['p1 added 1', 'p2 added 1', 'p3 added 1', 'p1 changed 2', 'p1 disabled 2', 'p3 changed 2', 'p3 disabled 2'], 'one statement leaves a line for each change of each row');
update chumbo.capabilities set name = 'p4' where name = 'p2';
select results_eq($$ select tests.history('p2') union all select tests.history('p4') $$, array['added 1 -', 'removed 1', 'added 1 -'], 'another name is one less and one more');

-- Servers.
update chumbo.servers set slug = 'demo-renamed' where slug = 'demo';
update chumbo.capabilities set title = 'Renamed' where name = 'hello';
select is((select c.version from chumbo.capabilities as c where c.name = 'hello'), 8, 'a server with another slug does not start counting anew');
update chumbo.servers set slug = 'demo' where slug = 'demo-renamed';
delete from chumbo.servers where slug = 'demo';
select results_eq($$ select t from tests.history('hello') with ordinality as h (t, n) order by n desc limit 1 $$, array['removed 8'], 'a server takes its capabilities with it, on record');
select is_empty($$ select c.name from chumbo.capabilities as c where c.name in ('two', 'p1', 'hello') $$, 'all of them');
select is((select count(*) from chumbo.capability_changes as h where h.change = 'removed' and h.name = 'hello'), 3::bigint, 'and once');
select chumbo.register_server('demo');
select chumbo.register_tool('demo.hello', 'demo');
select is(tests.version('hello'), 9, 'and a server of the same slug goes on where the other ended');

-- Append-only.
select throws_ok(statement, 'PT409', 'append_only_history', statement) from unnest(array[
  'update chumbo.capability_changes set version = 1', 'delete from chumbo.capability_changes', 'truncate chumbo.capability_changes']) as statement;
select set_config('request.jwt.claims', 'no JSON', true);
select lives_ok($$ select chumbo.disable('hello', 'demo') $$, 'odd claims do not stop a change');
select set_config('request.jwt.claims', '', true);

-- Receipts.
select tests.act_as_runtime();
select chumbo.write_receipt('demo', 'tool', 'hello', tests.request('alice'), 'ok', null, 1, 2, false, 3.5, null, 7);
select chumbo.write_receipt('demo', 'tool', 'hello', tests.request('alice'), 'ok', null, 1, 2, false, 3.5, null);
select tests.act_as_owner();
grant usage on schema tests to authenticated;
select tests.act_as('alice');
select results_eq('select r.capability_version from chumbo.receipts as r order by r.id', array[7, null], 'Alice reads which version her call ran, where it is known');
select tests.act_as_owner();
select hasnt_function('chumbo', 'write_receipt', array['text', 'text', 'text', 'jsonb', 'text', 'text', 'integer', 'integer', 'boolean', 'numeric', 'uuid'], 'no older signature stays behind');

select * from finish();
rollback;
