-- migrate:up
-- 0004_types.sql — what a Postgres type looks like as JSON: its schema, and how a value leaves without losing digits.

-- Domains stand for their base type; anything with a text form is a string. Null means a type no client could fill.
create or replace function chumbo.type_schema(type_id oid)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_type pg_catalog.pg_type;
  v_items jsonb;
begin
  select t.* into v_type from pg_catalog.pg_type as t where t.oid = type_id;

  if v_type.typtype = 'd' then
    return chumbo.type_schema(v_type.typbasetype);
  end if;
  if v_type.typtype = 'p' or v_type.typname like 'reg%' and v_type.typnamespace = 'pg_catalog'::regnamespace then
    return null;
  end if;
  if v_type.typtype = 'e' then
    return (
      select jsonb_build_object('type', 'string', 'enum', jsonb_agg(e.enumlabel order by e.enumsortorder))
      from pg_catalog.pg_enum as e
      where e.enumtypid = type_id
    );
  end if;
  if v_type.typcategory = 'A' then
    v_items := chumbo.type_schema(v_type.typelem);
    return case when v_items is not null then jsonb_build_object('type', 'array', 'items', v_items) end;
  end if;
  if v_type.typtype = 'c' then
    return (
      select jsonb_build_object(
        'type', 'object',
        'properties', coalesce(
          jsonb_object_agg(a.attname, chumbo.nullable_schema(coalesce(chumbo.type_schema(a.atttypid), '{}'))), '{}')
      )
      from pg_catalog.pg_attribute as a
      where a.attrelid = v_type.typrelid and a.attnum > 0 and not a.attisdropped
    );
  end if;

  return case type_id
    when 'int2'::regtype then '{"type": "integer", "minimum": -32768, "maximum": 32767}'
    when 'int4'::regtype then '{"type": "integer", "minimum": -2147483648, "maximum": 2147483647}'
    -- Strings, because a JSON number of most readers is a double and holds 53 bits.
    when 'int8'::regtype then '{"type": "string", "pattern": "^-?[0-9]{1,19}$"}'
    when 'numeric'::regtype then '{"type": "string", "pattern": "^(-?[0-9]+([.][0-9]+)?|NaN|-?Infinity)$"}'
    when 'float4'::regtype then '{"type": "number"}'
    when 'float8'::regtype then '{"type": "number"}'
    when 'bool'::regtype then '{"type": "boolean"}'
    when 'uuid'::regtype then '{"type": "string", "format": "uuid"}'
    when 'date'::regtype then '{"type": "string", "format": "date"}'
    when 'timestamptz'::regtype then '{"type": "string", "format": "date-time"}'
    when 'json'::regtype then '{}'
    when 'jsonb'::regtype then '{}'
    else '{"type": "string"}'
  end::jsonb;
end;
$$;
comment on function chumbo.type_schema(oid) is
  'The JSON Schema of a type: object for composites, items on every array, labels of enums; null for pseudo and reg types.';
revoke all on function chumbo.type_schema(oid) from public, anon, authenticated, service_role;

-- Formats go as well: "date" would refuse the infinity a column may hold.
create or replace function chumbo.nullable_schema(schema jsonb)
  returns jsonb
  language sql immutable
  security invoker
  set search_path = ''
as $$
  select case
    when schema = '{}' then schema
    else (schema - 'format')
      || jsonb_build_object('type', jsonb_build_array(schema -> 'type', 'null'))
      || case when schema ? 'enum' then jsonb_build_object('enum', (schema -> 'enum') || 'null'::jsonb) else '{}' end
  end
$$;
comment on function chumbo.nullable_schema(jsonb) is 'The same schema, null admitted; how columns of a result are described.';
revoke all on function chumbo.nullable_schema(jsonb) from public, anon, authenticated, service_role;

create or replace function chumbo.has_wide_number(type_id oid)
  returns boolean
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_type pg_catalog.pg_type;
begin
  select t.* into v_type from pg_catalog.pg_type as t where t.oid = type_id;
  return case
    when type_id in ('int8'::regtype, 'numeric'::regtype) then true
    when v_type.typtype = 'd' then chumbo.has_wide_number(v_type.typbasetype)
    when v_type.typcategory = 'A' then chumbo.has_wide_number(v_type.typelem)
    when v_type.typtype = 'c' then exists (
      select from pg_catalog.pg_attribute as a
      where a.attrelid = v_type.typrelid and a.attnum > 0 and not a.attisdropped
        and chumbo.has_wide_number(a.atttypid)
    )
    else false
  end;
end;
$$;
comment on function chumbo.has_wide_number(oid) is 'Whether values of the type hold an int8 or numeric at any depth.';
revoke all on function chumbo.has_wide_number(oid) from public, anon, authenticated, service_role;

create or replace function chumbo.json_expression(type_id oid, value text)
  returns text
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_type pg_catalog.pg_type;
  v_wide text;
begin
  if not chumbo.has_wide_number(type_id) then
    return format('to_jsonb(%s)', value);
  end if;

  select t.* into v_type from pg_catalog.pg_type as t where t.oid = type_id;
  if v_type.typtype = 'd' then
    return chumbo.json_expression(v_type.typbasetype, format('(%s)::%s', value, format_type(v_type.typbasetype, null)));
  end if;
  if v_type.typcategory = 'A' and (select e.typtype from pg_catalog.pg_type as e where e.oid = v_type.typelem) <> 'c' then
    return format('to_jsonb((%s)::text[])', value);
  end if;
  if v_type.typcategory = 'A' then
    return format(
      '(select jsonb_agg(%s) from unnest(%s) as element)', chumbo.json_expression(v_type.typelem, 'element'), value);
  end if;
  if v_type.typtype = 'c' then
    -- One object for each wide column, joined, because a call takes at most a hundred arguments.
    select string_agg(
      format('jsonb_build_object(%L, %s)', a.attname, chumbo.json_expression(a.atttypid, format('(%s).%I', value, a.attname))),
      ' || ' order by a.attnum)
    into v_wide
    from pg_catalog.pg_attribute as a
    where a.attrelid = v_type.typrelid and a.attnum > 0 and not a.attisdropped
      and chumbo.has_wide_number(a.atttypid);
    return format('case when (%1$s) is not null or not (%1$s) is null then to_jsonb(%1$s) || %2$s end', value, v_wide);
  end if;
  return format('to_jsonb((%s)::text)', value);
end;
$$;
comment on function chumbo.json_expression(oid, text) is
  'The SQL that turns an expression of a type into jsonb, writing int8 and numeric as strings at any depth.';
revoke all on function chumbo.json_expression(oid, text) from public, anon, authenticated, service_role;

insert into chumbo.installed (number, name, hash)
values (4, 'types', 'bd69eb708a2faaaa9ee6022c59e3d568e64c46c695d09038797953db2644be10') -- chumbo.installed
on conflict (number) do update set name = excluded.name, hash = excluded.hash;
-- migrate:down
