-- migrate:up
-- 0013_results.sql — how an answer leaves: five modes, pages of a collection, and a size that is known before it is sent.

-- Split by hand, read by Postgres: each type has to be one that it knows, and what is used later is its own spelling of it.
create or replace function chumbo.parse_columns(columns text)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_pieces text[];
  v_parts text[];
  v_name text;
  v_type oid;
  v_columns jsonb := '[]';
begin
  -- A comma inside quotes or brackets belongs to its column.
  select array_agg(m.piece[1] order by m.place)
  into v_pieces
  from regexp_matches(columns, '((?:"(?:[^"]|"")*"|\([^()"]*\)|[^,()"])+)', 'g') with ordinality as m (piece, place);
  if v_pieces is null or array_to_string(v_pieces, ',') <> columns then
    raise exception using errcode = 'PT400', message = 'invalid_option',
      detail = format('columns is %L, which is no list of columns.', columns), hint = 'Write it like id bigint, title text.';
  end if;

  for i in 1 .. cardinality(v_pieces) loop
    v_parts := regexp_match(v_pieces[i], '^\s*("(?:[^"]|"")+"|[[:alpha:]_][[:alnum:]_$]*)\s+(\S.*?)\s*$');
    begin
      v_name := (parse_ident(v_parts[1]))[1];
      v_type := to_regtype(v_parts[2]);
    exception
      -- What is no name of a type at all is an error and not null.
      when syntax_error or invalid_parameter_value or undefined_object or invalid_name or feature_not_supported then
        v_type := null;
    end;
    if v_name is null or v_type is null or (select t.typtype from pg_catalog.pg_type as t where t.oid = v_type) = 'p' then
      raise exception using errcode = 'PT400', message = 'invalid_option',
        detail = format('columns holds %L, which is no name and type.', btrim(v_pieces[i])),
        hint = 'Write it like id bigint, title text, with the schema in front of a type of your own.';
    end if;
    if v_columns @> jsonb_build_array(jsonb_build_object('name', v_name)) then
      raise exception using errcode = 'PT400', message = 'invalid_option',
        detail = format('columns names %I twice.', v_name), hint = 'Give every column a name of its own.';
    end if;
    v_columns := v_columns || jsonb_build_object('name', v_name, 'type', v_type::bigint);
  end loop;
  return v_columns;
end;
$$;
comment on function chumbo.parse_columns(text) is
  'The columns in a list such as id bigint, title text, as [{name, type}] with the oid of each type. Raises invalid_option.';
revoke all on function chumbo.parse_columns(text) from public, anon, authenticated, service_role;

create or replace function chumbo.result_columns(target regprocedure, columns text)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_proc pg_catalog.pg_proc;
  v_relation oid;
  v_has_outputs boolean;
begin
  select p.* into v_proc from pg_catalog.pg_proc as p where p.oid = target;
  -- A domain over a row type is taken apart by a from clause like that type itself.
  select t.typrelid into v_relation
  from pg_catalog.pg_type as t
  where t.oid = (chumbo.base_type(v_proc.prorettype)).type_id and t.typtype = 'c';
  v_has_outputs := coalesce(v_proc.proargmodes && array['o', 'b', 't']::"char"[], false);

  if columns is not null then
    if v_proc.prorettype <> 'record'::regtype or v_has_outputs then
      raise exception using errcode = 'PT400', message = 'invalid_option',
        detail = format('%s says by itself what it returns, and columns says it again.', target),
        hint = 'Leave columns out.';
    end if;
    return chumbo.parse_columns(columns);
  end if;

  -- Declared outputs first, else the columns of the returned row type.
  if v_has_outputs then
    return (
      select jsonb_agg(jsonb_build_object('name', v_proc.proargnames[i], 'type', v_proc.proallargtypes[i]::bigint) order by i)
      from generate_subscripts(v_proc.proargmodes, 1) as i
      where v_proc.proargmodes[i] in ('o', 'b', 't')
    );
  end if;
  return (
    select jsonb_agg(jsonb_build_object('name', a.attname, 'type', a.atttypid::bigint) order by a.attnum)
    from pg_catalog.pg_attribute as a
    where a.attrelid = v_relation and a.attnum > 0 and not a.attisdropped
  );
end;
$$;
comment on function chumbo.result_columns(regprocedure, text) is
  'The columns of what a function returns as [{name, type}], those declared beside it included; null for anything without columns. Raises invalid_option.';
revoke all on function chumbo.result_columns(regprocedure, text) from public, anon, authenticated, service_role;

-- A json keeps what jsonb cannot hold: an escaped NUL, half a surrogate pair. One such value must not cost its whole list.
create or replace function chumbo.column_expression(type_id oid, value text)
  returns text
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  return case
    -- Postgres can ask without failing from 16 on.
    when type_id in ('json'::regtype, 'json[]'::regtype) and current_setting('server_version_num')::integer >= 160000 then format(
      'case when pg_input_is_valid(to_json(%1$s)::text, ''jsonb'') then to_jsonb(%1$s) else to_jsonb((%1$s)::%2$s) end',
      value, case type_id when 'json'::regtype then 'text' else 'text[]' end)
    else chumbo.json_expression(type_id, value)
  end;
end;
$$;
comment on function chumbo.column_expression(oid, text) is
  'json_expression for one column of a result; a json that jsonb cannot hold leaves as its text.';
revoke all on function chumbo.column_expression(oid, text) from public, anon, authenticated, service_role;

create or replace function chumbo.row_expression(columns jsonb)
  returns text
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_expression text;
begin
  if not exists (
    select from jsonb_array_elements(columns) as c where chumbo.column_expression((c ->> 'type')::oid, 'v') <> 'to_jsonb(v)'
  ) then
    -- t alone would be a column of that name, if there is one.
    return 'to_jsonb(t.*)';
  end if;
  -- A call takes at most a hundred arguments, so fifty columns are one object.
  select string_agg(format('jsonb_build_object(%s)', part.pairs), ' || ' order by part.number)
  into v_expression
  from (
    select (c.place - 1) / 50 as number,
      string_agg(format('%L, %s', c.entry ->> 'name',
        chumbo.column_expression((c.entry ->> 'type')::oid, format('t.%I', c.entry ->> 'name'))), ', ' order by c.place) as pairs
    from jsonb_array_elements(columns) with ordinality as c (entry, place)
    group by (c.place - 1) / 50
  ) as part;
  return v_expression;
end;
$$;
comment on function chumbo.row_expression(jsonb) is 'The SQL that turns a row t of these columns [{name, type}] into jsonb, every digit kept.';
revoke all on function chumbo.row_expression(jsonb) from public, anon, authenticated, service_role;

create or replace function chumbo.describe_result(target regprocedure, row_cap integer, result_mode text, columns text)
  returns table (shape text, query text, schema jsonb)
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_proc pg_catalog.pg_proc;
  v_columns jsonb := chumbo.result_columns(target, columns);
  v_source text := '%s as t';
  v_item text;
  v_item_schema jsonb;
begin
  select p.* into v_proc from pg_catalog.pg_proc as p where p.oid = target;

  if v_proc.prorettype = 'void'::regtype then
    shape := 'void';
    query := 'select jsonb_build_object(''count'', 0, ''value'', null) from %s as t';
    schema := '{"type": "object", "properties": {"result": {"type": "null"}}, "required": ["result"]}';
  elsif v_columns is null and v_proc.prorettype = 'record'::regtype then
    raise exception using errcode = 'PT400', message = 'undeclared_result',
      detail = format('%s returns record without saying which columns.', target),
      hint = 'Declare them with returns table (…), with out parameters, or with columns => ''id bigint, title text''.';
  elsif v_columns is null and chumbo.type_schema(v_proc.prorettype) is null then
    raise exception using errcode = 'PT400', message = 'unsupported_result',
      detail = format('%s returns %s, which cannot be described to a client.', target, format_type(v_proc.prorettype, null)),
      hint = 'Return a scalar, jsonb, a row or a table.';
  else
    if describe_result.columns is not null then
      select format('%s (%s)', v_source, string_agg(format('%I %s', c ->> 'name', format_type((c ->> 'type')::oid, -1)), ', '))
      into v_source
      from jsonb_array_elements(v_columns) as c;
      -- The query is a format template, and a column may be called "50%".
      v_source := '%s' || replace(substr(v_source, 3), '%', '%%');
    elsif v_columns is null then
      v_source := v_source || ' (value)';
    elsif jsonb_array_length(v_columns) = 1 and chumbo.type_kind(v_proc.prorettype) = 'object'
      and (v_columns #>> '{0,type}')::oid = v_proc.prorettype
    then
      -- A single output of a row type is what the function returns, and a from clause takes it apart: here it is put together.
      v_source := format('(select case when (t.*) is null then null else t.* end as %I from %%s as t) as t', replace(v_columns #>> '{0,name}', '%', '%%'));
    end if;

    select
      case when v_columns is null then min(s.schema::text)::jsonb
        else jsonb_build_object('type', 'object', 'properties', jsonb_object_agg(c.entry ->> 'name', s.schema), 'required', jsonb_agg(c.entry -> 'name'))
      end
    into v_item_schema
    from jsonb_array_elements(coalesce(v_columns, jsonb_build_array(jsonb_build_object('name', '', 'type', v_proc.prorettype::bigint)))) as c (entry)
    cross join lateral (
      select coalesce(chumbo.value_schema((c.entry ->> 'type')::oid), '{}') as schema
    ) as s;
    v_item := replace(
      case when v_columns is null then chumbo.column_expression(v_proc.prorettype, 't.value') else chumbo.row_expression(v_columns) end,
      '%', '%%');

    if v_proc.proretset then
      shape := 'rows';
      -- One row more than the cap tells that there was more.
      query := 'select jsonb_build_object(''count'', count(*), ''value'', coalesce(jsonb_agg(' || v_item || '), ''[]'')) '
        || 'from (select t.* from ' || v_source || ' limit ' || row_cap + 1 || ') as t';
      schema := jsonb_build_object('type', 'object',
        'properties', jsonb_build_object('rows', jsonb_build_object('type', 'array', 'items', v_item_schema),
          'truncated', jsonb_build_object('type', 'boolean')),
        'required', jsonb_build_array('rows'));
    elsif v_columns is not null then
      shape := 'row';
      -- A row of nulls is what a function without a match returns. The inner select makes a row of a single out parameter too.
      query := 'select jsonb_build_object(''count'', case when (t.*) is null then 0 else 1 end, '
        || '''value'', case when not ((t.*) is null) then ' || v_item || ' end) from (select t.* from ' || v_source || ') as t';
      schema := jsonb_build_object('type', 'object', 'properties', v_item_schema -> 'properties');
    else
      shape := case when v_proc.prorettype in ('json'::regtype, 'jsonb'::regtype) then 'json' else 'scalar' end;
      query := 'select jsonb_build_object(''count'', case when t.value is null then 0 else 1 end, ''value'', ' || v_item || ') from ' || v_source;
      schema := case shape when 'json' then '{"type": "object"}'
        else jsonb_build_object('type', 'object',
          'properties', jsonb_build_object('result', v_item_schema), 'required', jsonb_build_array('result')) end;
    end if;
  end if;

  if result_mode = 'collection' then
    if shape <> 'rows' or v_columns is null then
      raise exception using errcode = 'PT400', message = 'unsupported_result',
        detail = format('%s returns no rows with columns, and a collection is made of those.', target),
        hint = 'Return a table, or leave out result => ''collection''.';
    end if;
    query := chumbo.page_query(v_source, v_item, chumbo.largest_page(row_cap));
    schema := jsonb_build_object('type', 'object',
      'properties', jsonb_build_object(
        'items', jsonb_build_object('type', 'array', 'items', v_item_schema, 'maxItems', chumbo.largest_page(row_cap)),
        'has_more', '{"type": "boolean"}'::jsonb,
        'next_cursor', '{"type": ["string", "null"], "maxLength": 2048}'::jsonb,
        'next_call', '{"type": ["object", "null"], "properties": {"tool": {"type": "string"}, "arguments": {"type": "object"}},
          "required": ["tool", "arguments"]}'::jsonb),
      'required', '["items", "has_more", "next_cursor", "next_call"]'::jsonb);
  elsif result_mode in ('text', 'mcp') then
    schema := null;
  end if;
  return next;
end;
$$;
comment on function chumbo.describe_result(regprocedure, integer, text, text) is
  'How the answer of a function leaves in a mode: its shape, the select around the call, its output schema, which text and mcp have none of. '
  'Raises undeclared_result, unsupported_result, invalid_option.';
revoke all on function chumbo.describe_result(regprocedure, integer, text, text) from public, anon, authenticated, service_role;
drop function if exists chumbo.describe_result(regprocedure, integer);

create or replace function chumbo.largest_page(row_cap integer)
  returns integer
  language sql immutable
  security invoker
  set search_path = ''
as $$
  select least(row_cap, 100)
$$;
comment on function chumbo.largest_page(integer) is 'The most items a page of a collection may have: a hundred, or the row cap of the tool.';
revoke all on function chumbo.largest_page(integer) from public, anon, authenticated, service_role;

-- A page has 1 MiB at most, so what lies beyond is not read, however large. The row that crosses the line, and it may be the
-- first, keeps what is short: enough to name it and to go on after it.
create or replace function chumbo.page_query(source text, item text, largest integer)
  returns text
  language sql immutable
  security invoker
  set search_path = ''
as $$
  select 'select jsonb_build_object(''count'', count(*), ''whole'', count(*) filter (where t.total <= 1048576), ''value'', coalesce(jsonb_agg('
    || 'case when t.total <= 1048576 then t.item '
    || 'else (select coalesce(jsonb_object_agg(e.key, e.value), ''{}'') from jsonb_each(t.item) as e where octet_length(e.value::text) <= 1600) end '
    || 'order by t.position) filter (where t.total - t.bytes <= 1048576), ''[]'')) from ('
    || 'select t.item, t.bytes, t.position, sum(t.bytes) over (order by t.position) as total from ('
    || 'select t.item, t.position, octet_length(t.item::text)::bigint as bytes from ('
    || 'select ' || item || ' as item, row_number() over () as position from (select t.* from ' || source || ' limit ' || largest + 1
    || ') as t offset 0) as t offset 0) as t) as t'
$$;
comment on function chumbo.page_query(text, text, integer) is
  'The select of a collection: {count, whole, value}, where the first whole items of value are complete and the next one is shortened.';
revoke all on function chumbo.page_query(text, text, integer) from public, anon, authenticated, service_role;

create or replace function chumbo.render_query(query text, result_shape text, row_cap integer, render regprocedure)
  returns text
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_shaped text;
begin
  if render is null then
    return render_query.query;
  end if;
  v_shaped := case
    when result_shape = 'rows' then format(
      'case when (q.answer ->> ''count'')::integer > %1$s then jsonb_build_object(''rows'', (q.answer -> ''value'') - %1$s, ''truncated'', true) '
      'else jsonb_build_object(''rows'', q.answer -> ''value'') end', row_cap)
    when result_shape in ('scalar', 'void') then 'jsonb_build_object(''result'', q.answer -> ''value'')'
    else 'case when jsonb_typeof(q.answer -> ''value'') = ''object'' then q.answer -> ''value'' '
      'else jsonb_build_object(''result'', q.answer -> ''value'') end'
  end;
  -- Materialized, so that the call and the shape are each made once, and rendering comes after both.
  return 'with q (answer) as materialized (' || query || '), s as materialized (select q.answer, ' || v_shaped || ' as shaped from q) '
    || 'select jsonb_build_object(''count'', s.answer -> ''count'', ''value'', s.shaped, ''text'', '
    || replace((select format('%I.%I', n.nspname, p.proname) from pg_catalog.pg_proc as p
      join pg_catalog.pg_namespace as n on n.oid = p.pronamespace where p.oid = render), '%', '%%')
    || '(s.shaped)) from s';
end;
$$;
comment on function chumbo.render_query(text, text, integer, regprocedure) is
  'The query of describe_result with its answer rendered by a function (jsonb) returns text, in the same statement and as the caller: '
  '{count, value as it is structured, text}. Without a function, the query itself.';
revoke all on function chumbo.render_query(text, text, integer, regprocedure) from public, anon, authenticated, service_role;

create or replace function chumbo.check_result_options(target regprocedure, result_mode text, render regprocedure, cursor_key text[], max_bytes integer)
  returns void
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_proc pg_catalog.pg_proc;
  v_render pg_catalog.pg_proc;
  v_problem text;
  v_hint text;
begin
  select p.* into v_proc from pg_catalog.pg_proc as p where p.oid = target;
  select p.* into v_render from pg_catalog.pg_proc as p where p.oid = check_result_options.render;

  select c.problem, c.hint
  into v_problem, v_hint
  from (values
    (1, coalesce(result_mode, '') not in ('structured', 'text', 'hybrid', 'collection', 'mcp'),
      format('result is %s.', coalesce(quote_literal(result_mode), 'null')), 'Use structured, text, hybrid, collection or mcp.'),
    (2, v_render.oid is not null and result_mode not in ('text', 'hybrid'),
      format('render has no use where result is %L.', result_mode), 'Leave it out, or use text or hybrid.'),
    (3, v_render.oid is null and result_mode = 'hybrid',
      'A hybrid result needs a function that writes its text.', 'Name one with render => …; it takes jsonb and returns text.'),
    (4, v_render.oid is null and result_mode = 'text'
        and (v_proc.proretset or (select t.typcategory from pg_catalog.pg_type as t where t.oid = v_proc.prorettype) <> 'S'),
      format('%s returns no text, and nothing turns its result into one.', target), 'Return one text, or name a function with render => …'),
    (5, v_render.prokind <> 'f' or v_render.proretset or v_render.pronargs <> 1
        or v_render.proargtypes[0] <> 'jsonb'::regtype or v_render.prorettype <> 'text'::regtype or v_render.provariadic <> 0,
      format('%s cannot render a result: it has to take one jsonb and return one text.', check_result_options.render),
      'Wrap it in a function (jsonb) returns text.'),
    (6, cursor_key is not null and result_mode <> 'collection',
      format('cursor has no use where result is %L.', result_mode), 'Leave it out, or use result => ''collection''.'),
    (7, result_mode = 'collection'
        and (coalesce(cardinality(cursor_key), 0) not between 1 and 8 or array_position(cursor_key, null) is not null
          or (select count(distinct k) from unnest(cursor_key) as k) <> cardinality(cursor_key)),
      'A collection needs the columns it is ordered by, one to eight and none of them twice.',
      'Name them with cursor => array[''created_at'', ''id'']; together they have to tell any two rows apart.'),
    (8, result_mode = 'collection' and v_proc.provolatile = 'v',
      format('%s is volatile, and the pages of a collection are only read.', target), 'Declare it stable.'),
    (9, result_mode = 'mcp' and (v_proc.proretset or v_proc.prorettype not in ('json'::regtype, 'jsonb'::regtype)),
      format('%s does not return one jsonb, and that is what a full result is.', target), 'Return jsonb, or leave result out.'),
    (10, result_mode = 'collection' and max_bytes not between 512 and 1048576,
      format('max_bytes is %s.', max_bytes), 'A page may have 512 to 1048576 bytes.'),
    (11, max_bytes not between 512 and 4194304, format('max_bytes is %s.', max_bytes), 'A result may have 512 to 4194304 bytes.')
  ) as c (number, applies, problem, hint)
  where c.applies
  order by c.number
  limit 1;
  if v_problem is null and result_mode = 'collection' then
    select c.problem, c.hint into v_problem, v_hint from chumbo.find_collection_fault(target, cursor_key) as c;
  end if;

  if v_problem is not null then
    raise exception using errcode = 'PT400', message = 'invalid_option', detail = v_problem, hint = v_hint;
  end if;
  if v_render.oid is not null and not has_function_privilege('authenticated', v_render.oid, 'execute') then
    raise warning 'authenticated may not execute %, so every call will be refused; grant execute on function % to authenticated;',
      check_result_options.render, check_result_options.render;
  end if;
end;
$$;
comment on function chumbo.check_result_options(regprocedure, text, regprocedure, text[], integer) is
  'Raises invalid_option unless this function can answer in this mode; warns when callers may not execute the function that renders.';
revoke all on function chumbo.check_result_options(regprocedure, text, regprocedure, text[], integer) from public, anon, authenticated, service_role;

create or replace function chumbo.find_collection_fault(target regprocedure, cursor_key text[], out problem text, out hint text)
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_columns jsonb := chumbo.result_columns(target, null);
  v_missing text;
  v_parameter record;
begin
  -- The columns of a record are declared beside the function, and are looked for when it runs.
  select min(k) into v_missing
  from unnest(cursor_key) as k
  where v_columns is not null and not v_columns @> jsonb_build_array(jsonb_build_object('name', k));
  if v_missing is not null then
    problem := format('%s returns no column %I, by which it is said to be ordered.', target, v_missing);
    hint := 'Return every column named in cursor.';
    return;
  end if;

  for v_parameter in
    select wanted.name, found.type_id, found.is_optional, t.typtype
    from unnest(array['limit', 'cursor']) as wanted (name)
    left join (
      select a.name, a.type_id, row_number() over (order by a.place) > p.pronargs - p.pronargdefaults as is_optional
      from pg_catalog.pg_proc as p
      cross join lateral unnest(coalesce(p.proallargtypes, p.proargtypes::oid[]), p.proargnames, p.proargmodes)
        with ordinality as a (type_id, name, mode, place)
      where p.oid = target and coalesce(a.mode, 'i') in ('i', 'b', 'v')
    ) as found on found.name = wanted.name
    left join pg_catalog.pg_type as t on t.oid = found.type_id
  loop
    if v_parameter.type_id is null then
      problem := format('%s has no parameter "%s".', target, v_parameter.name);
      hint := 'A collection takes "limit" integer and "cursor" jsonb default null.';
    elsif v_parameter.name = 'limit' and v_parameter.type_id not in ('int4'::regtype, 'int8'::regtype) then
      problem := format('The parameter "limit" of %s is no integer.', target);
      hint := 'Declare it as "limit" integer.';
    elsif v_parameter.name = 'cursor' and not v_parameter.is_optional then
      problem := format('The parameter "cursor" of %s has no default, and the first page has no cursor.', target);
      hint := 'Declare it as "cursor" jsonb default null.';
    elsif v_parameter.name = 'cursor' and v_parameter.type_id not in ('json'::regtype, 'jsonb'::regtype)
      and v_parameter.typtype <> 'c' and cardinality(cursor_key) > 1 then
      problem := format('The parameter "cursor" of %s is %s, which cannot hold %s columns.', target,
        format_type(v_parameter.type_id, null), cardinality(cursor_key));
      hint := 'Declare it as "cursor" jsonb default null, or as a row type with these columns.';
    end if;
    exit when problem is not null;
  end loop;
end;
$$;
comment on function chumbo.find_collection_fault(regprocedure, text[]) is
  'Why a function cannot be read page by page in the order of these columns, and what to do; nulls when it can.';
revoke all on function chumbo.find_collection_fault(regprocedure, text[]) from public, anon, authenticated, service_role;

create or replace function chumbo.collection_parameters(parameters jsonb, row_cap integer)
  returns jsonb
  language sql immutable
  security invoker
  set search_path = ''
as $$
  select coalesce(jsonb_agg(
    case p.entry ->> 'name'
      when 'limit' then p.entry - array['shape', 'fields'] || jsonb_build_object('kind', 'number', 'required', false, 'schema', jsonb_build_object(
          'type', 'integer', 'minimum', 1, 'maximum', chumbo.largest_page(row_cap),
          'default', case
            when jsonb_typeof(p.entry #> '{schema,default}') = 'number'
              and (p.entry #>> '{schema,default}')::numeric between 1 and chumbo.largest_page(row_cap)
              then p.entry #> '{schema,default}'
            else to_jsonb(least(20, chumbo.largest_page(row_cap)))
          end,
          'description', coalesce(p.entry #>> '{schema,description}', 'How many items to return at most.')))
      -- Clients hand back a text that only Chumbo reads; the function gets what was in it.
      when 'cursor' then p.entry - array['shape', 'fields'] || jsonb_build_object('kind', 'string', 'required', false,
        'takes', case when p.entry ->> 'kind' in ('any', 'object') then 'columns' else 'value' end,
        'schema', jsonb_build_object('type', 'string', 'maxLength', 2048,
          'description', 'The next_cursor of the page before; leave it out for the first page.'))
      else p.entry
    end order by p.place), '[]')
  from jsonb_array_elements(parameters) with ordinality as p (entry, place)
$$;
comment on function chumbo.collection_parameters(jsonb, integer) is
  'What describe_parameters said of a collection, with limit and cursor as clients see them.';
revoke all on function chumbo.collection_parameters(jsonb, integer) from public, anon, authenticated, service_role;

create or replace function chumbo.collection_limit(tool chumbo.capabilities, arguments jsonb)
  returns integer
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_schema jsonb := tool.input_schema #> '{properties,limit}';
  v_limit text := coalesce(arguments ->> 'limit', v_schema ->> 'default', '20');
begin
  if v_limit !~ '^[0-9]{1,3}$' or v_limit::integer not between 1 and coalesce((v_schema ->> 'maximum')::integer, 100) then
    raise exception using errcode = 'PT400', message = 'invalid_arguments',
      detail = format('The argument `limit` must be a whole number from 1 to %s.', coalesce(v_schema ->> 'maximum', '100')),
      hint = 'Ask for fewer items, and for the rest with next_cursor.';
  end if;
  return v_limit::integer;
end;
$$;
comment on function chumbo.collection_limit(chumbo.capabilities, jsonb) is
  'How many items a call of a collection asks for. Raises invalid_arguments.';
revoke all on function chumbo.collection_limit(chumbo.capabilities, jsonb) from public, anon, authenticated;
grant execute on function chumbo.collection_limit(chumbo.capabilities, jsonb) to service_role, chumbo_runtime;

-- No secret goes in: a cursor grants nothing, for every page is read with the caller's own rights. What it has to do is end
-- nowhere but in the list that it began in.
create or replace function chumbo.seal_cursor(tool chumbo.capabilities, key_text bytea, arguments jsonb, request jsonb)
  returns bytea
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
begin
  return substr(sha256(convert_to(jsonb_build_array(
    tool.server_id, tool.name, tool.target, tool.cursor_key, request ->> 'subject', request ->> 'client_id',
    arguments - array['limit', 'cursor'])::text, 'UTF8') || '\x00'::bytea || key_text), 1, 16);
end;
$$;
comment on function chumbo.seal_cursor(chumbo.capabilities, bytea, jsonb, jsonb) is
  'The sixteen bytes by which a cursor belongs to one tool, one caller and one set of filters.';
revoke all on function chumbo.seal_cursor(chumbo.capabilities, bytea, jsonb, jsonb) from public, anon, authenticated;
grant execute on function chumbo.seal_cursor(chumbo.capabilities, bytea, jsonb, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.write_cursor(tool chumbo.capabilities, key jsonb, arguments jsonb, request jsonb)
  returns text
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
declare
  v_text bytea := convert_to(key::text, 'UTF8');
begin
  return translate(encode(chumbo.seal_cursor(tool, v_text, arguments, request) || v_text, 'base64'), E'+/=\n', '-_');
end;
$$;
comment on function chumbo.write_cursor(chumbo.capabilities, jsonb, jsonb, jsonb) is
  'The cursor of the row with this key, an array in the order of cursor_key: text of letters, digits, - and _.';
revoke all on function chumbo.write_cursor(chumbo.capabilities, jsonb, jsonb, jsonb) from public, anon, authenticated;
grant execute on function chumbo.write_cursor(chumbo.capabilities, jsonb, jsonb, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.read_cursor(tool chumbo.capabilities, arguments jsonb, request jsonb)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_cursor text := arguments ->> 'cursor';
  v_bytes bytea;
begin
  if v_cursor is null then
    return null;
  end if;
  -- One character cannot stand alone in base64, and without = at the end every other text of its letters is some bytes.
  if length(v_cursor) between 24 and 2048 and length(v_cursor) % 4 <> 1 and v_cursor ~ '^[A-Za-z0-9_-]+$' then
    v_bytes := decode(rpad(translate(v_cursor, '-_', '+/'), (length(v_cursor) + 3) / 4 * 4, '='), 'base64');
    if substr(v_bytes, 1, 16) = chumbo.seal_cursor(tool, substr(v_bytes, 17), arguments, request) then
      return convert_from(substr(v_bytes, 17), 'UTF8')::jsonb;
    end if;
  end if;
  raise exception using errcode = 'PT400', message = 'invalid_cursor',
    detail = 'The cursor does not belong to this list: it is of another tool, another caller or other filters, or not whole.',
    hint = format('Repeat the arguments and the cursor of next_call unchanged, or call %s without a cursor to begin again.', tool.name);
end;
$$;
comment on function chumbo.read_cursor(chumbo.capabilities, jsonb, jsonb) is
  'The key in the cursor of a call, null without one. Raises invalid_cursor.';
revoke all on function chumbo.read_cursor(chumbo.capabilities, jsonb, jsonb) from public, anon, authenticated;
grant execute on function chumbo.read_cursor(chumbo.capabilities, jsonb, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.collection_arguments(tool chumbo.capabilities, arguments jsonb, request jsonb)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_key jsonb := chumbo.read_cursor(tool, arguments, request);
begin
  return (arguments - 'cursor')
    -- One more than asked for tells whether there are more.
    || jsonb_build_object('limit', chumbo.collection_limit(tool, arguments) + 1)
    || case
      when v_key is null then '{}'
      when tool.parameters @> '[{"name": "cursor", "takes": "value"}]' then jsonb_build_object('cursor', v_key -> 0)
      else jsonb_build_object('cursor', (
        select jsonb_object_agg(k.name, v_key -> (k.place - 1)::integer)
        from unnest(tool.cursor_key) with ordinality as k (name, place)
      ))
    end;
end;
$$;
comment on function chumbo.collection_arguments(chumbo.capabilities, jsonb, jsonb) is
  'The arguments that the function of a collection gets: one item more than the client asked for, and the key that its cursor held. '
  'Raises invalid_cursor, invalid_arguments.';
revoke all on function chumbo.collection_arguments(chumbo.capabilities, jsonb, jsonb) from public, anon, authenticated;
grant execute on function chumbo.collection_arguments(chumbo.capabilities, jsonb, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.compact_json(value jsonb)
  returns text
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
begin
  -- A string is kept whole; outside of strings jsonb writes no space that means anything.
  return regexp_replace(value::text, '("(?:[^"\\]|\\.)*")| ', '\1', 'g');
end;
$$;
comment on function chumbo.compact_json(jsonb) is 'A value as JSON text without a space between its parts, as it travels.';
revoke all on function chumbo.compact_json(jsonb) from public, anon, authenticated;
grant execute on function chumbo.compact_json(jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.whole_result(structured text)
  returns text
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  return '{"content":[{"type":"text","text":' || to_json(structured)::text || '}],"structuredContent":' || structured || '}';
end;
$$;
comment on function chumbo.whole_result(text) is 'A complete result of the protocol around structured content, with the same text beside it.';
revoke all on function chumbo.whole_result(text) from public, anon, authenticated;
grant execute on function chumbo.whole_result(text) to service_role, chumbo_runtime;

create or replace function chumbo.collection_page(
  tool chumbo.capabilities, answer jsonb, arguments jsonb, request jsonb,
  out result text, out row_count integer, out truncated boolean, out error jsonb
)
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_limit integer := chumbo.collection_limit(tool, arguments);
  v_budget integer := coalesce(tool.max_bytes, 16384);
  v_count integer := (answer ->> 'count')::integer;
  v_whole integer := (answer ->> 'whole')::integer;
  v_most integer := least(v_limit, v_whole);
  v_is_compact boolean;
  v_after jsonb := chumbo.read_cursor(tool, arguments, request);
  v_takes_nulls boolean := not tool.parameters @> '[{"name": "cursor", "takes": "value"}]';
  v_keys jsonb[];
  v_texts text[];
  v_sizes integer[];
  v_problem text;
  v_cursor text;
  v_next text;
  v_tail text;
begin
  -- As Postgres writes it, where that fits; without a needless space, which takes time to find, where every byte counts.
  foreach v_is_compact in array array[false, true] loop
    -- The keys of all rows, the text of those that may be given, and the bytes that each adds to both forms of the page.
    select array_agg(i.key order by i.place), array_agg(i.text order by i.place), array_agg(i.size order by i.place)
    into v_keys, v_texts, v_sizes
    from (
      select t.place, t.key, t.text,
        sum(octet_length(t.text) + octet_length(to_json(t.text)::text)) over (order by t.place)::integer as size
      from (
        select e.place,
          -- Null where a column is missing: it is too long to be a key, or the function returns it no longer.
          case when e.item ?& tool.cursor_key then
            (select jsonb_agg(e.item -> k.name order by k.place) from unnest(tool.cursor_key) with ordinality as k (name, place))
          end as key,
          case when e.place <= v_most then case when v_is_compact then chumbo.compact_json(e.item) else e.item::text end end as text
        from jsonb_array_elements(answer -> 'value') with ordinality as e (item, place)
      ) as t
    ) as i;

    v_problem := case
      when v_keys[1] is null and v_whole > 0 then 'the function does not return the columns by which it is said to be ordered'
      when v_after = any (v_keys) then 'the function returned the item after which it was to go on'
      when v_count = 0 and v_after @> '[null]' then 'nothing comes after an item whose key holds a null'
    end;
    exit when v_problem is not null;

    -- The most items whose page fits. A page ends after an item that the next one can be told apart from by its key.
    for n in reverse v_most .. case when v_is_compact then least(v_count, 1) else v_most end loop
      continue when v_sizes[n] > v_budget;
      v_cursor := null;
      v_next := null;
      if n < v_count then
        continue when n = 0 or v_keys[n] is null or v_keys[n] = v_keys[n + 1] or v_keys[n] @> '[null]' and not v_takes_nulls;
        v_cursor := chumbo.write_cursor(tool, v_keys[n], arguments, request);
        continue when length(v_cursor) > 2048;
        v_next := chumbo.next_call(tool, arguments, v_limit, v_cursor);
      end if;
      v_tail := format('],"has_more":%s,"next_cursor":%s,"next_call":%s}',
        (n < v_count)::text, coalesce('"' || v_cursor || '"', 'null'), coalesce(v_next, 'null'));
      -- In each form n - 1 commas come in between, and the two quotes around each item as a string do not.
      if octet_length(chumbo.whole_result('{"items":[' || v_tail)) + coalesce(v_sizes[n] - 2, 0) <= v_budget then
        result := chumbo.whole_result('{"items":[' || coalesce(array_to_string(v_texts[1:n], ','), '') || v_tail);
        row_count := n;
        truncated := n < least(v_limit, v_count);
        return;
      end if;
    end loop;
  end loop;

  row_count := 0;
  truncated := false;
  error := chumbo.collection_error(tool, v_keys, v_problem, arguments, request);
end;
$$;
comment on function chumbo.collection_page(chumbo.capabilities, jsonb, jsonb, jsonb) is
  'The page that a call of a collection gets, as a complete result, or why there is none: {code, message, hint, next_cursor, next_call}.';
revoke all on function chumbo.collection_page(chumbo.capabilities, jsonb, jsonb, jsonb) from public, anon, authenticated;
grant execute on function chumbo.collection_page(chumbo.capabilities, jsonb, jsonb, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.next_call(tool chumbo.capabilities, arguments jsonb, page_size integer, next_cursor text)
  returns text
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  return chumbo.compact_json(jsonb_build_object('tool', tool.name,
    'arguments', arguments || jsonb_build_object('limit', page_size, 'cursor', next_cursor)));
end;
$$;
comment on function chumbo.next_call(chumbo.capabilities, jsonb, integer, text) is
  'The call that fetches the page after a cursor, as JSON text: the same filters, the same limit.';
revoke all on function chumbo.next_call(chumbo.capabilities, jsonb, integer, text) from public, anon, authenticated;
grant execute on function chumbo.next_call(chumbo.capabilities, jsonb, integer, text) to service_role, chumbo_runtime;

create or replace function chumbo.collection_error(tool chumbo.capabilities, keys jsonb[], problem text, arguments jsonb, request jsonb)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_cursor text;
  v_next text;
begin
  if problem is not null then
    return jsonb_build_object('code', 'collection_stuck', 'message', format('The list cannot go on: %s.', problem));
  end if;
  if keys[1] = keys[2] then
    return jsonb_build_object('code', 'collection_stuck', 'message',
      'The list cannot go on: more items than fit into a page share one key, so no cursor could tell them apart.');
  end if;

  -- The first item is too large, or what has to stand beside it: its cursor, or the filters that next_call repeats.
  if keys[1] is not null and not (keys[1] @> '[null]' and tool.parameters @> '[{"name": "cursor", "takes": "value"}]') then
    v_cursor := chumbo.write_cursor(tool, keys[1], arguments, request);
    v_cursor := case when length(v_cursor) <= 2048 then v_cursor end;
    v_next := chumbo.next_call(tool, arguments, chumbo.collection_limit(tool, arguments), v_cursor);
  end if;
  return jsonb_strip_nulls(jsonb_build_object(
    'code', 'item_too_large',
    'message', format('The next item%s does not fit into a page of %s bytes together with what leads on from it.',
      coalesce(' (' || left(array_to_string(tool.cursor_key, ', ') || ' = ' || array_to_string(
        array(select coalesce(v, 'null') from jsonb_array_elements_text(keys[1]) as v), ', '), 200) || ')', ''),
      coalesce(tool.max_bytes, 16384)),
    'hint', case when v_cursor is not null
      then format('To go on after it, call %s with the same arguments and the cursor %s.', tool.name, v_cursor)
      else 'Use other filters that leave it out.' end,
    'next_cursor', v_cursor,
    'next_call', case when v_cursor is not null and octet_length(v_next) <= 4096 then v_next end));
end;
$$;
comment on function chumbo.collection_error(chumbo.capabilities, jsonb[], text, jsonb, jsonb) is
  'Why a collection gives no page: collection_stuck, or item_too_large with the cursor that goes past the item. Bounded, whatever the rows hold.';
revoke all on function chumbo.collection_error(chumbo.capabilities, jsonb[], text, jsonb, jsonb) from public, anon, authenticated;
grant execute on function chumbo.collection_error(chumbo.capabilities, jsonb[], text, jsonb, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.find_block_fault(block jsonb)
  returns text
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_resource jsonb := block -> 'resource';
  v_wanted text[];
  v_missing text;
begin
  v_wanted := case block ->> 'type'
    when 'text' then '{text}'
    when 'image' then '{data,mimeType}'
    when 'audio' then '{data,mimeType}'
    when 'resource_link' then '{uri,name}'
    when 'resource' then '{}'
  end;
  if jsonb_typeof(block) <> 'object' or v_wanted is null then
    return 'is no block of text, image, audio, resource_link or resource';
  end if;

  select min(w) into v_missing from unnest(v_wanted) as w where coalesce(jsonb_typeof(block -> w), '') <> 'string';
  if v_missing is not null then
    return format('is %s without a string %s', block ->> 'type', v_missing);
  end if;
  if block ->> 'type' = 'resource' and (coalesce(jsonb_typeof(v_resource -> 'uri'), '') <> 'string'
    or coalesce(jsonb_typeof(v_resource -> 'text'), '') <> 'string' and coalesce(jsonb_typeof(v_resource -> 'blob'), '') <> 'string') then
    return 'is resource without a resource of uri and text or blob';
  end if;
  if not coalesce(chumbo.is_base64(coalesce(block ->> 'data', v_resource ->> 'blob')), true) then
    return 'holds data that is not base64';
  end if;
  -- Optional fields of the wrong type make a client refuse the whole result.
  if exists (
    select from jsonb_each(block) as f
    where f.key in ('title', 'description', 'mimeType') and jsonb_typeof(f.value) <> 'string'
      or f.key = 'size' and jsonb_typeof(f.value) <> 'number'
      or f.key = 'icons' and chumbo.find_icon_fault(f.value) is not null
      or f.key in ('annotations', '_meta') and jsonb_typeof(f.value) <> 'object'
  )
  or coalesce(jsonb_typeof(v_resource -> 'mimeType'), 'string') <> 'string'
  or coalesce(jsonb_typeof(v_resource -> '_meta'), 'object') <> 'object'
  or coalesce(jsonb_typeof(block #> '{_meta,io.modelcontextprotocol/related-task}'), 'object') <> 'object'
  or chumbo.find_annotation_fault('block', block -> 'annotations') is not null then
    return 'has an optional field of another type than the protocol gives it';
  end if;
  return null;
end;
$$;
comment on function chumbo.find_block_fault(jsonb) is 'What is wrong with a content block of a result, to stand after its place; null when nothing is.';
revoke all on function chumbo.find_block_fault(jsonb) from public, anon, authenticated;
grant execute on function chumbo.find_block_fault(jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.is_base64(text text)
  returns boolean
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
declare
  -- encode() breaks its lines, and readers of base64 pass over that.
  v_text text := translate(is_base64.text, E' \n\r\t', '');
begin
  return v_text ~ '^[A-Za-z0-9+/]*={0,2}$' and case when v_text like '%=' then length(v_text) % 4 = 0 else length(v_text) % 4 <> 1 end;
end;
$$;
comment on function chumbo.is_base64(text) is 'Whether a text is base64; null for null.';
revoke all on function chumbo.is_base64(text) from public, anon, authenticated;
grant execute on function chumbo.is_base64(text) to service_role, chumbo_runtime;

create or replace function chumbo.find_result_fault(value jsonb)
  returns text
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_fault text;
begin
  if coalesce(jsonb_typeof(value), 'null') <> 'object' then
    return 'It is no object.';
  end if;
  v_fault := (select min(k) from jsonb_object_keys(value) as k where k not in ('content', 'structuredContent', 'isError', '_meta'));
  if v_fault is not null then
    return format('It has %L beside content, structuredContent, isError and _meta.', v_fault);
  end if;
  if coalesce(jsonb_typeof(value -> 'content'), '') <> 'array' then
    return 'Its content is no array.';
  end if;
  if coalesce(jsonb_typeof(value -> 'structuredContent'), 'object') <> 'object' then
    return 'Its structuredContent is no object.';
  end if;
  if coalesce(jsonb_typeof(value -> 'isError'), 'boolean') <> 'boolean' then
    return 'Its isError is no boolean.';
  end if;
  if coalesce(jsonb_typeof(value -> '_meta'), 'object') <> 'object' then
    return 'Its _meta is no object.';
  end if;
  if coalesce(jsonb_typeof(value #> '{_meta,io.modelcontextprotocol/related-task}'), 'object') <> 'object' then
    return 'Its _meta holds a related task that is no object.';
  end if;
  -- What stands there is Chumbo's own word, such as the code of an error.
  if exists (select from jsonb_object_keys(value -> '_meta') as k where k like 'dev.chumbo/%') then
    return 'Its _meta uses a key of dev.chumbo/.';
  end if;
  return (
    select format('content[%s] %s.', b.place - 1, chumbo.find_block_fault(b.block))
    from jsonb_array_elements(value -> 'content') with ordinality as b (block, place)
    where chumbo.find_block_fault(b.block) is not null
    order by b.place
    limit 1
  );
end;
$$;
comment on function chumbo.find_result_fault(jsonb) is
  'Why a value is not a full result of a tool that clients take, as a sentence; null when it is one.';
revoke all on function chumbo.find_result_fault(jsonb) from public, anon, authenticated;
grant execute on function chumbo.find_result_fault(jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.check_answer(capability chumbo.capabilities, answer jsonb)
  returns void
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_fault text;
begin
  if capability.result_mode <> 'collection' and octet_length(answer::text) > capability.max_bytes then
    raise exception using errcode = 'PT413', message = 'result_too_large',
      detail = format('The result is larger than %s bytes, so nothing was changed and nothing is returned.', capability.max_bytes),
      hint = 'Ask for less in one call.';
  end if;
  if capability.result_mode = 'mcp' then
    v_fault := chumbo.find_result_fault(answer -> 'value');
    if v_fault is not null then
      raise exception using errcode = 'PT500', message = 'invalid_result',
        detail = format('The tool returned something that is no result, so nothing was changed. %s', v_fault),
        hint = 'Its author has to correct it.';
    end if;
    -- Undone like every other failure of a SQL tool; the answer itself is kept.
    if answer #> '{value,isError}' = 'true' then
      raise exception using errcode = 'PT422', message = 'reported_error';
    end if;
  end if;
end;
$$;
comment on function chumbo.check_answer(chumbo.capabilities, jsonb) is
  'The last step of an attempt that was not plain: raises result_too_large over max_bytes, invalid_result for a full result that is none, and '
  'reported_error for one that says of itself that it is an error.';
revoke all on function chumbo.check_answer(chumbo.capabilities, jsonb) from public, anon, authenticated;
grant execute on function chumbo.check_answer(chumbo.capabilities, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.shape_result(
  tool chumbo.capabilities, answer jsonb, arguments jsonb, request jsonb,
  out result text, out is_whole boolean, out row_count integer, out truncated boolean, out error jsonb
)
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_value jsonb := answer -> 'value';
  v_text text;
begin
  if tool.result_mode = 'collection' then
    is_whole := true;
    select p.result, p.row_count, p.truncated, p.error
    into result, row_count, truncated, error
    from chumbo.collection_page(tool, answer, arguments, request) as p;
    return;
  end if;

  row_count := case when tool.result_shape <> 'void' then (answer ->> 'count')::integer end;
  -- A query may know better than the cap whether it left something out.
  truncated := coalesce((answer ->> 'truncated')::boolean, tool.result_shape = 'rows' and row_count > tool.row_cap);
  is_whole := truncated or tool.result_mode <> 'structured';
  if tool.result_shape = 'rows' then
    row_count := least(row_count, tool.row_cap);
  end if;

  -- What was rendered has its shape already, for the text was written from it.
  if not answer ? 'text' and tool.result_mode <> 'mcp' then
    if tool.result_shape = 'rows' then
      v_value := jsonb_build_object('rows', case when truncated then v_value - row_count else v_value end)
        || case when truncated then '{"truncated": true}'::jsonb else '{}' end;
    elsif tool.result_shape in ('scalar', 'void') or jsonb_typeof(v_value) <> 'object' then
      v_value := jsonb_build_object('result', v_value);
    end if;
  end if;

  if not is_whole or tool.result_mode = 'mcp' then
    result := v_value::text;
    return;
  end if;
  v_text := case
    when answer ? 'text' then coalesce(answer ->> 'text', '')
    when tool.result_mode = 'text' then coalesce(v_value ->> 'result', '')
    else v_value::text
  end;
  -- The note is part of the kept result, so that a replay is the same to the byte whatever the cap is by then.
  result := (jsonb_build_object('content', jsonb_build_array(jsonb_build_object('type', 'text', 'text', v_text))
      || case when truncated then jsonb_build_array(jsonb_build_object('type', 'text',
          'text', format('Cut after %s rows; narrow the request to see others.', row_count))) else '[]' end)
    || case when tool.result_mode = 'text' then '{}' else jsonb_build_object('structuredContent', v_value) end)::text;
end;
$$;
comment on function chumbo.shape_result(chumbo.capabilities, jsonb, jsonb, jsonb) is
  'The answer of a tool as JSON text; is_whole when it is a complete result of the protocol and not its structured content alone. '
  'error in place of a result that could not be made: {code, message, hint, next_cursor, next_call}.';
revoke all on function chumbo.shape_result(chumbo.capabilities, jsonb, jsonb, jsonb) from public, anon, authenticated;
grant execute on function chumbo.shape_result(chumbo.capabilities, jsonb, jsonb, jsonb) to service_role, chumbo_runtime;

-- Rows of 0.1.0 took a column called t for the whole row.
update chumbo.capabilities as c
set result_query = replace(replace(replace(c.result_query,
  'to_jsonb(t)', 'to_jsonb(t.*)'), 'case when t is null', 'case when (t.*) is null'), 'not (t is null)', 'not ((t.*) is null)')
where c.result_query ~ 'to_jsonb\(t\)|\mt is null';

insert into chumbo.installed (number, name, hash)
values (13, 'results', 'f1130551cadcb80c9378457661ff631a767a58848b396829d0453adb04f693a8') -- chumbo.installed
on conflict (number) do update set name = excluded.name, hash = excluded.hash;
-- migrate:down
