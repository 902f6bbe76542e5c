-- tests/sql/chumbo_scopes_test.sql — define_scope, grant_scope, revoke_scope, effective_scopes: who holds which scope now.
begin;
\ir support/people.psql
select plan(72);
\ir support/runtime.psql

select policies_are('chumbo', relation, array['select_runtime'], 'only the runtime reads ' || relation) from unnest(array['scopes', 'grants']) as relation;
select table_privs_are('chumbo', relation, role, array[]::text[], format('%s has no part in %s', role, relation))
from unnest(array['scopes', 'grants']) as relation, unnest(array['anon', 'authenticated']) as role;
select table_privs_are('chumbo', relation, role, array['SELECT'], format('%s reads %s and changes nothing', role, relation))
from unnest(array['scopes', 'grants']) as relation, unnest(array['service_role', 'chumbo_runtime']) as role;
select function_privs_are('chumbo', 'effective_scopes', array['jsonb'], role, array['EXECUTE'], role || ' may ask who holds what')
from unnest(array['service_role', 'chumbo_runtime']) as role;
select function_privs_are('chumbo', 'grant_scope', array['text', 'text', 'uuid', 'text', 'jsonb', 'text', 'timestamptz'], role, array[]::text[],
  role || ' may not grant') from unnest(array['anon', 'authenticated', 'service_role', 'chumbo_runtime']) as role;

-- define_scope.
select is(chumbo.define_scope('notes:read', 'Read notes', 'All of them', true), 'notes:read', 'defining returns the name');
select is(chumbo.define_scope('notes:read', 'Read'), 'notes:read', 'defining again redescribes it');
select results_eq($$ select title, description, is_requestable from chumbo.scopes where name = 'notes:read' $$, $$ values ('Read', null, false) $$,
  'as it was last told');
select throws_like(format('select chumbo.define_scope(%L)', name), '%"scopes_name_is_not_reserved"', format('%s belongs to Supabase Auth', name))
from unnest(array['openid', 'email', 'profile', 'phone', 'offline_access']) as s (name);
select throws_like(format('select chumbo.define_scope(%L)', name), '%"scopes_name_is_token"', format('%L is no scope', name))
from unnest(array['', ' ', 'a b', 'a"b']) as s (name);
select throws_ok($$ select chumbo.define_scope(null) $$, '23502', null, 'nor is null');

-- grant_scope.
select throws_ok(format('select chumbo.grant_scope(%L)', name), 'PT400', 'unknown_scope', format('%L cannot be granted', name))
from unnest(array['absent', '', ' ', null]) as s (name);
select throws_ok(format('select chumbo.grant_scope(''notes:read'', %s)', arguments), 'PT400', 'invalid_grantee', title)
from (values
  ($$ 'user' $$, 'a grant to a user names one'), ($$ 'client' $$, 'a grant to a client names one'),
  ($$ 'everyone', user_id => tests.person('alice') $$, 'a grant to everyone names nobody'),
  ($$ 'user_client', user_id => tests.person('alice') $$, 'a grant to a user''s client names both'),
  ($$ 'somebody' $$, 'an unknown grantee is refused'), ($$ null $$, 'and so is none'),
  ($$ effect => 'maybe' $$, 'an unknown effect is refused'), ($$ effect => null $$, 'and so is none'),
  ($$ 'claim', claim => '{"user_metadata": {"admin": true}}' $$, 'what a user may write about himself is no authority'),
  ($$ 'claim', claim => '{"app_metadata": {}, "user_metadata": {}}' $$, 'not even beside something else'),
  ($$ 'claim', claim => '{}' $$, 'a claim that everybody has is none'), ($$ 'claim', claim => '["admin"]' $$, 'a claim is an object'),
  ($$ 'claim' $$, 'and has to be given')) as t (arguments, title);
select throws_like($$ insert into chumbo.grants (scope, grantee, claim) values ('notes:read', 'claim', '{"user_metadata": {"admin": true}}') $$,
  '%"grants_claim_is_trustworthy"', 'the table refuses it as well');
select throws_like($$ insert into chumbo.grants (scope, grantee) values ('notes:read', 'user') $$, '%"grants_grantee_is_complete"', 'and a grantee that is not whole');

-- effective_scopes: each grantee reaches whom it names.
create function tests.held(person text, more jsonb default '{}') returns text language sql volatile as $$
  select array_to_string(chumbo.effective_scopes(tests.request(person, more)), ',')
$$;
select is(tests.held('alice'), 'workspaces:manage', 'Alice holds what the reference project grants, and nothing of ours yet');
delete from chumbo.grants;
select chumbo.define_scope(name) from unnest(array['all', 'signed-in', 'alice', 'app', 'alice-app', 'staff']) as s (name);
select chumbo.grant_scope('all', 'everyone');
select chumbo.grant_scope('signed-in');
select chumbo.grant_scope('alice', 'user', user_id => tests.person('alice'));
select chumbo.grant_scope('app', 'client', client_id => tests.client('alice')::text);
select chumbo.grant_scope('alice-app', 'user_client', user_id => tests.person('alice'), client_id => tests.client('alice')::text);
select chumbo.grant_scope('staff', 'claim', claim => '{"app_metadata": {"team": "staff"}}');
select is(tests.held('alice'), 'alice,alice-app,all,app,signed-in', 'Alice through her client holds all that names her, it or both');
select is(tests.held('alice', jsonb_build_object('client_id', tests.client('bob'))), 'alice,all,signed-in', 'through another client less');
select is(tests.held('bob', jsonb_build_object('client_id', tests.client('alice'))), 'all,app,signed-in', 'Bob through her client only what names the client');
select is(tests.held('carol'), 'all,signed-in', 'Carol holds what everybody signed in does');
select is(tests.held('nobody'), 'all', 'nobody holds what is everyone''s');
select is(tests.held('carol', '{"claims": {"app_metadata": {"team": "staff", "since": 2020}}}'), 'all,signed-in,staff', 'a claim may hold more than asked for');
select is(tests.held('carol', '{"claims": {"app_metadata": {"team": "guest"}}}'), 'all,signed-in', 'another value is not the claim');
select is(tests.held('carol', '{"claims": {"user_metadata": {"app_metadata": {"team": "staff"}}}}'), 'all,signed-in', 'nor is the claim in another place');
select is(tests.held('carol', '{"token_scopes": ["staff", "openid", "absent", ""]}'), 'all,signed-in,staff', 'a token carries scopes that are defined');

-- Denial and expiry.
select chumbo.grant_scope('signed-in', 'user', user_id => tests.person('alice'), effect => 'deny');
select is(tests.held('alice'), 'alice,alice-app,all,app', 'a denial outweighs the grant to all');
select is(tests.held('alice', '{"token_scopes": ["signed-in"]}'), 'alice,alice-app,all,app', 'and outweighs the token');
select is(tests.held('bob'), 'all,signed-in', 'for Alice alone');
select chumbo.grant_scope('signed-in', 'user', user_id => tests.person('alice'), effect => 'deny', expires_at => now() - interval '1 second');
select is(tests.held('alice'), 'alice,alice-app,all,app,signed-in', 'repeating the denial with an expiry ends it');
select chumbo.grant_scope('all', 'everyone', expires_at => now() - interval '1 second');
select is(tests.held('carol'), 'signed-in', 'an expired grant counts for nothing');
select chumbo.grant_scope('all', 'everyone', expires_at => now() + interval '1 hour');
select is(tests.held('carol'), 'all,signed-in', 'one that has not expired does');
select is((select count(*) from chumbo.grants where scope = 'all'), 1::bigint, 'and the repeats made no second grant');

-- revoke_scope.
select is(chumbo.revoke_scope('app', 'client', client_id => tests.client('bob')::text), 0, 'revoking a grant that is not there withdraws none');
select is(chumbo.revoke_scope('app', 'client', client_id => tests.client('alice')::text), 1, 'revoking one that is withdraws it');
select is(chumbo.revoke_scope('app', 'client', client_id => tests.client('alice')::text), 0, 'once');
select is(tests.held('alice'), 'alice,alice-app,all,signed-in', 'and Alice holds it no more');
select is(chumbo.revoke_scope('signed-in', effect => 'deny'), 0, 'an allowance is not revoked as a denial');

delete from auth.users where id = tests.person('alice');
select is_empty($$ select from chumbo.grants where user_id = tests.person('alice') $$, 'the grants of a deleted user go with him');
delete from chumbo.scopes where name = 'staff';
select is_empty($$ select from chumbo.grants where scope = 'staff' $$, 'and those of a deleted scope with it');

select * from finish();
rollback;
