-- migrate:up
-- 0011_registry.sql — the registry in full: what a row can say of a capability, and one way to run any of them.

alter table chumbo.capabilities add column if not exists result_mode text not null default 'structured';
alter table chumbo.capabilities add column if not exists render text;
alter table chumbo.capabilities add column if not exists cursor_key text[];
alter table chumbo.capabilities add column if not exists max_bytes integer;
alter table chumbo.capabilities add column if not exists visibility text[] not null default '{model,app}';
alter table chumbo.capabilities add column if not exists is_pinned boolean not null default false;
alter table chumbo.capabilities add column if not exists search_terms text;
alter table chumbo.capabilities add column if not exists icons jsonb;
alter table chumbo.capabilities add column if not exists size bigint;
alter table chumbo.capabilities add column if not exists definition_bytes integer not null default 0;
comment on column chumbo.capabilities.definition_bytes is 'The bytes of its entry in a list; kept by a trigger.';
comment on column chumbo.capabilities.result_mode is 'How an answer leaves: structured, text, hybrid, collection or mcp.';
comment on column chumbo.capabilities.render is 'The exact signature of the function (jsonb) returns text that writes the text of an answer.';
comment on column chumbo.capabilities.cursor_key is 'The columns by which a collection is ordered and continued.';
comment on column chumbo.capabilities.max_bytes is 'The most bytes an answer may have; null leaves it to the mode.';
comment on column chumbo.capabilities.visibility is 'Who is meant to use it: model, app or both. What is for the app alone is listed and never searched.';
comment on column chumbo.capabilities.is_pinned is 'Listed also where the rest of the catalog is found by search.';
comment on column chumbo.capabilities.search_terms is 'Further words by which it is found; clients do not see them.';
comment on column chumbo.capabilities.size is 'The bytes of a resource, when they are known.';

alter table chumbo.capabilities drop constraint if exists capabilities_result_mode_is_known;
alter table chumbo.capabilities add constraint capabilities_result_mode_is_known
  check (result_mode in ('structured', 'text', 'hybrid', 'collection', 'mcp'));
alter table chumbo.capabilities drop constraint if exists capabilities_max_bytes_is_bounded;
alter table chumbo.capabilities add constraint capabilities_max_bytes_is_bounded check (max_bytes between 512 and 4194304);
alter table chumbo.capabilities drop constraint if exists capabilities_visibility_is_known;
alter table chumbo.capabilities add constraint capabilities_visibility_is_known
  check (visibility <@ '{model,app}' and cardinality(visibility) between 1 and 2 and array_position(visibility, null) is null);
alter table chumbo.capabilities drop constraint if exists capabilities_icons_are_array;
alter table chumbo.capabilities add constraint capabilities_icons_are_array check (jsonb_typeof(icons) = 'array');
alter table chumbo.capabilities drop constraint if exists capabilities_handler_is_known;
alter table chumbo.capabilities add constraint capabilities_handler_is_known
  check (handler in ('sql', 'table', 'static', 'typescript'));

alter table chumbo.servers add column if not exists instructions_target text;
comment on column chumbo.servers.instructions_target is
  'The exact signature of a function () returns text that writes the instructions for each caller; null or a failure leaves the fixed ones.';
alter table chumbo.servers drop constraint if exists servers_settings_are_known;
alter table chumbo.servers add constraint servers_settings_are_known check (
  jsonb_typeof(settings) = 'object'
  and settings - array['unregistered', 'page_size', 'catalog_mode', 'cache_seconds'] = '{}'
  and coalesce(settings ->> 'unregistered', 'serve') in ('serve', 'refuse')
  and coalesce((settings ->> 'page_size')::integer, 100) between 1 and 1000
  and coalesce(settings ->> 'catalog_mode', 'list') in ('list', 'search')
  and coalesce((settings ->> 'cache_seconds')::integer, 0) between 0 and 86400
);
comment on column chumbo.servers.settings is
  'unregistered: serve (default) or refuse code handlers without a row; page_size: entries per list page, 1 to 1000, default 100; '
  'catalog_mode: list (default) or search; cache_seconds: how long a client may keep a list, 0 to 86400, default 0.';
-- It is the last segment of the metadata document's path.
alter table chumbo.servers drop constraint if exists servers_slug_is_no_document;
alter table chumbo.servers add constraint servers_slug_is_no_document check (slug <> 'oauth-protected-resource');

drop function if exists chumbo.register_server(text, text, text, text, text, jsonb);
create or replace function chumbo.register_server(
  slug text default 'default',
  name text default null,
  version text default null,
  title text default null,
  instructions text default null,
  settings jsonb default null,
  instructions_target text default null
)
  returns bigint
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_target regprocedure;
  v_id bigint;
begin
  if register_server.slug !~ '^[a-z0-9][a-z0-9-]{0,62}$' or register_server.slug = 'oauth-protected-resource' then
    raise exception using errcode = 'PT400', message = 'invalid_name',
      detail = format('%L cannot be the slug of a server.', register_server.slug),
      hint = 'Use 1 to 63 lower-case letters, digits and -, as in the path of a URL.';
  end if;
  if register_server.instructions_target is not null then
    v_target := chumbo.resolve_target(register_server.instructions_target);
    if (select p.pronargs > 0 or p.prorettype <> 'text'::regtype or p.proretset from pg_catalog.pg_proc as p where p.oid = v_target) then
      raise exception using errcode = 'PT400', message = 'unsupported_target',
        detail = format('%s does not write instructions: it has to take nothing and return one text.', v_target),
        hint = 'Wrap it in a function () returns text.';
    end if;
  end if;

  insert into chumbo.servers as s (slug, name, version, title, instructions, settings, instructions_target)
  values (
    register_server.slug, register_server.name, register_server.version, register_server.title,
    register_server.instructions, coalesce(register_server.settings, '{}'), v_target::text
  )
  on conflict on constraint servers_slug_key do update
  set name = coalesce(register_server.name, s.name),
    version = coalesce(register_server.version, s.version),
    title = coalesce(register_server.title, s.title),
    instructions = coalesce(register_server.instructions, s.instructions),
    settings = coalesce(register_server.settings, s.settings),
    instructions_target = coalesce(v_target::text, s.instructions_target)
  returning id into v_id;

  return v_id;
end;
$$;
comment on function chumbo.register_server(text, text, text, text, text, jsonb, text) is
  'Creates the server with this slug or changes what is given of it; what is left out stays as it is. Returns its id. '
  'Raises invalid_name, unsupported_target, unknown_target, ambiguous_target.';
revoke all on function chumbo.register_server(text, text, text, text, text, jsonb, text) from public, anon, authenticated, service_role;

create or replace function public.chumbo_servers()
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  return (select coalesce(jsonb_agg(s.slug order by s.slug), '[]') from chumbo.servers as s where s.is_enabled);
end;
$$;
comment on function public.chumbo_servers() is
  'The slugs of the enabled servers: what may stand behind the name of the function in a path. No secret, and no one''s rights.';
revoke all on function public.chumbo_servers() from public, anon, authenticated, service_role;
grant execute on function public.chumbo_servers() to service_role, chumbo_runtime;

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
    where cardinality(v_parts) = 2 and n.nspname = v_parts[1]
      -- Alone, so that the index on the names of functions is used.
      and p.proname = v_parts[2];

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

-- Clients put a server's name before a tool's and take 64 characters in all, of the plainest alphabet.
create or replace function chumbo.public_name(name text)
  returns text
  language sql immutable
  security invoker
  set search_path = ''
as $$
  select left(btrim(regexp_replace(
    -- Letters lose their marks; what has no plain letter becomes an underscore.
    regexp_replace(normalize(name, NFKD), '[\u0300-\u036f]', '', 'g'),
    '[^A-Za-z0-9_-]+', '_', 'g'), '_'), 64)
$$;
comment on function chumbo.public_name(text) is
  'A name in letters, digits, _ and - as near as possible to the given one; empty when nothing is left of it.';
revoke all on function chumbo.public_name(text) from public, anon, authenticated, service_role;

create or replace function chumbo.require_name(kind text, name text, target text, server_id bigint)
  returns void
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_other text;
begin
  if name !~ '^[A-Za-z0-9_-]{1,64}$' then
    raise exception using errcode = 'PT400', message = 'invalid_name',
      detail = format('%L cannot be the name of a %s: clients take 1 to 64 letters, digits, _ and -.', name, kind),
      hint = 'Pass another one with name => …';
  end if;
  if kind = 'tool' and name in ('search_tools', 'call_tool') then
    raise exception using errcode = 'PT409', message = 'reserved_name',
      detail = format('%s is the name of a tool that Chumbo itself offers where a catalog is searched.', name),
      hint = 'Pass another one with name => …';
  end if;

  select coalesce(c.target, c.handler)
  into v_other
  from chumbo.capabilities as c
  where c.server_id = require_name.server_id and c.kind = require_name.kind and c.name = require_name.name
    -- A new signature of the same function, or the successor of one that is gone, takes over the name.
    and case
      when c.handler = 'sql' then array[c.target_schema, c.target_name] <> (parse_ident(require_name.target, false))[1:2]
        and chumbo.find_target(c.target_name, c.target) is not null
      else c.handler = 'table'
    end;
  if v_other is not null then
    raise exception using errcode = 'PT409', message = 'name_taken',
      detail = format('The %s %s runs %s already, and cannot run %s as well.', kind, name, v_other, target),
      hint = format('Pass another name with name => …, or run select chumbo.drop_capability(%L) first.', name);
  end if;
end;
$$;
comment on function chumbo.require_name(text, text, text, bigint) is
  'Raises invalid_name, reserved_name or name_taken unless a capability that runs this function may carry the name.';
revoke all on function chumbo.require_name(text, text, text, bigint) from public, anon, authenticated, service_role;


create or replace function chumbo.definition(capability chumbo.capabilities)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_meta jsonb := capability.meta;
begin
  if capability.visibility = '{app}' then
    -- Merged, so that whatever else the author says of the interface stays.
    v_meta := coalesce(v_meta, '{}') || jsonb_build_object('ui',
      case when jsonb_typeof(v_meta -> 'ui') = 'object' then v_meta -> 'ui' else '{}' end || '{"visibility": ["app"]}');
  end if;
  return jsonb_build_object('name', capability.name)
      || case when capability.title is null then '{}' else jsonb_build_object('title', capability.title) end
      || case when capability.description is null then '{}' else jsonb_build_object('description', capability.description) end
      || case capability.kind
        when 'tool' then
          case when capability.input_schema is null then '{}' else jsonb_build_object('inputSchema', capability.input_schema) end
          || case when capability.output_schema is null then '{}' else jsonb_build_object('outputSchema', capability.output_schema) end
        when 'prompt' then chumbo.prompt_arguments(capability.input_schema)
        else
          jsonb_build_object(case capability.kind when 'resource' then 'uri' else 'uriTemplate' end, capability.uri)
          || case when capability.mime_type is null then '{}' else jsonb_build_object('mimeType', capability.mime_type) end
          || case when capability.size is null then '{}' else jsonb_build_object('size', capability.size) end
      end
      || case when capability.annotations = '{}' or capability.kind = 'prompt' then '{}'
        else jsonb_build_object('annotations', capability.annotations) end
      || case when capability.icons is null then '{}' else jsonb_build_object('icons', capability.icons) end
      || case when v_meta is null then '{}' else jsonb_build_object('_meta', v_meta) end;
end;
$$;
comment on function chumbo.definition(chumbo.capabilities) is 'The entry a client sees in a list. Keys without a value are left out.';
revoke all on function chumbo.definition(chumbo.capabilities) from public, anon, authenticated;
grant execute on function chumbo.definition(chumbo.capabilities) to service_role, chumbo_runtime;

-- In the order they were declared: some clients take the arguments of a prompt by position.
create or replace function chumbo.prompt_arguments(input_schema jsonb)
  returns jsonb
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
begin
  return (
    select case when count(*) = 0 then '{}' else jsonb_build_object('arguments', jsonb_agg(
      jsonb_build_object('name', p.key, 'required', coalesce(input_schema -> 'required' ? p.key, false))
        || case when p.value ? 'title' then jsonb_build_object('title', p.value -> 'title') else '{}' end
        || case when p.value ? 'description' then jsonb_build_object('description', p.value -> 'description') else '{}' end
      order by o.place, not coalesce(input_schema -> 'required' ? p.key, false), p.key)) end
    from jsonb_each(input_schema -> 'properties') as p
    left join jsonb_array_elements_text(input_schema -> 'propertyOrdering') with ordinality as o (name, place) on o.name = p.key
  );
end;
$$;
comment on function chumbo.prompt_arguments(jsonb) is
  'The arguments of a prompt as a list shows them: {arguments: [{name, required, title, description}]}, in the order of propertyOrdering, else required ones first.';
revoke all on function chumbo.prompt_arguments(jsonb) from public, anon, authenticated;
grant execute on function chumbo.prompt_arguments(jsonb) to service_role, chumbo_runtime;

drop function if exists chumbo.register_tool(text, text, text, text, text, text[], jsonb, integer, text, boolean);
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
  strict boolean default false,
  result text default 'structured',
  render text default null,
  cursor text[] default null,
  max_bytes integer default null,
  columns text default null,
  visibility text[] default '{model,app}',
  pinned boolean default false,
  search text default null,
  icons jsonb default null,
  meta jsonb default null
)
  returns bigint
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_target regprocedure := chumbo.resolve_target(register_tool.target);
  v_render regprocedure := case when register_tool.render is not null then chumbo.resolve_target(register_tool.render) end;
  v_server_id bigint := chumbo.server_id(register_tool.server);
  v_proc pg_catalog.pg_proc;
  v_name text;
  v_is_write boolean;
  v_parameters jsonb;
  v_result record;
  v_id bigint;
begin
  select p.* into v_proc from pg_catalog.pg_proc as p where p.oid = v_target;
  v_name := coalesce(register_tool.name, chumbo.public_name(v_proc.proname));

  perform chumbo.require_target(v_target);
  perform chumbo.require_name('tool', v_name, v_target::text, v_server_id);
  if coalesce(register_tool.empty, 'ok') not in ('ok', 'error') then
    raise exception using errcode = 'PT400', message = 'invalid_option',
      detail = format('empty is %L.', register_tool.empty), hint = 'Use ''ok'' or ''error''.';
  end if;
  perform chumbo.require_scopes(register_tool.scopes);
  v_parameters := chumbo.describe_parameters(v_target);
  perform chumbo.check_result_options(v_target, register_tool.result, v_render, register_tool.cursor, register_tool.max_bytes);
  if register_tool.result = 'collection' then
    v_parameters := chumbo.collection_parameters(v_parameters, register_tool.row_cap);
  end if;

  perform chumbo.warn_of_target(v_target, register_tool.strict, register_tool.description is not null);

  select * into v_result
  from chumbo.describe_result(v_target, register_tool.row_cap, register_tool.result, register_tool.columns);
  v_is_write := v_proc.provolatile = 'v' and not coalesce((register_tool.annotations ->> 'readOnlyHint')::boolean, false);

  insert into chumbo.capabilities as c (
    server_id, kind, name, title, description, input_schema, output_schema, annotations, meta, icons, required_scopes,
    handler, target, target_schema, target_name, parameters, result_shape, result_query, row_cap, is_write, empty_is_error,
    result_mode, render, cursor_key, max_bytes, visibility, is_pinned, search_terms
  )
  values (
    v_server_id, 'tool', v_name, register_tool.title,
    coalesce(register_tool.description, chumbo.target_description(v_target), replace(v_name, '_', ' ')),
    chumbo.input_schema(v_parameters), v_result.schema,
    jsonb_build_object('readOnlyHint', not v_is_write, 'openWorldHint', false) || coalesce(register_tool.annotations, '{}'),
    register_tool.meta, register_tool.icons, register_tool.scopes,
    'sql', v_target::text, (select n.nspname from pg_catalog.pg_namespace as n where n.oid = v_proc.pronamespace), v_proc.proname,
    (select coalesce(jsonb_agg(p - 'schema'), '[]') from jsonb_array_elements(v_parameters) as p),
    v_result.shape, chumbo.render_query(v_result.query, v_result.shape, register_tool.row_cap, v_render), register_tool.row_cap, v_is_write,
    -- A write that returns nothing was filtered by a policy or met no row; calling that success would be a lie.
    coalesce(register_tool.empty = 'error', v_is_write),
    register_tool.result, v_render::text, register_tool.cursor, register_tool.max_bytes,
    register_tool.visibility, register_tool.pinned, register_tool.search
  )
  on conflict on constraint capabilities_server_id_kind_name_key do update
  set title = excluded.title, description = excluded.description, input_schema = excluded.input_schema,
    output_schema = excluded.output_schema, annotations = excluded.annotations, meta = excluded.meta, icons = excluded.icons,
    required_scopes = excluded.required_scopes, handler = excluded.handler, target = excluded.target,
    target_schema = excluded.target_schema, target_name = excluded.target_name, parameters = excluded.parameters,
    result_shape = excluded.result_shape, result_query = excluded.result_query, row_cap = excluded.row_cap,
    is_write = excluded.is_write, empty_is_error = excluded.empty_is_error, result_mode = excluded.result_mode,
    render = excluded.render, cursor_key = excluded.cursor_key, max_bytes = excluded.max_bytes,
    visibility = excluded.visibility, is_pinned = excluded.is_pinned, search_terms = excluded.search_terms, updated_at = now()
  returning c.id into v_id;

  return v_id;
end;
$$;
comment on function chumbo.register_tool(text, text, text, text, text, text[], jsonb, integer, text, boolean, text, text, text[], integer, text, text[], boolean, text, jsonb, jsonb) is
  'Offers a function as a tool under the caller''s rights and returns the capability. Repeating it renews what the signature and comment say '
  'and keeps whether it is enabled. Raises unknown_target, ambiguous_target, unsupported_target, unsupported_parameter, unnamed_parameter, '
  'undeclared_result, unsupported_result, invalid_name, reserved_name, name_taken, invalid_option, unknown_scope, unknown_server, unsafe_target, '
  'definition_too_large.';
revoke all on function chumbo.register_tool(text, text, text, text, text, text[], jsonb, integer, text, boolean, text, text, text[], integer, text, text[], boolean, text, jsonb, jsonb)
  from public, anon, authenticated, service_role;

create or replace function chumbo.require_target(target regprocedure)
  returns void
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_proc pg_catalog.pg_proc;
begin
  select p.* into v_proc from pg_catalog.pg_proc as p where p.oid = require_target.target;
  if v_proc.prokind <> 'f' then
    raise exception using errcode = 'PT400', message = 'unsupported_target',
      detail = format('%s is not a plain function.', require_target.target),
      hint = 'Register a function, not a procedure, aggregate or window function.';
  end if;
  if chumbo.find_target(v_proc.proname, require_target.target::text) is null then
    raise exception using errcode = 'PT409', message = 'ambiguous_target',
      detail = format('A call of %s could mean another signature as well: %s.', require_target.target, (
        select string_agg(p.oid::regprocedure::text, ', ' order by p.oid)
        from pg_catalog.pg_proc as p
        where p.proname = v_proc.proname and p.pronamespace = v_proc.pronamespace and p.oid <> require_target.target
      )),
      hint = 'Drop the signature that is no longer meant.';
  end if;
end;
$$;
comment on function chumbo.require_target(regprocedure) is
  'Raises unsupported_target or ambiguous_target unless a capability can run this function.';
revoke all on function chumbo.require_target(regprocedure) from public, anon, authenticated, service_role;

create or replace function chumbo.warn_of_target(target regprocedure, strict boolean, is_described boolean)
  returns void
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_warning text;
begin
  for v_warning in select chumbo.target_warnings(warn_of_target.target, warn_of_target.is_described) loop
    if strict then
      raise exception using errcode = 'PT400', message = 'unsafe_target', detail = v_warning,
        hint = 'Mend it, or register without strict.';
    end if;
    raise warning '%', v_warning;
  end loop;
end;
$$;
comment on function chumbo.warn_of_target(regprocedure, boolean, boolean) is
  'Warns of what is risky or useless about offering a function; with strict raises unsafe_target.';
revoke all on function chumbo.warn_of_target(regprocedure, boolean, boolean) from public, anon, authenticated, service_role;

create or replace function chumbo.input_schema(parameters jsonb)
  returns jsonb
  language sql immutable
  security invoker
  set search_path = ''
as $$
  select jsonb_build_object(
    'type', 'object',
    'properties', coalesce(jsonb_object_agg(p ->> 'name', p -> 'schema'), '{}'),
    'required', coalesce(jsonb_agg(p -> 'name') filter (where (p ->> 'required')::boolean), '[]'),
    'additionalProperties', false
  )
  from jsonb_array_elements(parameters) as p
$$;
comment on function chumbo.input_schema(jsonb) is 'The closed object that describes the parameters of a function.';
revoke all on function chumbo.input_schema(jsonb) from public, anon, authenticated, service_role;

create or replace function chumbo.is_timestamp(value jsonb)
  returns boolean
  language sql immutable
  security invoker
  set search_path = ''
as $$
  select jsonb_typeof(value) = 'string' and value #>> '{}' ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$'
$$;
comment on function chumbo.is_timestamp(jsonb) is 'Whether a value is a time of ISO 8601 with its offset, as the protocol writes one; null for null.';
revoke all on function chumbo.is_timestamp(jsonb) from public, anon, authenticated;
grant execute on function chumbo.is_timestamp(jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.find_icon_fault(icons jsonb)
  returns text
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
begin
  if jsonb_typeof(icons) <> 'array' or exists (
    select
    from jsonb_array_elements(icons) as i
    where jsonb_typeof(i) <> 'object'
      or coalesce(jsonb_typeof(i -> 'src'), '') <> 'string'
      or coalesce(jsonb_typeof(i -> 'mimeType'), 'string') <> 'string'
      or not coalesce(i -> 'theme' in ('"light"', '"dark"'), true)
      or coalesce(jsonb_typeof(i -> 'sizes'), 'array') <> 'array'
      or jsonb_path_exists(i, 'strict $.sizes[*] ? (@.type() != "string")', silent => true)
  ) then
    return 'icons are an array of {src, mimeType, sizes (an array of texts), theme (light or dark)}.';
  end if;
  return null;
end;
$$;
comment on function chumbo.find_icon_fault(jsonb) is 'What is wrong with icons, as a sentence; null when nothing is, or when there are none.';
revoke all on function chumbo.find_icon_fault(jsonb) from public, anon, authenticated;
grant execute on function chumbo.find_icon_fault(jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.find_annotation_fault(kind text, annotations jsonb)
  returns text
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
begin
  if kind = 'tool' and exists (
    select
    from jsonb_each(annotations) as a
    where a.key = 'title' and jsonb_typeof(a.value) <> 'string'
      or a.key in ('readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint') and jsonb_typeof(a.value) <> 'boolean'
  ) then
    return 'annotations of a tool are a title and the hints readOnlyHint, destructiveHint, idempotentHint and openWorldHint, true or false.';
  end if;
  if kind <> 'tool' and not (
    coalesce(annotations -> 'audience' <@ '["user", "assistant"]' and jsonb_typeof(annotations -> 'audience') = 'array', true)
    and coalesce(case jsonb_typeof(annotations -> 'priority') when 'number' then (annotations ->> 'priority')::numeric between 0 and 1 else annotations -> 'priority' is null end, true)
    and coalesce(chumbo.is_timestamp(annotations -> 'lastModified'), true)
  ) then
    return 'annotations hold audience (user, assistant), priority (0 to 1) and lastModified (ISO 8601 with its offset).';
  end if;
  return null;
end;
$$;
comment on function chumbo.find_annotation_fault(text, jsonb) is
  'What is wrong with the annotations of a tool, of any other capability or of a content block, as a sentence; null when nothing is.';
revoke all on function chumbo.find_annotation_fault(text, jsonb) from public, anon, authenticated;
grant execute on function chumbo.find_annotation_fault(text, jsonb) to service_role, chumbo_runtime;

-- What a model reads at once has a price, and some clients drop a whole server over one entry.
create or replace function chumbo.tg_capabilities__bound_definition()
  returns trigger
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_bytes integer := octet_length(chumbo.definition(new)::text);
  v_fault text := coalesce(chumbo.find_annotation_fault(new.kind, new.annotations), chumbo.find_icon_fault(new.icons));
begin
  if v_fault is not null then
    raise exception using errcode = 'PT400', message = 'invalid_option',
      detail = format('The %s %s: %s', new.kind, new.name, v_fault),
      hint = 'Write it as the protocol does: clients refuse a whole list over one entry.';
  end if;
  if v_bytes > 65536 then
    raise exception using errcode = 'PT413', message = 'definition_too_large',
      detail = format('The definition of the %s %s has %s bytes.', new.kind, new.name, v_bytes),
      hint = 'Keep it under 65536: shorten the description, or take jsonb in place of a large composite type.';
  end if;
  new.definition_bytes := v_bytes;
  return new;
end;
$$;
comment on function chumbo.tg_capabilities__bound_definition() is
  'Keeps the size of an entry in a list; raises definition_too_large above 64 KiB, and invalid_option over what clients would not read.';
revoke all on function chumbo.tg_capabilities__bound_definition() from public, anon, authenticated, service_role;
drop trigger if exists _400_bound_definition on chumbo.capabilities;
create trigger _400_bound_definition before insert or update on chumbo.capabilities
  for each row execute function chumbo.tg_capabilities__bound_definition();
-- Rows of an earlier version learn their size. A name that is reserved since is out of reach, so it is not offered.
update chumbo.capabilities set is_enabled = false where kind = 'tool' and name in ('search_tools', 'call_tool') and is_enabled;
update chumbo.capabilities set definition_bytes = 0 where definition_bytes = 0;

create or replace function chumbo.drop_capability(name text, server text default 'default', kind text default 'tool')
  returns boolean
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
begin
  delete from chumbo.capabilities as c
  where c.server_id = chumbo.server_id(drop_capability.server) and c.kind = drop_capability.kind and c.name = drop_capability.name;
  return found;
end;
$$;
comment on function chumbo.drop_capability(text, text, text) is
  'Removes a capability; callers see it as unknown from the next request on. Returns whether there was one. Raises unknown_server.';
revoke all on function chumbo.drop_capability(text, text, text) from public, anon, authenticated, service_role;

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
    if v_entry.kind = 'tool' and v_entry.name in ('search_tools', 'call_tool') then
      raise exception using errcode = 'PT409', message = 'reserved_name',
        detail = format('%s is the name of a tool that Chumbo itself offers where a catalog is searched.', v_entry.name),
        hint = 'Rename it in the code.';
    end if;
    perform chumbo.require_scopes(array(select jsonb_array_elements_text(coalesce(v_entry.entry -> 'scopes', '[]'))));

    insert into chumbo.capabilities as c (
      server_id, kind, name, title, description, input_schema, output_schema, annotations, meta, uri, mime_type,
      required_scopes, handler, is_write, icons, size, visibility, is_pinned, search_terms
    )
    values (
      v_server_id, v_entry.kind, v_entry.name, v_entry.entry ->> 'title', v_entry.entry ->> 'description',
      v_entry.entry -> 'inputSchema', v_entry.entry -> 'outputSchema',
      coalesce(v_entry.entry -> 'annotations', '{}'), v_entry.entry -> '_meta',
      coalesce(v_entry.entry ->> 'uri', v_entry.entry ->> 'uriTemplate'), v_entry.entry ->> 'mimeType',
      array(select jsonb_array_elements_text(coalesce(v_entry.entry -> 'scopes', '[]'))),
      'typescript', not coalesce((v_entry.entry -> 'annotations' ->> 'readOnlyHint')::boolean, false),
      v_entry.entry -> 'icons', (v_entry.entry ->> 'size')::bigint,
      array(select jsonb_array_elements_text(coalesce(v_entry.entry -> 'visibility', '["model", "app"]'))),
      coalesce((v_entry.entry ->> 'pinned')::boolean, false), v_entry.entry ->> 'search'
    )
    on conflict on constraint capabilities_server_id_kind_name_key do update
    set title = excluded.title, description = excluded.description, input_schema = excluded.input_schema,
      output_schema = excluded.output_schema, annotations = excluded.annotations, meta = excluded.meta,
      uri = excluded.uri, mime_type = excluded.mime_type, required_scopes = excluded.required_scopes,
      is_write = excluded.is_write, icons = excluded.icons, size = excluded.size, visibility = excluded.visibility,
      is_pinned = excluded.is_pinned, search_terms = excluded.search_terms, updated_at = now()
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
  'Raises invalid_manifest, capability_exists, reserved_name, unknown_scope, unknown_server.';
revoke all on function chumbo.sync_capabilities(jsonb, text) from public, anon, authenticated, service_role;

create or replace function chumbo.admit(
  server text,
  kind text,
  capability text,
  request jsonb,
  out entry chumbo.servers,
  out found_capability chumbo.capabilities,
  out target oid,
  out scopes text[],
  out refusal jsonb
)
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_row record;
  v_wait integer;
  v_missing text[];
  v_can_be_given boolean;
begin
  -- One statement for all that can be decided at once. It runs on every call, and each further expression of plpgsql is
  -- set up anew in every transaction.
  select
    s as entry,
    c as capability,
    -- By name and exact signature: an overload never takes the place of what was registered.
    (select p.oid from pg_catalog.pg_proc as p where p.proname = c.target_name and p.oid::regprocedure::text = c.target) as target,
    i.version,
    request ? 'operation' or c.required_scopes <> '{}' as asks_for_scopes,
    case
      when i.version < (request ->> 'requires')::integer then 'schema_outdated'
      when s.id is null then 'unknown_server'
      -- A token verifies until it expires; whether its sign-in was ended is known here only.
      when request ->> 'user_id' is not null and not chumbo.sign_in_is_live(
        (request ->> 'user_id')::uuid, (request ->> 'session_id')::uuid, (request ->> 'client_id')::uuid
      ) then 'session_revoked'
      -- What the runtime found wrong with the request itself; refused here so that it leaves a receipt.
      when request ? 'rejection' then 'rejection'
      -- The proxy of a searched catalog reaches what the search shows: what models are meant to use.
      when request ->> 'via' = 'call_tool'
        and (coalesce(s.settings ->> 'catalog_mode', 'list') <> 'search' or not coalesce('model' = any (c.visibility), true))
        then 'unknown_capability'
      when admit.capability is null or c.is_enabled then null
      -- A name without a row may still be a code handler of the runtime, unless the server refuses those.
      when c.id is null and coalesce((request ->> 'has_code')::boolean, false)
        and coalesce(s.settings ->> 'unregistered', 'serve') <> 'refuse' then null
      else 'unknown_capability'
    end as code
  into v_row
  from (select max(n.number) as version from chumbo.installed as n) as i
  left join chumbo.servers as s on s.slug = admit.server and s.is_enabled
  left join chumbo.capabilities as c on c.server_id = s.id and c.kind = admit.kind and c.name = admit.capability;
  entry := v_row.entry;
  found_capability := v_row.capability;
  target := v_row.target;

  if v_row.code is not null then
    refusal := case v_row.code
      when 'schema_outdated'
        then jsonb_build_object('code', v_row.code, 'needed', (request ->> 'requires')::integer, 'found', v_row.version)
      when 'rejection' then request -> 'rejection'
      else jsonb_build_object('code', v_row.code)
    end;
    if v_row.code <> 'unknown_capability' then
      return;
    end if;
  elsif v_row.asks_for_scopes then
    scopes := chumbo.effective_scopes(request);
    if not found_capability.required_scopes <@ scopes then
      -- A scope that is no longer defined can be given to nobody.
      select array_agg(wanted order by wanted), bool_and(coalesce(s.is_requestable, false))
      into v_missing, v_can_be_given
      from unnest(found_capability.required_scopes) as wanted
      left join chumbo.scopes as s on s.name = wanted
      where not wanted = any (scopes);

      -- Told apart from unknown only where the caller could be given every missing scope.
      refusal := case
        when v_can_be_given then jsonb_build_object('code', 'scope_required', 'scopes', to_jsonb(v_missing))
        else jsonb_build_object('code', 'unknown_capability')
      end;
    end if;
  end if;

  -- Limits come last, so that they count what would run, but before a refusal is told, so that guessing is limited too.
  -- A hidden capability counts as none: its own limit must not give it away.
  if capability is not null and coalesce((request ->> 'attempt')::integer, 1) = 1 then
    v_wait := chumbo.consume_limits(entry.id, case when refusal is null then capability end, request);
    if v_wait is not null then
      refusal := case v_wait
        when 0 then jsonb_build_object('code', 'queue_timeout', 'retry_after', 1)
        else jsonb_build_object('code', 'rate_limited', 'retry_after', v_wait)
      end;
    end if;
  end if;
end;
$$;
comment on function chumbo.admit(text, text, text, jsonb) is
  'Decides whether a verified caller may do this now: server, sign-in, scopes, limits. A refusal carries its code and what belongs to it.';
revoke all on function chumbo.admit(text, text, text, jsonb) from public, anon, authenticated;
grant execute on function chumbo.admit(text, text, text, jsonb) to service_role, chumbo_runtime;

drop function if exists chumbo.settle_key(bigint, text, jsonb, text, text, uuid);
create or replace function chumbo.settle_key(
  server_id bigint, capability text, request jsonb, outcome text, result text, receipt_id uuid, is_whole boolean
)
  returns void
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
begin
  -- A failed call left no effect, so the same key may try again.
  if outcome = 'ok' then
    update chumbo.idempotency as i
    set status = 'done', outcome = settle_key.outcome, result = settle_key.result, is_whole = settle_key.is_whole,
      receipt_id = settle_key.receipt_id
    where i.server_id = settle_key.server_id
      and i.subject = coalesce(request ->> 'subject', '')
      and i.client_id = coalesce(request ->> 'client_id', '')
      and i.capability = settle_key.capability
      and i.key_hash = request ->> 'idempotency_key_hash';
  else
    delete from chumbo.idempotency as i
    where i.server_id = settle_key.server_id
      and i.subject = coalesce(request ->> 'subject', '')
      and i.client_id = coalesce(request ->> 'client_id', '')
      and i.capability = settle_key.capability
      and i.key_hash = request ->> 'idempotency_key_hash';
  end if;
end;
$$;
comment on function chumbo.settle_key(bigint, text, jsonb, text, text, uuid, boolean) is
  'Keeps the answer under the key when the call succeeded, else frees the key.';
revoke all on function chumbo.settle_key(bigint, text, jsonb, text, text, uuid, boolean) from public, anon, authenticated;
grant execute on function chumbo.settle_key(bigint, text, jsonb, text, text, uuid, boolean) to service_role, chumbo_runtime;

alter table chumbo.idempotency add column if not exists is_whole boolean not null default false;
comment on column chumbo.idempotency.is_whole is 'The answer is a complete result of the protocol, and not its structured content alone.';

-- One way to run what a row of SQL says: a tool, a resource, a prompt, a completion.
create or replace function chumbo.attempt(
  capability chumbo.capabilities,
  target oid,
  arguments jsonb,
  request jsonb,
  out outcome text,
  out answer jsonb,
  out row_count integer,
  out error jsonb
)
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_path text := format('%I, public, extensions, pg_temp', coalesce(capability.target_schema, 'public'));
  v_changed bigint;
  v_state text;
  v_message text;
  v_detail text;
  v_hint text;
  v_problem text;
  v_arguments jsonb := arguments;
begin
  outcome := 'ok';
  -- A sub-transaction: what a failing tool wrote goes, its receipt stays.
  begin
    if not capability.is_write then
      -- Nothing inside can switch it back, and it ends with the sub-transaction: what says that it only reads, only reads.
      perform set_config('transaction_read_only', 'on', true);
    elsif capability.result_shape = 'void' and capability.empty_is_error then
      v_changed := chumbo.rows_changed();
    end if;
    if capability.result_mode = 'collection' then
      v_arguments := chumbo.collection_arguments(capability, arguments, request);
    end if;
    answer := chumbo.run(
      case capability.handler
        when 'table' then chumbo.table_statement(capability, v_arguments, request)
        else chumbo.call_statement(capability, target, v_arguments)
      end,
      v_arguments, v_path, request);
    row_count := case
      when v_changed is not null then least(chumbo.rows_changed() - v_changed, 2147483647)
      when capability.result_shape = 'void' then null
      else (answer ->> 'count')::integer
    end;

    if octet_length(answer::text) > 4194304 then
      raise exception using errcode = 'PT413', message = 'result_too_large';
    end if;
    if row_count = 0 and capability.empty_is_error then
      -- Raised, so that whatever it did write goes too: an error always means that nothing happened.
      raise exception using errcode = 'PT404', message = 'no_rows_changed';
    end if;
    if capability.result_mode = 'mcp' or capability.max_bytes is not null then
      perform chumbo.check_answer(capability, answer);
    end if;
  exception
    -- others does not cover a cancelled statement, and that is how a timeout arrives.
    when others or query_canceled or assert_failure then
      get stacked diagnostics v_state = returned_sqlstate, v_message = message_text, v_detail = pg_exception_detail,
        v_hint = pg_exception_hint;
      -- A full result that says of itself that it is an error is undone and still told; a body that raises the same has none.
      answer := case when v_message = 'reported_error' then answer end;
      row_count := 0;
      error := chumbo.tool_error(v_state, v_message, v_detail, v_hint);
      -- By its state: a body may raise any slug, and must not pass for the gate.
      outcome := case when v_state = '42725' then 'refused' else 'tool_error' end;
      -- The state only: message and detail may hold values.
      raise log 'chumbo: % % failed with SQLSTATE %, trace %', capability.kind, capability.name, v_state, request ->> 'trace_id';
  end;

  -- Not every type reports a value that it cannot read as one: a text search query is a syntax error.
  if capability.handler = 'sql'
    and (error ->> 'code' = 'invalid_value' or error ->> 'code' = 'tool_failed' and error ->> 'message' is null)
  then
    begin
      v_problem := chumbo.find_bad_argument(capability.parameters, v_arguments, v_path, request);
    exception
      -- It only words the failure better; failing at that, or running out of time, leaves the failure as it was.
      when others or query_canceled or assert_failure then v_problem := null;
    end;
    if v_problem is not null then
      error := jsonb_build_object('code', 'invalid_arguments', 'message', v_problem);
    end if;
  end if;
  perform chumbo.clear_session();
end;
$$;
comment on function chumbo.attempt(chumbo.capabilities, oid, jsonb, jsonb) is
  'Runs a capability as the verified caller of a request and undoes what it wrote when it fails. outcome is ok, tool_error or refused; '
  'answer is {count, value} of its query; error is {code, message, hint}.';
revoke all on function chumbo.attempt(chumbo.capabilities, oid, jsonb, jsonb) from public, anon, authenticated;
grant execute on function chumbo.attempt(chumbo.capabilities, oid, jsonb, jsonb) to service_role, chumbo_runtime;

create or replace function public.chumbo_call(server text, capability text, arguments jsonb, request jsonb)
  returns jsonb
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_started timestamptz := clock_timestamp();
  v_gate record;
  v_tool chumbo.capabilities;
  v_earlier chumbo.idempotency;
  v_problem text;
  v_run record;
  v_shape record;
  v_count integer;
  v_truncated boolean := false;
  v_result text;
  v_is_whole boolean := false;
  v_outcome text := 'ok';
  v_error jsonb;
  v_receipt jsonb;
  v_replay_of uuid;
  v_is_claimed boolean := false;
begin
  v_gate := chumbo.admit(server, 'tool', capability, request);
  v_tool := v_gate.found_capability;
  v_error := v_gate.refusal;

  -- The row moved from SQL to code since the runtime looked; nothing ran, and it will ask again.
  if v_error is null and coalesce(v_tool.handler, 'typescript') = 'typescript' then
    return jsonb_build_object('outcome', 'moved', 'revision', (v_gate.entry).revision);
  end if;

  if v_error is null then
    v_problem := chumbo.refuse_arguments(v_tool.parameters, arguments);
    v_error := case
      when v_gate.target is null and v_tool.handler = 'sql' then jsonb_build_object('code', 'tool_unavailable')
      when v_problem is not null then jsonb_build_object('code', 'invalid_arguments', 'message', v_problem)
    end;
  end if;

  if v_error is null and request ? 'idempotency_key_hash' then
    v_earlier := chumbo.claim_key(v_tool.server_id, v_tool.name, request);
    v_is_claimed := v_earlier.key_hash is null;
    if not v_is_claimed then
      if v_earlier.argument_digest is distinct from request ->> 'argument_digest' then
        v_error := jsonb_build_object('code', 'idempotency_key_reused');
      elsif v_earlier.status = 'running' then
        -- Claimed by code that has not answered, under a name that is a SQL tool since.
        v_error := jsonb_build_object('code', 'idempotency_in_progress');
      else
        v_outcome := 'replayed';
        v_result := v_earlier.result;
        v_is_whole := v_earlier.is_whole;
        v_replay_of := v_earlier.receipt_id;
      end if;
    end if;
  end if;

  if v_error is not null then
    v_outcome := 'refused';
  elsif v_outcome = 'ok' then
    v_run := chumbo.attempt(v_tool, v_gate.target, arguments, request);
    v_outcome := v_run.outcome;
    v_error := v_run.error;
    v_count := v_run.row_count;
    if v_run.answer is not null then
      begin
        v_shape := chumbo.shape_result(v_tool, v_run.answer, arguments, request);
        if v_shape.error is not null then
          v_outcome := 'tool_error';
          v_error := v_shape.error;
        end if;
        v_result := v_shape.result;
        v_is_whole := v_shape.is_whole;
        v_truncated := v_shape.truncated;
      exception
        -- Whatever the rows hold, the call leaves its receipt.
        when others or query_canceled or assert_failure then
          v_outcome := 'tool_error';
          v_error := '{"code": "tool_failed"}';
          raise log 'chumbo: the result of tool % has no form, SQLSTATE %, trace %', v_tool.name, sqlstate, request ->> 'trace_id';
      end;
      v_count := case when v_outcome = 'ok' then coalesce(v_shape.row_count, v_count) else 0 end;
    end if;
  end if;

  v_receipt := chumbo.write_receipt(
    server, 'tool', capability, request, v_outcome, v_error ->> 'code', v_count, octet_length(v_result), v_truncated,
    round((extract(epoch from clock_timestamp() - v_started) * 1000)::numeric, 3), v_replay_of, v_tool.version);

  if v_is_claimed then
    perform chumbo.settle_key(v_tool.server_id, v_tool.name, request, v_outcome, v_result, (v_receipt ->> 'id')::uuid, v_is_whole);
  end if;

  -- The result travels as text, so that no reader on the way rounds its numbers.
  return jsonb_build_object(
    'outcome', v_outcome, 'revision', (v_gate.entry).revision, 'result', v_result, 'is_whole', v_is_whole, 'error', v_error,
    'truncated', v_truncated, 'row_cap', v_tool.row_cap);
end;
$$;
comment on function public.chumbo_call(text, text, jsonb, jsonb) is
  'Admits a call of a SQL tool, runs it as its caller and writes its receipt, in one transaction. request holds verified facts only. '
  'Returns {outcome: ok, tool_error, refused, replayed or moved; revision; result as JSON text; is_whole; error {code, message, hint, …}}.';
revoke all on function public.chumbo_call(text, text, jsonb, jsonb) from public, anon, authenticated, service_role;
grant execute on function public.chumbo_call(text, text, jsonb, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.server_facts(entry chumbo.servers, request jsonb)
  returns jsonb
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_instructions text := entry.instructions;
begin
  -- Clients read instructions once, when they connect; no other request pays for them.
  if entry.instructions_target is not null and request ->> 'operation' = 'describe' and request ->> 'kind' like '%tool%' then
    begin
      perform set_config('transaction_read_only', 'on', true);
      v_instructions := coalesce(
        chumbo.run(
          format('select to_jsonb(%I.%I())', n.nspname, p.proname), '{}', format('%I, public, extensions, pg_temp', n.nspname), request
        ) #>> '{}', v_instructions)
      from pg_catalog.pg_proc as p
      join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
      where p.proname = (parse_ident(entry.instructions_target, false))[2] and p.oid::regprocedure::text = entry.instructions_target;
    exception
      when others or query_canceled or assert_failure then
        raise log 'chumbo: the instructions of server % failed with SQLSTATE %', entry.slug, sqlstate;
    end;
    perform chumbo.clear_session();
  end if;
  return jsonb_build_object(
    'name', entry.name, 'version', entry.version, 'title', entry.title, 'instructions', v_instructions,
    'unregistered', coalesce(entry.settings ->> 'unregistered', 'serve'),
    'catalog_mode', coalesce(entry.settings ->> 'catalog_mode', 'list'),
    'cache_seconds', coalesce((entry.settings ->> 'cache_seconds')::integer, 0));
end;
$$;
comment on function chumbo.server_facts(chumbo.servers, jsonb) is
  'What a runtime tells of a server: {name, version, title, instructions for this caller, unregistered, catalog_mode, cache_seconds}.';
revoke all on function chumbo.server_facts(chumbo.servers, jsonb) from public, anon, authenticated;
grant execute on function chumbo.server_facts(chumbo.servers, jsonb) to service_role, chumbo_runtime;

create or replace function public.chumbo_enter(server text, request jsonb)
  returns jsonb
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_started timestamptz := clock_timestamp();
  v_kinds text[] := string_to_array(request ->> 'kind', ',');
  v_gate record;
  v_handler text;
  v_earlier chumbo.idempotency;
  v_error jsonb;
  v_outcome text := 'open';
  v_result text;
  v_receipt jsonb;
begin
  -- A SQL tool is admitted by chumbo_call, which runs it; telling the runtime so must not count as a call.
  if request ->> 'operation' = 'call' and exists (
    select
    from chumbo.capabilities as c
    join chumbo.servers as s on s.id = c.server_id
    where s.slug = chumbo_enter.server and c.kind = any (v_kinds) and c.name = request ->> 'name' and c.handler <> 'typescript'
  ) then
    return jsonb_build_object('outcome', 'sql', 'revision', (select s.revision from chumbo.servers as s where s.slug = chumbo_enter.server));
  end if;

  v_gate := chumbo.admit(server, request ->> 'kind', case request ->> 'operation' when 'call' then request ->> 'name' end, request);
  v_error := v_gate.refusal;

  if request ->> 'operation' <> 'call' then
    if v_error is not null then
      return jsonb_build_object('outcome', 'refused', 'error', v_error);
    end if;
    return jsonb_build_object(
        'outcome', 'listed',
        'revision', (v_gate.entry).revision,
        'server', chumbo.server_facts(v_gate.entry, request),
        'scopes', to_jsonb(v_gate.scopes))
      || case when request ->> 'operation' <> 'list' then '{}' else
        chumbo.list_page(
          (v_gate.entry).id, request ->> 'kind', v_gate.scopes, request ->> 'after',
          coalesce(((v_gate.entry).settings ->> 'page_size')::integer, 100),
          (request ->> 'known_revision')::bigint is distinct from (v_gate.entry).revision,
          coalesce((v_gate.entry).settings ->> 'catalog_mode', 'list') = 'search')
      end
      || case when request ? 'code_names'
        then jsonb_build_object('code', chumbo.code_names((v_gate.entry).id, v_kinds, v_gate.scopes, request -> 'code_names'))
        else '{}' end;
  end if;

  if v_error is null and request ? 'idempotency_key_hash' then
    v_earlier := chumbo.claim_key((v_gate.entry).id, request ->> 'name', request);
    if v_earlier.key_hash is not null then
      if v_earlier.argument_digest is distinct from request ->> 'argument_digest' then
        v_error := jsonb_build_object('code', 'idempotency_key_reused');
      elsif v_earlier.status = 'done' then
        v_outcome := 'replayed';
        v_result := v_earlier.result;
      elsif coalesce((request ->> 'may_wait')::boolean, false) then
        return jsonb_build_object('outcome', 'wait', 'revision', (v_gate.entry).revision);
      else
        v_error := jsonb_build_object('code', 'idempotency_in_progress');
      end if;
    end if;
  end if;

  v_outcome := case when v_error is not null then 'refused' else v_outcome end;
  v_receipt := chumbo.write_receipt(
    server, split_part(request ->> 'kind', ',', 1), request ->> 'name', request, v_outcome, v_error ->> 'code', null, octet_length(v_result), false,
    case when v_outcome <> 'open' then round((extract(epoch from clock_timestamp() - v_started) * 1000)::numeric, 3) end,
    v_earlier.receipt_id, (v_gate.found_capability).version);
  if v_outcome = 'open' and request ? 'idempotency_key_hash' then
    update chumbo.idempotency as i
    set receipt_id = (v_receipt ->> 'id')::uuid
    where i.server_id = (v_gate.entry).id and i.subject = coalesce(request ->> 'subject', '')
      and i.client_id = coalesce(request ->> 'client_id', '') and i.capability = request ->> 'name'
      and i.key_hash = request ->> 'idempotency_key_hash';
  end if;

  return jsonb_build_object(
    'outcome', case v_outcome when 'open' then 'admitted' else v_outcome end,
    'revision', (v_gate.entry).revision,
    'server', chumbo.server_facts(v_gate.entry, request),
    'scopes', to_jsonb(v_gate.scopes), 'receipt', v_receipt, 'result', v_result, 'error', v_error);
end;
$$;
comment on function public.chumbo_enter(text, jsonb) is
  'Admits a request that code answers: the operation list, describe, or call, whose receipt it opens. request holds verified facts only. '
  'Returns {outcome: listed, admitted, replayed, refused, wait or sql; revision; server; scopes; entries, next, code; receipt; error}.';
revoke all on function public.chumbo_enter(text, jsonb) from public, anon, authenticated, service_role;
grant execute on function public.chumbo_enter(text, jsonb) to service_role, chumbo_runtime;

insert into chumbo.installed (number, name, hash)
values (11, 'registry', '58a4107646b483ae015f8ee54ab38b8f256a6d6cdca25240b1266ab412dab182') -- chumbo.installed
on conflict (number) do update set name = excluded.name, hash = excluded.hash;
-- migrate:down
