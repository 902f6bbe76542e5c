-- migrate:up
-- 0012_types.sql — every type both ways: what a client may send, how it is read, and how a value leaves without losing anything.

-- 1. What a type looks like.

create or replace function chumbo.base_type(inout type_id oid, inout type_modifier integer default -1)
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_type pg_catalog.pg_type;
begin
  loop
    select t.* into v_type from pg_catalog.pg_type as t where t.oid = type_id;
    exit when v_type.typtype is distinct from 'd';
    type_id := v_type.typbasetype;
    type_modifier := v_type.typtypmod;
  end loop;
end;
$$;
comment on function chumbo.base_type(oid, integer) is 'What a domain stands for in the end, with the length or precision that it fixes; any other type itself.';
revoke all on function chumbo.base_type(oid, integer) from public, anon, authenticated;
grant execute on function chumbo.base_type(oid, integer) to service_role, chumbo_runtime;

create or replace function chumbo.type_kind(type_id oid)
  returns text
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_type pg_catalog.pg_type;
begin
  select t.* into v_type from pg_catalog.pg_type as t where t.oid = (chumbo.base_type(type_kind.type_id)).type_id;
  return case
    when v_type.oid in ('json'::regtype, 'jsonb'::regtype) then 'any'
    when v_type.oid = 'bool'::regtype then 'boolean'
    when v_type.oid in ('int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'numeric'::regtype, 'float4'::regtype, 'float8'::regtype)
      then 'number'
    when v_type.typtype = 'c' then 'object'
    when v_type.typcategory = 'A' then 'array'
    else 'string'
  end;
end;
$$;
comment on function chumbo.type_kind(oid) is
  'What JSON a type is read from: number (or its digits as a string), string, boolean, array, object, or any.';
revoke all on function chumbo.type_kind(oid) from public, anon, authenticated;
grant execute on function chumbo.type_kind(oid) to service_role, chumbo_runtime;

create or replace function chumbo.type_comment(type_id oid)
  returns text
  language sql stable
  security invoker
  set search_path = ''
as $$
  -- What Postgres says of its own types is meant for those who know them.
  select coalesce(obj_description(t.oid, 'pg_type'), obj_description(nullif(t.typrelid, 0), 'pg_class'))
  from pg_catalog.pg_type as t
  where t.oid = type_id and t.typnamespace <> 'pg_catalog'::regnamespace
$$;
comment on function chumbo.type_comment(oid) is 'What an application says of a type of its own; of a row type also what it says of the table.';
revoke all on function chumbo.type_comment(oid) from public, anon, authenticated;
grant execute on function chumbo.type_comment(oid) to service_role, chumbo_runtime;

create or replace function chumbo.text_form(type_id oid)
  returns text
  language sql stable
  security invoker
  set search_path = ''
as $$
  select coalesce(
    case type_id
      when 'timestamp'::regtype then 'A date and time without a zone, such as 2026-01-31T13:45:00.'
      when 'time'::regtype then 'A time of day, such as 13:45:00.'
      when 'timetz'::regtype then 'A time of day and its zone, such as 13:45:00+02.'
      when 'interval'::regtype then 'A length of time, such as 1 day 02:30:00 or P1DT2H30M.'
      when 'bytea'::regtype then 'Bytes in hexadecimal after \x, such as \x00ff.'
      when 'bit'::regtype then 'Bits, such as 101.'
      when 'varbit'::regtype then 'Bits, such as 101.'
      when 'money'::regtype then 'An amount of money, such as 12.50.'
      when 'xml'::regtype then 'XML.'
      when 'inet'::regtype then 'An IP address, or one with the bits of its network, such as 192.168.0.1 or 192.168.0.1/24.'
      when 'cidr'::regtype then 'A network, such as 192.168.0.0/24.'
      when 'macaddr'::regtype then 'A MAC address, such as 08:00:2b:01:02:03.'
      when 'macaddr8'::regtype then 'A MAC address of eight bytes, such as 08:00:2b:01:02:03:04:05.'
      when 'point'::regtype then 'A point, such as (1,2).'
      when 'line'::regtype then 'A line Ax + By + C = 0, such as {1,2,3}.'
      when 'lseg'::regtype then 'A line segment, such as [(0,0),(1,1)].'
      when 'box'::regtype then 'A box by two opposite corners, such as (1,1),(0,0).'
      when 'path'::regtype then 'A path, such as [(0,0),(1,1)] when open and ((0,0),(1,1)) when closed.'
      when 'polygon'::regtype then 'A polygon, such as ((0,0),(1,0),(1,1)).'
      when 'circle'::regtype then 'A circle by center and radius, such as <(0,0),1>.'
      when 'tsvector'::regtype then 'Words of a text search document, such as ''cat'':1 ''dog'':2.'
      when 'tsquery'::regtype then 'A text search query, such as ''cat'' & ''dog''.'
    end,
    (select format('A range of %s, such as [lower,upper): [ and ] include the bound, ( and ) leave it out.', format_type(r.rngsubtype, null))
      from pg_catalog.pg_range as r where r.rngtypid = type_id),
    (select format('Ranges of %s in braces, such as {[lower,upper)}: [ and ] include the bound, ( and ) leave it out.', format_type(r.rngsubtype, null))
      from pg_catalog.pg_range as r where r.rngmultitypid = type_id)
  )
$$;
comment on function chumbo.text_form(oid) is 'How a value is written that travels as text, in words and by an example; null where any text or a format says it all.';
revoke all on function chumbo.text_form(oid) from public, anon, authenticated, service_role;

create or replace function chumbo.scalar_schema(type_id oid, type_modifier integer)
  returns jsonb
  language sql stable
  security invoker
  set search_path = ''
as $$
  select case
    when type_id = 'int2'::regtype then '{"type": "integer", "minimum": -32768, "maximum": 32767}'::jsonb
    when type_id = 'int4'::regtype then '{"type": "integer", "minimum": -2147483648, "maximum": 2147483647}'
    -- Strings, because a JSON number of most readers is a double and holds 53 bits.
    when type_id = 'int8'::regtype then '{"type": "string", "pattern": "^-?[0-9]{1,19}$"}'
    when type_id = 'numeric'::regtype then '{"type": "string", "pattern": "^(-?[0-9]+([.][0-9]+)?|NaN|-?Infinity)$"}'
    when type_id in ('float4'::regtype, 'float8'::regtype) then '{"type": "number"}'
    when type_id = 'bool'::regtype then '{"type": "boolean"}'
    when type_id = 'uuid'::regtype then '{"type": "string", "format": "uuid"}'
    when type_id = 'date'::regtype then '{"type": "string", "format": "date"}'
    when type_id = 'timestamptz'::regtype then '{"type": "string", "format": "date-time"}'
    when type_id in ('json'::regtype, 'jsonb'::regtype) then '{}'
    when type_id = 'bytea'::regtype then '{"type": "string", "pattern": "^\\\\x([0-9a-fA-F]{2})*$"}'
    when type_id = 'varbit'::regtype or type_id = 'bit'::regtype and type_modifier < 0 then '{"type": "string", "pattern": "^[01]*$"}'
    when type_id = 'bit'::regtype then jsonb_build_object('type', 'string', 'pattern', format('^[01]{%s}$', type_modifier))
    -- The modifier of these counts four bytes of its own.
    when type_id in ('varchar'::regtype, 'bpchar'::regtype) and type_modifier > 4
      then jsonb_build_object('type', 'string', 'maxLength', type_modifier - 4)
    else coalesce(
      (select jsonb_build_object('type', 'string', 'enum', jsonb_agg(e.enumlabel order by e.enumsortorder))
        from pg_catalog.pg_enum as e where e.enumtypid = type_id having count(*) > 0),
      '{"type": "string"}')
  end
$$;
comment on function chumbo.scalar_schema(oid, integer) is
  'The JSON Schema of a type that has no parts. int8 and numeric are strings of digits; whatever else has no form of its own is text.';
revoke all on function chumbo.scalar_schema(oid, integer) from public, anon, authenticated;
grant execute on function chumbo.scalar_schema(oid, integer) to service_role, chumbo_runtime;

create or replace function chumbo.split_conditions(expression text)
  returns text[]
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
declare
  v_text text := btrim(expression);
  v_parts text[];
  v_depth integer;
  v_quote text;
  v_start integer;
  v_is_wrapped boolean;
  v_char text;
begin
  if length(v_text) > 10000 then
    return array[v_text];
  end if;
  loop
    v_parts := '{}';
    v_depth := 0;
    v_quote := '';
    v_start := 1;
    v_is_wrapped := v_text like '(%';
    for i in 1 .. length(v_text) loop
      v_char := substr(v_text, i, 1);
      if v_quote <> '' then
        -- A doubled quote ends the literal and opens it again, which comes to the same.
        v_quote := case v_char when v_quote then '' else v_quote end;
      elsif v_char in ('''', '"') then
        v_quote := v_char;
      elsif v_char = '(' then
        v_depth := v_depth + 1;
      elsif v_char = ')' then
        v_depth := v_depth - 1;
        v_is_wrapped := v_is_wrapped and (v_depth > 0 or i = length(v_text));
      elsif v_depth = 0 and substr(v_text, i, 5) = ' AND ' then
        v_parts := v_parts || substr(v_text, v_start, i - v_start);
        v_start := i + 5;
      end if;
    end loop;
    exit when v_parts <> '{}' or not v_is_wrapped;
    v_text := btrim(substr(v_text, 2, length(v_text) - 2));
  end loop;

  if v_parts <> '{}' then
    return array(
      select condition
      from unnest(v_parts || substr(v_text, v_start)) as part
      cross join unnest(chumbo.split_conditions(part)) as condition
    );
  end if;
  -- A check lets null pass by itself, so saying it changes nothing.
  if v_text like '(VALUE IS NULL) OR (%' then
    return chumbo.split_conditions(substr(v_text, length('(VALUE IS NULL) OR ') + 1));
  end if;
  return array[v_text];
end;
$$;
comment on function chumbo.split_conditions(text) is 'The conditions that an expression of Postgres joins with AND, without their parentheses.';
revoke all on function chumbo.split_conditions(text) from public, anon, authenticated, service_role;

create or replace function chumbo.portable_pattern(pattern text)
  returns text
  language sql immutable
  security invoker
  set search_path = ''
as $$
  -- Only what means the same in JavaScript's unicode mode and in the engines of other languages. Left out: classes in words,
  -- options, escapes of Postgres's own, back references, and \w, which knows all letters in Postgres and ASCII elsewhere.
  select pattern
  where pattern !~ '^[*]'
    and pattern ~ ('^(?:[^][\\(){}|*+?]|\\[dDsS.\\/^$*+?()\[\]{}|]|\[\^?(?:[^][\\]|\\[dDsS.\\/^$*+?()\[\]{}|-])+\]'
      '|\(\?[:=!]|\((?!\?)|\)|\||[*+?]|\{[0-9]+(?:,[0-9]*)?\})+$')
$$;
comment on function chumbo.portable_pattern(text) is 'A regular expression of Postgres that any JSON Schema validator reads alike; null for one that it may not.';
revoke all on function chumbo.portable_pattern(text) from public, anon, authenticated, service_role;

create or replace function chumbo.domain_rules(type_id oid)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_domain pg_catalog.pg_type;
  v_condition text;
  v_match text[];
  v_limit numeric;
  v_values jsonb;
  v_rules jsonb := '{}';
begin
  select t.* into v_domain from pg_catalog.pg_type as t where t.oid = type_id;
  if v_domain.typnotnull then
    v_rules := '{"required": true}';
  end if;

  for v_condition in
    select regexp_replace(condition, '\(VALUE\)::(text|character varying|numeric|double precision)', 'VALUE', 'g')
    from pg_catalog.pg_constraint as c
    cross join unnest(chumbo.split_conditions(
      regexp_replace(pg_get_constraintdef(c.oid), '^CHECK |( NO INHERIT)?( NOT VALID)?$', '', 'g'))) as condition
    where c.contypid = type_id and c.contype = 'c'
    order by c.conname
  loop
    if v_condition = 'VALUE IS NOT NULL' then
      v_rules := v_rules || '{"required": true}';
      continue;
    end if;

    v_match := regexp_match(v_condition, '^VALUE (>=|>|<=|<) \(?''?(-?[0-9]+(?:\.[0-9]+)?)''?(?:::[a-z ]+)?\)?(?:::[a-z ]+)?$');
    if v_match is not null then
      v_limit := v_match[2]::numeric;
      v_rules := v_rules || case v_match[1]
        when '>=' then jsonb_build_object('minimum', greatest(v_limit, (v_rules ->> 'minimum')::numeric))
        when '<=' then jsonb_build_object('maximum', least(v_limit, (v_rules ->> 'maximum')::numeric))
        when '>' then jsonb_build_object('exclusiveMinimum', greatest(v_limit, (v_rules ->> 'exclusiveMinimum')::numeric))
        else jsonb_build_object('exclusiveMaximum', least(v_limit, (v_rules ->> 'exclusiveMaximum')::numeric))
      end;
      continue;
    end if;

    v_match := regexp_match(v_condition, '^(length|char_length|character_length|cardinality)\((VALUE|btrim\(VALUE\))\) (>=|>|<=|<|=) ([0-9]{1,9})$');
    if v_match is not null then
      v_limit := v_match[4]::numeric + case v_match[3] when '>' then 1 when '<' then -1 else 0 end;
      if v_match[1] = 'cardinality' then
        -- It counts what is inside every dimension, so of a lower bound only "not empty" holds for the outermost.
        v_rules := v_rules
          || case when v_match[3] in ('<=', '<', '=') then jsonb_build_object('maxItems', v_limit) else '{}' end
          || case when v_match[3] in ('>=', '>', '=') and v_limit > 0 then '{"minItems": 1}'::jsonb else '{}' end;
      else
        v_rules := v_rules
          -- Without its outer blanks a text is no longer than with them.
          || case when v_match[3] in ('<=', '<', '=') and v_match[2] = 'VALUE'
            then jsonb_build_object('maxLength', least(v_limit, (v_rules ->> 'maxLength')::numeric)) else '{}' end
          || case when v_match[3] in ('>=', '>', '=')
            then jsonb_build_object('minLength', greatest(v_limit, (v_rules ->> 'minLength')::numeric)) else '{}' end;
      end if;
      continue;
    end if;
    if v_condition ~ '^(VALUE|btrim\(VALUE\)) <> ''''::(text|character varying)$' then
      v_rules := v_rules || jsonb_build_object('minLength', greatest(1, (v_rules ->> 'minLength')::integer));
      continue;
    end if;

    v_match := regexp_match(v_condition, '^VALUE ~ ''((?:[^'']|'''')+)''::text$');
    if v_match is not null then
      v_match[1] := chumbo.portable_pattern(replace(v_match[1], '''''', ''''));
      v_rules := v_rules || case when v_match[1] is null then '{}' else jsonb_build_object('pattern', v_match[1]) end;
      continue;
    end if;

    -- Nothing but literals, so there is nothing in it that evaluating could do.
    v_match := regexp_match(v_condition,
      '^VALUE = ANY \(\(?(ARRAY\[(?:''(?:[^'']|'''')*''::(?:text|character varying|integer|smallint)|-?[0-9]+|, )+\])\)?(?:::[a-z ]+\[\])?\)$');
    if v_match is not null then
      execute 'select to_jsonb(' || v_match[1] || ')' into v_values;
      v_rules := v_rules || jsonb_build_object('enum', v_values);
    end if;
  end loop;

  return v_rules;
end;
$$;
comment on function chumbo.domain_rules(oid) is
  'What of a domain''s checks JSON Schema can say: comparisons with a number, lengths, a regular expression, a list of values; required when '
  'it refuses null. Postgres applies all of them, whatever is said here.';
revoke all on function chumbo.domain_rules(oid) from public, anon, authenticated, service_role;

create or replace function chumbo.apply_rules(schema jsonb, rules jsonb, type_id oid)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_is_integer boolean := schema ->> 'type' = 'integer';
  v_lowest numeric := greatest((schema ->> 'minimum')::numeric, ceil((rules ->> 'minimum')::numeric), floor((rules ->> 'exclusiveMinimum')::numeric) + 1);
  v_highest numeric := least((schema ->> 'maximum')::numeric, floor((rules ->> 'maximum')::numeric), ceil((rules ->> 'exclusiveMaximum')::numeric) - 1);
begin
  if v_is_integer then
    return schema || jsonb_build_object('minimum', v_lowest, 'maximum', v_highest)
      || case when rules -> 'enum' -> 0 is not null and jsonb_typeof(rules -> 'enum' -> 0) = 'number' then jsonb_build_object('enum', rules -> 'enum') else '{}' end;
  elsif schema ->> 'type' = 'number' then
    return schema || (rules - array['required', 'enum', 'pattern', 'minLength', 'maxLength', 'minItems', 'maxItems']);
  elsif schema ->> 'type' = 'array' then
    return schema || (rules - array['required', 'enum', 'pattern', 'minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum']);
  elsif type_id in ('int8'::regtype, 'numeric'::regtype) then
    -- No keyword compares a string of digits, so it is said in words.
    return schema || coalesce((
      select jsonb_build_object('description', string_agg(
        case when row_number = 1 then upper(left(words, 1)) || substr(words, 2) else words end, ', ' order by row_number) || '.')
      from (
        select format(form, rules ->> key) as words, row_number() over (order by place)
        from (values (1, 'minimum', 'at least %s'), (2, 'exclusiveMinimum', 'more than %s'), (3, 'maximum', 'at most %s'), (4, 'exclusiveMaximum', 'less than %s'))
          as limits (place, key, form)
        where rules ? key
      ) as limits
      having count(*) > 0
    ), '{}');
  elsif schema ->> 'type' = 'string' and not schema ? 'enum'
    and (type_id in ('text'::regtype, 'varchar'::regtype) or (select t.typname = 'citext' from pg_catalog.pg_type as t where t.oid = type_id))
  then
    return schema || (rules - array['required', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'minItems', 'maxItems', 'enum', 'maxLength'])
      || case when rules ? 'maxLength'
        then jsonb_build_object('maxLength', least((rules ->> 'maxLength')::numeric, (schema ->> 'maxLength')::numeric)) else '{}' end
      || case when jsonb_typeof(rules -> 'enum' -> 0) = 'string' then jsonb_build_object('enum', rules -> 'enum') else '{}' end;
  end if;
  return schema;
end;
$$;
comment on function chumbo.apply_rules(jsonb, jsonb, oid) is 'A schema narrowed by what domain_rules found, as far as that means something for the type.';
revoke all on function chumbo.apply_rules(jsonb, jsonb, oid) from public, anon, authenticated, service_role;

create or replace function chumbo.nest_items(schema jsonb, dimensions integer)
  returns jsonb
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
declare
  v_schema jsonb := schema;
begin
  for i in 2 .. dimensions loop
    v_schema := jsonb_build_object('type', 'array', 'items', v_schema - array['description', 'minItems', 'maxItems']);
  end loop;
  return v_schema || case when schema ? 'description' then jsonb_build_object('description', schema -> 'description') else '{}' end;
end;
$$;
comment on function chumbo.nest_items(jsonb, integer) is 'The schema of an array with so many dimensions, from that of one with a single dimension.';
revoke all on function chumbo.nest_items(jsonb, integer) from public, anon, authenticated, service_role;

create or replace function chumbo.argument_schema(type_id oid, type_modifier integer default -1, depth integer default 1)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_type pg_catalog.pg_type;
  v_base record;
  v_comment jsonb;
  v_schema jsonb;
  v_words text;
begin
  select t.* into v_type from pg_catalog.pg_type as t where t.oid = type_id;
  v_comment := case when chumbo.type_comment(type_id) is null then '{}'
    else jsonb_build_object('description', chumbo.type_comment(type_id)) end;

  if chumbo.refuse_type(type_id) is not null then
    return null;
  elsif v_type.typtype = 'd' then
    v_base := chumbo.base_type(type_id);
    v_schema := chumbo.apply_rules(
      chumbo.argument_schema(v_type.typbasetype, v_type.typtypmod, depth), chumbo.domain_rules(type_id), v_base.type_id);
    return case when v_type.typndims > 1 then chumbo.nest_items(v_schema, v_type.typndims) else v_schema end || v_comment;
  elsif v_type.typtype = 'c' then
    -- Postgres lets no type contain itself; what nests deeper than this is described as any object and still read field by field.
    if depth > 5 then
      return '{"type": "object"}' || v_comment;
    end if;
    return (
      select jsonb_build_object(
        'type', 'object',
        'properties', coalesce(jsonb_object_agg(a.attname,
          case when a.attndims > 1 and f.schema ->> 'type' = 'array' and not f.schema #> '{items,type}' = '"array"'
            then chumbo.nest_items(f.schema, a.attndims) else f.schema end
          || case when c.text is null then '{}' else jsonb_build_object('description', c.text) end), '{}'),
        'required', coalesce(
          jsonb_agg(a.attname order by a.attnum) filter (where chumbo.is_required(a.atttypid)), '[]'),
        'additionalProperties', false)
      from pg_catalog.pg_attribute as a
      cross join lateral (select chumbo.argument_schema(a.atttypid, a.atttypmod, argument_schema.depth + 1) as schema) as f
      cross join lateral (select col_description(a.attrelid, a.attnum) as text) as c
      where a.attrelid = v_type.typrelid and a.attnum > 0 and not a.attisdropped
    ) || v_comment;
  elsif v_type.typcategory = 'A' then
    v_schema := chumbo.argument_schema(v_type.typelem, type_modifier, depth);
    return jsonb_build_object('type', 'array', 'items', v_schema);
  end if;

  v_schema := chumbo.scalar_schema(type_id, type_modifier);
  v_words := case when v_schema = '{}' then 'Any JSON value.' else chumbo.text_form(type_id) end;
  return v_schema || case when v_words is null then '{}' else jsonb_build_object('description', v_words) end || v_comment;
end;
$$;
comment on function chumbo.argument_schema(oid, integer, integer) is
  'The JSON Schema of what a client sends for a type: closed objects, items on every array, no reference and no union; null when refuse_type refuses it.';
revoke all on function chumbo.argument_schema(oid, integer, integer) from public, anon, authenticated, service_role;

create or replace function chumbo.is_required(type_id oid)
  returns boolean
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_type pg_catalog.pg_type;
begin
  select t.* into v_type from pg_catalog.pg_type as t where t.oid = type_id;
  return v_type.typtype = 'd' and (chumbo.domain_rules(type_id) ? 'required' or chumbo.is_required(v_type.typbasetype));
end;
$$;
comment on function chumbo.is_required(oid) is
  'Whether a field of the type has to be given: it is a domain that refuses null. A column''s own not null binds a table, and no value of its row type.';
revoke all on function chumbo.is_required(oid) from public, anon, authenticated, service_role;

create or replace function chumbo.refuse_type(type_id oid)
  returns text
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_type pg_catalog.pg_type;
  v_element pg_catalog.pg_type;
begin
  select t.* into v_type from pg_catalog.pg_type as t where t.oid = type_id;
  if v_type.oid is null or not v_type.typisdefined then
    return 'which is not defined';
  elsif v_type.typtype = 'p' and v_type.typname like 'any%' then
    return 'which is polymorphic: nothing tells the type of what a client sends';
  elsif v_type.typtype = 'p' then
    return 'a pseudo-type, of which no client has a value';
  elsif v_type.typname like 'reg%' and v_type.typnamespace = 'pg_catalog'::regnamespace then
    return 'with which a client could name anything in the database';
  elsif v_type.typtype = 'd' then
    return chumbo.refuse_type(v_type.typbasetype);
  elsif v_type.typtype = 'c' then
    return (
      select format('whose field %I is %s, %s', a.attname, format_type(a.atttypid, a.atttypmod), f.reason)
      from pg_catalog.pg_attribute as a
      cross join lateral (select chumbo.refuse_type(a.atttypid) as reason) as f
      where a.attrelid = v_type.typrelid and a.attnum > 0 and not a.attisdropped and f.reason is not null
      order by a.attnum
      limit 1
    );
  elsif v_type.typcategory = 'A' then
    select t.* into v_element from pg_catalog.pg_type as t where t.oid = (chumbo.base_type(v_type.typelem)).type_id;
    return case
      when v_element.typcategory = 'A' and v_element.typtype = 'b'
        then 'an array of arrays by way of a domain, which Postgres does not read from JSON'
      else chumbo.refuse_type(v_type.typelem)
    end;
  end if;
  return null;
end;
$$;
comment on function chumbo.refuse_type(oid) is 'Why no client can send a value of a type, as the rest of a sentence; null when it can.';
revoke all on function chumbo.refuse_type(oid) from public, anon, authenticated, service_role;

create or replace function chumbo.value_schema(type_id oid, type_modifier integer default -1, depth integer default 1)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_type pg_catalog.pg_type;
  v_comment jsonb;
  v_schema jsonb;
begin
  select t.* into v_type from pg_catalog.pg_type as t where t.oid = type_id;
  v_comment := case when chumbo.type_comment(type_id) is null then '{}'
    else jsonb_build_object('description', chumbo.type_comment(type_id)) end;

  if v_type.oid is null or v_type.typtype = 'p' or v_type.typname like 'reg%' and v_type.typnamespace = 'pg_catalog'::regnamespace then
    return null;
  elsif v_type.typtype = 'd' then
    -- Without its checks: they bind what is written from now on, and an answer may hold what was there before.
    return chumbo.value_schema(v_type.typbasetype, v_type.typtypmod, depth) || v_comment;
  elsif v_type.typtype = 'c' then
    if depth > 5 then
      return '{"type": ["object", "null"]}' || v_comment;
    end if;
    -- Left open, so that a column added later breaks no client that holds an older list.
    return (
      select jsonb_build_object(
        'type', '["object", "null"]'::jsonb,
        'properties', coalesce(jsonb_object_agg(a.attname,
          coalesce(chumbo.value_schema(a.atttypid, a.atttypmod, value_schema.depth + 1), '{"type": ["string", "null"]}')
          || case when c.text is null then '{}' else jsonb_build_object('description', c.text) end), '{}'))
      from pg_catalog.pg_attribute as a
      cross join lateral (select col_description(a.attrelid, a.attnum) as text) as c
      where a.attrelid = v_type.typrelid and a.attnum > 0 and not a.attisdropped
    ) || v_comment;
  elsif v_type.typcategory = 'A' then
    v_schema := chumbo.value_schema(v_type.typelem, type_modifier, depth);
    return case
      when v_schema is null then null
      -- Any column may hold more dimensions than it was declared with: an item may be the array of the next one.
      else jsonb_build_object('type', '["array", "null"]'::jsonb, 'items', case
        when v_schema ? 'type' and not v_schema -> 'type' ? 'array'
          then (v_schema - 'enum')
            || jsonb_build_object('type', v_schema -> 'type' || '["array"]', 'items', '{"description": "The next dimension, where there is one."}'::jsonb)
        else '{"description": "Any JSON value."}' || v_schema
      end)
    end;
  end if;

  v_schema := chumbo.scalar_schema(type_id, type_modifier);
  return case
    -- Postgres writes a type of an extension as that type's cast to JSON says.
    when v_schema = '{}' or type_id >= 16384 and exists (
      select from pg_catalog.pg_cast as k
      where k.castsource = type_id and k.casttarget in ('json'::regtype, 'jsonb'::regtype) and k.castmethod = 'f'
    ) then v_comment
    -- JSON has no number for these.
    when v_schema ->> 'type' = 'number' then '{"type": ["number", "string", "null"], "pattern": "^(NaN|-?Infinity)$"}'
    -- "date" and "date-time" would refuse the infinity that a column may hold.
    when v_schema ->> 'format' in ('date', 'date-time') then '{"type": ["string", "null"]}'
    else v_schema
      || jsonb_build_object('type', jsonb_build_array(v_schema -> 'type', 'null'))
      || case when v_schema ? 'enum' then jsonb_build_object('enum', v_schema -> 'enum' || '[null]') else '{}' end
      || v_comment
  end;
end;
$$;
comment on function chumbo.value_schema(oid, integer, integer) is
  'The JSON Schema of a value of a type in a result, null admitted: objects open, arrays of any number of dimensions; null for pseudo and reg types.';
revoke all on function chumbo.value_schema(oid, integer, integer) from public, anon, authenticated;
grant execute on function chumbo.value_schema(oid, integer, integer) to service_role, chumbo_runtime;

create or replace function chumbo.type_schema(type_id oid)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  return chumbo.value_schema(type_id);
end;
$$;
comment on function chumbo.type_schema(oid) is 'value_schema of a type without a length or precision.';
revoke all on function chumbo.type_schema(oid) from public, anon, authenticated;
grant execute on function chumbo.type_schema(oid) to service_role, chumbo_runtime;

create or replace function chumbo.nullable_schema(schema jsonb)
  returns jsonb
  language sql immutable
  security invoker
  set search_path = ''
as $$
  select case
    when not schema ? 'type' or schema -> 'type' ? 'null' and jsonb_typeof(schema -> 'type') = 'array' then schema
    else (schema - 'format')
      || jsonb_build_object('type', jsonb_build_array(schema -> 'type', 'null'))
      || case when schema ? 'enum' then jsonb_build_object('enum', (schema -> 'enum') || 'null'::jsonb) else '{}' end
  end
$$;
comment on function chumbo.nullable_schema(jsonb) is 'The same schema, null admitted.';
revoke all on function chumbo.nullable_schema(jsonb) from public, anon, authenticated, service_role;

-- 2. How a value leaves.

create or replace function chumbo.has_wide_number(type_id oid)
  returns boolean
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_type pg_catalog.pg_type;
begin
  select t.* into v_type from pg_catalog.pg_type as t where t.oid = (chumbo.base_type(has_wide_number.type_id)).type_id;
  return case
    when v_type.oid in ('int8'::regtype, 'numeric'::regtype) then true
    when v_type.typtype = 'c' then exists (
      select from pg_catalog.pg_attribute as a
      where a.attrelid = v_type.typrelid and a.attnum > 0 and not a.attisdropped
        and chumbo.has_wide_number(a.atttypid)
    )
    when v_type.typcategory = 'A' then chumbo.has_wide_number(v_type.typelem)
    else false
  end;
end;
$$;
comment on function chumbo.has_wide_number(oid) is 'Whether values of the type hold an int8 or numeric at any depth.';
revoke all on function chumbo.has_wide_number(oid) from public, anon, authenticated;
grant execute on function chumbo.has_wide_number(oid) to service_role, chumbo_runtime;

create or replace function chumbo.json_expression(type_id oid, value text)
  returns text
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_type pg_catalog.pg_type;
  v_names text;
  v_texts text;
  v_parts text;
begin
  if not chumbo.has_wide_number(type_id) then
    return format('to_jsonb(%s)', value);
  end if;

  select t.* into v_type from pg_catalog.pg_type as t where t.oid = type_id;
  if v_type.typtype = 'd' then
    return chumbo.json_expression(v_type.typbasetype, format('(%s)::%s', value, format_type(v_type.typbasetype, v_type.typtypmod)));
  elsif v_type.typtype = 'c' then
    select
      string_agg(quote_literal(a.attname), ', ' order by a.attnum) filter (where w.is_plain),
      string_agg(format('((%s).%I)::text', value, a.attname), ', ' order by a.attnum) filter (where w.is_plain),
      string_agg(
        format(' || jsonb_build_object(%L, %s)', a.attname, chumbo.json_expression(a.atttypid, format('(%s).%I', value, a.attname))), ''
        order by a.attnum) filter (where not w.is_plain)
    into v_names, v_texts, v_parts
    from pg_catalog.pg_attribute as a
    cross join lateral (
      select (chumbo.base_type(a.atttypid)).type_id in ('int8'::regtype, 'numeric'::regtype) as is_plain
    ) as w
    where a.attrelid = v_type.typrelid and a.attnum > 0 and not a.attisdropped
      and chumbo.has_wide_number(a.atttypid);
    -- What is joined to the null that stands for no row stays null. Two arrays, and not a pair of arguments for each column,
    -- because a call takes at most a hundred of those.
    return format('(to_jsonb(%s)', value)
      || coalesce(' || jsonb_object(array[' || v_names || '], array[' || v_texts || '])', '') || coalesce(v_parts, '') || ')';
  elsif v_type.typcategory <> 'A' then
    return format('to_jsonb((%s)::text)', value);
  elsif chumbo.type_kind(v_type.typelem) <> 'object' then
    return format('to_jsonb((%s)::text[])', value);
  end if;
  -- unnest in the select list tells an element that is null from a row of nulls; in the from clause it would not. Elements of
  -- more dimensions leave as they are: their numbers are whole, but numbers.
  return format(
    'case when (%1$s) is null or array_ndims(%1$s) > 1 then to_jsonb(%1$s) else '
      '(select coalesce(jsonb_agg(%2$s), ''[]'') from (select unnest(%1$s) as element) as e) end',
    value, chumbo.json_expression(v_type.typelem, 'e.element'));
end;
$$;
comment on function chumbo.json_expression(oid, text) is
  'The SQL that turns an expression of a type into jsonb, writing int8 and numeric as strings at any depth.';
revoke all on function chumbo.json_expression(oid, text) from public, anon, authenticated;
grant execute on function chumbo.json_expression(oid, text) to service_role, chumbo_runtime;

create or replace function chumbo.constant_default(target regprocedure, argument_position integer, type_id oid)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_default text := pg_get_function_arg_default(target, argument_position);
  v_value jsonb;
begin
  -- Literals, the rows and arrays they make, and casts: nothing that could answer otherwise tomorrow. A text that is cast to a
  -- time could, as in 'today'::text::date.
  if v_default is null
    or v_default ~ '::(text|character varying|character|name)\)+::(date|time|timestamp)'
    or v_default !~ (
      '^(?:ARRAY(?=\[)|ROW(?=\()|[][(), ]|NULL|true|false|-?[0-9]+(?:\.[0-9]+)?|[BX]?''(?:[^'']|'''')*'''
      '|::(?:"(?:[^"]|"")+"|[a-z_][a-z0-9_]*)(?:[. ](?:"(?:[^"]|"")+"|[a-z_][a-z0-9_]*))*(?:\([0-9, ]+\)(?: with(?:out)? time zone)?)?(?:\[\])*)+$')
  then
    return null;
  end if;

  begin
    -- Written like a result of the parameter's type, so that the default of a bigint is text, as its schema says.
    execute 'select ' || chumbo.json_expression(type_id, format('(%s)::%s', v_default, format_type(type_id, -1))) into v_value;
  exception
    -- A domain may refuse its own default; that shows when it is used.
    when data_exception or integrity_constraint_violation then v_value := null;
  end;
  -- An omitted argument without a default is null anyway, and "null" beside another type confuses what reads schemas.
  return nullif(v_value, 'null');
end;
$$;
comment on function chumbo.constant_default(regprocedure, integer, oid) is
  'The default of a parameter as JSON when it is made of constants alone; null for an expression, and for null itself.';
revoke all on function chumbo.constant_default(regprocedure, integer, oid) from public, anon, authenticated, service_role;

-- 3. What a comment says.

create or replace function chumbo.read_comment(comment text, out description text, out parameters jsonb)
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
declare
  v_line text;
  v_match text[];
  v_last integer := -1;
begin
  parameters := '[]';
  foreach v_line in array regexp_split_to_array(coalesce(comment, ''), '\r?\n') loop
    v_match := regexp_match(v_line, '^\s*@param\s+(?:"((?:[^"]|"")+)"|([^\s"\[:]+))((?:\[\])*)(?:\s*:(?=\s)|\s|$)\s*(.*?)\s*$');
    if v_match is not null then
      v_last := v_last + 1;
      parameters := parameters || jsonb_build_object(
        'name', coalesce(replace(v_match[1], '""', '"'), v_match[2]), 'dimensions', length(v_match[3]) / 2, 'description', v_match[4]);
    elsif v_last >= 0 and v_line !~ '^\s*@' then
      -- What follows belongs to the parameter, up to the next line that begins with @.
      parameters := jsonb_set(parameters, array[v_last::text, 'description'],
        to_jsonb(btrim((parameters #>> array[v_last::text, 'description']) || ' ' || btrim(v_line))));
    else
      description := concat_ws(e'\n', description, v_line);
    end if;
  end loop;
  description := nullif(btrim(description, e' \t\r\n'), '');
end;
$$;
comment on function chumbo.read_comment(text) is
  'A comment of a function taken apart: its description, and the lines "@param name text" as [{name, dimensions, description}].';
revoke all on function chumbo.read_comment(text) from public, anon, authenticated, service_role;

create or replace function chumbo.target_description(target regprocedure)
  returns text
  language sql stable
  security invoker
  set search_path = ''
as $$
  select (chumbo.read_comment(obj_description(target, 'pg_proc'))).description
$$;
comment on function chumbo.target_description(regprocedure) is
  'What the comment of a function says of it as a whole, without its @param lines; null when it says nothing.';
revoke all on function chumbo.target_description(regprocedure) from public, anon, authenticated, service_role;

-- 4. What a function takes.

create or replace function chumbo.type_shape(type_id oid, type_modifier integer default -1)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_base record := chumbo.base_type(type_id, type_modifier);
  v_type pg_catalog.pg_type;
  v_kind text := chumbo.type_kind(type_id);
begin
  select t.* into v_type from pg_catalog.pg_type as t where t.oid = v_base.type_id;
  return jsonb_build_object('kind', v_kind, 'type', format_type(type_id, type_modifier))
    || case
      when v_kind = 'array' then jsonb_build_object('items', chumbo.type_shape(v_type.typelem, v_base.type_modifier))
      when v_kind = 'object' then jsonb_build_object('fields', format_type(v_type.oid, null))
      -- Postgres would take another text for the bytes themselves, x and b for a base, and round what has more digits.
      when v_type.oid = 'bytea'::regtype
        then '{"pattern": "^\\\\x([0-9a-fA-F]{2})*$", "form": "\\x and hexadecimal digits, two for a byte"}'
      when v_type.oid in ('bit'::regtype, 'varbit'::regtype) then '{"pattern": "^[01]*$", "form": "digits 0 and 1"}'
      -- Postgres would also take tomorrow and now, which mean what the clock of the server says, and days in the order of a locale.
      when v_type.oid in ('date'::regtype, 'timestamp'::regtype, 'timestamptz'::regtype) then jsonb_build_object(
        'pattern', '^([0-9]{4,6}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)? ?(Z|[+-][0-9]{2}(:?[0-9]{2}(:[0-9]{2})?)?)?)?( BC)?|[+-]?infinity)$',
        'form', case v_type.oid when 'date'::regtype then '2026-01-31' when 'timestamp'::regtype then '2026-01-31T13:45:00' else '2026-01-31T13:45:00Z' end)
      when v_type.oid in ('time'::regtype, 'timetz'::regtype) then jsonb_build_object(
        'pattern', '^[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)? ?(Z|[+-][0-9]{2}(:?[0-9]{2}(:[0-9]{2})?)?)?$',
        'form', case v_type.oid when 'time'::regtype then '13:45:00' else '13:45:00+02' end)
      when v_type.oid = 'numeric'::regtype and v_base.type_modifier >= 0
        then jsonb_build_object('scale', (((v_base.type_modifier - 4) & 2047) # 1024) - 1024)
      else '{}'
    end;
end;
$$;
comment on function chumbo.type_shape(oid, integer) is
  'What read_value has to know of a type: {kind, type}, and items, fields (a key of field_shapes), pattern and form, or scale.';
revoke all on function chumbo.type_shape(oid, integer) from public, anon, authenticated, service_role;

create or replace function chumbo.field_shapes(type_id oid)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_open oid[] := array[type_id];
  v_type pg_catalog.pg_type;
  v_shapes jsonb := '{}';
begin
  while v_open <> '{}' loop
    select t.* into v_type from pg_catalog.pg_type as t where t.oid = (chumbo.base_type(v_open[1])).type_id;
    v_open := v_open[2:];
    if v_type.typtype = 'c' and not v_shapes ? format_type(v_type.oid, null) then
      v_shapes := v_shapes || jsonb_build_object(format_type(v_type.oid, null), (
        select coalesce(jsonb_object_agg(a.attname, chumbo.type_shape(a.atttypid, a.atttypmod)
          || case when chumbo.is_required(a.atttypid) then '{"required": true}'::jsonb else '{}' end), '{}')
        from pg_catalog.pg_attribute as a
        where a.attrelid = v_type.typrelid and a.attnum > 0 and not a.attisdropped
      ));
      v_open := v_open || array(
        select distinct a.atttypid from pg_catalog.pg_attribute as a
        where a.attrelid = v_type.typrelid and a.attnum > 0 and not a.attisdropped
      );
    elsif v_type.typtype <> 'c' and v_type.typcategory = 'A' then
      v_open := v_open || v_type.typelem;
    end if;
  end loop;
  return v_shapes;
end;
$$;
comment on function chumbo.field_shapes(oid) is 'The fields of every composite type that a type holds, each type once: {type: {field: shape}}.';
revoke all on function chumbo.field_shapes(oid) from public, anon, authenticated, service_role;

create or replace function chumbo.describe_parameters(target regprocedure)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_proc pg_catalog.pg_proc;
  v_parameters jsonb := '[]';
  v_comments jsonb;
  v_comment jsonb;
  v_inputs integer := 0;
  v_types oid[];
  v_type oid;
  v_mode "char";
  v_name text;
  v_reason text;
  v_kind text;
  v_schema jsonb;
  v_default jsonb;
  v_shape jsonb;
begin
  select p.* into v_proc from pg_catalog.pg_proc as p where p.oid = target;
  v_types := coalesce(v_proc.proallargtypes, v_proc.proargtypes::oid[]);
  v_comments := (chumbo.read_comment(obj_description(target, 'pg_proc'))).parameters;

  for i in 1 .. coalesce(cardinality(v_types), 0) loop
    -- proargtypes is an oidvector and starts at 0, proallargtypes at 1.
    v_mode := coalesce(v_proc.proargmodes[i], 'i');
    continue when v_mode not in ('i', 'b', 'v');
    v_inputs := v_inputs + 1;

    v_type := v_types[array_lower(v_types, 1) + i - 1];
    v_name := v_proc.proargnames[i];
    if coalesce(v_name, '') = '' then
      raise exception using errcode = 'PT400', message = 'unnamed_parameter',
        detail = format('Argument %s of %s has no name, so no client can pass it.', i, target),
        hint = 'Give every parameter a name.';
    end if;
    v_reason := chumbo.refuse_type(v_type);
    if v_reason is not null then
      raise exception using errcode = 'PT400', message = 'unsupported_parameter',
        detail = format('%s takes %s as %s, %s.', target, v_name, format_type(v_type, null), v_reason),
        hint = 'Wrap it in a function whose parameters have types with values of their own.';
    end if;

    select c into v_comment from jsonb_array_elements(v_comments) as c where c ->> 'name' = v_name limit 1;
    v_kind := chumbo.type_kind(v_type);
    v_schema := chumbo.argument_schema(v_type);
    if (v_comment ->> 'dimensions')::integer > 1 and v_kind = 'array' then
      v_schema := chumbo.nest_items(v_schema, (v_comment ->> 'dimensions')::integer);
    end if;
    if v_comment ->> 'description' <> '' then
      v_schema := v_schema || jsonb_build_object('description', v_comment -> 'description');
    end if;
    v_default := chumbo.constant_default(target, i, v_type);
    if v_default is not null then
      v_schema := v_schema || jsonb_build_object('default', v_default);
    end if;
    v_shape := chumbo.type_shape(v_type);

    v_parameters := v_parameters || jsonb_build_array(
      jsonb_build_object(
        'name', v_name,
        'position', i,
        -- With -1, because character and bit without a length would mean one character and one bit.
        'type', format_type(v_type, -1),
        'kind', v_kind,
        'required', v_inputs <= v_proc.pronargs - v_proc.pronargdefaults,
        'schema', v_schema
      )
      || case when v_mode = 'v' then '{"variadic": true}'::jsonb else '{}' end
      -- Looked into before the call, where the kind alone does not say enough.
      || case when v_kind in ('array', 'object') or v_shape ?| array['pattern', 'scale'] then jsonb_build_object('shape', v_shape) else '{}' end
      || case when v_kind in ('array', 'object') and chumbo.field_shapes(v_type) <> '{}'
        then jsonb_build_object('fields', chumbo.field_shapes(v_type)) else '{}' end
    );
  end loop;

  for v_comment in select c from jsonb_array_elements(v_comments) as c loop
    if not exists (select from jsonb_array_elements(v_parameters) as p where p ->> 'name' = v_comment ->> 'name') then
      raise exception using errcode = 'PT400', message = 'unknown_parameter',
        detail = format('The comment of %s describes %s, which is none of its inputs: %s.', target, v_comment ->> 'name',
          coalesce((select string_agg(p ->> 'name', ', ') from jsonb_array_elements(v_parameters) as p), 'it has none')),
        hint = 'Correct the @param line of the comment.';
    end if;
  end loop;

  return v_parameters;
end;
$$;
comment on function chumbo.describe_parameters(regprocedure) is
  'The inputs of a function as [{name, position, type, kind, required, schema, variadic, shape, fields}], the last three where they apply. '
  'Raises unsupported_parameter, unnamed_parameter, unknown_parameter.';
revoke all on function chumbo.describe_parameters(regprocedure) from public, anon, authenticated, service_role;

-- 5. How what a client sent is read.

create or replace function chumbo.refuse_arguments(parameters jsonb, arguments jsonb)
  returns text
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_parameter jsonb;
  v_name text;
  v_kind text;
  v_given text;
  v_rest jsonb := arguments;
  v_missing text;
  v_mistyped text;
begin
  for v_parameter in select p from jsonb_array_elements(parameters) as p loop
    v_name := v_parameter ->> 'name';
    v_kind := v_parameter ->> 'kind';
    v_given := coalesce(jsonb_typeof(arguments -> v_name), 'null');
    v_rest := v_rest - v_name;

    if v_given = 'null' then
      if (v_parameter ->> 'required')::boolean then
        v_missing := coalesce(v_missing, format('The argument `%s` is required.', v_name));
      end if;
    elsif v_kind in ('any', v_given) then
      continue;
    -- Digits beyond a double's 53 bits travel as text, and some clients write arrays and objects as text. Those that have a
    -- shape are read by call_statement.
    elsif not (v_given = 'string' and (
      v_kind = 'number' and (arguments ->> v_name) !~ '[eE][+-]?0*(?:[1-9][0-9]{3}|[4-9][0-9]{2})'
      or v_kind = 'boolean' and (arguments ->> v_name) in ('true', 'false')
      or v_kind in ('array', 'object') and v_parameter ? 'shape'
    )) then
      v_mistyped := coalesce(v_mistyped, chumbo.mistyped(v_name, v_kind, arguments -> v_name));
    end if;
  end loop;

  if v_rest <> '{}' then
    return format('There is no argument `%s`.', (select min(key) from jsonb_object_keys(v_rest) as key));
  end if;
  return coalesce(v_missing, v_mistyped);
end;
$$;
comment on function chumbo.refuse_arguments(jsonb, jsonb) is
  'The first thing wrong with the arguments of a call, as a sentence: unknown, missing or of another JSON type. Null when none is.';
revoke all on function chumbo.refuse_arguments(jsonb, jsonb) from public, anon, authenticated;
grant execute on function chumbo.refuse_arguments(jsonb, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.mistyped(path text, kind text, value jsonb)
  returns text
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
begin
  if kind = 'number' and jsonb_typeof(value) = 'string' then
    return format('The argument `%s` is too large or too small; write it without an exponent.', path);
  end if;
  return format('The argument `%s` must be %s %s, not %s.', path,
    case when kind in ('array', 'object') then 'an' else 'a' end, kind, jsonb_typeof(value));
end;
$$;
comment on function chumbo.mistyped(text, text, jsonb) is 'Says that a value is of another JSON type than its place asks for.';
revoke all on function chumbo.mistyped(text, text, jsonb) from public, anon, authenticated;
grant execute on function chumbo.mistyped(text, text, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.has_huge_exponent(text text)
  returns boolean
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
begin
  -- 1e131071 is eight characters here, and as many digits as it says once it is read. No double needs four hundred.
  return text ~ '[0-9][eE][+-]?0*(?:[1-9][0-9]{3}|[4-9][0-9]{2})'
    and regexp_replace(text, '"(?:[^"\\]|\\.)*"', '""', 'g') ~ '[eE][+-]?0*(?:[1-9][0-9]{3}|[4-9][0-9]{2})';
end;
$$;
comment on function chumbo.has_huge_exponent(text) is 'Whether JSON text holds a number that a few characters blow up to hundreds of digits.';
revoke all on function chumbo.has_huge_exponent(text) from public, anon, authenticated;
grant execute on function chumbo.has_huge_exponent(text) to service_role, chumbo_runtime;

create or replace function chumbo.read_value(
  shape jsonb, fields jsonb, value jsonb, path text, dimension integer default 1,
  out result jsonb, out is_changed boolean, out problem text, out dimensions integer
)
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_kind text := shape ->> 'kind';
  v_given text := jsonb_typeof(value);
  v_text text;
  v_items jsonb;
  v_elements jsonb[];
  v_known jsonb;
  v_key text;
  v_part jsonb;
  v_read record;
  v_index integer := 0;
begin
  result := value;
  is_changed := false;
  dimensions := 0;
  if v_given = 'null' or v_kind = 'any' then
    return;
  end if;

  if v_kind in ('array', 'object') and v_given = 'string' then
    v_text := value #>> '{}';
    if chumbo.has_huge_exponent(v_text) then
      problem := format('The argument `%s` holds a number that is too large or too small; write it without an exponent.', path);
      return;
    end if;
    begin
      result := v_text::jsonb;
    exception
      when untranslatable_character then
        problem := format('The argument `%s` contains a NUL character or half of a surrogate pair, which cannot be stored.', path);
        return;
      when data_exception or statement_too_complex then
        result := null;
    end;
    if jsonb_typeof(result) is distinct from v_kind then
      problem := format('The argument `%s` must be %s, and its text is not the JSON of one.', path,
        case v_kind when 'array' then 'an array' else 'an object' end);
      return;
    end if;
    is_changed := true;
    v_given := v_kind;
  end if;

  if v_given <> v_kind and not (v_given = 'string' and (
    v_kind = 'number' and (value #>> '{}') !~ '[eE][+-]?0*(?:[1-9][0-9]{3}|[4-9][0-9]{2})' or v_kind = 'boolean' and value in ('"true"', '"false"')
  )) then
    problem := chumbo.mistyped(path, v_kind, value);
  elsif v_kind = 'string' and shape ? 'pattern' and (value #>> '{}') !~ (shape ->> 'pattern') then
    problem := format('The argument `%s` must be written as %s.', path, shape ->> 'form');
  elsif v_kind = 'number' and shape ? 'scale' and (value #>> '{}') ~ '^\s*[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?\s*$'
    and round((value #>> '{}')::numeric, (shape ->> 'scale')::integer) <> (value #>> '{}')::numeric
  then
    problem := format('The argument `%s` has more digits than %s keeps.', path, shape ->> 'type');

  elsif v_kind = 'array' then
    v_items := shape -> 'items';
    dimensions := 1;
    if dimension > 6 then
      problem := format('The argument `%s` has more than six dimensions.', path);
      return;
    end if;
    -- One look for the common case: flat, and nothing in it has parts of its own.
    if v_items ->> 'kind' = 'any'
      or v_items ->> 'kind' in ('string', 'number', 'boolean') and not v_items ?| array['pattern', 'scale'] and not exists (
        select from jsonb_array_elements(result) as e
        where jsonb_typeof(e) not in ('null', v_items ->> 'kind')
          and not (jsonb_typeof(e) = 'string' and v_items ->> 'kind' = 'number' and (e #>> '{}') !~ '[eE][+-]?0*(?:[1-9][0-9]{3}|[4-9][0-9]{2})')
      )
    then
      return;
    end if;
    for v_part in select e from jsonb_array_elements(result) as e loop
      if jsonb_typeof(v_part) = 'array' then
        v_read := chumbo.read_value(shape, fields, v_part, format('%s[%s]', path, v_index), dimension + 1);
      else
        v_read := chumbo.read_value(v_items, fields, v_part, format('%s[%s]', path, v_index));
        v_read.dimensions := 0;
      end if;
      if v_read.problem is not null then
        problem := v_read.problem;
        return;
      elsif v_index > 0 and v_read.dimensions + 1 <> dimensions then
        -- Postgres would write what is too deep as the text of one element.
        problem := format('The argument `%s` mixes elements and arrays, or arrays of several depths.', path);
        return;
      end if;
      dimensions := v_read.dimensions + 1;
      is_changed := is_changed or v_read.is_changed;
      v_elements := v_elements || v_read.result;
      v_index := v_index + 1;
    end loop;
    if is_changed then
      result := to_jsonb(coalesce(v_elements, '{}'));
    end if;

  elsif v_kind = 'object' then
    v_known := fields -> (shape ->> 'fields');
    for v_key, v_part in select e.key, e.value from jsonb_each(result) as e loop
      if not v_known ? v_key then
        problem := format('There is no field `%s.%s`.', path, v_key);
        return;
      end if;
      continue when jsonb_typeof(v_part) = v_known -> v_key ->> 'kind' and not v_known -> v_key ?| array['items', 'fields', 'pattern', 'scale'];
      v_read := chumbo.read_value(v_known -> v_key, fields, v_part, path || '.' || v_key);
      if v_read.problem is not null then
        problem := v_read.problem;
        return;
      end if;
      if v_read.is_changed then
        is_changed := true;
        result := jsonb_set(result, array[v_key], v_read.result);
      end if;
    end loop;
    -- Postgres would leave out what it does not know, and name nothing that is missing.
    select format('The argument `%s.%s` is required.', path, min(f.key)) into problem
    from jsonb_each(v_known) as f
    where f.value ? 'required' and coalesce(result -> f.key, 'null') = 'null'
    having count(*) > 0;
  end if;
end;
$$;
comment on function chumbo.read_value(jsonb, jsonb, jsonb, text, integer) is
  'A value as its shape wants it: arrays and objects that came as JSON text are read, at any depth. problem says what is wrong and where, '
  'before anything runs: another JSON type, an unknown or missing field, digits that would be lost.';
revoke all on function chumbo.read_value(jsonb, jsonb, jsonb, text, integer) from public, anon, authenticated;
grant execute on function chumbo.read_value(jsonb, jsonb, jsonb, text, integer) to service_role, chumbo_runtime;

create or replace function chumbo.call_statement(tool chumbo.capabilities, target oid, arguments jsonb)
  returns text
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_parameter jsonb;
  v_name text;
  v_columns text;
  v_inputs text;
  v_input text;
  v_read record;
  v_changed jsonb;
begin
  -- Every input is written out with its type, so an overload never answers in place of the registered signature. An omitted
  -- one is written as the default that the function declares now. The given ones become a row first, all of it: an inlined
  -- function would leave unread what it does not need, and let a malformed value pass.
  for v_parameter in select p from jsonb_array_elements(tool.parameters) as p loop
    v_name := v_parameter ->> 'name';
    if arguments ? v_name then
      if v_parameter ? 'shape' then
        v_read := chumbo.read_value(v_parameter -> 'shape', v_parameter -> 'fields', arguments -> v_name, v_name);
        if v_read.problem is not null then
          raise exception using errcode = 'PT400', message = 'invalid_arguments', detail = v_read.problem;
        elsif v_read.is_changed then
          v_changed := coalesce(v_changed, '{}') || jsonb_build_object(v_name, v_read.result);
        end if;
      end if;
      v_columns := concat_ws(', ', v_columns, format('%I %s', v_name, v_parameter ->> 'type'));
      v_input := format('input.%I', v_name);
    else
      v_input := format('(%s)::%s', pg_get_function_arg_default(target, (v_parameter ->> 'position')::integer), v_parameter ->> 'type');
    end if;
    v_inputs := concat_ws(', ', v_inputs, case when v_parameter ? 'variadic' then 'variadic ' || v_input else v_input end);
  end loop;

  return format(tool.result_query,
    coalesce(
      'jsonb_to_record($1' || case when v_changed is null then '' else format(' || %L::jsonb', v_changed) end
        || ') as input(' || v_columns || ') cross join lateral ', '')
    || format('%I.%I(%s)', tool.target_schema, tool.target_name, v_inputs));
end;
$$;
comment on function chumbo.call_statement(chumbo.capabilities, oid, jsonb) is
  'The select that calls a registered function with the arguments given, which it takes as $1. Raises invalid_arguments.';
revoke all on function chumbo.call_statement(chumbo.capabilities, oid, jsonb) from public, anon, authenticated;
grant execute on function chumbo.call_statement(chumbo.capabilities, oid, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.is_valid(type text, value jsonb, path text, request jsonb)
  returns boolean
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
begin
  -- As the caller, like the call itself: a domain may run a function of the application to check a value.
  -- Read-only, because it is asked after the call has failed, and a failed call leaves nothing.
  perform set_config('transaction_read_only', 'on', true);
  perform chumbo.run(
    format('select to_jsonb(input is null) from jsonb_to_record($1) as input(value %s)', type),
    jsonb_build_object('value', value), path, request);
  return true;
exception
  -- Not every type reports a bad value as one: a text search query is a syntax error, and a check may fail as it likes.
  when others or assert_failure then return false;
end;
$$;
comment on function chumbo.is_valid(text, jsonb, text, jsonb) is 'Whether a JSON value converts to a type, asked with the rights of the caller.';
revoke all on function chumbo.is_valid(text, jsonb, text, jsonb) from public, anon, authenticated;
grant execute on function chumbo.is_valid(text, jsonb, text, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.find_bad_value(shape jsonb, fields jsonb, value jsonb, place text, path text, request jsonb)
  returns text
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_items jsonb;
  v_key text;
  v_problem text;
  v_low integer := 0;
  v_high integer;
  v_middle integer;
begin
  if chumbo.is_valid(shape ->> 'type', value, path, request) then
    return null;
  end if;

  if jsonb_typeof(value) = 'array' and shape ->> 'kind' = 'array' then
    -- The first element with which the array stops converting, by halving: a long array is not read element by element.
    v_high := jsonb_array_length(value);
    while v_high - v_low > 1 loop
      v_middle := (v_low + v_high) / 2;
      if chumbo.is_valid(shape ->> 'type', jsonb_path_query_array(value, format('$[0 to %s]', v_middle - 1)::jsonpath), path, request) then
        v_low := v_middle;
      else
        v_high := v_middle;
      end if;
    end loop;
    v_items := case when jsonb_typeof(value -> v_low) = 'array' then shape else shape -> 'items' end;
    v_problem := chumbo.find_bad_value(v_items, fields, value -> v_low, format('%s[%s]', place, v_low), path, request);
  elsif jsonb_typeof(value) = 'object' and shape ->> 'kind' = 'object' then
    -- Over an array and not a query, whose cursor would be among those that the body's function closes.
    foreach v_key in array array(select key from jsonb_object_keys(value) as key order by key) loop
      v_problem := chumbo.find_bad_value(
        fields -> (shape ->> 'fields') -> v_key, fields, value -> v_key, place || '.' || v_key, path, request);
      exit when v_problem is not null;
    end loop;
  end if;
  return coalesce(v_problem, format('The argument `%s` is not a valid %s.', place, shape ->> 'type'));
end;
$$;
comment on function chumbo.find_bad_value(jsonb, jsonb, jsonb, text, text, jsonb) is
  'The innermost part of a value that does not convert, as a sentence; null when all of it does.';
revoke all on function chumbo.find_bad_value(jsonb, jsonb, jsonb, text, text, jsonb) from public, anon, authenticated;
grant execute on function chumbo.find_bad_value(jsonb, jsonb, jsonb, text, text, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.find_bad_argument(parameters jsonb, arguments jsonb, path text, request jsonb)
  returns text
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_parameter jsonb;
  v_name text;
  v_read record;
  v_problem text;
begin
  -- Over an array and not a query, whose cursor would be among those that the body's function closes.
  foreach v_parameter in array array(
    select p from jsonb_array_elements(parameters) as p where arguments ? (p ->> 'name') order by (p ->> 'position')::integer
  ) loop
    v_name := v_parameter ->> 'name';
    if v_parameter ? 'shape' then
      v_read := chumbo.read_value(v_parameter -> 'shape', v_parameter -> 'fields', arguments -> v_name, v_name);
      v_problem := coalesce(v_read.problem,
        chumbo.find_bad_value(v_parameter -> 'shape', v_parameter -> 'fields', v_read.result, v_name, path, request));
    elsif not chumbo.is_valid(v_parameter ->> 'type', arguments -> v_name, path, request) then
      v_problem := format('The argument `%s` is not a valid %s.', v_name, v_parameter ->> 'type');
    end if;
    if v_problem is not null then
      return v_problem;
    end if;
  end loop;
  return null;
end;
$$;
comment on function chumbo.find_bad_argument(jsonb, jsonb, text, jsonb) is
  'After a call failed on bad data: the argument that cannot be converted, or the part of it, as a sentence; null when the tool itself failed.';
revoke all on function chumbo.find_bad_argument(jsonb, jsonb, text, jsonb) from public, anon, authenticated;
grant execute on function chumbo.find_bad_argument(jsonb, jsonb, text, jsonb) to service_role, chumbo_runtime;

insert into chumbo.installed (number, name, hash)
values (12, 'types', 'e8ffee9e8c5c0f48bd419d5934f7732026a285794a3e4ef7221414a6111d22f7') -- chumbo.installed
on conflict (number) do update set name = excluded.name, hash = excluded.hash;
-- migrate:down
