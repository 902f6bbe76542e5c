-- migrate:up
-- 0005_capabilities.sql — what a server offers: one row per tool, resource, resource template or prompt.

create table if not exists chumbo.capabilities (
  id bigint generated always as identity primary key,
  server_id bigint not null references chumbo.servers on delete cascade,
  kind text not null constraint capabilities_kind_is_known check (kind in ('tool', 'resource', 'resource_template', 'prompt')),
  -- The strictest client alphabet and length; "C" makes list order and cursors the same on every database.
  name text collate "C" not null constraint capabilities_name_is_portable check (name ~ '^[A-Za-z0-9_-]{1,64}$'),
  title text,
  description text,
  input_schema jsonb
    constraint capabilities_input_schema_is_object check (input_schema ->> 'type' = 'object'),
  output_schema jsonb
    constraint capabilities_output_schema_is_object check (output_schema ->> 'type' = 'object'),
  annotations jsonb not null default '{}' constraint capabilities_annotations_are_object check (jsonb_typeof(annotations) = 'object'),
  meta jsonb constraint capabilities_meta_is_object check (jsonb_typeof(meta) = 'object'),
  uri text,
  mime_type text,
  required_scopes text[] not null default '{}'
    -- A blank scope would gate nothing while looking like a gate.
    constraint capabilities_required_scopes_are_not_blank check (
      array_position(required_scopes, null) is null and '' <> all (required_scopes)
    ),
  handler text not null constraint capabilities_handler_is_known check (handler in ('sql', 'typescript')),
  target text,
  target_schema text,
  target_name text,
  parameters jsonb,
  result_shape text constraint capabilities_result_shape_is_known check (result_shape in ('rows', 'row', 'scalar', 'json', 'void')),
  result_query text,
  row_cap integer not null default 1000 constraint capabilities_row_cap_is_bounded check (row_cap between 1 and 10000),
  is_write boolean not null default true,
  empty_is_error boolean not null default false,
  is_enabled boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint capabilities_server_id_kind_name_key unique (server_id, kind, name),
  constraint capabilities_sql_is_complete check (
    (handler = 'sql') = (target is not null and target_schema is not null and target_name is not null and parameters is not null and result_query is not null and result_shape is not null)
  )
);
comment on table chumbo.capabilities is 'Everything callers can use; a row decides over the code that carries the same name.';
comment on column chumbo.capabilities.target is 'The exact signature a SQL tool runs, such as app.add_note(text); an overload never takes its place.';
comment on column chumbo.capabilities.target_schema is 'The schema of that function, searched first while it runs.';
comment on column chumbo.capabilities.target_name is 'The bare name of that function, by which the catalog is searched.';
comment on column chumbo.capabilities.parameters is 'For each input: name, position in the signature, SQL type, JSON kind, and whether it is required.';
comment on column chumbo.capabilities.result_query is 'The select that runs the call (%s) and returns {count, value}; built at registration.';
comment on column chumbo.capabilities.is_write is 'False for a stable or immutable function: it cannot change rows.';
comment on column chumbo.capabilities.empty_is_error is 'An answer without rows is reported as no_rows_changed and not as success.';

alter table chumbo.capabilities enable row level security;
drop policy if exists select_runtime on chumbo.capabilities;
create policy select_runtime on chumbo.capabilities for select to chumbo_runtime using (true);
revoke all on chumbo.capabilities from public, anon, authenticated, service_role;
grant select on chumbo.capabilities to service_role, chumbo_runtime;

-- Statement level: registering ten thousand tools must not write the server row ten thousand times.
create or replace function chumbo.tg_capabilities__advance_server()
  returns trigger
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
begin
  update chumbo.servers as s
  set updated_at = now()
  where s.id in (select c.server_id from changed as c);
  return null;
end;
$$;
comment on function chumbo.tg_capabilities__advance_server() is 'Makes cached definitions of a server stale when a capability changes.';
revoke all on function chumbo.tg_capabilities__advance_server() from public, anon, authenticated, service_role;

drop trigger if exists _500_advance_server_insert on chumbo.capabilities;
create trigger _500_advance_server_insert after insert on chumbo.capabilities
  referencing new table as changed
  for each statement execute function chumbo.tg_capabilities__advance_server();
drop trigger if exists _500_advance_server_update on chumbo.capabilities;
create trigger _500_advance_server_update after update on chumbo.capabilities
  referencing new table as changed
  for each statement execute function chumbo.tg_capabilities__advance_server();
drop trigger if exists _500_advance_server_delete on chumbo.capabilities;
create trigger _500_advance_server_delete after delete on chumbo.capabilities
  referencing old table as changed
  for each statement execute function chumbo.tg_capabilities__advance_server();

create or replace function chumbo.definition(capability chumbo.capabilities)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  return jsonb_build_object('name', capability.name)
      || case when capability.title is null then '{}' else jsonb_build_object('title', capability.title) end
      || case when capability.description is null then '{}' else jsonb_build_object('description', capability.description) end
      || case when capability.input_schema is null then '{}' else jsonb_build_object('inputSchema', capability.input_schema) end
      || case when capability.output_schema is null then '{}' else jsonb_build_object('outputSchema', capability.output_schema) end
      || case when capability.annotations = '{}' then '{}' else jsonb_build_object('annotations', capability.annotations) end
      || case when capability.meta is null then '{}' else jsonb_build_object('_meta', capability.meta) end;
end;
$$;
comment on function chumbo.definition(chumbo.capabilities) is 'The entry a client sees in a list. Keys without a value are left out.';
revoke all on function chumbo.definition(chumbo.capabilities) from public, anon, authenticated;
grant execute on function chumbo.definition(chumbo.capabilities) to service_role, chumbo_runtime;

-- Reads the catalog and not to_regprocedure, which would ask for usage on the application's schema; the runtime has none.
-- Postgres cannot tell f(text) from f(text, text default …) in a call with one argument, and there is no other way to say
-- which is meant. Such a call would fail, so the shorter one is no target until one of the two is gone.
create or replace view chumbo.targets with (security_invoker = true) as
  select p.oid, p.proname as name, p.oid::regprocedure::text as signature
  from pg_catalog.pg_proc as p
  where not exists (
    select
    from pg_catalog.pg_proc as longer
    where longer.proname = p.proname
      and longer.pronamespace = p.pronamespace
      and longer.pronargs > p.pronargs
      and longer.pronargs - longer.pronargdefaults <= p.pronargs
      and (longer.proargtypes::oid[])[0:p.pronargs - 1] = (p.proargtypes::oid[])[0:]
  );
comment on view chumbo.targets is
  'The functions a tool can run, by name and exact signature; without those that an overload makes ambiguous in every call.';
revoke all on chumbo.targets from public, anon, authenticated, service_role;
grant select on chumbo.targets to service_role, chumbo_runtime;

create or replace function chumbo.find_target(name text, target text)
  returns oid
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  return (select t.oid from chumbo.targets as t where t.name = find_target.name and t.signature = find_target.target);
end;
$$;
comment on function chumbo.find_target(text, text) is
  'The function with this name and exact signature, or null when it is gone or when an overload makes every call of it ambiguous.';
revoke all on function chumbo.find_target(text, text) from public, anon, authenticated;
grant execute on function chumbo.find_target(text, text) to service_role, chumbo_runtime;

create or replace function chumbo.resolve_target(target text)
  returns regprocedure
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_found text[];
  v_parts text[];
begin
  if target like '%(%' then
    if to_regprocedure(target) is not null then
      return to_regprocedure(target);
    end if;
  else
    begin
      v_parts := parse_ident(target);
    exception
      -- Not a name, so it is none of a function.
      when invalid_parameter_value then v_parts := null;
    end;
    select array_agg(p.oid::regprocedure::text order by p.oid)
    into v_found
    from pg_catalog.pg_proc as p
    join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
    where array[n.nspname::text, p.proname::text] = v_parts;

    if cardinality(v_found) = 1 then
      return v_found[1]::regprocedure;
    elsif cardinality(v_found) > 1 then
      raise exception using errcode = 'PT409', message = 'ambiguous_target',
        detail = format('%s has %s signatures: %s.', target, cardinality(v_found), array_to_string(v_found, ', ')),
        hint = 'Name the one you mean, with its argument types.';
    end if;
  end if;

  raise exception using errcode = 'PT404', message = 'unknown_target',
    detail = format('There is no function %s.', target),
    hint = 'Write schema.name, or schema.name(argument types), of a function that exists.';
end;
$$;
comment on function chumbo.resolve_target(text) is
  'The one function meant by schema.name or by a full signature. Raises unknown_target, ambiguous_target.';
revoke all on function chumbo.resolve_target(text) from public, anon, authenticated, service_role;

-- Constants become defaults in the schema; an expression is left to Postgres at call time and not shown.
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
  if v_default is null or v_default !~ '^(''([^'']|'''')*''::[a-z0-9_ ."\[\]]+|-?[0-9]+([.][0-9]+)?|true|false)$' then
    return null;
  end if;
  -- Written like a result of the parameter's type, so that the default of a bigint is text, as its schema says.
  execute 'select ' || chumbo.json_expression(type_id, v_default) into v_value;
  return v_value;
end;
$$;
comment on function chumbo.constant_default(regprocedure, integer, oid) is 'The default of a parameter as JSON when it is a constant, else null.';
revoke all on function chumbo.constant_default(regprocedure, integer, oid) from public, anon, authenticated, service_role;

create or replace function chumbo.describe_parameters(target regprocedure)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_proc pg_catalog.pg_proc;
  v_parameters jsonb := '[]';
  v_inputs integer := 0;
  v_types oid[];
  v_type oid;
  v_mode "char";
  v_schema jsonb;
  v_default jsonb;
begin
  select p.* into v_proc from pg_catalog.pg_proc as p where p.oid = target;
  v_types := coalesce(v_proc.proallargtypes, v_proc.proargtypes::oid[]);

  for i in 1 .. coalesce(cardinality(v_types), 0) loop
    -- proargtypes is an oidvector and starts at 0, proallargtypes at 1.
    v_mode := coalesce(v_proc.proargmodes[i], 'i');
    continue when v_mode not in ('i', 'b', 'v');
    v_inputs := v_inputs + 1;

    v_type := v_types[array_lower(v_types, 1) + i - 1];
    v_schema := chumbo.type_schema(v_type);
    if v_mode = 'v' or v_schema is null or v_schema::text like '%"type": "object"%' then
      raise exception using errcode = 'PT400', message = 'unsupported_parameter',
        detail = format('%s takes %s as %s, which a client cannot fill.', target,
          coalesce(nullif(v_proc.proargnames[i], ''), format('argument %s', i)),
          case when v_mode = 'v' then 'variadic' else format_type(v_type, null) end),
        hint = 'Wrap it in a function whose parameters are scalars, enums, arrays or jsonb.';
    end if;
    if coalesce(v_proc.proargnames[i], '') = '' then
      raise exception using errcode = 'PT400', message = 'unnamed_parameter',
        detail = format('Argument %s of %s has no name, so no client can pass it.', i, target),
        hint = 'Give every parameter a name.';
    end if;

    v_default := chumbo.constant_default(target, i, v_type);
    v_default := case when v_default is null then '{}' else jsonb_build_object('default', v_default) end;
    v_parameters := v_parameters || jsonb_build_object(
      'name', v_proc.proargnames[i],
      'position', i,
      -- With -1, because character and bit without a length would mean one character and one bit.
      'type', format_type(v_type, -1),
      'kind', case
        when v_schema = '{}' then 'any'
        when v_schema ->> 'pattern' ~ '^\^\(?-\?' then 'number'
        when v_schema ->> 'type' = 'integer' then 'number'
        else v_schema ->> 'type'
      end,
      'required', v_inputs <= v_proc.pronargs - v_proc.pronargdefaults,
      'schema', v_schema || v_default
    );
  end loop;

  return v_parameters;
end;
$$;
comment on function chumbo.describe_parameters(regprocedure) is
  'The inputs of a function as [{name, position, type, kind, required, schema}]. Raises unsupported_parameter, unnamed_parameter.';
revoke all on function chumbo.describe_parameters(regprocedure) from public, anon, authenticated, service_role;

create or replace function chumbo.describe_result(target regprocedure, row_cap integer)
  returns table (shape text, query text, schema jsonb)
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_proc pg_catalog.pg_proc;
  v_columns jsonb;
  v_item text;
  v_item_schema jsonb;
  v_relation oid;
begin
  select p.* into v_proc from pg_catalog.pg_proc as p where p.oid = target;
  select t.typrelid into v_relation from pg_catalog.pg_type as t where t.oid = v_proc.prorettype and t.typtype = 'c';

  -- The columns of a row: declared outputs first, else those of the returned row type.
  if v_proc.proargmodes && array['o', 'b', 't']::"char"[] then
    select jsonb_agg(jsonb_build_object('name', v_proc.proargnames[i], 'type', v_proc.proallargtypes[i]::bigint) order by i)
    into v_columns
    from generate_subscripts(v_proc.proargmodes, 1) as i
    where v_proc.proargmodes[i] in ('o', 'b', 't');
  elsif v_relation is not null then
    select jsonb_agg(jsonb_build_object('name', a.attname, 'type', a.atttypid::bigint) order by a.attnum)
    into v_columns
    from pg_catalog.pg_attribute as a
    where a.attrelid = v_relation and a.attnum > 0 and not a.attisdropped;
  elsif v_proc.prorettype = 'record'::regtype then
    raise exception using errcode = 'PT400', message = 'undeclared_result',
      detail = format('%s returns record without saying which columns.', target),
      hint = 'Declare them with returns table (…) or out parameters.';
  end if;

  if v_columns is not null then
    select
      'to_jsonb(t)' || coalesce(string_agg(
        format(' || jsonb_build_object(%L, %s)', c ->> 'name',
          chumbo.json_expression((c ->> 'type')::oid, format('t.%I', c ->> 'name'))), '')
        filter (where chumbo.has_wide_number((c ->> 'type')::oid)), ''),
      jsonb_build_object('type', 'object',
        'properties', jsonb_object_agg(c ->> 'name',
          chumbo.nullable_schema(coalesce(chumbo.type_schema((c ->> 'type')::oid), '{}'))),
        'required', jsonb_agg(c -> 'name'))
    into v_item, v_item_schema
    from jsonb_array_elements(v_columns) as c;
  else
    v_item := chumbo.json_expression(v_proc.prorettype, 't.value');
    v_item_schema := chumbo.nullable_schema(chumbo.type_schema(v_proc.prorettype));
  end if;

  -- The query is a format template, and a column may be called "50%".
  v_item := replace(v_item, '%', '%%');

  if v_proc.prorettype = 'void'::regtype then
    return query select 'void',
      'select jsonb_build_object(''count'', 0, ''value'', null) from %s as t',
      '{"type": "object", "properties": {"result": {"type": "null"}}, "required": ["result"]}'::jsonb;
  elsif v_item_schema is null then
    raise exception using errcode = 'PT400', message = 'unsupported_result',
      detail = format('%s returns %s, which cannot be described to a client.', target, format_type(v_proc.prorettype, null)),
      hint = 'Return a scalar, jsonb, a row or a table.';
  elsif v_proc.proretset then
    -- One row more than the cap tells that there was more.
    return query select 'rows',
      format('select jsonb_build_object(''count'', count(*), ''value'', coalesce(jsonb_agg(%s), ''[]'')) '
        'from (select t.* from %%s as t%s limit %s) as t', v_item, case when v_columns is null then '(value)' else '' end, row_cap + 1),
      jsonb_build_object('type', 'object',
        'properties', jsonb_build_object('rows', jsonb_build_object('type', 'array', 'items', v_item_schema),
          'truncated', jsonb_build_object('type', 'boolean')),
        'required', jsonb_build_array('rows'));
  elsif v_columns is not null then
    -- A row of nulls is what a function without a match returns. The inner select makes a row of a single out parameter too.
    return query select 'row',
      format('select jsonb_build_object(''count'', case when t is null then 0 else 1 end, '
        '''value'', case when not (t is null) then %s end) from (select t.* from %%s as t) as t', v_item),
      jsonb_build_object('type', 'object', 'properties', v_item_schema -> 'properties');
  elsif v_proc.prorettype in ('json'::regtype, 'jsonb'::regtype) then
    return query select 'json',
      'select jsonb_build_object(''count'', case when t.value is null then 0 else 1 end, ''value'', to_jsonb(t.value)) from %s as t(value)',
      '{"type": "object"}'::jsonb;
  else
    return query select 'scalar',
      format('select jsonb_build_object(''count'', case when t.value is null then 0 else 1 end, ''value'', %s) from %%s as t(value)', v_item),
      jsonb_build_object('type', 'object',
        'properties', jsonb_build_object('result', v_item_schema), 'required', jsonb_build_array('result'));
  end if;
end;
$$;
comment on function chumbo.describe_result(regprocedure, integer) is
  'How the answer of a function leaves: its shape, the select around the call, its output schema. Raises undeclared_result, unsupported_result.';
revoke all on function chumbo.describe_result(regprocedure, integer) from public, anon, authenticated, service_role;

create or replace function chumbo.target_warnings(target regprocedure)
  returns setof text
  language sql stable
  security invoker
  set search_path = ''
as $$
  select w.warning
  from pg_catalog.pg_proc as p
  cross join lateral (values
    (p.prosecdef, format('%s is security definer: it runs with the rights of %s and not of the caller.', target, p.proowner::regrole)),
    (has_function_privilege('anon', p.oid, 'execute'), format('anon may execute %s; revoke it: revoke execute on function %s from public, anon;', target, target)),
    (not has_function_privilege('authenticated', p.oid, 'execute'), format('authenticated may not execute %s, so every call will be refused; grant execute on function %s to authenticated;', target, target)),
    (obj_description(p.oid, 'pg_proc') is null, format('%s has no comment, and the description is all a model has to choose by.', target))
  ) as w (applies, warning)
  where p.oid = target and w.applies
$$;
comment on function chumbo.target_warnings(regprocedure) is 'What is risky or useless about offering this function, a sentence each.';
revoke all on function chumbo.target_warnings(regprocedure) from public, anon, authenticated, service_role;

create or replace function chumbo.register_tool(
  target text,
  server text default 'default',
  name text default null,
  title text default null,
  description text default null,
  scopes text[] default '{}',
  annotations jsonb default null,
  row_cap integer default 1000,
  empty text default null,
  strict boolean default false
)
  returns bigint
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_target regprocedure := chumbo.resolve_target(register_tool.target);
  v_proc pg_catalog.pg_proc;
  v_name text;
  v_is_write boolean;
  v_parameters jsonb;
  v_result record;
  v_warning text;
  v_id bigint;
begin
  select p.* into v_proc from pg_catalog.pg_proc as p where p.oid = v_target;
  v_name := coalesce(register_tool.name, v_proc.proname);

  if v_proc.prokind <> 'f' then
    raise exception using errcode = 'PT400', message = 'unsupported_target',
      detail = format('%s is not a plain function.', v_target),
      hint = 'Register a function, not a procedure, aggregate or window function.';
  end if;
  if chumbo.find_target(v_proc.proname, v_target::text) is null then
    raise exception using errcode = 'PT409', message = 'ambiguous_target',
      detail = format('A call of %s could mean another signature as well: %s.', v_target, (
        select string_agg(p.oid::regprocedure::text, ', ' order by p.oid)
        from pg_catalog.pg_proc as p
        where p.proname = v_proc.proname and p.pronamespace = v_proc.pronamespace and p.oid <> v_target
      )),
      hint = 'Drop the signature that is no longer meant.';
  end if;
  if v_name !~ '^[A-Za-z0-9_-]{1,64}$' then
    raise exception using errcode = 'PT400', message = 'invalid_name',
      detail = format('%L cannot be a tool name: clients take 1 to 64 letters, digits, _ and -.', v_name),
      hint = 'Pass another one with name => …';
  end if;
  if coalesce(register_tool.empty, 'ok') not in ('ok', 'error') then
    raise exception using errcode = 'PT400', message = 'invalid_option',
      detail = format('empty is %L.', register_tool.empty), hint = 'Use ''ok'' or ''error''.';
  end if;
  perform chumbo.require_scopes(register_tool.scopes);

  for v_warning in select chumbo.target_warnings(v_target) loop
    if strict then
      raise exception using errcode = 'PT400', message = 'unsafe_target', detail = v_warning,
        hint = 'Mend it, or register without strict.';
    end if;
    raise warning '%', v_warning;
  end loop;

  v_parameters := chumbo.describe_parameters(v_target);
  select * into v_result from chumbo.describe_result(v_target, register_tool.row_cap);
  v_is_write := v_proc.provolatile = 'v' and not coalesce((register_tool.annotations ->> 'readOnlyHint')::boolean, false);

  insert into chumbo.capabilities as c (
    server_id, kind, name, title, description, input_schema, output_schema, annotations, required_scopes,
    handler, target, target_schema, target_name, parameters, result_shape, result_query, row_cap, is_write, empty_is_error
  )
  values (
    chumbo.server_id(register_tool.server), 'tool', v_name, register_tool.title,
    coalesce(register_tool.description, obj_description(v_target, 'pg_proc'), replace(v_name, '_', ' ')),
    jsonb_build_object(
      'type', 'object',
      'properties', (select coalesce(jsonb_object_agg(p ->> 'name', p -> 'schema'), '{}') from jsonb_array_elements(v_parameters) as p),
      'required', (select coalesce(jsonb_agg(p -> 'name') filter (where (p ->> 'required')::boolean), '[]') from jsonb_array_elements(v_parameters) as p),
      'additionalProperties', false
    ),
    v_result.schema,
    jsonb_build_object('readOnlyHint', not v_is_write, 'openWorldHint', false) || coalesce(register_tool.annotations, '{}'),
    register_tool.scopes, 'sql', v_target::text, (select n.nspname from pg_catalog.pg_namespace as n where n.oid = v_proc.pronamespace), v_proc.proname,
    (select coalesce(jsonb_agg(p - 'schema'), '[]') from jsonb_array_elements(v_parameters) as p),
    v_result.shape, v_result.query, register_tool.row_cap, v_is_write,
    -- A write that returns nothing was filtered by a policy or met no row; calling that success would be a lie.
    coalesce(register_tool.empty = 'error', v_is_write)
  )
  on conflict on constraint capabilities_server_id_kind_name_key do update
  set title = excluded.title, description = excluded.description, input_schema = excluded.input_schema,
    output_schema = excluded.output_schema, annotations = excluded.annotations, required_scopes = excluded.required_scopes,
    handler = excluded.handler, target = excluded.target, target_schema = excluded.target_schema, target_name = excluded.target_name, parameters = excluded.parameters,
    result_shape = excluded.result_shape, result_query = excluded.result_query, row_cap = excluded.row_cap,
    is_write = excluded.is_write, empty_is_error = excluded.empty_is_error, updated_at = now()
  returning c.id into v_id;

  return v_id;
end;
$$;
comment on function chumbo.register_tool(text, text, text, text, text, text[], jsonb, integer, text, boolean) is
  'Offers a function as a tool under the caller''s rights and returns the capability. Repeating it renews what the signature and comment say '
  'and keeps whether it is enabled. Raises unknown_target, ambiguous_target, unsupported_target, unsupported_parameter, unnamed_parameter, '
  'undeclared_result, unsupported_result, invalid_name, invalid_option, unknown_scope, unknown_server, unsafe_target.';
revoke all on function chumbo.register_tool(text, text, text, text, text, text[], jsonb, integer, text, boolean)
  from public, anon, authenticated, service_role;

create or replace function chumbo.set_enabled(name text, server text, kind text, is_enabled boolean)
  returns boolean
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_was boolean;
begin
  select c.is_enabled into v_was
  from chumbo.capabilities as c
  where c.server_id = chumbo.server_id(set_enabled.server) and c.kind = set_enabled.kind and c.name = set_enabled.name
  for update;

  if not found then
    raise exception using errcode = 'PT404', message = 'unknown_capability',
      detail = format('The server %L has no %s named %L.', set_enabled.server, set_enabled.kind, set_enabled.name),
      hint = 'Look it up in chumbo.capabilities.';
  end if;

  update chumbo.capabilities as c
  set is_enabled = set_enabled.is_enabled, updated_at = now()
  where c.server_id = chumbo.server_id(set_enabled.server) and c.kind = set_enabled.kind and c.name = set_enabled.name
    and c.is_enabled <> set_enabled.is_enabled;
  return v_was is distinct from set_enabled.is_enabled;
end;
$$;
comment on function chumbo.set_enabled(text, text, text, boolean) is 'What enable and disable share. Raises unknown_capability.';
revoke all on function chumbo.set_enabled(text, text, text, boolean) from public, anon, authenticated, service_role;

create or replace function chumbo.enable(name text, server text default 'default', kind text default 'tool')
  returns boolean
  language sql volatile
  security invoker
  set search_path = ''
as $$
  select chumbo.set_enabled(name, server, kind, true)
$$;
comment on function chumbo.enable(text, text, text) is
  'Offers a capability again from the next request on. Returns whether that changed anything. Raises unknown_capability.';
revoke all on function chumbo.enable(text, text, text) from public, anon, authenticated, service_role;

create or replace function chumbo.disable(name text, server text default 'default', kind text default 'tool')
  returns boolean
  language sql volatile
  security invoker
  set search_path = ''
as $$
  select chumbo.set_enabled(name, server, kind, false)
$$;
comment on function chumbo.disable(text, text, text) is
  'Withdraws a capability from the next request on; callers see it as unknown. Returns whether that changed anything. Raises unknown_capability.';
revoke all on function chumbo.disable(text, text, text) from public, anon, authenticated, service_role;

create or replace function chumbo.manifest_entries(manifest jsonb)
  returns table (kind text, name text, entry jsonb)
  language sql immutable
  security invoker
  set search_path = ''
as $$
  select case
      when section.key = 'tools' then 'tool'
      when section.key = 'prompts' then 'prompt'
      when item ? 'uriTemplate' then 'resource_template'
      else 'resource'
    end,
    item ->> 'name',
    item
  from jsonb_each(manifest) as section
  cross join lateral jsonb_array_elements(section.value) as item
  where section.key in ('tools', 'resources', 'prompts')
$$;
comment on function chumbo.manifest_entries(jsonb) is 'The definitions in a manifest {tools, resources, prompts}, one a row.';
revoke all on function chumbo.manifest_entries(jsonb) from public, anon, authenticated, service_role;

create or replace function chumbo.sync_capabilities(manifest jsonb, server text default 'default')
  returns jsonb
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_server_id bigint := chumbo.server_id(sync_capabilities.server);
  v_entry record;
  v_removed integer;
  v_kept integer := 0;
begin
  if jsonb_typeof(manifest) is distinct from 'object'
    or manifest - array['tools', 'resources', 'prompts'] <> '{}'
    or jsonb_path_exists(manifest, 'strict $.* ? (@.type() != "array")', silent => true)
  then
    raise exception using errcode = 'PT400', message = 'invalid_manifest',
      detail = 'A manifest is an object of tools, resources and prompts, each an array.',
      hint = 'Write it with the manifest() function of the runtime.';
  end if;

  for v_entry in select m.* from chumbo.manifest_entries(sync_capabilities.manifest) as m loop
    perform chumbo.require_scopes(array(select jsonb_array_elements_text(coalesce(v_entry.entry -> 'scopes', '[]'))));

    insert into chumbo.capabilities as c (
      server_id, kind, name, title, description, input_schema, output_schema, annotations, meta, uri, mime_type,
      required_scopes, handler, is_write
    )
    values (
      v_server_id, v_entry.kind, v_entry.name, v_entry.entry ->> 'title', v_entry.entry ->> 'description',
      v_entry.entry -> 'inputSchema', v_entry.entry -> 'outputSchema',
      coalesce(v_entry.entry -> 'annotations', '{}'), v_entry.entry -> '_meta',
      coalesce(v_entry.entry ->> 'uri', v_entry.entry ->> 'uriTemplate'), v_entry.entry ->> 'mimeType',
      array(select jsonb_array_elements_text(coalesce(v_entry.entry -> 'scopes', '[]'))),
      'typescript', not coalesce((v_entry.entry -> 'annotations' ->> 'readOnlyHint')::boolean, false)
    )
    on conflict on constraint capabilities_server_id_kind_name_key do update
    set title = excluded.title, description = excluded.description, input_schema = excluded.input_schema,
      output_schema = excluded.output_schema, annotations = excluded.annotations, meta = excluded.meta,
      uri = excluded.uri, mime_type = excluded.mime_type, required_scopes = excluded.required_scopes,
      is_write = excluded.is_write, updated_at = now()
    where c.handler = 'typescript';

    if not found then
      raise exception using errcode = 'PT409', message = 'capability_exists',
        detail = format('The %s %L is registered in SQL already.', v_entry.kind, v_entry.name),
        hint = 'Rename one of the two.';
    end if;
    v_kept := v_kept + 1;
  end loop;

  -- What code no longer defines cannot run, so it must not be offered.
  delete from chumbo.capabilities as c
  where c.server_id = v_server_id
    and c.handler = 'typescript'
    and not exists (
      select from chumbo.manifest_entries(sync_capabilities.manifest) as m where m.kind = c.kind and m.name = c.name
    );
  get diagnostics v_removed = row_count;

  return jsonb_build_object('kept', v_kept, 'removed', v_removed);
end;
$$;
comment on function chumbo.sync_capabilities(jsonb, text) is
  'Makes the code-handled rows of a server equal to a manifest and returns {kept, removed}. Repeating it changes nothing. '
  'Raises invalid_manifest, capability_exists, unknown_scope, unknown_server.';
revoke all on function chumbo.sync_capabilities(jsonb, text) from public, anon, authenticated, service_role;

insert into chumbo.installed (number, name, hash)
values (5, 'capabilities', '8549996979a5eeb4b6ba9fd6fb0d9f7225c7a1066f030c12a7c4fd06127a087c') -- chumbo.installed
on conflict (number) do update set name = excluded.name, hash = excluded.hash;
-- migrate:down
