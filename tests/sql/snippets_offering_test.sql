-- tests/sql/snippets_offering_test.sql — what the snippet library offers, and that what it is made of keeps the house rules.
begin;
select plan(17);

select results_eq(
  $$ select kind, c.name collate "default", handler from chumbo.capabilities as c
    where server_id = chumbo.server_id('default') order by kind, c.name $$,
  $$ values
    ('resource_template', 'snippet', 'typescript'),
    ('tool', 'accept_invitation', 'sql'),
    ('tool', 'create_workspace', 'sql'),
    ('tool', 'get_snippet', 'sql'),
    ('tool', 'invite_to_workspace', 'sql'),
    ('tool', 'list_invitations', 'sql'),
    ('tool', 'list_snippets', 'sql'),
    ('tool', 'list_workspaces', 'typescript'),
    ('tool', 'save_snippet', 'sql'),
    ('tool', 'share_snippet', 'typescript') $$,
  'the seven tools, two for the invitee, and the resource');
select is_empty('select name from chumbo.capabilities where not is_enabled', 'all of it is on');
select is_empty($$ select target from chumbo.capabilities, chumbo.target_warnings(target::regprocedure, false) where target is not null $$,
  'no tool draws a warning');
select is_empty($$ select name from chumbo.capabilities where kind = 'tool' and description !~ 'Use it ' $$,
  'every description says when to use the tool');

-- What clients are told about inputs.
select is((select input_schema -> 'required' from chumbo.capabilities where name = 'save_snippet'), '[]',
  'save_snippet requires nothing: an update names only what changes');
select set_eq($$ select jsonb_object_keys(input_schema -> 'properties') from chumbo.capabilities where name = 'list_snippets' $$,
  array['workspace_id', 'tag', 'search', 'limit', 'cursor'], 'list_snippets takes its filters, a limit and a cursor');
select is((select input_schema #> '{properties,limit,default}' from chumbo.capabilities where name = 'list_snippets'), '20',
  'the limit is 20 unless given');
select is((select input_schema #> '{properties,visibility,enum}' from chumbo.capabilities where name = name_), '["private", "workspace", "public"]',
  name_ || ' knows the three visibilities')
from unnest(array['save_snippet', 'share_snippet']) as n (name_);
select results_eq(
  $$ select c.name collate "default" from chumbo.capabilities as c where kind = 'tool' and (annotations ->> 'readOnlyHint')::boolean order by c.name $$,
  $$ values ('get_snippet'), ('list_invitations'), ('list_snippets'), ('list_workspaces') $$, 'what only reads says so');

-- Scope and limit.
select results_eq($$ select c.name collate "default" from chumbo.capabilities as c where required_scopes = array['workspaces:manage'] order by c.name $$,
  $$ values ('accept_invitation'), ('create_workspace'), ('invite_to_workspace') $$, 'workspaces are managed under a scope');
select results_eq($$ select grantee, effect from chumbo.grants where scope = 'workspaces:manage' $$,
  $$ values ('authenticated', 'allow') $$, 'which everybody who is signed in holds until an operator says otherwise');
select isnt_empty($$ select from chumbo.rate_limits where name = 'invitations' $$, 'invitations are limited');

-- House rules, for every function of the library.
create view pg_temp.functions as
  select p.oid::regprocedure::text as signature, n.nspname, p.prosecdef, p.proconfig, p.oid
  from pg_proc as p join pg_namespace as n on n.oid = p.pronamespace
  where n.nspname in ('app', 'private');
select is_empty($$ select signature from pg_temp.functions where proconfig is distinct from array['search_path=""'] $$,
  'every function pins its search path');
select is_empty($$ select signature from pg_temp.functions where obj_description(oid, 'pg_proc') is null $$, 'and says what it does');
select is_empty($$ select signature from pg_temp.functions where has_function_privilege('anon', oid, 'execute') $$, 'none is open to anon');
select results_eq('select signature from pg_temp.functions where prosecdef order by 1', $$ values
    ('private.accept_invitation(uuid)'), ('private.caller_email()'), ('private.open_invitations()'),
    ('private.tg_workspace_members__keep_owner()'), ('private.tg_workspaces__add_owner()'), ('private.workspace_ids(workspace_role)') $$,
  'only these look past row security, and none of them is a tool');

select * from finish();
rollback;
