-- tests/sql/chumbo_sign_in_test.sql — sign_in_is_live and what admit makes of it: access ends before a token does.
begin;
\ir support/people.psql
select plan(35);
\ir support/runtime.psql

select is_definer('chumbo', 'sign_in_is_live', array['uuid', 'uuid', 'uuid'], 'it reads the auth schema, which the runtime may not');
select function_privs_are('chumbo', 'sign_in_is_live', array['uuid', 'uuid', 'uuid'], role, array[]::text[], role || ' may not ask')
from unnest(array['anon', 'authenticated']) as role;
select function_privs_are('chumbo', 'sign_in_is_live', array['uuid', 'uuid', 'uuid'], role, array['EXECUTE'], role || ' may')
from unnest(array['service_role', 'chumbo_runtime']) as role;

create function demo.hello() returns text language sql stable as $$ select 'hello'::text $$;
grant execute on function demo.hello() to anon;
select chumbo.register_tool('demo.hello', 'demo');
create function tests.live(person text, more jsonb default '{}') returns text language sql volatile as $$
  select case tests.answer(person, 'hello', more => more) when 'ok {"result": "hello"}' then 'live' when 'refused session_revoked' then 'ended' else 'neither' end
$$;
-- What each change to the auth schema does to Alice, undone at once.
create function tests.after(change text, more jsonb default '{}', person text default 'alice') returns text language plpgsql volatile as $$
declare
  v_answer text;
begin
  execute change;
  v_answer := tests.live(person, more);
  raise exception using errcode = 'TAP00', message = v_answer;
exception
  when sqlstate 'TAP00' then return sqlerrm;
end;
$$;
insert into auth.oauth_consents (id, user_id, client_id, scopes)
values (gen_random_uuid(), tests.person('alice'), tests.client('alice'), 'openid'), (gen_random_uuid(), tests.person('bob'), tests.client('alice'), 'openid');

select is(tests.live('alice'), 'live', 'Alice is signed in through her client');
select is(tests.live('carol'), 'live', 'Carol without one');
select is(tests.live('carol', '{"session_id": null}'), 'live', 'a token without a session is as live as its user');
select is(tests.live('nobody'), 'live', 'and nobody has nothing to lose');

select is(tests.after(change), told, title)
from (values
  ($$ delete from auth.sessions where id = tests.session('alice') $$, 'ended', 'signing out ends it'),
  ($$ update auth.sessions set not_after = now() - interval '1 second' where id = tests.session('alice') $$, 'ended', 'and so does a session''s end'),
  ($$ update auth.sessions set not_after = now() + interval '1 hour' where id = tests.session('alice') $$, 'live', 'when it has come'),
  ($$ update auth.users set banned_until = now() + interval '1 hour' where id = tests.person('alice') $$, 'ended', 'a ban ends it'),
  ($$ update auth.users set banned_until = now() - interval '1 second' where id = tests.person('alice') $$, 'live', 'while it lasts'),
  ($$ update auth.users set deleted_at = now() where id = tests.person('alice') $$, 'ended', 'a deleted user is gone'),
  ($$ delete from auth.users where id = tests.person('alice') $$, 'ended', 'whichever way'),
  ($$ update auth.oauth_consents set revoked_at = now() where user_id = tests.person('alice') $$, 'ended', 'withdrawing consent cuts the client off'),
  ($$ update auth.oauth_consents set revoked_at = now() where user_id = tests.person('bob') $$, 'live', 'the user''s own, nobody else''s'),
  ($$ delete from auth.oauth_consents $$, 'live', 'a consent that was never recorded was never withdrawn'),
  ($$ update auth.oauth_clients set deleted_at = now() where id = tests.client('alice') $$, 'ended', 'a deleted client is cut off'),
  ($$ delete from auth.oauth_clients where id = tests.client('alice') $$, 'ended', 'whichever way'),
  ($$ update auth.sessions set user_id = tests.person('bob') where id = tests.session('alice') $$, 'ended', 'a session of Bob''s is not Alice''s'),
  ($$ update auth.sessions set oauth_client_id = tests.client('bob') where id = tests.session('alice') $$, 'ended', 'nor one that another client began'),
  ($$ update auth.sessions set oauth_client_id = null where id = tests.session('alice') $$, 'ended', 'nor one without a client')) as t (change, told, title);

select is(tests.live('alice', jsonb_build_object('session_id', tests.session('bob'))), 'ended', 'Alice cannot borrow Bob''s session');
select is(tests.live('alice', jsonb_build_object('session_id', null)), 'ended', 'a client''s token belongs to a session');
select is(tests.live('alice', jsonb_build_object('client_id', tests.client('bob'))), 'ended', 'and to its client');
select is(tests.live('carol', jsonb_build_object('session_id', gen_random_uuid())), 'ended', 'a session that never was is none');
select is(tests.after($$ delete from auth.sessions where id = tests.session('carol') $$, person => 'carol'), 'ended', 'Carol, who has no client, signs out as well');
select is(tests.after($$ update auth.users set banned_until = 'infinity' where id = tests.person('carol') $$, '{"session_id": null}', 'carol'), 'ended',
  'a ban reaches a token without a session');
select is(chumbo.sign_in_is_live(null, null, null), false, 'no user is not live');

-- Every way in asks.
delete from auth.sessions where id = tests.session('alice');
select tests.act_as_runtime();
select is(tests.answer('alice', 'absent'), 'refused session_revoked', 'whoever is signed out learns nothing about names');
select is(tests.told(tests.enter('alice', '{"operation": "list", "kind": "tool"}')), 'refused session_revoked', 'nor any list');
select is(tests.told(tests.enter('alice', '{"operation": "call", "kind": "tool", "name": "code", "has_code": true}')), 'refused session_revoked', 'nor calls code');
select results_eq($$ select capability, outcome, code from chumbo.receipts where capability in ('absent', 'code') order by id $$,
  $$ values ('absent', 'refused', 'session_revoked'), ('code', 'refused', 'session_revoked') $$, 'both calls left their receipts');

select * from finish();
rollback;
