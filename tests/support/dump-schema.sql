-- tests/support/dump-schema.sql — one row of text per object our migrations made, in a fixed order.

-- Nothing on the path, so that every name Postgres prints is qualified.
set search_path = '';

create function pg_temp.is_ours(schema name, object name) returns boolean language sql stable as $$
  select schema = 'chumbo' or (schema = 'public' and object like 'chumbo\_%')
$$;

-- Roles a migration makes or that the platform has; a login an operator adds later is not ours to write down.
create function pg_temp.is_known_role(role name) returns boolean language sql stable as $$
  select role in ('chumbo_runtime', 'anon', 'authenticated', 'service_role', 'postgres')
$$;

create function pg_temp.commented(kind text, target text, comment text) returns text language sql stable as $$
  select format(E'comment on %s %s is %L;\n', kind, target, comment) where comment is not null
$$;

-- Everything granted on one object. The owner's own line shows only where it is not the full set.
create function pg_temp.granted(acl aclitem[], acl_kind "char", owner oid, target text, columns text default '')
  returns text
  language sql stable
as $$
  with entries as (
    select
      grantee,
      is_grantable,
      string_agg(lower(privilege_type) || columns, ', ' order by privilege_type) as privileges
    from pg_catalog.aclexplode(coalesce(acl, pg_catalog.acldefault(acl_kind, owner)))
    group by grantee, is_grantable
  ),
  usual as (
    select string_agg(lower(privilege_type), ', ' order by privilege_type) as privileges
    from pg_catalog.aclexplode(pg_catalog.acldefault(acl_kind, owner))
    where grantee = owner
  ),
  lines as (
    select
      case when grantee = 0 then 'public' else grantee::regrole::text end as grantee,
      format('grant %s on %s to ', privileges, target) as head,
      case when is_grantable then ' with grant option' else '' end as tail
    from entries
    where grantee <> owner or (columns = '' and privileges is distinct from (select privileges from usual))
    union all
    select owner::regrole::text, format('revoke all on %s from ', target), ''
    where columns = '' and not exists (select from entries where grantee = owner)
  )
  select string_agg(head || grantee || tail || E';\n', '' order by grantee, head, tail) from lines
$$;

create temporary table dump (part integer, name text, text text);

insert into dump
select 1, rolname, concat(
  format(
    E'create role %s %s %s %s %s %s %s %s;\n', rolname,
    case when rolcanlogin then 'login' else 'nologin' end,
    case when rolinherit then 'inherit' else 'noinherit' end,
    case when rolsuper then 'superuser' else 'nosuperuser' end,
    case when rolcreaterole then 'createrole' else 'nocreaterole' end,
    case when rolcreatedb then 'createdb' else 'nocreatedb' end,
    case when rolreplication then 'replication' else 'noreplication' end,
    case when rolbypassrls then 'bypassrls' else 'nobypassrls' end
  ),
  pg_temp.commented('role', rolname, pg_catalog.shobj_description(oid, 'pg_authid'))
)
from pg_catalog.pg_roles
where rolname = 'chumbo_runtime';

insert into dump
select distinct 2, format('%s %s', granted.rolname, member.rolname), format(
  'grant %s to %s with admin %s, inherit %s, set %s;',
  granted.rolname, member.rolname, membership.admin_option, membership.inherit_option, membership.set_option
)
from pg_catalog.pg_auth_members as membership
join pg_catalog.pg_roles as granted on granted.oid = membership.roleid
join pg_catalog.pg_roles as member on member.oid = membership.member
where 'chumbo_runtime' in (granted.rolname, member.rolname)
  and pg_temp.is_known_role(granted.rolname)
  and pg_temp.is_known_role(member.rolname);

insert into dump
select 3, nspname, concat(
  format(E'create schema %I;\n', nspname),
  format(E'alter schema %I owner to %s;\n', nspname, nspowner::regrole),
  pg_temp.commented('schema', nspname, pg_catalog.obj_description(oid, 'pg_namespace')),
  pg_temp.granted(nspacl, 'n', nspowner, format('schema %I', nspname))
)
from pg_catalog.pg_namespace
where nspname = 'chumbo';

insert into dump
select 4, concat_ws(' ', defaclrole::regrole, defaclobjtype), format(
  E'-- default privileges of %s in chumbo, kind %s\n%s', defaclrole::regrole, defaclobjtype, defaclacl
)
from pg_catalog.pg_default_acl
where defaclnamespace = 'chumbo'::regnamespace;

insert into dump
select 5, type.oid::regtype::text, concat(
  case type.typtype
    when 'e' then format(E'create type %s as enum (%s);\n', type.oid::regtype, (
      select string_agg(quote_literal(enumlabel), ', ' order by enumsortorder)
      from pg_catalog.pg_enum where enumtypid = type.oid
    ))
    when 'd' then format(
      E'create domain %s as %s%s%s%s;\n', type.oid::regtype,
      pg_catalog.format_type(type.typbasetype, type.typtypmod),
      ' default ' || type.typdefault,
      case when type.typnotnull then ' not null' end,
      (
        select string_agg(format(E'\n  constraint %I %s', conname, pg_catalog.pg_get_constraintdef(oid)), '' order by conname)
        from pg_catalog.pg_constraint where contypid = type.oid
      )
    )
    when 'c' then format(E'create type %s as (\n%s\n);\n', type.oid::regtype, (
      select string_agg(format('  %I %s', attname, pg_catalog.format_type(atttypid, atttypmod)), E',\n' order by attnum)
      from pg_catalog.pg_attribute where attrelid = type.typrelid and attnum > 0 and not attisdropped
    ))
    else format(E'create type %s; -- kind %s\n', type.oid::regtype, type.typtype)
  end,
  format(E'alter type %s owner to %s;\n', type.oid::regtype, type.typowner::regrole),
  pg_temp.commented('type', type.oid::regtype::text, pg_catalog.obj_description(type.oid, 'pg_type')),
  pg_temp.granted(type.typacl, 'T', type.typowner, format('type %s', type.oid::regtype))
)
from pg_catalog.pg_type as type
join pg_catalog.pg_namespace as schema on schema.oid = type.typnamespace
left join pg_catalog.pg_class as class on class.oid = type.typrelid
where pg_temp.is_ours(schema.nspname, type.typname)
  -- Neither the row type of a table nor the array of another type.
  and coalesce(class.relkind = 'c', true)
  and type.typelem = 0;

insert into dump
select 6, class.oid::regclass::text, concat(
  format(
    E'create sequence %s as %s increment %s minvalue %s maxvalue %s start %s cache %s%s;\n', class.oid::regclass,
    sequence.seqtypid::regtype, sequence.seqincrement, sequence.seqmin, sequence.seqmax, sequence.seqstart,
    sequence.seqcache, case when sequence.seqcycle then ' cycle' end
  ),
  format(E'alter sequence %s owner to %s;\n', class.oid::regclass, class.relowner::regrole),
  pg_temp.commented('sequence', class.oid::regclass::text, pg_catalog.obj_description(class.oid, 'pg_class')),
  pg_temp.granted(class.relacl, 's', class.relowner, format('sequence %s', class.oid::regclass))
)
from pg_catalog.pg_class as class
join pg_catalog.pg_namespace as schema on schema.oid = class.relnamespace
join pg_catalog.pg_sequence as sequence on sequence.seqrelid = class.oid
where pg_temp.is_ours(schema.nspname, class.relname)
  -- The sequence of an identity column shows at the column, unless somebody was let at it.
  and (
    class.relacl is not null
    or not exists (select from pg_catalog.pg_depend where objid = class.oid and deptype = 'i')
  );

insert into dump
select 7, class.oid::regclass::text, concat(
  format(E'create %stable %s (\n%s\n)%s%s;\n',
    case when class.relpersistence = 'u' then 'unlogged ' end,
    class.oid::regclass,
    concat_ws(E',\n', nullif(columns.text, ''), constraints.text),
    ' partition by ' || pg_catalog.pg_get_partkeydef(class.oid),
    ' with (' || array_to_string(class.reloptions, ', ') || ')'
  ),
  format(E'alter table %s owner to %s;\n', class.oid::regclass, class.relowner::regrole),
  pg_temp.commented('table', class.oid::regclass::text, pg_catalog.obj_description(class.oid, 'pg_class')),
  columns.comments,
  constraints.comments,
  case when class.relrowsecurity then format(E'alter table %s enable row level security;\n', class.oid::regclass) end,
  case when class.relforcerowsecurity then format(E'alter table %s force row level security;\n', class.oid::regclass) end,
  (
    select string_agg(
      pg_catalog.pg_get_indexdef(index.indexrelid) || E';\n'
        || coalesce(pg_temp.commented(
          'index', index.indexrelid::regclass::text, pg_catalog.obj_description(index.indexrelid, 'pg_class')
        ), ''),
      '' order by index.indexrelid::regclass::text
    )
    from pg_catalog.pg_index as index
    where index.indrelid = class.oid
      and not exists (select from pg_catalog.pg_constraint where conindid = index.indexrelid and conrelid = class.oid)
  ),
  (
    select string_agg(
      format(
        E'create policy %I on %s as %s for %s to %s%s%s;\n',
        policy.polname, class.oid::regclass,
        case when policy.polpermissive then 'permissive' else 'restrictive' end,
        case policy.polcmd
          when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all'
        end,
        (
          select string_agg(case when role = 0 then 'public' else role::regrole::text end, ', ' order by role::regrole::text)
          from unnest(policy.polroles) as role
        ),
        E'\n  using (' || pg_catalog.pg_get_expr(policy.polqual, class.oid) || ')',
        E'\n  with check (' || pg_catalog.pg_get_expr(policy.polwithcheck, class.oid) || ')'
      ) || coalesce(pg_temp.commented(
        'policy', format('%I on %s', policy.polname, class.oid::regclass), pg_catalog.obj_description(policy.oid, 'pg_policy')
      ), ''),
      '' order by policy.polname
    )
    from pg_catalog.pg_policy as policy where policy.polrelid = class.oid
  ),
  (
    select string_agg(
      pg_catalog.pg_get_triggerdef(trigger.oid) || E';\n'
        || case when trigger.tgenabled = 'O' then '' else format(E'-- trigger %s fires: %s\n', trigger.tgname, trigger.tgenabled) end,
      '' order by trigger.tgname
    )
    from pg_catalog.pg_trigger as trigger where trigger.tgrelid = class.oid and not trigger.tgisinternal
  ),
  pg_temp.granted(class.relacl, 'r', class.relowner, format('table %s', class.oid::regclass)),
  columns.grants
)
from pg_catalog.pg_class as class
join pg_catalog.pg_namespace as schema on schema.oid = class.relnamespace
cross join lateral (
  select
    string_agg(
      concat(
        format('  %I %s', attribute.attname, pg_catalog.format_type(attribute.atttypid, attribute.atttypmod)),
        case
          when attribute.attcollation <> type.typcollation then ' collate ' || attribute.attcollation::regcollation
        end,
        case attribute.attidentity when 'a' then ' generated always as identity' when 'd' then ' generated by default as identity' end,
        case
          when attribute.attgenerated = 's' then
            format(' generated always as (%s) stored', pg_catalog.pg_get_expr(value.adbin, value.adrelid))
          else ' default ' || pg_catalog.pg_get_expr(value.adbin, value.adrelid)
        end,
        case when attribute.attnotnull then ' not null' end
      ),
      E',\n' order by attribute.attnum
    ) as text,
    string_agg(
      pg_temp.commented(
        'column', format('%s.%I', class.oid::regclass, attribute.attname),
        pg_catalog.col_description(class.oid, attribute.attnum)
      ),
      '' order by attribute.attnum
    ) as comments,
    string_agg(
      pg_temp.granted(
        attribute.attacl, 'c', class.relowner, format('table %s', class.oid::regclass), format(' (%I)', attribute.attname)
      ),
      '' order by attribute.attnum
    ) filter (where attribute.attacl is not null) as grants
  from pg_catalog.pg_attribute as attribute
  join pg_catalog.pg_type as type on type.oid = attribute.atttypid
  left join pg_catalog.pg_attrdef as value on value.adrelid = class.oid and value.adnum = attribute.attnum
  where attribute.attrelid = class.oid and attribute.attnum > 0 and not attribute.attisdropped
) as columns
cross join lateral (
  select
    string_agg(
      format('  constraint %I %s', conname, pg_catalog.pg_get_constraintdef(oid)), E',\n'
      order by array_position(array['p', 'u', 'x', 'f', 'c', 't'], contype::text), conname
    ) as text,
    string_agg(
      pg_temp.commented(
        'constraint', format('%I on %s', conname, class.oid::regclass), pg_catalog.obj_description(oid, 'pg_constraint')
      ),
      '' order by conname
    ) as comments
  from pg_catalog.pg_constraint
  -- A not-null constraint shows at its column.
  where conrelid = class.oid and contype <> 'n'
) as constraints
where class.relkind in ('r', 'p')
  and not class.relispartition
  and pg_temp.is_ours(schema.nspname, class.relname);

insert into dump
select 8, class.oid::regclass::text, concat(
  format(
    E'create %sview %s%s as\n%s\n',
    case when class.relkind = 'm' then 'materialized ' end, class.oid::regclass,
    ' with (' || array_to_string(class.reloptions, ', ') || ')',
    pg_catalog.pg_get_viewdef(class.oid, 0)
  ),
  format(E'alter view %s owner to %s;\n', class.oid::regclass, class.relowner::regrole),
  pg_temp.commented('view', class.oid::regclass::text, pg_catalog.obj_description(class.oid, 'pg_class')),
  (
    select string_agg(
      pg_temp.commented(
        'column', format('%s.%I', class.oid::regclass, attname), pg_catalog.col_description(class.oid, attnum)
      ),
      '' order by attnum
    )
    from pg_catalog.pg_attribute where attrelid = class.oid and attnum > 0
  ),
  pg_temp.granted(class.relacl, 'r', class.relowner, format('table %s', class.oid::regclass)),
  (
    select string_agg(
      pg_temp.granted(attacl, 'c', class.relowner, format('table %s', class.oid::regclass), format(' (%I)', attname)),
      '' order by attnum
    )
    from pg_catalog.pg_attribute where attrelid = class.oid and attnum > 0 and attacl is not null
  )
)
from pg_catalog.pg_class as class
join pg_catalog.pg_namespace as schema on schema.oid = class.relnamespace
where class.relkind in ('v', 'm')
  and pg_temp.is_ours(schema.nspname, class.relname);

insert into dump
select 9, function.oid::regprocedure::text, concat(
  case
    when function.prokind in ('f', 'p') then rtrim(pg_catalog.pg_get_functiondef(function.oid), E'\n') || E';\n'
    else format(E'-- aggregate or window function %s\n', function.oid::regprocedure)
  end,
  format(E'alter routine %s owner to %s;\n', function.oid::regprocedure, function.proowner::regrole),
  pg_temp.commented('routine', function.oid::regprocedure::text, pg_catalog.obj_description(function.oid, 'pg_proc')),
  pg_temp.granted(function.proacl, 'f', function.proowner, format('routine %s', function.oid::regprocedure))
)
from pg_catalog.pg_proc as function
join pg_catalog.pg_namespace as schema on schema.oid = function.pronamespace
where pg_temp.is_ours(schema.nspname, function.proname);

insert into dump
select 10, evtname, concat(
  format(E'create event trigger %I on %s execute function %s;\n', evtname, evtevent, evtfoid::regprocedure),
  pg_temp.commented('event trigger', evtname, pg_catalog.obj_description(oid, 'pg_event_trigger'))
)
from pg_catalog.pg_event_trigger
where evtname like 'chumbo\_%';

select text from dump order by part, name collate "C", text collate "C";
