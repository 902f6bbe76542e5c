-- tests/sql/snippets_visibility_test.sql — who reads and writes which snippet, and whose words they are.
begin;
\ir support/people.psql
\ir support/snippets.psql
select plan(43);

select policies_are('public', 'snippets',
  array['select_reader', 'insert_member', 'update_author_or_owner', 'delete_author_or_owner'], 'only these policies');
select is((select relrowsecurity from pg_class where oid = 'public.snippets'::regclass), true, 'row security is on');
select table_privs_are('public', 'snippets', 'anon', array[]::text[], 'anon has no right on snippets');
select table_privs_are('public', 'snippets', 'authenticated', array['SELECT', 'DELETE'],
  'people may read and delete whole rows, and write by column');
select table_privs_are('public', 'readable_snippets', 'anon', array[]::text[], 'anon has no right on the view');
select table_privs_are('public', 'readable_snippets', 'authenticated', array['SELECT'], 'people may read the view');
select is((select reloptions from pg_class where oid = 'public.readable_snippets'::regclass),
  array['security_invoker=true'], 'the view asks with the rights of its reader');

-- Select, one row per person.
create function tests.seen(person text) returns text language plpgsql volatile as $$
declare
  v_answer text;
begin
  if person = 'nobody' then
    perform tests.act_as_nobody();
  else
    perform tests.act_as(person);
  end if;
  select coalesce(string_agg(s.visibility || ' by ' || s.author, ', ' order by s.visibility), 'none') into v_answer
  from public.readable_snippets as s;
  perform set_config('role', 'none', true);
  return v_answer;
exception when insufficient_privilege then return sqlstate;
end;
$$;
select is(tests.seen(person), expected, person || ' reads: ' || expected)
from (values
  ('carol', 'private by you, workspace by you, public by you'),
  ('alice', 'workspace by teammate, public by teammate'),
  ('dave', 'workspace by teammate, public by teammate'),
  ('bob', 'public by outsider'),
  ('nobody', '42501')
) as c (person, expected);

-- Update and delete: no where and no returning, either would apply the select policy too and hide a loose one.
select is(tests.touched(person, 'update public.snippets set body = ''changed'''), expected, person || ' edits: ' || expected)
from (values
  ('carol', 'private,workspace,public'),
  ('alice', 'workspace,public'),
  ('dave', 'none'),
  ('bob', 'none'),
  ('nobody', '42501')
) as c (person, expected);
select is(tests.touched(person, 'delete from public.snippets'), expected, person || ' deletes: ' || expected)
from (values
  ('carol', 'private,workspace,public'),
  ('alice', 'workspace,public'),
  ('dave', 'none'),
  ('bob', 'none'),
  ('nobody', '42501')
) as c (person, expected);

-- Insert, into W, for every visibility a member may choose.
select is(
  tests.touched(person, format(
    'insert into public.snippets (workspace_id, title, body, visibility) values (%L, ''t'', ''b'', ''private'')', tests.w())),
  expected, person || ' writes into W: ' || expected)
from (values
  ('carol', 'none'),
  ('alice', 'none'),
  ('dave', 'none'),
  ('bob', '42501'),
  ('nobody', '42501')
) as c (person, expected);

-- What no column may become.
select is(tests.touched(person, statement), '42501', title)
from (values
  ('carol', format('update public.snippets set workspace_id = %L', tests.bobs()), 'an author cannot move a snippet'),
  ('carol', format('update public.snippets set created_by = %L', tests.person('dave')), 'an author cannot pass authorship on'),
  ('carol', 'update public.snippets set version = 9', 'an author cannot set the version'),
  ('carol', 'update public.snippets set updated_at = now()', 'an author cannot set when it changed'),
  ('alice', 'update public.snippets set visibility = ''private''', 'an owner cannot make a member''s snippet private'),
  ('dave', format('insert into public.snippets (workspace_id, created_by, title, body) values (%L, %L, ''t'', ''b'')',
    tests.w(), tests.person('carol')), 'a member cannot write in somebody''s name')
) as c (person, statement, title);

-- The policy holds where the column grant would not.
grant insert (created_by) on public.snippets to authenticated;
select is(
  tests.touched('dave', format('insert into public.snippets (workspace_id, created_by, title, body) values (%L, %L, ''t'', ''b'')',
    tests.w(), tests.person('carol'))),
  '42501', 'a member cannot write in somebody''s name, with the column granted either');
revoke insert (created_by) on public.snippets from authenticated;

-- Bounds hold whoever writes.
select throws_ok(
  format('insert into public.snippets (workspace_id, created_by, title, body, tags) values (%L, %L, %L, %L, %L)',
    tests.w(), tests.person('carol'), title, body, tags),
  '23514', null, label)
from (values
  ('', 'b', array['t'], 'the table refuses an empty title'),
  (repeat('t', 121), 'b', array['t'], 'the table refuses a title of 121 characters'),
  ('t', repeat('b', 60001), array['t'], 'the table refuses a body of 60001 characters'),
  ('t', 'b', array[null]::text[], 'the table refuses a tag that is null')
) as c (title, body, tags, label);

-- Leaving: rows go at once, and come back with membership.
delete from public.workspace_members where user_id = tests.person('carol');
select is(tests.seen('carol'), 'public by you', 'who leaves reads only what is public, even of his own');
insert into public.workspace_members (workspace_id, user_id) values (tests.w(), tests.person('carol'));
select is(tests.seen('carol'), 'private by you, workspace by you, public by you', 'and finds it again on return');

-- Deleting what they belong to.
delete from auth.users where id = tests.person('carol');
select is((select count(*) from public.snippets where created_by is null), 3::bigint, 'a team keeps what a former colleague wrote');
select is(tests.seen('alice'), 'workspace by teammate, public by teammate', 'but an orphaned private one is nobody''s to read');
delete from public.workspaces where id = tests.w();
select is((select count(*) from public.snippets), 0::bigint, 'a deleted workspace takes its snippets along');

select * from finish();
rollback;
