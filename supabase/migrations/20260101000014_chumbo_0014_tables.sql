-- migrate:up
-- 0014_tables.sql — tables and views that callers may read: a row each, and three tools that read what the rows name.

create table if not exists chumbo.readable_tables (
  id bigint generated always as identity primary key,
  server_id bigint not null references chumbo.servers on delete cascade,
  name text collate "C" not null constraint readable_tables_name_is_portable check (name ~ '^[A-Za-z0-9_-]{1,64}$'),
  -- By name and not by oid: it outlives a dump, and what stands there is looked at again on every call.
  table_schema text not null,
  table_name text not null,
  columns text[] not null
    constraint readable_tables_columns_are_named check (cardinality(columns) > 0 and array_position(columns, null) is null),
  filterable text[] constraint readable_tables_filterable_is_chosen check (filterable <@ columns),
  sortable text[] constraint readable_tables_sortable_is_chosen check (sortable <@ columns),
  key text[],
  description text,
  default_limit integer not null,
  max_limit integer not null constraint readable_tables_max_limit_is_bounded check (max_limit between 1 and 10000),
  required_scopes text[] not null default '{}'
    constraint readable_tables_required_scopes_are_not_blank check (
      array_position(required_scopes, null) is null and '' <> all (required_scopes)
    ),
  is_protected boolean not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint readable_tables_server_id_name_key unique (server_id, name),
  constraint readable_tables_default_limit_is_bounded check (default_limit between 1 and max_limit)
);
comment on table chumbo.readable_tables is
  'The tables and views a server lets its callers read, each with the columns chosen. What has no row here cannot be read.';
comment on column chumbo.readable_tables.name is 'What clients call it.';
comment on column chumbo.readable_tables.columns is
  'Named when it was registered, in the order shown; a column that is added to the table later is not among them.';
comment on column chumbo.readable_tables.filterable is 'The columns a filter may name; null for all chosen ones.';
comment on column chumbo.readable_tables.sortable is 'The columns an order may name; null for all chosen ones.';
comment on column chumbo.readable_tables.key is 'What tells two rows of a view apart and so makes their order certain; null for the primary key.';
comment on column chumbo.readable_tables.is_protected is
  'Row security was on when it was registered, or it was a view. A table of that name whose row security is off is withheld.';

alter table chumbo.readable_tables enable row level security;
drop policy if exists select_runtime on chumbo.readable_tables;
create policy select_runtime on chumbo.readable_tables for select to chumbo_runtime using (true);
revoke all on chumbo.readable_tables from public, anon, authenticated, service_role;
grant select on chumbo.readable_tables to service_role, chumbo_runtime;

-- What stands behind a view, however many views lie between. A table stands for itself.
create or replace function chumbo.relations_beneath(relation oid)
  returns setof oid
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  return query
    with recursive beneath (oid) as (
      select relations_beneath.relation
      union
      select d.refobjid
      from beneath as b
      join pg_catalog.pg_class as c on c.oid = b.oid and c.relkind = 'v'
      join pg_catalog.pg_rewrite as r on r.ev_class = b.oid
      join pg_catalog.pg_depend as d
        on d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_catalog.pg_class'::regclass
    )
    select b.oid from beneath as b;
end;
$$;
comment on function chumbo.relations_beneath(oid) is 'A relation and everything that its view, or a view of that, reads.';
revoke all on function chumbo.relations_beneath(oid) from public, anon, authenticated;
grant execute on function chumbo.relations_beneath(oid) to service_role, chumbo_runtime;

-- Asked when a table is registered, which its answer then refuses, and on every call, where its answer withholds the table:
-- a view that is replaced without its option must not stay readable until somebody looks.
create or replace function chumbo.table_fault(relation oid)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_class pg_catalog.pg_class;
  v_schema text;
  v_beneath record;
begin
  select c.* into v_class from pg_catalog.pg_class as c where c.oid = relation;
  if not found then
    return jsonb_build_object('code', 'unknown_table', 'message', 'There is no such table or view.',
      'hint', 'Write schema.name of a table or view that exists.');
  end if;
  select n.nspname into v_schema from pg_catalog.pg_namespace as n where n.oid = v_class.relnamespace;

  if v_schema like 'pg\_%' or v_schema in ('information_schema', 'chumbo', 'auth', 'vault', 'supabase_migrations') then
    return jsonb_build_object('code', 'unsupported_table',
      'message', format('%s belongs to the platform: nothing in the schema %I can be offered.', relation::regclass, v_schema),
      'hint', 'Offer a view of your own, with security_invoker, over what your users may know.');
  end if;
  if v_class.relkind not in ('r', 'p', 'v') then
    return jsonb_build_object('code', 'unsupported_table',
      'message', format('%s is %s, so no policy of a table decides who reads which row.', relation::regclass, case v_class.relkind
        when 'm' then 'a materialized view' when 'f' then 'a foreign table' else 'neither a table nor a view' end),
      'hint', 'Offer the tables it is made from, or a view of them with security_invoker.');
  end if;

  if v_class.relkind = 'v' then
    for v_beneath in
      select c.oid::regclass as relation, c.relkind
      from chumbo.relations_beneath(table_fault.relation) as b (oid)
      join pg_catalog.pg_class as c on c.oid = b.oid
      where c.relkind = 'm' or c.relkind = 'v' and not coalesce((
        select o.option_value::boolean from pg_catalog.pg_options_to_table(c.reloptions) as o where o.option_name = 'security_invoker'
      ), false)
      order by c.oid = table_fault.relation desc, c.oid
    loop
      return jsonb_build_object('code', 'unsafe_view',
        'message', case v_beneath.relkind
          when 'm' then format('%s reads the materialized view %s, which holds the rows of its owner for everybody.', relation::regclass, v_beneath.relation)
          else format('The view %s reads with the rights of its owner, so row security does not see the caller.', v_beneath.relation) end,
        'hint', case v_beneath.relkind
          when 'm' then format('Take %s out of %s.', v_beneath.relation, relation::regclass)
          else format('Run alter view %s set (security_invoker = true);', v_beneath.relation) end);
    end loop;
  end if;
  return null;
end;
$$;
comment on function chumbo.table_fault(oid) is
  'Why a relation must not be offered, as {code, message, hint}: unknown_table, unsupported_table, unsafe_view. Null when it may.';
revoke all on function chumbo.table_fault(oid) from public, anon, authenticated;
grant execute on function chumbo.table_fault(oid) to service_role, chumbo_runtime;

create or replace function chumbo.table_warnings(relation oid, is_described boolean)
  returns setof text
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  return query
    select format('Row security is off on %1$s, so whoever may select from it reads every row; '
      'alter table %1$s enable row level security;', c.oid::regclass)
    from chumbo.relations_beneath(table_warnings.relation) as b (oid)
    join pg_catalog.pg_class as c on c.oid = b.oid
    where c.relkind in ('r', 'p') and not c.relrowsecurity
    order by c.oid;

  return query
    select format('authenticated may not look into the schema %1$I, so nobody will find %2$s; grant usage on schema %1$I to authenticated;',
      n.nspname, c.oid::regclass)
    from pg_catalog.pg_class as c
    join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
    where c.oid = table_warnings.relation and not has_schema_privilege('authenticated', n.oid, 'usage');
  if not has_any_column_privilege('authenticated', relation, 'select') then
    return next format('authenticated may not select from %1$s, so nobody will find it; grant select on %1$s to authenticated;', relation::regclass);
  end if;
  if not is_described and obj_description(relation, 'pg_class') is null then
    return next format('%s has no comment, and the description is all a model has to choose by.', relation::regclass);
  end if;
end;
$$;
comment on function chumbo.table_warnings(oid, boolean) is 'What is risky or useless about offering this table or view, a sentence each.';
revoke all on function chumbo.table_warnings(oid, boolean) from public, anon, authenticated, service_role;

create or replace function chumbo.filter_type(
  type_id oid, role text, out base_type oid, out base_schema text, out family text, out is_not_null boolean
)
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_type record;
begin
  base_type := type_id;
  is_not_null := false;
  loop
    select t.typname, t.typtype, t.typbasetype, t.typnotnull, t.typnamespace into v_type
    from pg_catalog.pg_type as t
    where t.oid = base_type;
    exit when v_type.typtype <> 'd';
    base_type := v_type.typbasetype;
    is_not_null := is_not_null or v_type.typnotnull;
  end loop;
  select n.nspname into base_schema from pg_catalog.pg_namespace as n where n.oid = v_type.typnamespace;

  family := case
    when base_type in ('int2'::regtype, 'int4'::regtype, 'int8'::regtype) then 'integer'
    when base_type in ('text'::regtype, 'varchar'::regtype, 'bpchar'::regtype, 'name'::regtype) then 'text'
    when base_type in ('numeric'::regtype, 'float4'::regtype, 'float8'::regtype) then 'number'
    when base_type = 'bool'::regtype then 'boolean'
    when base_type in ('date'::regtype, 'time'::regtype, 'timetz'::regtype, 'timestamp'::regtype, 'timestamptz'::regtype) then 'time'
    when base_type in ('uuid'::regtype, 'interval'::regtype, 'inet'::regtype, 'cidr'::regtype, 'macaddr'::regtype, 'macaddr8'::regtype)
      then 'other'
    -- The caller has to name these, so it takes the right to look into their schema.
    when not has_schema_privilege(role, v_type.typnamespace, 'usage') then null
    when v_type.typtype = 'e' then 'enum'
    -- An extension's, so it has no fixed number; only a superuser can make another base type of that name.
    when v_type.typname = 'citext' and v_type.typtype = 'b' then 'text'
  end;
end;
$$;
comment on function chumbo.filter_type(oid, text) is
  'The type under a domain, its schema, and how its values are written in a filter: integer, number, boolean, text, time, enum, other. '
  'Null where none can be.';
revoke all on function chumbo.filter_type(oid, text) from public, anon, authenticated;
grant execute on function chumbo.filter_type(oid, text) to service_role, chumbo_runtime;

create or replace function chumbo.usable_tables(server_id bigint, request jsonb, name text default null)
  returns table (entry chumbo.readable_tables, relation oid, kind text)
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  -- Others never run anything, so there is nothing they could read.
  v_role text := case when request ->> 'role' in ('anon', 'authenticated') then request ->> 'role' end;
  v_scopes text[];
begin
  if exists (
    select from chumbo.readable_tables as t where t.server_id = usable_tables.server_id and t.required_scopes <> '{}'
  ) then
    v_scopes := chumbo.effective_scopes(request);
  end if;

  return query
    select t, c.oid, case c.relkind when 'v' then 'view' else 'table' end
    from chumbo.readable_tables as t
    join pg_catalog.pg_namespace as n on n.nspname = t.table_schema
    join pg_catalog.pg_class as c on c.relnamespace = n.oid and c.relname = t.table_name
    where t.server_id = usable_tables.server_id
      and (usable_tables.name is null or t.name = usable_tables.name)
      and (t.required_scopes = '{}' or t.required_scopes <@ v_scopes)
      and has_schema_privilege(v_role, n.oid, 'usage')
      and exists (
        select
        from pg_catalog.pg_attribute as a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attname = any (t.columns)
          and has_column_privilege(v_role, c.oid, a.attnum, 'select')
      )
      and (c.relkind = 'v' or c.relrowsecurity or not t.is_protected)
      and chumbo.table_fault(c.oid) is null
    order by t.name;
end;
$$;
comment on function chumbo.usable_tables(bigint, jsonb, text) is
  'The registered tables that this caller may read now: scopes, privileges, and still what may be offered. With a name at most that one.';
revoke all on function chumbo.usable_tables(bigint, jsonb, text) from public, anon, authenticated;
grant execute on function chumbo.usable_tables(bigint, jsonb, text) to service_role, chumbo_runtime;

create or replace function chumbo.usable_columns(entry chumbo.readable_tables, relation oid, role text)
  returns table (
    name text, number smallint, type_id oid, type_modifier integer, is_nullable boolean,
    base_type oid, base_schema text, family text, operators text[], is_sortable boolean
  )
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  return query
    select a.attname::text, a.attnum, a.atttypid, a.atttypmod, not (a.attnotnull or f.is_not_null),
      f.base_type, f.base_schema, f.family,
      case
        when entry.filterable is not null and a.attname <> all (entry.filterable) then '{}'
        when f.family is null then '{is_null}'
        when f.family = 'boolean' then '{eq,ne,in,is_null}'
        -- Postgres refuses patterns under a collation that takes different texts for equal.
        when f.family = 'text' and (select l.collisdeterministic from pg_catalog.pg_collation as l where l.oid = a.attcollation)
          then '{eq,ne,gt,gte,lt,lte,in,like,ilike,is_null}'
        else '{eq,ne,gt,gte,lt,lte,in,is_null}'
      end::text[],
      f.family is not null and (entry.sortable is null or a.attname = any (entry.sortable))
    from pg_catalog.pg_attribute as a
    cross join lateral chumbo.filter_type(a.atttypid, usable_columns.role) as f
    where a.attrelid = usable_columns.relation and a.attname = any (entry.columns) and a.attnum > 0 and not a.attisdropped
      and has_column_privilege(usable_columns.role, usable_columns.relation, a.attnum, 'select')
    order by array_position(entry.columns, a.attname::text);
end;
$$;
comment on function chumbo.usable_columns(chumbo.readable_tables, oid, text) is
  'The chosen columns that are still there and that the role may read, with what a filter and an order may do with each.';
revoke all on function chumbo.usable_columns(chumbo.readable_tables, oid, text) from public, anon, authenticated;
grant execute on function chumbo.usable_columns(chumbo.readable_tables, oid, text) to service_role, chumbo_runtime;

create or replace function chumbo.table_key(entry chumbo.readable_tables, relation oid, role text)
  returns text[]
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  -- A key of which the role may not read every column cannot order rows, and a part of one tells too few of them apart.
  return (
    select case when bool_and(coalesce(has_column_privilege(table_key.role, a.attrelid, a.attnum, 'select'), false)) then
      array_agg(a.attname::text order by k.position) end
    from (
      select named.name, named.position from unnest(entry.key) with ordinality as named (name, position)
      union all
      select p.attname, indexed.position
      from pg_catalog.pg_index as i
      cross join unnest(i.indkey::smallint[]) with ordinality as indexed (number, position)
      join pg_catalog.pg_attribute as p on p.attrelid = i.indrelid and p.attnum = indexed.number
      where entry.key is null and i.indrelid = table_key.relation and i.indisprimary and indexed.position <= i.indnkeyatts
    ) as k
    left join pg_catalog.pg_attribute as a
      on a.attrelid = table_key.relation and a.attname = k.name and a.attnum > 0 and not a.attisdropped
  );
end;
$$;
comment on function chumbo.table_key(chumbo.readable_tables, oid, text) is
  'The columns that tell rows apart: those registered, else the primary key. Null when there is none that the role may read.';
revoke all on function chumbo.table_key(chumbo.readable_tables, oid, text) from public, anon, authenticated;
grant execute on function chumbo.table_key(chumbo.readable_tables, oid, text) to service_role, chumbo_runtime;

create or replace function chumbo.time_value(type_id oid, value text, read text)
  returns text
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
declare
  -- Postgres reads far more than ISO 8601: now, today, epoch, infinity, and days and months in the order of a locale.
  v_parts text[] := regexp_match(value,
    '^(\d{4}-\d\d-\d\d)?([t ]|$|(?=\d\d:))((?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.]\d{1,9})?)?)?(z|[+-](?:0\d|1[0-5])(?::?[0-5]\d)?)?$', 'i');
  v_has_day boolean := v_parts[1] is not null;
  v_has_time boolean := v_parts[3] is not null;
  v_has_zone boolean := v_parts[4] is not null;
begin
  -- A day and a time have something between them, and only a time has a zone.
  if v_parts is null or (v_has_day and v_has_time) <> (v_parts[2] <> '') or v_has_zone and not v_has_time then
    return null;
  end if;

  -- What a value leaves open never comes from the time zone of a session: it is UTC.
  return case
    when type_id = 'time'::regtype and not v_has_day and v_has_time and not v_has_zone then format('(%s)::time', read)
    when type_id = 'timetz'::regtype and not v_has_day and v_has_time then
      format('(%s%s)::timetz', read, case when v_has_zone then '' else ' || ''+00''' end)
    when not v_has_day or type_id in ('time'::regtype, 'timetz'::regtype) then null
    when type_id = 'date'::regtype then format('left(%s, 10)::date', read)
    when type_id = 'timestamptz'::regtype then
      format(case when v_has_zone then '(%s)::timestamptz' else '((%s)::timestamp at time zone ''UTC'')' end, read)
    else format(case when v_has_zone then '((%s)::timestamptz at time zone ''UTC'')' else '(%s)::timestamp' end, read)
  end;
end;
$$;
comment on function chumbo.time_value(oid, text, text) is
  'The SQL that reads an ISO 8601 text as a value of a date or time type, or null when the text is none that fits the type.';
revoke all on function chumbo.time_value(oid, text, text) from public, anon, authenticated;
grant execute on function chumbo.time_value(oid, text, text) to service_role, chumbo_runtime;

-- The value itself never becomes SQL. What comes back reads it out of the arguments, and converts what it reads there.
create or replace function chumbo.value_expression(type_id oid, family text, value jsonb, read text)
  returns text
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_kind text := jsonb_typeof(value);
  v_text text := value #>> '{}';
begin
  if v_kind in ('array', 'object', 'null') then
    return null;
  end if;

  return case family
    -- Through numeric, which takes 2.0; as int8, which an index over a narrower integer serves as well.
    when 'integer' then case when v_kind <> 'boolean' and v_text ~ '^[+-]?[0-9]{1,40}([.]0{1,40})?$' then format('(%s)::numeric::int8', read) end
    when 'number' then case
      when v_kind = 'number' or v_kind = 'string' and v_text ~ '^([+-]?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]{1,4})?|NaN|-?Infinity)$'
        then format('(%s)::%s', read, format_type(type_id, -1)) end
    when 'boolean' then case when v_text in ('true', 'false') then format('(%s)::bool', read) end
    when 'text' then case
      when v_kind <> 'string' then null
      when type_id in ('text'::regtype, 'varchar'::regtype, 'name'::regtype) then read
      else format('(%s)::%s', read, format_type(type_id, -1)) end
    when 'time' then case when v_kind = 'string' then chumbo.time_value(type_id, v_text, read) end
    when 'enum' then case
      when v_kind = 'string' and exists (select from pg_catalog.pg_enum as e where e.enumtypid = type_id and e.enumlabel = v_text)
        then format('(%s)::%s', read, format_type(type_id, -1)) end
    when 'other' then case when v_kind = 'string' then format('(%s)::%s', read, format_type(type_id, -1)) end
  end;
end;
$$;
comment on function chumbo.value_expression(oid, text, jsonb, text) is
  'The SQL that reads a JSON scalar as a value of a base type from where read finds it, or null when it cannot be one.';
revoke all on function chumbo.value_expression(oid, text, jsonb, text) from public, anon, authenticated;
grant execute on function chumbo.value_expression(oid, text, jsonb, text) to service_role, chumbo_runtime;

create or replace function chumbo.filter_condition(filter_column jsonb, operator text, value jsonb, read text, arguments jsonb)
  returns text
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_type oid := (filter_column ->> 'base_type')::oid;
  v_family text := filter_column ->> 'family';
  v_name text := filter_column ->> 'name';
  v_column text := format('t.%I', filter_column ->> 'name');
  v_values text[];
  v_fits boolean;
begin
  if operator = 'is_null' then
    if jsonb_typeof(value) is distinct from 'boolean' then
      raise exception using errcode = 'PT400', message = 'invalid_filter_value',
        detail = format('is_null on %I takes true or false.', v_name), hint = 'true finds rows without a value, false those with one.';
    end if;
    return case when value::boolean then '' else 'not ' end || format('(%s is null)', v_column);
  end if;

  if operator = 'in' then
    if jsonb_typeof(value) is distinct from 'array' or jsonb_array_length(value) not between 1 and 100 then
      raise exception using errcode = 'PT400', message = 'invalid_filter_value',
        detail = format('in on %I takes a list of 1 to 100 values.', v_name), hint = 'Split a longer list over several calls.';
    end if;
    select array_agg(chumbo.value_expression(v_type, v_family, item, format('(%s #>> %L)', read, array[position - 1]::text)) order by position)
    into v_values
    from jsonb_array_elements(value) with ordinality as items (item, position);
  else
    v_values := array[chumbo.value_expression(v_type, v_family, value, format('(%s #>> ''{}'')', read))];
  end if;

  v_fits := array_position(v_values, null) is null
    -- A pattern that ends in the middle of an escape makes Postgres fail once it meets a row.
    and (operator not in ('like', 'ilike') or regexp_replace(value #>> '{}', '\\\\', '', 'g') !~ '\\$');
  -- Any text is a text, and a label was looked up. The others are types of Postgres itself, so trying them runs nothing of
  -- the application's: a domain stands for its base type here.
  if v_fits and v_family not in ('text', 'enum', 'boolean') then
    begin
      execute format('select array[%s]', array_to_string(v_values, ', ')) using arguments;
    exception
      when data_exception then v_fits := false;
    end;
  end if;
  if not v_fits then
    raise exception using errcode = 'PT400', message = 'invalid_filter_value',
      detail = case v_family
        when 'time' then format('%s on %I, a %s, takes a value in ISO 8601.', operator, v_name, format_type(v_type, null))
        else format('%s on %I takes a value that is a %s.', operator, v_name, format_type(v_type, null)) end,
      hint = case v_family
        when 'time' then 'Write 2026-01-31 or 2026-01-31T12:00:00Z; a time alone is 12:00:00.'
        when 'enum' then 'describe_table lists the values it knows.'
        else 'Lists belong to in, and a missing value is found with is_null.' end;
  end if;

  -- Qualified, and without a conversion of the column: the operators of Postgres on the bare column are what its indexes
  -- serve. Off a domain comes nothing but its name.
  if filter_column ->> 'base_type' <> filter_column ->> 'type_id' then
    v_column := format('(%s)::%s', v_column, format_type(v_type, -1));
  end if;
  return format('%s operator(%I.%s) %s', v_column,
    -- The comparisons of citext live beside it.
    case when v_family = 'text' then filter_column ->> 'base_schema' else 'pg_catalog' end,
    case operator
      when 'eq' then '=' when 'ne' then '<>' when 'gt' then '>' when 'gte' then '>=' when 'lt' then '<' when 'lte' then '<='
      when 'in' then '=' when 'like' then '~~' when 'ilike' then '~~*' end,
    case operator when 'in' then format('any (array[%s])', array_to_string(v_values, ', ')) else v_values[1] end);
end;
$$;
comment on function chumbo.filter_condition(jsonb, text, jsonb, text, jsonb) is
  'One filter as SQL that reads its value out of the arguments. Raises invalid_filter_value.';
revoke all on function chumbo.filter_condition(jsonb, text, jsonb, text, jsonb) from public, anon, authenticated;
grant execute on function chumbo.filter_condition(jsonb, text, jsonb, text, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.read_list(arguments jsonb, name text, most integer)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_list jsonb := arguments -> name;
begin
  -- Some clients write a list as JSON inside a string.
  if jsonb_typeof(v_list) = 'string' then
    begin
      v_list := case when chumbo.has_huge_exponent(v_list #>> '{}') then '""' else (v_list #>> '{}')::jsonb end;
    exception
      when data_exception or statement_too_complex then v_list := '""';
    end;
  end if;
  if coalesce(jsonb_typeof(v_list), 'null') = 'null' then
    return null;
  end if;
  if jsonb_typeof(v_list) <> 'array' then
    raise exception using errcode = 'PT400', message = 'invalid_arguments',
      detail = format('The argument `%s` must be an array.', name), hint = 'Compare it with the input schema.';
  end if;
  if jsonb_array_length(v_list) > most then
    raise exception using errcode = 'PT400', message = 'limit_exceeded',
      detail = format('The argument `%s` takes at most %s entries.', name, most), hint = 'Ask for less in one call.';
  end if;
  return v_list;
end;
$$;
comment on function chumbo.read_list(jsonb, text, integer) is
  'An argument that is a list, or null when it was left out. Raises invalid_arguments, limit_exceeded.';
revoke all on function chumbo.read_list(jsonb, text, integer) from public, anon, authenticated;
grant execute on function chumbo.read_list(jsonb, text, integer) to service_role, chumbo_runtime;

create or replace function chumbo.read_count(arguments jsonb, name text, fallback integer, least_count integer, most integer)
  returns integer
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_text text := arguments ->> name;
begin
  if v_text is null then
    return fallback;
  end if;
  if v_text !~ '^[0-9]{1,40}([.]0{1,40})?$' or v_text::numeric < least_count then
    raise exception using errcode = 'PT400', message = 'invalid_arguments',
      detail = format('The argument `%s` must be a whole number from %s on.', name, least_count), hint = 'Compare it with the input schema.';
  end if;
  if v_text::numeric > most then
    raise exception using errcode = 'PT400', message = 'limit_exceeded',
      detail = format('The argument `%s` is at most %s here.', name, most),
      hint = case name when 'offset' then 'Filter for what comes after the last row you have.' else 'Ask for the rest with offset.' end;
  end if;
  return v_text::numeric::integer;
end;
$$;
comment on function chumbo.read_count(jsonb, text, integer, integer, integer) is
  'An argument that counts something, or its fallback when it was left out. Raises invalid_arguments, limit_exceeded.';
revoke all on function chumbo.read_count(jsonb, text, integer, integer, integer) from public, anon, authenticated;
grant execute on function chumbo.read_count(jsonb, text, integer, integer, integer) to service_role, chumbo_runtime;

create or replace function chumbo.require_table(server_id bigint, request jsonb, name text, out entry chumbo.readable_tables, out relation oid, out kind text)
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_found record;
begin
  select u.* into v_found from chumbo.usable_tables(server_id, request, coalesce(name, '')) as u;
  -- Unknown, withheld and not for this caller are one answer: telling them apart would confirm names.
  if not found then
    raise exception using errcode = 'PT404', message = 'object_not_allowed',
      detail = format('There is no table %L here.', left(name, 64)), hint = 'list_allowed_tables says what there is.';
  end if;
  entry := v_found.entry;
  relation := v_found.relation;
  kind := v_found.kind;
end;
$$;
comment on function chumbo.require_table(bigint, jsonb, text) is 'The one table a caller means, when he may read it. Raises object_not_allowed.';
revoke all on function chumbo.require_table(bigint, jsonb, text) from public, anon, authenticated;
grant execute on function chumbo.require_table(bigint, jsonb, text) to service_role, chumbo_runtime;

create or replace function chumbo.list_tables(server_id bigint, request jsonb)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_tables jsonb;
begin
  select coalesce(jsonb_agg(
    jsonb_build_object('table', (u.entry).name, 'kind', u.kind,
      'description', coalesce((u.entry).description, obj_description(u.relation, 'pg_class')))
    order by (u.entry).name), '[]')
  into v_tables
  from chumbo.usable_tables(server_id, request) as u;
  return jsonb_build_object('count', jsonb_array_length(v_tables),
    'value', jsonb_build_object('tables', v_tables, 'table_count', jsonb_array_length(v_tables)));
end;
$$;
comment on function chumbo.list_tables(bigint, jsonb) is 'The answer of list_allowed_tables.';
revoke all on function chumbo.list_tables(bigint, jsonb) from public, anon, authenticated;
grant execute on function chumbo.list_tables(bigint, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.describe_table(server_id bigint, request jsonb, name text)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_table record := chumbo.require_table(server_id, request, name);
  v_key text[] := chumbo.table_key(v_table.entry, v_table.relation, request ->> 'role');
  v_columns jsonb;
begin
  select jsonb_agg(jsonb_build_object(
    'name', c.name,
    'type', format_type(c.type_id, c.type_modifier),
    'schema', coalesce(chumbo.value_schema(c.type_id, c.type_modifier), '{}'),
    'nullable', c.is_nullable,
    'description', col_description(v_table.relation, c.number),
    'operators', to_jsonb(c.operators),
    'sortable', c.is_sortable,
    'primary_key', coalesce(c.name = any (v_key), false)))
  into v_columns
  from chumbo.usable_columns(v_table.entry, v_table.relation, request ->> 'role') as c;

  return jsonb_build_object('count', jsonb_array_length(v_columns), 'value', jsonb_build_object(
    'table', (v_table.entry).name,
    'kind', v_table.kind,
    'description', coalesce((v_table.entry).description, obj_description(v_table.relation, 'pg_class')),
    'columns', v_columns,
    'default_limit', (v_table.entry).default_limit,
    'max_limit', (v_table.entry).max_limit));
end;
$$;
comment on function chumbo.describe_table(bigint, jsonb, text) is 'The answer of describe_table. Raises object_not_allowed.';
revoke all on function chumbo.describe_table(bigint, jsonb, text) from public, anon, authenticated;
grant execute on function chumbo.describe_table(bigint, jsonb, text) to service_role, chumbo_runtime;

create or replace function chumbo.read_columns(arguments jsonb, usable jsonb)
  returns text[]
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_asked jsonb := chumbo.read_list(arguments, 'columns', 1000);
  v_name text;
begin
  if v_asked is null then
    return array(select c ->> 'name' from jsonb_array_elements(usable) as c);
  end if;
  if v_asked = '[]' then
    raise exception using errcode = 'PT400', message = 'columns_required',
      detail = 'The argument `columns` names no column.', hint = 'Name at least one, or leave the argument out for all of them.';
  end if;
  if jsonb_path_exists(v_asked, 'strict $[*] ? (@.type() != "string")') then
    raise exception using errcode = 'PT400', message = 'invalid_arguments',
      detail = 'The argument `columns` must hold names only.', hint = 'Compare it with the input schema.';
  end if;
  select asked into v_name
  from jsonb_array_elements_text(v_asked) as asked
  where not exists (select from jsonb_array_elements(usable) as c where c ->> 'name' = asked)
  limit 1;
  if found then
    raise exception using errcode = 'PT400', message = 'column_not_allowed',
      detail = format('There is no column %L here.', left(v_name, 64)), hint = 'describe_table says what there is.';
  end if;
  select asked into v_name from jsonb_array_elements_text(v_asked) as asked group by asked having count(*) > 1 limit 1;
  if found then
    raise exception using errcode = 'PT400', message = 'duplicate_columns',
      detail = format('The column %L is named twice.', v_name), hint = 'Name each column once.';
  end if;
  return array(select jsonb_array_elements_text(v_asked));
end;
$$;
comment on function chumbo.read_columns(jsonb, jsonb) is
  'The columns a read asks for. Raises columns_required, column_not_allowed, duplicate_columns, invalid_arguments, limit_exceeded.';
revoke all on function chumbo.read_columns(jsonb, jsonb) from public, anon, authenticated;
grant execute on function chumbo.read_columns(jsonb, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.read_filters(arguments jsonb, usable jsonb)
  returns text
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_filters jsonb := coalesce(chumbo.read_list(arguments, 'filters', 20), '[]');
  -- Where the statement finds the list in its one parameter, also when it came as text.
  v_read text := case jsonb_typeof(arguments -> 'filters')
    when 'string' then '($1 ->> ''filters'')::jsonb' else '($1 -> ''filters'')' end;
  v_filter jsonb;
  v_column jsonb;
  v_conditions text[] := '{}';
begin
  for i in 0 .. jsonb_array_length(v_filters) - 1 loop
    v_filter := v_filters -> i;
    if jsonb_typeof(v_filter) <> 'object' or not v_filter ?& '{column,operator,value}' or v_filter - '{column,operator,value}'::text[] <> '{}'
      or jsonb_typeof(v_filter -> 'column') <> 'string' or jsonb_typeof(v_filter -> 'operator') <> 'string'
    then
      raise exception using errcode = 'PT400', message = 'invalid_arguments',
        detail = format('Filter %s must be an object of column, operator and value.', i + 1), hint = 'Compare it with the input schema.';
    end if;

    select c into v_column from jsonb_array_elements(usable) as c where c ->> 'name' = v_filter ->> 'column';
    if not found or v_column -> 'operators' = '[]' then
      raise exception using errcode = 'PT400', message = 'column_not_allowed',
        detail = format('There is no column %L to filter by here.', left(v_filter ->> 'column', 64)), hint = 'describe_table says what there is.';
    end if;
    if not v_column -> 'operators' ? (v_filter ->> 'operator') then
      raise exception using errcode = 'PT400', message = 'operator_not_allowed',
        detail = format('The column %I does not take the operator %L.', v_column ->> 'name', left(v_filter ->> 'operator', 64)),
        hint = format('It takes %s.', (select string_agg(o, ', ') from jsonb_array_elements_text(v_column -> 'operators') as o));
    end if;
    v_conditions := v_conditions || chumbo.filter_condition(
      v_column, v_filter ->> 'operator', v_filter -> 'value', format('(%s -> %s -> ''value'')', v_read, i), arguments);
  end loop;
  return case when v_conditions = '{}' then '' else ' where ' || array_to_string(v_conditions, ' and ') end;
end;
$$;
comment on function chumbo.read_filters(jsonb, jsonb) is
  'The where clause of a read. Raises invalid_arguments, limit_exceeded, column_not_allowed, operator_not_allowed, invalid_filter_value.';
revoke all on function chumbo.read_filters(jsonb, jsonb) from public, anon, authenticated;
grant execute on function chumbo.read_filters(jsonb, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.read_order(arguments jsonb, usable jsonb, key text[])
  returns text
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_order jsonb := coalesce(chumbo.read_list(arguments, 'order_by', 8), '[]');
  v_entry jsonb;
  v_name text;
  v_names text[] := '{}';
  v_terms text[] := '{}';
begin
  for i in 0 .. jsonb_array_length(v_order) - 1 loop
    v_entry := v_order -> i;
    if jsonb_typeof(v_entry) <> 'object' or v_entry - '{column,direction}'::text[] <> '{}'
      or coalesce(jsonb_typeof(v_entry -> 'column'), '') <> 'string'
      or coalesce(v_entry ->> 'direction', 'asc') not in ('asc', 'desc')
    then
      raise exception using errcode = 'PT400', message = 'invalid_arguments',
        detail = format('Order %s must be an object of column and direction, asc or desc.', i + 1), hint = 'Compare it with the input schema.';
    end if;
    v_name := v_entry ->> 'column';
    if not exists (select from jsonb_array_elements(usable) as c where c ->> 'name' = v_name and (c ->> 'is_sortable')::boolean) then
      raise exception using errcode = 'PT400', message = 'column_not_allowed',
        detail = format('There is no column %L to order by here.', left(v_name, 64)), hint = 'describe_table says what there is.';
    end if;
    if v_name = any (v_names) then
      raise exception using errcode = 'PT400', message = 'duplicate_columns',
        detail = format('The column %L is ordered by twice.', v_name), hint = 'Name each column once.';
    end if;
    v_names := v_names || v_name;
    v_terms := v_terms || format('t.%I %s', v_name, coalesce(v_entry ->> 'direction', 'asc'));
  end loop;

  -- Rows that are equal so far need an order too, or a page could repeat what another one showed. Without a key every
  -- column that has an order takes part.
  select v_terms || array_agg(format('t.%I', further.name) order by further.position)
  into v_terms
  from unnest(coalesce(key, array(
    select c ->> 'name' from jsonb_array_elements(usable) as c where c ->> 'family' is not null
  ))) with ordinality as further (name, position)
  where further.name <> all (v_names);
  return case when v_terms = '{}' then '' else ' order by ' || array_to_string(v_terms, ', ') end;
end;
$$;
comment on function chumbo.read_order(jsonb, jsonb, text[]) is
  'The order clause of a read, made certain by the key. Raises invalid_arguments, limit_exceeded, column_not_allowed, duplicate_columns.';
revoke all on function chumbo.read_order(jsonb, jsonb, text[]) from public, anon, authenticated;
grant execute on function chumbo.read_order(jsonb, jsonb, text[]) to service_role, chumbo_runtime;

create or replace function chumbo.select_statement(server_id bigint, request jsonb, arguments jsonb)
  returns text
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_table record := chumbo.require_table(server_id, request, arguments ->> 'table');
  v_usable jsonb;
  v_names text[];
  v_limit integer;
  v_offset integer;
  v_columns text;
  v_row text;
begin
  select jsonb_agg(to_jsonb(c)) into v_usable
  from chumbo.usable_columns(v_table.entry, v_table.relation, request ->> 'role') as c;
  v_names := chumbo.read_columns(arguments, v_usable);
  v_limit := chumbo.read_count(arguments, 'limit', (v_table.entry).default_limit, 1, (v_table.entry).max_limit);
  v_offset := chumbo.read_count(arguments, 'offset', 0, 0, 1000000);

  -- In parts of forty columns, joined, because a call takes at most a hundred arguments.
  select string_agg(part.columns, ', ' order by part.number), string_agg(part.row, ' || ' order by part.number)
  into v_columns, v_row
  from (
    select (chosen.position - 1) / 40 as number,
      string_agg(format('t.%I', chosen.name), ', ' order by chosen.position) as columns,
      format('jsonb_build_object(%s)', string_agg(
        format('%L, %s', chosen.name, chumbo.json_expression((c ->> 'type_id')::oid, format('t.%I', chosen.name))), ', '
        order by chosen.position)) as row
    from unnest(v_names) with ordinality as chosen (name, position)
    join jsonb_array_elements(v_usable) as c on c ->> 'name' = chosen.name
    group by (chosen.position - 1) / 40
  ) as part;

  -- One row more than the limit tells that there are more.
  return format(
    'select jsonb_build_object(''count'', least(count(*), %1$s), ''value'', jsonb_build_object('
    '''rows'', coalesce(jsonb_agg(%2$s), ''[]'') - %1$s, ''row_count'', least(count(*), %1$s), ''limit'', %1$s, ''offset'', %3$s, '
    '''truncated'', count(*) > %1$s)) from (select %4$s from %5$I.%6$I as t%7$s%8$s limit %9$s offset %3$s) as t',
    v_limit, v_row, v_offset, v_columns, (v_table.entry).table_schema, (v_table.entry).table_name,
    chumbo.read_filters(arguments, v_usable),
    chumbo.read_order(arguments, v_usable, chumbo.table_key(v_table.entry, v_table.relation, request ->> 'role')),
    v_limit + 1);
end;
$$;
comment on function chumbo.select_statement(bigint, jsonb, jsonb) is
  'The select that answers select_rows; it takes the arguments of the call as $1. Raises object_not_allowed, column_not_allowed, '
  'columns_required, duplicate_columns, operator_not_allowed, invalid_filter_value, limit_exceeded, invalid_arguments.';
revoke all on function chumbo.select_statement(bigint, jsonb, jsonb) from public, anon, authenticated;
grant execute on function chumbo.select_statement(bigint, jsonb, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.table_statement(capability chumbo.capabilities, arguments jsonb, request jsonb)
  returns text
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  return case capability.name
    when 'select_rows' then chumbo.select_statement(capability.server_id, request, arguments)
    when 'describe_table' then format('select %L::jsonb', chumbo.describe_table(capability.server_id, request, arguments ->> 'table'))
    else format('select %L::jsonb', chumbo.list_tables(capability.server_id, request))
  end;
end;
$$;
comment on function chumbo.table_statement(chumbo.capabilities, jsonb, jsonb) is
  'The select that answers a table tool as {count, value}; it takes the arguments of the call as $1 and runs as the caller. '
  'Raises object_not_allowed, column_not_allowed, columns_required, duplicate_columns, operator_not_allowed, invalid_filter_value, '
  'limit_exceeded, invalid_arguments.';
revoke all on function chumbo.table_statement(chumbo.capabilities, jsonb, jsonb) from public, anon, authenticated;
grant execute on function chumbo.table_statement(chumbo.capabilities, jsonb, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.table_tools()
  returns table (name text, title text, description text, properties jsonb, required jsonb, parameters jsonb, output_schema jsonb)
  language sql immutable
  security invoker
  set search_path = ''
as $$
  select t.name, t.title, t.description, t.properties::jsonb, t.required::jsonb, t.parameters::jsonb, t.output_schema::jsonb
  from (values
    (
      'list_allowed_tables', 'List tables',
      'Lists the tables and views that you can read with select_rows. describe_table tells the columns of one.',
      '{}', '[]', '[]',
      '{
        "type": "object",
        "properties": {
          "tables": {
            "type": "array",
            "items": {
              "type": "object",
              "properties": {
                "table": {"type": "string"},
                "kind": {"type": "string", "enum": ["table", "view"]},
                "description": {"type": ["string", "null"]}
              },
              "required": ["table", "kind", "description"]
            }
          },
          "table_count": {"type": "integer"}
        },
        "required": ["tables", "table_count"]
      }'
    ),
    (
      'describe_table', 'Describe a table',
      'Describes the columns of a table or view: type, whether it can be null, which filter operators it takes, whether rows can be ordered by it.',
      '{"table": {"type": "string", "description": "A name from list_allowed_tables."}}',
      '["table"]',
      '[{"name": "table", "position": 1, "type": "text", "kind": "string", "required": true}]',
      '{
        "type": "object",
        "properties": {
          "table": {"type": "string"},
          "kind": {"type": "string", "enum": ["table", "view"]},
          "description": {"type": ["string", "null"]},
          "columns": {
            "type": "array",
            "items": {
              "type": "object",
              "properties": {
                "name": {"type": "string"},
                "type": {"type": "string"},
                "schema": {"type": "object"},
                "nullable": {"type": "boolean"},
                "description": {"type": ["string", "null"]},
                "operators": {"type": "array", "items": {"type": "string"}},
                "sortable": {"type": "boolean"},
                "primary_key": {"type": "boolean"}
              },
              "required": ["name", "type", "schema", "nullable", "description", "operators", "sortable", "primary_key"]
            }
          },
          "default_limit": {"type": "integer"},
          "max_limit": {"type": "integer"}
        },
        "required": ["table", "kind", "description", "columns", "default_limit", "max_limit"]
      }'
    ),
    (
      'select_rows', 'Read rows',
      'Reads rows of a table or view, only those you may see. Filters are joined by and. truncated says that there are more rows: '
      'ask for them with offset and the same order.',
      '{
        "table": {"type": "string", "description": "A name from list_allowed_tables."},
        "columns": {
          "type": "array", "items": {"type": "string"}, "minItems": 1,
          "description": "Names from describe_table; all of them when left out."
        },
        "filters": {
          "type": "array", "maxItems": 20,
          "items": {
            "type": "object",
            "properties": {
              "column": {"type": "string"},
              "operator": {"type": "string", "enum": ["eq", "ne", "gt", "gte", "lt", "lte", "in", "like", "ilike", "is_null"]},
              "value": {
                "description": "A scalar; for in a list of 1 to 100 scalars; for is_null true or false. Dates and times in ISO 8601. Integers beyond 53 bits and exact decimals as strings.",
                "anyOf": [
                  {"type": "string"},
                  {"type": "number"},
                  {"type": "boolean"},
                  {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]}, "minItems": 1, "maxItems": 100}
                ]
              }
            },
            "required": ["column", "operator", "value"],
            "additionalProperties": false
          }
        },
        "order_by": {
          "type": "array", "maxItems": 8,
          "items": {
            "type": "object",
            "properties": {
              "column": {"type": "string"},
              "direction": {"type": "string", "enum": ["asc", "desc"], "default": "asc"}
            },
            "required": ["column"],
            "additionalProperties": false
          },
          "description": "By the primary key when left out."
        },
        "limit": {"type": "integer", "minimum": 1, "description": "At most the max_limit of the table."},
        "offset": {"type": "integer", "minimum": 0, "maximum": 1000000, "default": 0}
      }',
      '["table"]',
      '[
        {"name": "table", "position": 1, "type": "text", "kind": "string", "required": true},
        {"name": "columns", "position": 2, "type": "jsonb", "kind": "any", "required": false},
        {"name": "filters", "position": 3, "type": "jsonb", "kind": "any", "required": false},
        {"name": "order_by", "position": 4, "type": "jsonb", "kind": "any", "required": false},
        {"name": "limit", "position": 5, "type": "numeric", "kind": "number", "required": false},
        {"name": "offset", "position": 6, "type": "numeric", "kind": "number", "required": false}
      ]',
      '{
        "type": "object",
        "properties": {
          "rows": {"type": "array", "items": {"type": "object"}},
          "row_count": {"type": "integer"},
          "limit": {"type": "integer"},
          "offset": {"type": "integer"},
          "truncated": {"type": "boolean"}
        },
        "required": ["rows", "row_count", "limit", "offset", "truncated"]
      }'
    )
  ) as t (name, title, description, properties, required, parameters, output_schema)
$$;
comment on function chumbo.table_tools() is 'The three tools by which the registered tables of a server are read.';
revoke all on function chumbo.table_tools() from public, anon, authenticated, service_role;

create or replace function chumbo.table_problems()
  returns table (server text, name text, problem text)
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  return query
    select s.slug, t.name::text, p.problem
    from chumbo.readable_tables as t
    join chumbo.servers as s on s.id = t.server_id
    left join (
      pg_catalog.pg_class as c
      join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
    ) on n.nspname = t.table_schema and c.relname = t.table_name
    cross join lateral (
      select concat_ws(' ', f.fault ->> 'message', f.fault ->> 'hint') as problem
      from (select chumbo.table_fault(c.oid) as fault) as f
      where f.fault is not null
      union all
      select w.warning
      from chumbo.table_warnings(c.oid, t.description is not null) as w (warning)
      where c.oid is not null and chumbo.table_fault(c.oid) is null
      union all
      select format('%s has no column %I any more.', c.oid::regclass, missing)
      from unnest(t.columns || t.key) as missing
      where c.oid is not null and not exists (
        select from pg_catalog.pg_attribute as a where a.attrelid = c.oid and a.attname = missing and a.attnum > 0 and not a.attisdropped
      )
    ) as p
    order by s.slug, t.name, p.problem collate "C";
end;
$$;
comment on function chumbo.table_problems() is
  'What is wrong now with the registered tables: why one is withheld, what is risky about it, which columns are gone. A sentence a row.';
revoke all on function chumbo.table_problems() from public, anon, authenticated, service_role;

create or replace function chumbo.offer_table_tools(server_id bigint)
  returns void
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_common text[];
  v_taken text;
begin
  if not exists (select from chumbo.readable_tables as t where t.server_id = offer_table_tools.server_id) then
    delete from chumbo.capabilities as c where c.server_id = offer_table_tools.server_id and c.handler = 'table';
    return;
  end if;

  select c.name into v_taken
  from chumbo.capabilities as c
  join chumbo.table_tools() as t on t.name = c.name
  where c.server_id = offer_table_tools.server_id and c.kind = 'tool' and c.handler <> 'table'
  limit 1;
  if found then
    raise exception using errcode = 'PT409', message = 'name_taken',
      detail = format('A tool named %L exists on this server, and the tables need that name.', v_taken),
      hint = 'Give your tool another name, or register the tables on another server.';
  end if;

  -- A scope that every table needs is needed for the tools: without it they could show nothing.
  select coalesce(array_agg(s.scope order by s.scope), '{}')
  into v_common
  from (
    select wanted as scope
    from chumbo.readable_tables as t
    cross join unnest(t.required_scopes) as wanted
    where t.server_id = offer_table_tools.server_id
    group by wanted
    having count(distinct t.id) = (select count(*) from chumbo.readable_tables as a where a.server_id = offer_table_tools.server_id)
  ) as s;

  insert into chumbo.capabilities as c (
    server_id, kind, name, title, description, input_schema, output_schema, annotations, required_scopes, handler, parameters,
    result_shape, is_write, empty_is_error, search_terms
  )
  select offer_table_tools.server_id, 'tool', t.name, t.title, t.description,
    jsonb_build_object('type', 'object', 'properties', t.properties, 'required', t.required, 'additionalProperties', false),
    t.output_schema,
    '{"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false}',
    v_common, 'table', t.parameters, 'json', false, false,
    -- Only of tables that whoever finds the tool may know of.
    (select string_agg(concat_ws(' ', r.name, r.description), ' ' order by r.name)
      from chumbo.readable_tables as r
      where r.server_id = offer_table_tools.server_id and r.required_scopes <@ v_common)
  from chumbo.table_tools() as t
  on conflict on constraint capabilities_server_id_kind_name_key do update
  set title = excluded.title, description = excluded.description, input_schema = excluded.input_schema,
    output_schema = excluded.output_schema, annotations = excluded.annotations, required_scopes = excluded.required_scopes,
    parameters = excluded.parameters, search_terms = excluded.search_terms, updated_at = now()
  -- A tool that stays as it is must not look like a change.
  where (c.title, c.description, c.input_schema, c.output_schema, c.annotations, c.required_scopes, c.parameters, c.search_terms)
    is distinct from (excluded.title, excluded.description, excluded.input_schema, excluded.output_schema, excluded.annotations,
      excluded.required_scopes, excluded.parameters, excluded.search_terms);
end;
$$;
comment on function chumbo.offer_table_tools(bigint) is
  'Makes the three tools of a server exist as long as it has a table, with what all its tables require. Raises name_taken.';
revoke all on function chumbo.offer_table_tools(bigint) from public, anon, authenticated, service_role;

create or replace function chumbo.resolve_table(target text)
  returns oid
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_parts text[];
  v_relation oid;
begin
  begin
    v_parts := parse_ident(target);
  exception
    -- Not a name, so it is none of a table.
    when invalid_parameter_value then v_parts := null;
  end;
  select c.oid into v_relation
  from pg_catalog.pg_class as c
  join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
  where array[n.nspname::text, c.relname::text] = v_parts;

  if not found then
    raise exception using errcode = 'PT404', message = 'unknown_table',
      detail = format('There is no table or view %s.', target), hint = 'Write schema.name of one that exists.';
  end if;
  return v_relation;
end;
$$;
comment on function chumbo.resolve_table(text) is 'The relation meant by schema.name. Raises unknown_table.';
revoke all on function chumbo.resolve_table(text) from public, anon, authenticated, service_role;

create or replace function chumbo.require_columns(relation oid, names text[])
  returns void
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_missing text;
begin
  select coalesce(wanted, '(null)') into v_missing
  from unnest(names) as wanted
  where not exists (
    select from pg_catalog.pg_attribute as a
    where a.attrelid = require_columns.relation and a.attname = wanted and a.attnum > 0 and not a.attisdropped
  )
  limit 1;
  if found then
    raise exception using errcode = 'PT404', message = 'unknown_column',
      detail = format('%s has no column %L.', relation::regclass, v_missing), hint = 'Name columns as the table does.';
  end if;
end;
$$;
comment on function chumbo.require_columns(oid, text[]) is 'Raises unknown_column unless the relation has every column named.';
revoke all on function chumbo.require_columns(oid, text[]) from public, anon, authenticated, service_role;

create or replace function chumbo.register_table(
  target text,
  server text default 'default',
  name text default null,
  columns text[] default null,
  description text default null,
  scopes text[] default '{}',
  max_limit integer default 200,
  default_limit integer default null,
  filterable text[] default null,
  sortable text[] default null,
  key text[] default null,
  strict boolean default false
)
  returns bigint
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_server_id bigint := chumbo.server_id(register_table.server);
  v_relation oid := chumbo.resolve_table(register_table.target);
  v_fault jsonb := chumbo.table_fault(v_relation);
  v_class pg_catalog.pg_class;
  v_schema text;
  v_name text;
  v_columns text[];
  v_default_limit integer := coalesce(register_table.default_limit, least(50, register_table.max_limit));
  v_warning text;
  v_id bigint;
begin
  if v_fault is not null then
    raise exception using errcode = 'PT400', message = v_fault ->> 'code', detail = v_fault ->> 'message', hint = v_fault ->> 'hint';
  end if;
  select c.* into v_class from pg_catalog.pg_class as c where c.oid = v_relation;
  select n.nspname into v_schema from pg_catalog.pg_namespace as n where n.oid = v_class.relnamespace;
  v_name := coalesce(register_table.name, chumbo.public_name(v_class.relname));
  v_columns := coalesce(register_table.columns, array(
    select a.attname::text from pg_catalog.pg_attribute as a
    where a.attrelid = v_relation and a.attnum > 0 and not a.attisdropped
    order by a.attnum
  ));

  if v_name !~ '^[A-Za-z0-9_-]{1,64}$' then
    raise exception using errcode = 'PT400', message = 'invalid_name',
      detail = format('%L cannot be the name of a table: it takes 1 to 64 letters, digits, _ and -.', v_name),
      hint = 'Pass another one with name => …';
  end if;
  if exists (
    select
    from chumbo.readable_tables as t
    join pg_catalog.pg_namespace as n on n.nspname = t.table_schema
    join pg_catalog.pg_class as c on c.relnamespace = n.oid and c.relname = t.table_name
    where t.server_id = v_server_id and t.name = v_name and c.oid <> v_relation
  ) then
    raise exception using errcode = 'PT409', message = 'name_taken',
      detail = format('Another table is offered as %L on this server.', v_name), hint = 'Pass another one with name => …';
  end if;
  if cardinality(v_columns) = 0 then
    raise exception using errcode = 'PT400', message = 'columns_required',
      detail = format('No column of %s is offered.', v_relation::regclass), hint = 'Name at least one with columns => array[…].';
  end if;
  perform chumbo.require_columns(v_relation, v_columns || register_table.key);
  if not (coalesce(filterable <@ v_columns, true) and coalesce(sortable <@ v_columns, true)
    and cardinality(v_columns) = (select count(distinct c) from unnest(v_columns) as c)
    and coalesce(cardinality(key) > 0, true)
    and max_limit between 1 and 10000 and v_default_limit between 1 and max_limit)
  then
    raise exception using errcode = 'PT400', message = 'invalid_option',
      detail = format('%s cannot be offered with these options.', v_relation::regclass),
      hint = 'columns names each once, filterable and sortable name some of them, key at least one; max_limit is 1 to 10000 and not below default_limit.';
  end if;
  perform chumbo.require_scopes(register_table.scopes);

  for v_warning in select w from chumbo.table_warnings(v_relation, register_table.description is not null) as w loop
    if strict then
      raise exception using errcode = 'PT400', message = 'unsafe_target', detail = v_warning,
        hint = 'Mend it, or register without strict.';
    end if;
    raise warning '%', v_warning;
  end loop;

  insert into chumbo.readable_tables as t (
    server_id, name, table_schema, table_name, columns, filterable, sortable, key, description, default_limit, max_limit,
    required_scopes, is_protected
  )
  values (
    v_server_id, v_name, v_schema, v_class.relname, v_columns, register_table.filterable, register_table.sortable,
    register_table.key, register_table.description, v_default_limit, register_table.max_limit, register_table.scopes,
    v_class.relrowsecurity or v_class.relkind = 'v'
  )
  on conflict on constraint readable_tables_server_id_name_key do update
  set table_schema = excluded.table_schema, table_name = excluded.table_name, columns = excluded.columns,
    filterable = excluded.filterable, sortable = excluded.sortable, key = excluded.key, description = excluded.description,
    default_limit = excluded.default_limit, max_limit = excluded.max_limit, required_scopes = excluded.required_scopes,
    is_protected = excluded.is_protected, updated_at = now()
  returning t.id into v_id;

  perform chumbo.offer_table_tools(v_server_id);
  return v_id;
end;
$$;
comment on function chumbo.register_table(text, text, text, text[], text, text[], integer, integer, text[], text[], text[], boolean) is
  'Lets callers read the chosen columns of a table or view, and of its rows those that row security shows them. Returns its id. '
  'Repeating it renews everything. Raises unknown_table, unsupported_table, unsafe_view, unknown_column, columns_required, '
  'invalid_name, name_taken, invalid_option, unknown_scope, unknown_server, unsafe_target.';
revoke all on function chumbo.register_table(text, text, text, text[], text, text[], integer, integer, text[], text[], text[], boolean)
  from public, anon, authenticated, service_role;

create or replace function chumbo.unregister_table(name text, server text default 'default')
  returns boolean
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_server_id bigint := chumbo.server_id(unregister_table.server);
begin
  delete from chumbo.readable_tables as t where t.server_id = v_server_id and t.name = unregister_table.name;
  if not found then
    return false;
  end if;
  perform chumbo.offer_table_tools(v_server_id);
  return true;
end;
$$;
comment on function chumbo.unregister_table(text, text) is
  'Withdraws a table from the next request on, and with the last one the three tools. Returns whether there was one. Raises unknown_server.';
revoke all on function chumbo.unregister_table(text, text) from public, anon, authenticated, service_role;

insert into chumbo.installed (number, name, hash)
values (14, 'tables', 'faa38556f68c8da4e5748f1b9d99656ba69f6d65425feb28940188889cd880a0') -- chumbo.installed
on conflict (number) do update set name = excluded.name, hash = excluded.hash;
-- migrate:down
