-- tests/sql/chumbo_splinter_test.sql — what Supabase's own database linter asks of every schema, asked of ours. What it asks of
-- search paths, definers, row security and views is asked by chumbo_catalog_test.sql, more strictly.
begin;
select plan(13);

create function pg_temp.is_ours(namespace oid, name name) returns boolean language sql stable as $$
  select namespace = 'chumbo'::regnamespace or (namespace = 'public'::regnamespace and name like 'chumbo\_%')
$$;
create view pg_temp.tables as
  select c.oid::regclass::text as object, c.oid, c.relrowsecurity from pg_class as c where pg_temp.is_ours(c.relnamespace, c.relname) and c.relkind in ('r', 'p');

create view pg_temp.faults (object, fault) as
  -- A foreign key whose columns do not lead an index makes every delete of what it points to read the whole table.
  select t.object, 'unindexed foreign key ' || k.conname
  from pg_temp.tables as t
  join pg_constraint as k on k.conrelid = t.oid and k.contype = 'f'
  where not exists (
    select from pg_index as i
    where i.indrelid = t.oid
      and (i.indkey::smallint[])[0:cardinality(k.conkey) - 1] @> k.conkey
      and (i.indkey::smallint[])[0:cardinality(k.conkey) - 1] <@ k.conkey
  )
  union all
  select t.object, 'no primary key' from pg_temp.tables as t where not exists (select from pg_constraint as k where k.conrelid = t.oid and k.contype = 'p')
  union all
  select t.object, 'policy without row security' from pg_temp.tables as t where not t.relrowsecurity and exists (select from pg_policy as p where p.polrelid = t.oid)
  union all
  -- Without the select around it, identity is asked anew for every row.
  select t.object, 'identity asked for every row by ' || p.polname
  from pg_temp.tables as t
  join pg_policy as p on p.polrelid = t.oid
  where concat_ws(' ', pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)) ~* '(auth\.(uid|jwt|role)|current_setting)\('
    and concat_ws(' ', pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)) !~* 'select (auth\.(uid|jwt|role)|current_setting)\('
  union all
  select t.object, 'several permissive policies'
  from pg_temp.tables as t
  join pg_policy as p on p.polrelid = t.oid and p.polpermissive
  cross join unnest(p.polroles) as role
  group by t.object, p.polcmd, role
  having count(*) > 1
  union all
  select t.object, 'duplicate index ' || string_agg(i.indexrelid::regclass::text, ', ' order by i.indexrelid)
  from pg_temp.tables as t
  join pg_index as i on i.indrelid = t.oid
  group by t.object, i.indkey::text, i.indclass::text, i.indcollation::text, i.indisunique, i.indoption::text, coalesce(pg_get_expr(i.indpred, i.indrelid), ''), coalesce(pg_get_expr(i.indexprs, i.indrelid), '')
  having count(*) > 1;

select is_empty('select * from pg_temp.faults', 'nothing of ours breaks a rule');
select cmp_ok((select count(*) from pg_temp.tables), '>=', 20::bigint, 'tables were walked');

-- What the walk is worth: each mistake is found.
create function pg_temp.finds(mistake text, undo text, expected text) returns text language plpgsql as $$
declare
  v_found text;
begin
  execute mistake;
  select string_agg(distinct fault, ',') into v_found from pg_temp.faults;
  execute undo;
  return is(v_found, expected, mistake);
end;
$$;
create table chumbo.probe (id integer primary key, scope text);
alter table chumbo.probe enable row level security;
select pg_temp.finds(mistake, undo, expected)
from (values
  ('alter table chumbo.probe add constraint probe_scope_fkey foreign key (scope) references chumbo.scopes', 'alter table chumbo.probe drop constraint probe_scope_fkey', 'unindexed foreign key probe_scope_fkey'),
  ('create table chumbo.bare (id integer)', 'drop table chumbo.bare', 'no primary key'),
  ('create policy p on chumbo.probe using (scope = auth.uid()::text)', 'drop policy p on chumbo.probe', 'identity asked for every row by p'),
  ('create policy p on chumbo.probe using (true); create policy q on chumbo.probe using (false)', 'drop policy p on chumbo.probe; drop policy q on chumbo.probe', 'several permissive policies'),
  ('create policy p on chumbo.probe using (true); alter table chumbo.probe disable row level security', 'drop policy p on chumbo.probe; alter table chumbo.probe enable row level security', 'policy without row security'),
  ('create index probe_one on chumbo.probe (scope); create index probe_two on chumbo.probe (scope)', 'drop index chumbo.probe_one, chumbo.probe_two', 'duplicate index chumbo.probe_one, chumbo.probe_two')
) as t (mistake, undo, expected);
select is_empty('select * from pg_temp.faults', 'and leaves no trace');
select lives_ok($$ create policy p on chumbo.probe using (scope = (select auth.uid())::text) $$, 'an identity asked once');
select is_empty('select * from pg_temp.faults', 'is no fault');
select lives_ok($$ create index probe_scope on chumbo.probe (scope, id); alter table chumbo.probe add foreign key (scope) references chumbo.scopes $$, 'a foreign key that leads an index');
select is_empty('select * from pg_temp.faults', 'is none either');

select * from finish();
rollback;
