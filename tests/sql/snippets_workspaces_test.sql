-- tests/sql/snippets_workspaces_test.sql — workspaces, their members, the first owner and the last.
begin;
\ir support/people.psql
\ir support/snippets.psql
select plan(51);

select policies_are('public', 'workspaces',
  array['select_member', 'insert_self', 'update_owner', 'delete_owner'], 'only these policies on workspaces');
select policies_are('public', 'workspace_members',
  array['select_member', 'update_owner', 'delete_self_or_owner'], 'only these policies on members: nobody inserts one');
select ok(relrowsecurity, relname || ' has row security')
from pg_class where oid in ('public.workspaces'::regclass, 'public.workspace_members'::regclass) order by relname;
select table_privs_are('public', 'workspaces', 'anon', array[]::text[], 'anon has no right on workspaces');
select table_privs_are('public', 'workspace_members', 'anon', array[]::text[], 'anon has no right on members');
select table_privs_are('public', 'workspaces', 'authenticated', array['SELECT', 'DELETE'], 'whole rows may be read and deleted');
select table_privs_are('public', 'workspace_members', 'authenticated', array['SELECT', 'DELETE'], 'members too');
select schema_privs_are('private', role, usage, role || ' on schema private')
from (values ('anon', array[]::text[]), ('authenticated', array['USAGE'])) as c (role, usage);
select schema_privs_are('app', role, usage, role || ' on schema app')
from (values ('anon', array[]::text[]), ('authenticated', array['USAGE'])) as c (role, usage);

-- The helper that answers every policy.
select function_privs_are('private', 'workspace_ids', array['public.workspace_role'], 'anon', array[]::text[],
  'anon may not ask for workspaces');
select function_privs_are('private', 'workspace_ids', array['public.workspace_role'], 'authenticated', array['EXECUTE'],
  'the policies may, as the caller');
select is_definer('private', 'workspace_ids', array['public.workspace_role'], 'it looks past the policies it answers for');

select tests.act_as('dave');
select set_eq('select private.workspace_ids()', array[tests.w()], 'Dave belongs to W');
select is_empty($$ select private.workspace_ids('owner') $$, 'and owns nothing');
select set_eq('select id from public.workspaces', array[tests.w()], 'Dave sees W and no other');
select set_eq('select user_id from public.workspace_members',
  array[tests.person('alice'), tests.person('carol'), tests.person('dave')], 'Dave sees the members of W, without end or loop');

select tests.act_as('bob');
select set_eq('select private.workspace_ids()', array[tests.bobs()], 'Bob belongs to his own');
select set_eq('select id from public.workspaces', array[tests.bobs()], 'Bob does not see W');
select set_eq('select user_id from public.workspace_members', array[tests.person('bob')], 'nor its members');

select tests.act_as_nobody();
select throws_ok('table public.workspaces', '42501', null, 'anon reads no workspace');
select throws_ok('table public.workspace_members', '42501', null, 'anon reads no member');

-- A claim without a subject belongs to nobody.
select set_config('request.jwt.claims', '{"role":"authenticated"}', true), set_config('role', 'authenticated', true);
select is_empty('select private.workspace_ids()', 'a caller without a subject belongs to nothing');
select is_empty('table public.workspaces', 'and sees nothing');

-- Bootstrap.
select tests.act_as('bob');
select lives_ok($$ insert into public.workspaces (id, name) values ('00000000-0000-4000-8000-0000000000f2', 'Second') $$,
  'Bob opens another workspace');
select results_eq($$ select user_id, role from public.workspace_members where workspace_id = '00000000-0000-4000-8000-0000000000f2' $$,
  $$ values (tests.person('bob'), 'owner'::public.workspace_role) $$, 'and is its owner');
select throws_ok(format('insert into public.workspaces (name, created_by) values (''x'', %L)', tests.person('alice')),
  '42501', null, 'Bob cannot open one in Alice''s name');
select throws_ok($$ insert into public.workspaces (name) values ('') $$, '23514', null, 'a name is not empty');
select throws_ok($$ insert into public.workspaces (name) values (repeat('x', 81)) $$, '23514', null, 'a name has at most 80 characters');

-- Nobody joins by his own hand, and no member rules over others. Blanket statements, as for snippets.
select throws_ok(format('insert into public.workspace_members (workspace_id, user_id) values (%L, %L)', tests.w(), tests.person('bob')),
  '42501', null, 'Bob cannot join W by inserting himself');
select tests.act_as('alice');
select throws_ok(format('insert into public.workspace_members (workspace_id, user_id) values (%L, %L)', tests.w(), tests.person('bob')),
  '42501', null, 'Alice cannot make Bob a member unasked');
select tests.act_as('dave');
select lives_ok($$ update public.workspace_members set role = 'owner' $$, 'Dave''s blanket promotion runs');
select lives_ok($$ update public.workspaces set name = 'Dave''s' $$, 'and his blanket renaming');
select lives_ok('delete from public.workspaces', 'and his blanket deletion');
select is((select role from public.workspace_members where user_id = tests.person('dave')), 'member', 'but he stays a member');
select is((select name from public.workspaces), 'W', 'of W under its name');
select lives_ok('delete from public.workspace_members', 'his blanket removal runs too');
reset role;
select set_eq(format('select user_id from public.workspace_members where workspace_id = %L', tests.w()),
  array[tests.person('alice'), tests.person('carol')], 'and takes nobody but himself out');
insert into public.workspace_members (workspace_id, user_id) values (tests.w(), tests.person('dave'));

-- The last owner.
select tests.act_as('alice');
select throws_ok($$ delete from public.workspace_members where user_id = tests.person('alice') $$, 'PT409', 'last_owner',
  'the last owner cannot leave');
select throws_ok($$ update public.workspace_members set role = 'member' where user_id = tests.person('alice') $$, 'PT409', 'last_owner',
  'nor step down');
select lives_ok($$ update public.workspace_members set role = 'owner' where user_id = tests.person('carol') $$, 'she makes Carol owner');
select throws_ok($$ delete from public.workspace_members where role = 'owner' $$, 'PT409', 'last_owner', 'both at once cannot leave');
select lives_ok($$ delete from public.workspace_members where user_id = tests.person('alice') $$, 'one of two can');
select is_empty('table public.workspaces', 'and sees the workspace no more, though she opened it');

select tests.act_as('carol');
select lives_ok($$ delete from public.workspace_members where user_id = tests.person('dave') $$, 'an owner removes a member');
select tests.act_as('dave');
select is_empty('table public.workspaces', 'who sees the workspace no more');

reset role;
select throws_ok($$ delete from auth.users where id = tests.person('alice') $$, '23503', null,
  'an account that opened a workspace is not deleted from under it');
select tests.act_as('carol');
select lives_ok(format('delete from public.workspaces where id = %L', tests.w()), 'an owner deletes the workspace, last owner or not');
reset role;
select is_empty(format('select from public.workspace_members where workspace_id = %L', tests.w()), 'and its memberships go along');

select * from finish();
rollback;
