-- tests/sql/snippets_invitations_test.sql — opening a workspace, inviting by address, and joining by one's own will.
begin;
\ir support/people.psql
\ir support/snippets.psql
select plan(64);

select policies_are('public', 'invitations',
  array['select_owner', 'insert_owner', 'update_owner', 'delete_owner'], 'only these policies');
select is((select relrowsecurity from pg_class where oid = 'public.invitations'::regclass), true, 'row security is on');
select table_privs_are('public', 'invitations', 'anon', array[]::text[], 'anon has no right on invitations');
select table_privs_are('public', 'invitations', 'authenticated', array['SELECT', 'DELETE'], 'whole rows may be read and deleted');
select function_privs_are(schema, name, args, 'anon', array[]::text[], 'anon may not call ' || name)
from (values
  ('app', 'create_workspace', array['text']), ('app', 'invite_to_workspace', array['uuid', 'text', 'public.workspace_role']),
  ('app', 'list_invitations', array[]::text[]), ('app', 'accept_invitation', array['uuid']),
  ('private', 'open_invitations', array[]::text[]), ('private', 'accept_invitation', array['uuid'])
) as c (schema, name, args);
select function_privs_are(schema, name, args, 'authenticated', array['EXECUTE'], 'people may call ' || name)
from (values
  ('app', 'create_workspace', array['text']), ('app', 'invite_to_workspace', array['uuid', 'text', 'public.workspace_role']),
  ('app', 'list_invitations', array[]::text[]), ('app', 'accept_invitation', array['uuid'])
) as c (schema, name, args);
select isnt_definer('app', name, args, name || ' runs with the caller''s rights')
from (values
  ('create_workspace', array['text']), ('invite_to_workspace', array['uuid', 'text', 'public.workspace_role']),
  ('list_invitations', array[]::text[]), ('accept_invitation', array['uuid'])
) as c (name, args);
select function_privs_are('private', 'caller_email', array[]::text[], 'authenticated', array[]::text[],
  'nobody asks for addresses directly');

-- Opening a workspace.
select tests.act_as('dave');
select results_eq($$ select name, role::text from app.create_workspace('Dave''s') $$, $$ values ('Dave''s', 'owner') $$,
  'Dave opens a workspace and owns it');
select throws_ok(format('select app.create_workspace(%L)', bad), 'PT400', 'invalid_arguments', label)
from (values ('', 'an empty name is refused'), (repeat('x', 81), 'a name of 81 characters is refused'),
  (null, 'a missing name is refused')) as c (bad, label);
select lives_ok(format('select app.create_workspace(%L)', repeat('ü', 80)), 'one of 80 is taken');

-- Who may invite.
select throws_ok(format($$ select app.invite_to_workspace(%L, 'bob@example.test') $$, tests.w()), 'PT403', 'forbidden',
  'a member cannot invite');
select throws_ok(format($$ select app.invite_to_workspace(%L, 'x@example.test') $$, workspace_id), 'PT404', 'workspace_not_found', label)
from (values (tests.bobs(), 'nor anybody into a workspace of others'), (gen_random_uuid(), 'nor into none, in the same words'),
  (null, 'nor into null')) as c (workspace_id, label);
select throws_ok(format($$ insert into public.invitations (workspace_id, email) values (%L, 'dave@example.test') $$, tests.w()),
  '42501', null, 'nor past the function');

-- One answer, whoever is behind the address.
select tests.act_as('alice');
select results_eq(
  format($$ select workspace_id, replace(email, %L, 'X'), role::text, expires_at from app.invite_to_workspace(%L, %L) $$, who, tests.w(), who || '@example.test'),
  format($$ values (%L::uuid, 'X@example.test', 'member', now() + interval '14 days') $$, tests.w()), label)
from (values
  ('bob', 'inviting somebody with an account'),
  ('nemo', 'inviting somebody without: the same answer'),
  ('carol', 'inviting a member: the same answer'),
  ('alice', 'inviting oneself: the same answer')
) as c (who, label);
select throws_ok(format($$ select app.invite_to_workspace(%L, %L) $$, tests.w(), bad), 'PT400', 'invalid_arguments', coalesce(bad, 'null') || ' is no address')
from unnest(array['', 'bob', 'a b@example.test', 'a@b@c', repeat('x', 321) || '@example.test', null]) as c (bad);
select is((app.invite_to_workspace(tests.w(), ' BOB@Example.Test ', 'owner')).role::text, 'owner', 'inviting again renews, case or blanks aside');
select is((select count(*) from public.invitations where email = 'bob@example.test'), 1::bigint, 'and makes no second row');
select is((app.invite_to_workspace(tests.w(), 'bob@example.test')).role::text, 'member', 'the last word counts');

-- Inviting is not joining.
select is_empty(format('select from public.workspace_members where user_id = %L', tests.person('bob')), 'Bob is no member yet');
select tests.act_as('carol');
select is_empty('table public.invitations', 'a member does not see invitations');
select lives_ok(format('update public.invitations set role = ''owner'', invited_by = %L', tests.person('carol')), 'her blanket change runs');
select lives_ok('delete from public.invitations', 'and her blanket removal');
select tests.act_as('alice');
select is((select count(*) from public.invitations where role = 'member' and invited_by = tests.person('alice')), 4::bigint,
  'and both touch nothing');
select throws_ok(format('update public.invitations set invited_by = %L', tests.person('carol')), '42501', null,
  'nor may an owner invite in somebody''s name');
select tests.act_as('bob');
select is_empty('table public.invitations', 'nor does the invitee see the table');
select results_eq('select workspace_name, role::text from app.list_invitations()', $$ values ('W', 'member') $$, 'he lists what is meant for him');

-- Only the person behind the address, and only once it is confirmed.
reset role;
select set_config('tests.invitation', id::text, true) from public.invitations where email = 'bob@example.test';
select tests.act_as('dave');
select is_empty('select app.list_invitations()', 'Dave lists none of it');
select throws_ok($$ select app.accept_invitation(current_setting('tests.invitation')::uuid) $$, 'PT404', 'invitation_not_found',
  'and cannot accept what is Bob''s');
select set_config('request.jwt.claims', json_build_object('sub', tests.person('dave'), 'email', 'bob@example.test')::text, true);
select is_empty('select app.list_invitations()', 'an address in the token does not change that');
reset role;
update auth.users set email_confirmed_at = null where id = tests.person('bob');
select tests.act_as('bob');
select is_empty('select app.list_invitations()', 'an unconfirmed address collects nothing');
select throws_ok($$ select app.accept_invitation(current_setting('tests.invitation')::uuid) $$, 'PT404', 'invitation_not_found',
  'and accepts nothing');
reset role;
update auth.users set email_confirmed_at = now() where id = tests.person('bob');
update public.invitations set expires_at = now() where email = 'bob@example.test';
select tests.act_as('bob');
select is_empty('select app.list_invitations()', 'an expired invitation is gone');
select throws_ok($$ select app.accept_invitation(current_setting('tests.invitation')::uuid) $$, 'PT404', 'invitation_not_found', 'for good');

-- Joining.
select tests.act_as('alice');
select lives_ok(format($$ select app.invite_to_workspace(%L, 'bob@example.test') $$, tests.w()), 'Alice invites Bob again');
select tests.act_as('bob');
select results_eq($$ select name, role::text from app.accept_invitation(current_setting('tests.invitation')::uuid) $$,
  $$ values ('W', 'member') $$, 'Bob accepts and is a member');
select results_eq($$ select name, role::text from app.accept_invitation(current_setting('tests.invitation')::uuid) $$,
  $$ values ('W', 'member') $$, 'again answers alike');
select isnt_empty(format('select from app.list_snippets(workspace_id => %L) where visibility = ''workspace''', tests.w()), 'he reads what the team shares');
select is_empty('select app.list_invitations()', 'and no invitation is left');

-- A removed member does not return through an old invitation; an owner is not made a member by one.
select tests.act_as('alice');
delete from public.workspace_members where user_id = tests.person('bob');
select results_eq(
  format($$ select role::text from app.accept_invitation((select id from public.invitations where email = 'alice@example.test')) $$),
  $$ values ('owner') $$, 'Alice stays owner, whatever she accepts');
select tests.act_as('bob');
select throws_ok($$ select app.accept_invitation(current_setting('tests.invitation')::uuid) $$, 'PT404', 'invitation_not_found',
  'Bob, removed, cannot use his invitation again');

select * from finish();
rollback;
