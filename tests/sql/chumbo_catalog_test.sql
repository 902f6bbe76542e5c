-- tests/sql/chumbo_catalog_test.sql — walks everything of ours in the catalogs: pinned, invoker, described, closed. The
-- database has the default privileges of a stock project, which open whatever is created in public to all three roles.
begin;
select plan(36);

-- Arrange: each view names what breaks a rule; nothing here lists objects, so a new one is walked as well.
create function pg_temp.is_ours(namespace oid, name name) returns boolean language sql stable as $$
  select namespace = 'chumbo'::regnamespace or (namespace = 'public'::regnamespace and name like 'chumbo\_%')
$$;
create function pg_temp.grantee(role oid) returns text language sql stable as $$
  select case role when 0 then 'PUBLIC' else role::regrole::text end
$$;
create view pg_temp.functions as
  select p.oid::regprocedure::text as object, p.*,
    -- Owned by the role they confine a tool to, and their search path is the tool's: see sql/migrations/0009_running.sql.
    p.oid::regprocedure::text in ('chumbo.run_as_anon(text,jsonb)', 'chumbo.run_as_authenticated(text,jsonb)') as is_shim
  from pg_proc as p
  where pg_temp.is_ours(p.pronamespace, p.proname);
create view pg_temp.relations as
  select c.oid::regclass::text as object, c.* from pg_class as c where pg_temp.is_ours(c.relnamespace, c.relname);

create view pg_temp.faults (object, fault) as
  select object, 'search path' from pg_temp.functions where not is_shim and proconfig is distinct from array['search_path=""']
  union all
  -- sign_in_is_live reads the auth schema, which neither role of the runtime may.
  select object, 'definer' from pg_temp.functions
  where prosecdef and not is_shim and object <> 'chumbo.sign_in_is_live(uuid,uuid,uuid)'
  union all
  select object, 'undescribed' from pg_temp.functions where obj_description(oid, 'pg_proc') is null
  union all
  select object, 'executed by ' || pg_temp.grantee(a.grantee)
  from pg_temp.functions as f
  cross join aclexplode(coalesce(f.proacl, acldefault('f', f.proowner))) as a
  where a.grantee <> f.proowner and pg_temp.grantee(a.grantee) not in ('service_role', 'chumbo_runtime')
  union all
  select object, 'reachable by ' || role
  from pg_temp.functions, unnest(array['anon', 'authenticated']) as role
  where has_function_privilege(role, oid, 'execute') and not (is_shim and pg_temp.grantee(proowner) = role)
  union all
  select object, 'row security' from pg_temp.relations where relkind in ('r', 'p') and not relrowsecurity
  union all
  select object, 'definer' from pg_temp.relations
  where relkind in ('v', 'm') and coalesce(not reloptions @> '{security_invoker=true}', true)
  union all
  -- A partition is described by its parent.
  select object, 'undescribed' from pg_temp.relations
  where relkind in ('r', 'p', 'v', 'm') and not relispartition and obj_description(oid, 'pg_class') is null
  union all
  select object, format('%s by %s', lower(a.privilege_type), pg_temp.grantee(a.grantee))
  from pg_temp.relations as r
  cross join aclexplode(r.relacl) as a
  where relkind in ('r', 'p', 'v', 'm', 'S') and a.grantee <> r.relowner
    and pg_temp.grantee(a.grantee) not in ('service_role', 'chumbo_runtime')
    and (relname, a.privilege_type, pg_temp.grantee(a.grantee)) <> ('chumbo_receipts', 'SELECT', 'authenticated')
  union all
  select format('%s.%s', object, c.attname), format('%s by %s', lower(a.privilege_type), pg_temp.grantee(a.grantee))
  from pg_temp.relations as r
  join pg_attribute as c on c.attrelid = r.oid
  cross join aclexplode(c.attacl) as a
  where pg_temp.grantee(a.grantee) not in ('service_role', 'chumbo_runtime')
    -- What the view shows of a receipt, its reader has to be able to read.
    and (object, a.privilege_type, pg_temp.grantee(a.grantee)) <> ('chumbo.receipts', 'SELECT', 'authenticated')
  union all
  select format('%s on %s', p.polname, r.object), 'policy for ' || pg_temp.grantee(role)
  from pg_policy as p
  join pg_temp.relations as r on r.oid = p.polrelid
  cross join unnest(p.polroles) as role
  where pg_temp.grantee(role) <> 'chumbo_runtime'
    and (r.object, p.polname, p.polcmd, pg_temp.grantee(role)) <> ('chumbo.receipts', 'select_own', 'r', 'authenticated');

-- Act, assert: nothing breaks a rule, and there is something to walk.
select is_empty('select * from pg_temp.faults', 'nothing of ours breaks a rule');
select cmp_ok((select count(*) from pg_temp.functions), '>=', 40::bigint, 'functions were walked');
select cmp_ok((select count(*) from pg_temp.relations where relkind in ('r', 'p')), '>=', 20::bigint, 'tables and partitions were walked');
select cmp_ok((select count(*) from pg_temp.relations where relkind = 'S'), '>=', 4::bigint, 'sequences were walked');
select set_eq('select relname from pg_temp.relations where relkind = ''v''', array['chumbo_receipts', 'targets']::name[], 'and the two views');

select results_eq(
  $$ select proowner::regrole::text, prosecdef, proconfig, provolatile::text, proisstrict from pg_temp.functions where is_shim order by object $$,
  $$ values ('anon', true, null::text[], 'v', false), ('authenticated', true, null, 'v', false) $$, 'each shim belongs to the role it confines to');
select set_eq(
  $$ select proname from pg_temp.functions where pronamespace = 'public'::regnamespace $$,
  array['chumbo_version', 'chumbo_servers', 'chumbo_enter', 'chumbo_call', 'chumbo_search', 'chumbo_finish', 'chumbo_list', 'chumbo_read', 'chumbo_prompt', 'chumbo_complete']::name[], 'only these stand where the Data API can see them');
select set_eq(
  $$ select proname from pg_temp.functions where pronamespace = 'public'::regnamespace
      and has_function_privilege('service_role', oid, 'execute') and has_function_privilege('chumbo_runtime', oid, 'execute') $$,
  array['chumbo_version', 'chumbo_servers', 'chumbo_enter', 'chumbo_call', 'chumbo_search', 'chumbo_finish', 'chumbo_list', 'chumbo_read', 'chumbo_prompt', 'chumbo_complete']::name[], 'and the runtime may call all of them, either way it connects');
select is_empty($$ select object from pg_temp.functions, unnest(array['service_role', 'chumbo_runtime']) as role
    where has_function_privilege(role, oid, 'execute')
      and proname ~ '^(register|define|grant|revoke|set_|enable|disable|sync|maintain|tg_)' $$,
  'the runtime may change nothing about what is offered');
select is_empty($$ select object from pg_temp.functions where has_function_privilege('service_role', oid, 'execute')
    <> has_function_privilege('chumbo_runtime', oid, 'execute') $$, 'both gates may call the same');
select is_empty($$ select object from pg_temp.relations, unnest(array['service_role', 'chumbo_runtime']) as role
    where relkind in ('r', 'p') and has_table_privilege(role, oid, 'truncate, references, trigger') $$, 'and may do nothing to a table but read and write rows');
select is_empty($$ select object from pg_temp.relations where relispartition
    and has_any_column_privilege('chumbo_runtime', oid, 'select, insert, update') $$, 'partitions are reached through their parent alone');

-- The schema and the role.
select schema_privs_are('chumbo', 'anon', array['USAGE'], 'anon may look a shim up in the schema and no more');
select schema_privs_are('chumbo', 'authenticated', array['USAGE'], 'nor may authenticated create in it');
select schema_privs_are('chumbo', 'service_role', array['USAGE'], 'nor service_role');
select schema_privs_are('chumbo', 'chumbo_runtime', array['USAGE'], 'nor chumbo_runtime');
select results_eq(
  $$ select rolcanlogin, rolsuper, rolbypassrls, rolinherit, rolcreaterole from pg_roles where rolname = 'chumbo_runtime' $$,
  $$ values (false, false, false, false, false) $$, 'chumbo_runtime is plain: no login, no way around row security');
select is_empty($$ select member::regrole from pg_auth_members where roleid = 'chumbo_runtime'::regrole
    and member in ('anon'::regrole, 'authenticated'::regrole, 'authenticator'::regrole, 'service_role'::regrole) $$,
  'and no role of the Data API belongs to it');

-- The stock defaults are in force here, and none of them reaches further than public.
select isnt_empty($$ select from pg_default_acl, aclexplode(defaclacl) as a
    where defaclnamespace = 'public'::regnamespace and defaclrole = 'postgres'::regrole and a.grantee = 'anon'::regrole $$,
  'this project opens what is created in public to anon, as stock ones do');
select is_empty($$ select defaclrole::regrole, defaclobjtype from pg_default_acl
    where defaclnamespace in (0, 'chumbo'::regnamespace) $$, 'no default privilege opens what will be created in chumbo');

-- What the walk is worth: each mistake below is found, and leaves no trace once it is dropped.
create function pg_temp.finds(mistake text, undo text, expected text[], title text) returns text language plpgsql as $$
declare
  v_found text[];
begin
  set local role postgres;
  execute mistake;
  reset role;
  select array_agg(distinct fault order by fault) into v_found from pg_temp.faults;
  set local role postgres;
  execute undo;
  reset role;
  return is(v_found, expected, title);
end;
$$;
select pg_temp.finds('create function chumbo.bad() returns integer language sql as ''select 1''', 'drop function chumbo.bad()',
  array['executed by PUBLIC', 'reachable by anon', 'reachable by authenticated', 'search path', 'undescribed'], 'a bare function is found');
select pg_temp.finds('create function public.chumbo_bad() returns integer language sql set search_path = '''' as ''select 1'';
    revoke all on function public.chumbo_bad() from public; comment on function public.chumbo_bad() is ''Bad.''', 'drop function public.chumbo_bad()',
  array['executed by anon', 'executed by authenticated', 'reachable by anon', 'reachable by authenticated'], 'revoking from PUBLIC alone is found');
select pg_temp.finds('alter function chumbo.uuid_v7() security definer', 'alter function chumbo.uuid_v7() security invoker',
  array['definer'], 'a function turned definer is found');
select pg_temp.finds('alter function public.chumbo_call(text, text, jsonb, jsonb) set search_path = public',
  'alter function public.chumbo_call(text, text, jsonb, jsonb) set search_path = ''''', array['search path'], 'another search path is found');
select pg_temp.finds('grant execute on function public.chumbo_call(text, text, jsonb, jsonb) to authenticated',
  'revoke execute on function public.chumbo_call(text, text, jsonb, jsonb) from authenticated',
  array['executed by authenticated', 'reachable by authenticated'], 'an opened RPC is found');
select pg_temp.finds('grant execute on function chumbo.run_as_authenticated(text, jsonb) to anon',
  'revoke execute on function chumbo.run_as_authenticated(text, jsonb) from anon',
  array['executed by anon', 'reachable by anon'], 'a shim lent to another role is found');
select pg_temp.finds('create table chumbo.bad (id integer)', 'drop table chumbo.bad', array['row security', 'undescribed'], 'a bare table is found');
select pg_temp.finds('create table public.chumbo_bad (id integer); alter table public.chumbo_bad enable row level security;
    comment on table public.chumbo_bad is ''Bad.''; revoke all on public.chumbo_bad from anon, authenticated; grant select on public.chumbo_bad to authenticated',
  'drop table public.chumbo_bad', array['select by authenticated'], 'a table half closed is found');
select pg_temp.finds('grant update (outcome) on chumbo.receipts to authenticated', 'revoke update (outcome) on chumbo.receipts from authenticated',
  array['update by authenticated'], 'a column opened for writing is found');
select pg_temp.finds('grant select (settings) on chumbo.servers to anon', 'revoke select (settings) on chumbo.servers from anon',
  array['select by anon'], 'a column opened for reading is found');
select pg_temp.finds('alter table chumbo.receipts_rest disable row level security', 'alter table chumbo.receipts_rest enable row level security',
  array['row security'], 'a partition without row security is found');
select pg_temp.finds('create policy loose on chumbo.receipts for update to authenticated using (true)', 'drop policy loose on chumbo.receipts',
  array['policy for authenticated'], 'a policy for a signed-in caller is found');
select pg_temp.finds('create policy loose on chumbo.grants using (true)', 'drop policy loose on chumbo.grants',
  array['policy for PUBLIC'], 'a policy for everybody is found');
select pg_temp.finds('alter view public.chumbo_receipts reset (security_invoker)', 'alter view public.chumbo_receipts set (security_invoker = true)',
  array['definer'], 'a view that forgot its invoker is found');
select pg_temp.finds('create sequence public.chumbo_bad', 'drop sequence public.chumbo_bad',
  array['select by anon', 'select by authenticated', 'update by anon', 'update by authenticated', 'usage by anon', 'usage by authenticated'],
  'an open sequence is found');
select is_empty('select * from pg_temp.faults', 'and all of it is gone again');

select * from finish();
rollback;
