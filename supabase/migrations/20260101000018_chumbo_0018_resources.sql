-- migrate:up
-- 0018_resources.sql — resources, templates and prompts from rows, and the completion of their arguments.

alter table chumbo.capabilities add column if not exists content jsonb;
alter table chumbo.capabilities add column if not exists uri_prefix text collate "C";
alter table chumbo.capabilities add column if not exists uri_like text;
alter table chumbo.capabilities add column if not exists uri_pattern text;
alter table chumbo.capabilities add column if not exists uri_rank integer[];
alter table chumbo.capabilities add column if not exists uri_variables text[];
alter table chumbo.capabilities add column if not exists uri_query text[];
alter table chumbo.capabilities add column if not exists listing jsonb;
alter table chumbo.capabilities add column if not exists completions jsonb;
alter table chumbo.capabilities add column if not exists cache_ttl_ms integer;
comment on column chumbo.capabilities.content is 'What a static resource or prompt holds: {text}, {blob} in base64, or {messages}.';
comment on column chumbo.capabilities.uri_prefix is 'The characters of a template before its first expression; looked up by, so that a read never tries every template.';
comment on column chumbo.capabilities.uri_like is 'The literal parts of a template as a like pattern: a cheap look before uri_pattern.';
comment on column chumbo.capabilities.uri_pattern is 'The anchored expression that a URI, without its query where the template has one, matches as a whole.';
comment on column chumbo.capabilities.uri_rank is 'The larger of two matching templates is the more specific one: prefix, literal characters, then fewer variables.';
comment on column chumbo.capabilities.uri_variables is 'The variables of uri_pattern, in the order of its groups.';
comment on column chumbo.capabilities.uri_query is 'The variables of a query expression, {?a,b}.';
comment on column chumbo.capabilities.listing is 'Of a template, the function that lists its resources: what of a row it replaces while it runs.';
comment on column chumbo.capabilities.completions is 'By argument or variable, the function that completes it: what of a row it replaces while it runs.';
comment on column chumbo.capabilities.cache_ttl_ms is 'How long a client may keep what it read, in milliseconds; null leaves it unsaid.';

alter table chumbo.capabilities drop constraint if exists capabilities_cache_ttl_ms_is_bounded;
alter table chumbo.capabilities add constraint capabilities_cache_ttl_ms_is_bounded check (cache_ttl_ms between 0 and 86400000);
alter table chumbo.capabilities drop constraint if exists capabilities_static_has_content;
alter table chumbo.capabilities add constraint capabilities_static_has_content check (handler <> 'static' or kind = 'tool' or content is not null);
-- Rows of code are left out: a program keeps its own URIs apart, and rows of an earlier version must stay as they are. Not
-- concurrently: the table holds one row a capability, and a file is one transaction.
-- squawk-ignore require-concurrent-index-creation
create unique index if not exists capabilities_server_id_uri_idx on chumbo.capabilities (server_id, uri)
  where kind = 'resource' and handler <> 'typescript';
-- squawk-ignore require-concurrent-index-creation
create unique index if not exists capabilities_server_id_uri_prefix_uri_pattern_idx
  on chumbo.capabilities (server_id, uri_prefix, uri_pattern, uri_query)
  where kind = 'resource_template' and handler <> 'typescript';
-- squawk-ignore require-concurrent-index-creation
create index if not exists capabilities_server_id_listing_idx on chumbo.capabilities (server_id, name) where listing is not null;
-- squawk-ignore require-concurrent-index-creation
create index if not exists capabilities_server_id_completions_idx on chumbo.capabilities (server_id) where completions is not null;

create or replace function chumbo.percent_decode(value text)
  returns text
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
begin
  if strpos(value, '%') = 0 then
    return value;
  end if;
  if value ~ '%(?![0-9A-Fa-f]{2})' then
    return null;
  end if;
  -- Refuses NUL, overlong forms, surrogates and whatever else is no UTF-8.
  return (
    select convert_from(string_agg(
      case when part[1] is not null then decode(part[1], 'hex') else convert_to(part[2], 'UTF8') end, ''::bytea order by position), 'UTF8')
    from regexp_matches(value, '%(..)|([^%]+)', 'g') with ordinality as m (part, position)
  );
exception
  when character_not_in_repertoire or untranslatable_character then
    return null;
end;
$$;
comment on function chumbo.percent_decode(text) is
  'The text that a percent-encoded part of a URI stands for; null for a broken escape, NUL, or what is no UTF-8. A plus stays one.';
revoke all on function chumbo.percent_decode(text) from public, anon, authenticated;
grant execute on function chumbo.percent_decode(text) to service_role, chumbo_runtime;

create or replace function chumbo.refuse_uri(uri text, problem text)
  returns void
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
begin
  raise exception using errcode = 'PT400', message = 'invalid_uri', detail = format('%L %s', uri, problem),
    hint = 'Write an absolute URI such as note://recent, with variables as {id}, {+path} or, at the end, {?page,order}.';
end;
$$;
comment on function chumbo.refuse_uri(text, text) is 'Raises invalid_uri.';
revoke all on function chumbo.refuse_uri(text, text) from public, anon, authenticated, service_role;

create or replace function chumbo.compile_uri(
  uri text,
  out is_template boolean,
  out prefix text,
  out like_pattern text,
  out pattern text,
  out rank integer[],
  out variables text[],
  out query text[]
)
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
declare
  v_part text[];
  v_names text[];
  v_literal integer := 0;
  v_reserved integer := 0;
  v_after_variable boolean := false;
begin
  prefix := split_part(uri, '{', 1);
  like_pattern := '';
  pattern := '^';
  variables := '{}';
  query := '{}';
  if coalesce(length(uri), 0) not between 3 and 1024 or length(prefix) > 256 then
    perform chumbo.refuse_uri(uri, 'is empty, longer than 1024 characters, or has more than 256 before its first variable.');
  end if;
  -- The scheme is written out, or one template would take every URI there is.
  if prefix !~ '^[A-Za-z][A-Za-z0-9+.-]*:' then
    perform chumbo.refuse_uri(uri, 'does not begin with a scheme.');
  end if;

  for v_part in select m from regexp_matches(uri, '\{([^{}]*)\}|([^{}]+)|([{}])', 'g') as m loop
    if cardinality(query) > 0 then
      perform chumbo.refuse_uri(uri, 'goes on after the query.');
    elsif v_part[3] is not null then
      perform chumbo.refuse_uri(uri, 'has a brace without its other.');
    elsif v_part[2] is not null then
      if v_part[2] !~ '^([A-Za-z0-9._~:/?#@!$&''()*+,;=-]|\[|\]|%[0-9A-Fa-f]{2})+$' then
        perform chumbo.refuse_uri(uri, 'has a character that a URI holds in percent-encoded form only.');
      end if;
      v_literal := v_literal + length(v_part[2]);
      like_pattern := like_pattern || regexp_replace(v_part[2], '([\\%_])', '\\\1', 'g');
      pattern := pattern || regexp_replace(v_part[2], '([^A-Za-z0-9])', '\\\1', 'g');
      v_after_variable := false;
    elsif v_part[1] ~ '^\?[A-Za-z_][A-Za-z0-9_]{0,62}(,[A-Za-z_][A-Za-z0-9_]{0,62})*$' then
      query := string_to_array(substr(v_part[1], 2), ',');
    elsif v_part[1] ~ '^[+]?[A-Za-z_][A-Za-z0-9_]{0,62}$' then
      if v_after_variable then
        perform chumbo.refuse_uri(uri, 'has two variables with nothing between them.');
      end if;
      variables := variables || ltrim(v_part[1], '+');
      like_pattern := like_pattern || '%';
      pattern := pattern || case when v_part[1] like '+%' then '(.+)' else '([^/?#]+)' end;
      v_reserved := v_reserved + (v_part[1] like '+%')::integer;
      v_after_variable := true;
    else
      perform chumbo.refuse_uri(uri, format('has the expression {%s}, which is none of those we match.', v_part[1]));
    end if;
  end loop;

  v_names := variables || query;
  if cardinality(v_names) > 32 or cardinality(v_names) > (select count(distinct name) from unnest(v_names) as name) then
    perform chumbo.refuse_uri(uri, 'names a variable twice, or more than 32.');
  end if;
  if cardinality(query) > 0 and regexp_replace(uri, '\{[^{}]*\}', '', 'g') ~ '[?#]' then
    perform chumbo.refuse_uri(uri, 'begins its query twice.');
  end if;
  pattern := pattern || '$';
  is_template := cardinality(v_names) > 0;
  rank := array[length(prefix), v_literal, -v_reserved, -cardinality(v_names)];
end;
$$;
comment on function chumbo.compile_uri(text) is
  'How a URI or a template of the RFC 6570 subset {var}, {+var}, {?a,b} is matched. Raises invalid_uri.';
revoke all on function chumbo.compile_uri(text) from public, anon, authenticated, service_role;

create or replace function chumbo.match_uri(server_id bigint, uri text)
  returns table (kind text, name text, arguments jsonb)
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_path text := split_part(uri, '?', 1);
  v_template record;
  v_values text[];
  v_pair text;
  v_name text;
begin
  -- Nothing longer is registered, and a control character is in no URI.
  if uri is null or length(uri) > 2048 or uri ~ '[\x01-\x1f\x7f]' then
    return;
  end if;

  select c.name
  into v_name
  from chumbo.capabilities as c
  where c.server_id = match_uri.server_id and c.uri = match_uri.uri and c.kind = 'resource' and c.handler <> 'typescript';
  if found then
    return query select 'resource', v_name, '{}'::jsonb;
    return;
  end if;

  -- The prefixes of the URI lead through the index to the few templates that could match. The most specific one decides,
  -- also when it is switched off or not for this caller: a wider one must never answer in its place.
  for v_template in
    select c.name, c.uri_pattern, c.uri_variables, c.uri_query
    from chumbo.capabilities as c
    where c.server_id = match_uri.server_id
      and c.kind = 'resource_template'
      and c.handler <> 'typescript'
      and c.uri_prefix = any (array(select left(match_uri.uri, n) from generate_series(2, least(length(match_uri.uri), 256)) as n))
      and case when c.uri_query = '{}' then match_uri.uri else v_path end like c.uri_like
    order by c.uri_rank desc, c.name
  loop
    v_values := case when v_template.uri_variables = '{}' and v_path ~ v_template.uri_pattern then '{}'
      else regexp_match(case when v_template.uri_query = '{}' then match_uri.uri else v_path end, v_template.uri_pattern) end;
    continue when v_values is null;
    arguments := coalesce(
      jsonb_object(v_template.uri_variables, array(select chumbo.percent_decode(v) from unnest(v_values) with ordinality as u (v, i) order by i)), '{}');

    if v_template.uri_query <> '{}' then
      foreach v_pair in array string_to_array(substr(match_uri.uri, length(v_path) + 2), '&') loop
        v_name := split_part(v_pair, '=', 1);
        if v_pair like '%#%' or v_name <> all (v_template.uri_query) or arguments ? v_name then
          arguments := null;
          exit;
        end if;
        arguments := arguments || jsonb_build_object(v_name, chumbo.percent_decode(substr(v_pair, length(v_name) + 2)));
      end loop;
    end if;

    continue when arguments is null;
    -- An escape that stands for nothing: the URI means nothing, here or elsewhere.
    if arguments <> jsonb_strip_nulls(arguments) then
      return;
    end if;
    return query select 'resource_template', v_template.name collate "default", arguments;
    return;
  end loop;
end;
$$;
comment on function chumbo.match_uri(bigint, text) is
  'The resource or template of rows that a URI belongs to, and its variables, decoded; no row when there is none.';
revoke all on function chumbo.match_uri(bigint, text) from public, anon, authenticated;
grant execute on function chumbo.match_uri(bigint, text) to service_role, chumbo_runtime;

-- What a listing, a completion or the read itself replaces of a row while it runs: chumbo.attempt knows rows only.
create or replace function chumbo.borrow(target regprocedure, parameters jsonb, query text)
  returns jsonb
  language sql stable
  security invoker
  set search_path = ''
as $$
  select jsonb_build_object(
    'handler', 'sql', 'target', p.oid::regprocedure::text, 'target_schema', n.nspname, 'target_name', p.proname,
    'parameters', borrow.parameters, 'result_shape', 'rows', 'result_query', borrow.query, 'is_write', false, 'empty_is_error', false)
  from pg_catalog.pg_proc as p
  join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
  where p.oid = borrow.target
$$;
comment on function chumbo.borrow(regprocedure, jsonb, text) is 'The fields of a capability that run this function with these parameters inside this query.';
revoke all on function chumbo.borrow(regprocedure, jsonb, text) from public, anon, authenticated, service_role;

create or replace function chumbo.output_columns(target regprocedure)
  returns table (name text, type_id oid, place bigint)
  language sql stable
  security invoker
  set search_path = ''
as $$
  -- Declared outputs first, else those of the returned row type; none for a scalar.
  select p.proargnames[i], p.proallargtypes[i], i::bigint
  from pg_catalog.pg_proc as p
  cross join generate_subscripts(p.proargmodes, 1) as i
  where p.oid = target and p.proargmodes[i] in ('o', 'b', 't')
    and (p.prorettype = 'record'::regtype or p.proargmodes && array['t']::"char"[])
  union all
  select a.attname, a.atttypid, a.attnum
  from pg_catalog.pg_proc as p
  join pg_catalog.pg_type as t on t.oid = p.prorettype and t.typtype = 'c'
  join pg_catalog.pg_attribute as a on a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped
  where p.oid = target
$$;
comment on function chumbo.output_columns(regprocedure) is 'The columns of what a function returns, a row each; no row for a scalar.';
revoke all on function chumbo.output_columns(regprocedure) from public, anon, authenticated, service_role;

create or replace function chumbo.describe_contents(
  target regprocedure,
  row_cap integer,
  is_template boolean,
  out query text,
  out mime_type text
)
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_proc pg_catalog.pg_proc;
  v_type oid;
  v_columns text[];
  v_item text;
begin
  select p.* into v_proc from pg_catalog.pg_proc as p where p.oid = target;
  select array_agg(c.name order by c.place) into v_columns from chumbo.output_columns(target) as c;
  select case t.typtype when 'd' then t.typbasetype else t.oid end into v_type from pg_catalog.pg_type as t where t.oid = v_proc.prorettype;

  if v_columns is null and (chumbo.type_schema(v_type) is null or v_type in ('void'::regtype, 'record'::regtype)) then
    raise exception using errcode = 'PT400', message = 'unsupported_result',
      detail = format('%s returns %s, which is no content.', target, format_type(v_proc.prorettype, null)),
      hint = 'Return text, bytea, json, jsonb, a row or a table.';
  end if;

  -- One content for each value; null is none.
  if v_columns is null then
    v_item := case v_type
      when 'bytea'::regtype then 'jsonb_build_object(''blob'', translate(encode(t.value, ''base64''), E''\n'', ''''))'
      else 'jsonb_build_object(''text'', t.value::text)'
    end;
    mime_type := case v_type
      when 'bytea'::regtype then 'application/octet-stream'
      when 'json'::regtype then 'application/json'
      when 'jsonb'::regtype then 'application/json'
      when 'xml'::regtype then 'application/xml'
      else 'text/plain'
    end;
    query := format(
      'select jsonb_build_object(''count'', count(*), ''value'', coalesce(jsonb_agg(%s), ''[]'')) '
      'from (select t.value from %%s as t(value) limit %s) as t where t.value is not null', v_item, row_cap);
    return;
  end if;

  -- One content for each row, where the columns say what a content says.
  if v_columns && array['text', 'blob'] and v_columns <@ array['uri', 'mime_type', 'text', 'blob', 'last_modified'] then
    if exists (select from chumbo.output_columns(target) as c where c.name = 'blob' and c.type_id <> 'bytea'::regtype) then
      raise exception using errcode = 'PT400', message = 'unsupported_result',
        detail = format('The column blob of %s is no bytea.', target), hint = 'Return text in the column text.';
    end if;
    select string_agg(case c.name
        when 'uri' then '''uri'', t.uri::text'
        when 'mime_type' then '''mimeType'', t.mime_type::text'
        when 'text' then '''text'', t.text::text'
        when 'blob' then format('''blob'', %s translate(encode(t.blob, ''base64''), E''\n'', '''') %s',
          case when 'text' = any (v_columns) then 'case when t.text is null then' else '' end,
          case when 'text' = any (v_columns) then 'end' else '' end)
        else '''_meta'', case when t.last_modified is not null then jsonb_build_object(''dev.chumbo/last-modified'', t.last_modified) end'
      end, ', ' order by c.place)
    into v_item
    from chumbo.output_columns(target) as c;
    query := format(
      'select jsonb_build_object(''count'', count(*), ''value'', coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object(%s))), ''[]'')) '
      'from (select t.* from %%s as t limit %s) as t where %s', v_item, row_cap,
      (select string_agg(format('t.%I is not null', c), ' or ') from unnest(v_columns) as c where c in ('text', 'blob')));
    return;
  end if;

  -- Any other rows are one document; numbers beyond a double travel as text, as everywhere.
  select 'to_jsonb(t.*)' || coalesce(string_agg(
    format(' || jsonb_build_object(%L, %s)', c.name, chumbo.json_expression(c.type_id, format('t.%I', c.name))), '' order by c.place)
    filter (where chumbo.has_wide_number(c.type_id)), '')
  into v_item
  from chumbo.output_columns(target) as c;
  -- The query is a format template, and a column may be called "50%".
  v_item := replace(v_item, '%', '%%');
  mime_type := 'application/json';
  query := case
    when v_proc.proretset then format(
      -- One row more than the cap tells that there was more. No row at all is a list without entries, unless variables asked for one.
      'select jsonb_build_object(''count'', least(count(*), %1$s), ''value'', case when %2$s then ''[]'' else jsonb_build_array(jsonb_build_object( '
      '''text'', coalesce(jsonb_agg(%3$s) - %1$s, ''[]'')::text) || case when count(*) > %1$s then ''{"_meta": {"dev.chumbo/truncated": true}}'' else ''{}''::jsonb end) end) '
      'from (select t.* from %%s as t limit %1$s + 1) as t', row_cap, case when is_template then 'count(*) = 0' else 'false' end, v_item)
    else format(
      'select jsonb_build_object(''count'', count(*), ''value'', coalesce(jsonb_agg(jsonb_build_object(''text'', (%s)::text)), ''[]'')) '
      'from (select t.* from %%s as t) as t where not ((t.*) is null)', v_item)
  end;
end;
$$;
comment on function chumbo.describe_contents(regprocedure, integer, boolean) is
  'The select around the call of a resource''s function that returns {count, value: [{text or blob, uri, mimeType, _meta}]}, and the mime type '
  'its result suggests. Raises unsupported_result.';
revoke all on function chumbo.describe_contents(regprocedure, integer, boolean) from public, anon, authenticated, service_role;

create or replace function chumbo.describe_listing(target regprocedure, row_cap integer)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_proc pg_catalog.pg_proc;
  v_unknown text;
  v_item text;
begin
  perform chumbo.require_target(target);
  select p.* into v_proc from pg_catalog.pg_proc as p where p.oid = target;
  select string_agg(c.name, ', ') filter (where c.name <> all (array['uri', 'name', 'title', 'description', 'mime_type', 'size', 'last_modified'])),
    string_agg(case c.name
      when 'mime_type' then '''mimeType'', t.mime_type::text'
      when 'size' then '''size'', case when t.size::bigint >= 0 then t.size::bigint end'
      -- What no client could read as a date costs this entry its date, and not the whole list.
      when 'last_modified' then '''annotations'', case when t.last_modified::timestamptz >= ''0001-01-01Z'' and t.last_modified::timestamptz < ''9999-12-31Z'' '
        'then jsonb_build_object(''lastModified'', to_char(t.last_modified::timestamptz at time zone ''utc'', ''YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'')) end'
      else format('%L, t.%I::text', c.name, c.name)
    end, ', ' order by c.place)
  into v_unknown, v_item
  from chumbo.output_columns(target) as c;

  if v_proc.pronargs > 0 or not v_proc.proretset or v_unknown is not null or v_item is null or v_item not like '%''uri'', t.uri::text%' then
    raise exception using errcode = 'PT400', message = 'unsupported_target',
      detail = format('%s does not list resources%s.', target, ': there is no place for its ' || v_unknown),
      hint = 'It takes nothing and returns a table of uri and any of name, title, description, mime_type, size, last_modified.';
  end if;
  return chumbo.borrow(target, '[]', format(
    'select jsonb_build_object(''count'', count(*), ''value'', coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object(%s))), ''[]'')) '
    'from (select t.* from %%s as t limit %s) as t', v_item, row_cap));
end;
$$;
comment on function chumbo.describe_listing(regprocedure, integer) is 'How the listing function of a template is run. Raises unsupported_target, ambiguous_target.';
revoke all on function chumbo.describe_listing(regprocedure, integer) from public, anon, authenticated, service_role;

create or replace function chumbo.register_resource(
  uri text,
  target text default null,
  content text default null,
  blob bytea default null,
  server text default 'default',
  name text default null,
  title text default null,
  description text default null,
  mime_type text default null,
  scopes text[] default '{}',
  annotations jsonb default null,
  size bigint default null,
  cache_seconds integer default null,
  list text default null,
  row_cap integer default 1000,
  strict boolean default false,
  icons jsonb default null,
  meta jsonb default null
)
  returns bigint
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_server_id bigint := chumbo.server_id(register_resource.server);
  v_uri record;
  v_kind text;
  v_name text;
  v_target regprocedure;
  v_list regprocedure;
  v_run jsonb := '{}';
  v_parameters jsonb;
  v_query text;
  v_mime_type text := case when content is not null then 'text/plain' else 'application/octet-stream' end;
  v_content jsonb;
  v_problem text;
  v_id bigint;
begin
  v_uri := chumbo.compile_uri(register_resource.uri);
  v_kind := case when v_uri.is_template then 'resource_template' else 'resource' end;

  if num_nonnulls(target, content, blob) <> 1 then
    v_problem := 'A resource is target => a function, content => a text, or blob => bytes: exactly one of them.';
  elsif v_uri.is_template and target is null then
    v_problem := 'A URI with variables needs a target that takes them.';
  elsif list is not null and not v_uri.is_template then
    v_problem := 'A URI without variables is listed by itself; list is for templates.';
  elsif octet_length(content) > 3145728 or octet_length(blob) > 3145728 then
    v_problem := 'The content is larger than 3 MiB.';
  elsif cache_seconds not between 0 and 86400 then
    v_problem := 'cache_seconds is not between 0 and 86400.';
  elsif size < 0 then
    v_problem := 'size is negative.';
  elsif mime_type !~ '^[A-Za-z0-9!#$&^_.+-]{1,127}/[A-Za-z0-9!#$&^_.+-]{1,127}( *;.{1,255})?$' then
    v_problem := 'mime_type is not of the form type/subtype.';
  elsif annotations is not null and (
    jsonb_typeof(annotations) <> 'object'
    or annotations - array['audience', 'priority', 'lastModified'] <> '{}'
    or chumbo.find_annotation_fault(v_kind, annotations) is not null
  ) then
    v_problem := 'annotations hold audience (user, assistant), priority (0 to 1) and lastModified (ISO 8601), and nothing else.';
  end if;
  if v_problem is not null then
    raise exception using errcode = 'PT400', message = 'invalid_option', detail = format('%s: %s', register_resource.uri, v_problem),
      hint = 'Correct the option.';
  end if;
  perform chumbo.require_scopes(register_resource.scopes);

  if target is not null then
    v_target := chumbo.resolve_target(register_resource.target);
    perform chumbo.require_target(v_target);
    v_parameters := chumbo.describe_parameters(v_target);
    select string_agg(p ->> 'name', ', ')
    into v_problem
    from jsonb_array_elements(v_parameters) as p
    where (p ->> 'required')::boolean and p ->> 'name' <> all (v_uri.variables || v_uri.query);
    if v_problem is not null then
      perform chumbo.refuse_uri(register_resource.uri, format('has no variable for what %s requires: %s.', v_target, v_problem));
    end if;
    select string_agg(v, ', ')
    into v_problem
    from unnest(v_uri.variables || v_uri.query) as v
    where not exists (select from jsonb_array_elements(v_parameters) as p where p ->> 'name' = v);
    if v_problem is not null then
      perform chumbo.refuse_uri(register_resource.uri, format('has a variable that %s does not take: %s.', v_target, v_problem));
    end if;
    perform chumbo.warn_of_target(v_target, strict, description is not null);
    select d.query, d.mime_type
    into v_query, v_mime_type
    from chumbo.describe_contents(v_target, register_resource.row_cap, v_uri.is_template) as d;
    v_run := chumbo.borrow(v_target, (select coalesce(jsonb_agg(p - 'schema'), '[]') from jsonb_array_elements(v_parameters) as p), v_query);
  elsif content is not null then
    v_content := jsonb_build_object('text', register_resource.content);
  else
    v_content := jsonb_build_object('blob', translate(encode(register_resource.blob, 'base64'), E'\n', ''));
  end if;
  if list is not null then
    v_list := chumbo.resolve_target(register_resource.list);
    perform chumbo.warn_of_target(v_list, strict, true);
  end if;

  v_name := coalesce(register_resource.name, chumbo.public_name(coalesce(v_run ->> 'target_name', register_resource.uri)));
  perform chumbo.require_name(v_kind, v_name, v_target::text, v_server_id);
  select format('The %s %s', c.kind, c.name)
  into v_problem
  from chumbo.capabilities as c
  where c.server_id = v_server_id and c.handler <> 'typescript' and c.name <> v_name
    and case when v_kind = 'resource' then c.kind = v_kind and c.uri = register_resource.uri
      else c.kind = v_kind and c.uri_prefix = v_uri.prefix and c.uri_pattern = v_uri.pattern and c.uri_query = v_uri.query end;
  if found then
    raise exception using errcode = 'PT409', message = 'uri_taken',
      detail = format('%s answers %L already.', v_problem, register_resource.uri),
      hint = 'Choose another URI, or drop that one first with chumbo.drop_capability(name, server, kind).';
  end if;

  insert into chumbo.capabilities as c (
    server_id, kind, name, title, description, annotations, meta, icons, uri, mime_type, required_scopes, handler,
    target, target_schema, target_name, parameters, result_shape, result_query, row_cap, is_write, content, size,
    uri_prefix, uri_like, uri_pattern, uri_rank, uri_variables, uri_query, listing, cache_ttl_ms
  )
  values (
    v_server_id, v_kind, v_name, register_resource.title,
    coalesce(register_resource.description, chumbo.target_description(v_target)), coalesce(register_resource.annotations, '{}'),
    register_resource.meta, register_resource.icons, register_resource.uri,
    coalesce(register_resource.mime_type, v_mime_type),
    register_resource.scopes, coalesce(v_run ->> 'handler', 'static'),
    v_run ->> 'target', v_run ->> 'target_schema', v_run ->> 'target_name', v_run -> 'parameters', v_run ->> 'result_shape', v_run ->> 'result_query',
    -- Reading changes nothing: a read-only transaction holds every function to that.
    register_resource.row_cap, false, v_content,
    coalesce(register_resource.size, octet_length(register_resource.content), octet_length(register_resource.blob)),
    case when v_uri.is_template then v_uri.prefix end, case when v_uri.is_template then v_uri.like_pattern end,
    case when v_uri.is_template then v_uri.pattern end, case when v_uri.is_template then v_uri.rank end,
    case when v_uri.is_template then v_uri.variables end, case when v_uri.is_template then v_uri.query end,
    case when v_list is not null then chumbo.describe_listing(v_list, register_resource.row_cap) end,
    register_resource.cache_seconds * 1000
  )
  on conflict on constraint capabilities_server_id_kind_name_key do update
  set title = excluded.title, description = excluded.description, annotations = excluded.annotations, meta = excluded.meta,
    icons = excluded.icons, uri = excluded.uri, mime_type = excluded.mime_type, required_scopes = excluded.required_scopes,
    handler = excluded.handler, target = excluded.target, target_schema = excluded.target_schema, target_name = excluded.target_name,
    parameters = excluded.parameters, result_shape = excluded.result_shape, result_query = excluded.result_query,
    row_cap = excluded.row_cap, is_write = excluded.is_write, content = excluded.content, size = excluded.size,
    uri_prefix = excluded.uri_prefix, uri_like = excluded.uri_like, uri_pattern = excluded.uri_pattern, uri_rank = excluded.uri_rank,
    uri_variables = excluded.uri_variables, uri_query = excluded.uri_query, listing = excluded.listing,
    -- What completes a variable that is gone goes with it.
    completions = (
      select jsonb_object_agg(e.key, e.value) from jsonb_each(c.completions) as e
      where e.key = any (excluded.uri_variables || excluded.uri_query)
    ),
    cache_ttl_ms = excluded.cache_ttl_ms, updated_at = now()
  returning c.id into v_id;

  return v_id;
end;
$$;
comment on function chumbo.register_resource(text, text, text, bytea, text, text, text, text, text, text[], jsonb, bigint, integer, text, integer, boolean, jsonb, jsonb) is
  'Offers a resource, or a template where the URI has variables: a fixed text or bytes, or a function of the variables under the caller''s rights. '
  'Repeating it under the same name renews everything and keeps whether it is enabled and what completes its variables. Returns the capability. '
  'Raises invalid_uri, uri_taken, invalid_option, invalid_name, name_taken, unknown_target, ambiguous_target, unsupported_target, '
  'unsupported_parameter, unnamed_parameter, unsupported_result, unknown_scope, unknown_server, unsafe_target, definition_too_large.';
revoke all on function chumbo.register_resource(text, text, text, bytea, text, text, text, text, text, text[], jsonb, bigint, integer, text, integer, boolean, jsonb, jsonb)
  from public, anon, authenticated, service_role;

-- Values in a URI and arguments of a prompt are text on the wire, whatever the parameter's type.
create or replace function chumbo.text_arguments(parameters jsonb, given jsonb)
  returns jsonb
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
declare
  v_parameter jsonb;
  v_text text;
  v_arguments jsonb := '{}';
begin
  for v_parameter in select p from jsonb_array_elements(parameters) as p where given ? (p ->> 'name') loop
    v_text := given ->> (v_parameter ->> 'name');
    -- A form that was left empty: only a text can be meant by it.
    continue when v_text = '' and not (v_parameter ->> 'required')::boolean
      and v_parameter ->> 'type' not in ('text', 'character varying', 'character', 'citext', 'name');

    begin
      v_arguments := v_arguments || jsonb_build_object(v_parameter ->> 'name',
        case when v_parameter ->> 'kind' in ('array', 'object', 'any') and not chumbo.has_huge_exponent(v_text) then v_text::jsonb else to_jsonb(v_text) end);
    exception
      when data_exception or statement_too_complex then
        v_arguments := v_arguments || jsonb_build_object(v_parameter ->> 'name', v_text);
    end;
  end loop;
  return v_arguments;
end;
$$;
comment on function chumbo.text_arguments(jsonb, jsonb) is
  'Arguments given as text, in the form the call takes them: JSON where the parameter is an array, an object or json; an empty optional one is left out.';
revoke all on function chumbo.text_arguments(jsonb, jsonb) from public, anon, authenticated;
grant execute on function chumbo.text_arguments(jsonb, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.normal_messages(messages jsonb)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  return (
    select case when bool_and(coalesce(
        m.message ->> 'role' in ('user', 'assistant')
        and chumbo.find_block_fault(m.message -> 'content') is null, false))
      then jsonb_agg(m.message order by m.place) end
    from (
      select e.place, jsonb_build_object(
        'role', coalesce(e.value ->> 'role', 'user'),
        'content', case
          when jsonb_typeof(e.value) = 'string' then jsonb_build_object('type', 'text', 'text', e.value)
          when jsonb_typeof(e.value -> 'content') = 'string' then jsonb_build_object('type', 'text', 'text', e.value -> 'content')
          else e.value -> 'content'
        end) as message
      from jsonb_array_elements(case when jsonb_typeof(messages) = 'array' then messages else jsonb_build_array(messages) end)
        with ordinality as e (value, place)
    ) as m
  );
end;
$$;
comment on function chumbo.normal_messages(jsonb) is
  'Messages as the protocol writes them, from that form or a shorter one: a text is a message of the user, a content that is a text is one of type text. '
  'Null when one of them is no message, or there is none.';
revoke all on function chumbo.normal_messages(jsonb) from public, anon, authenticated;
grant execute on function chumbo.normal_messages(jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.fill_text(template text, arguments jsonb)
  returns text
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
begin
  -- One pass: what an argument says is put in and never looked at again.
  return (
    select coalesce(string_agg(case when part[1] is not null then coalesce(arguments ->> part[1], '') else coalesce(part[2], part[3]) end, '' order by place), '')
    from regexp_matches(template, '\{\{ *([A-Za-z_][A-Za-z0-9_-]*) *\}\}|([^{]+)|(\{)', 'g') with ordinality as m (part, place)
  );
end;
$$;
comment on function chumbo.fill_text(text, jsonb) is 'A text whose {{argument}} placeholders are replaced by what was given for them, or by nothing.';
revoke all on function chumbo.fill_text(text, jsonb) from public, anon, authenticated;
grant execute on function chumbo.fill_text(text, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.fill_messages(messages jsonb, arguments jsonb)
  returns jsonb
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
begin
  return (
    select jsonb_agg(case
        when m.message #>> '{content,type}' = 'text'
          then jsonb_set(m.message, '{content,text}', to_jsonb(chumbo.fill_text(m.message #>> '{content,text}', arguments)))
        when m.message #> '{content,resource,text}' is not null
          then jsonb_set(m.message, '{content,resource,text}', to_jsonb(chumbo.fill_text(m.message #>> '{content,resource,text}', arguments)))
        else m.message
      end order by m.place)
    from jsonb_array_elements(messages) with ordinality as m (message, place)
  );
end;
$$;
comment on function chumbo.fill_messages(jsonb, jsonb) is 'The messages of a prompt with its arguments put in, in texts and in texts of embedded resources.';
revoke all on function chumbo.fill_messages(jsonb, jsonb) from public, anon, authenticated;
grant execute on function chumbo.fill_messages(jsonb, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.filled_length(messages jsonb, arguments jsonb)
  returns bigint
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
begin
  return octet_length(messages::text) + coalesce((
    select sum(octet_length(arguments ->> part[1]))
    from jsonb_array_elements(messages) as m (message)
    cross join lateral regexp_matches(coalesce(
      m.message #>> '{content,text}', m.message #>> '{content,resource,text}', ''), '\{\{ *([A-Za-z_][A-Za-z0-9_-]*) *\}\}', 'g') as p (part)
  ), 0);
end;
$$;
comment on function chumbo.filled_length(jsonb, jsonb) is
  'About how many bytes fill_messages would write: a short argument named often is long.';
revoke all on function chumbo.filled_length(jsonb, jsonb) from public, anon, authenticated;
grant execute on function chumbo.filled_length(jsonb, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.placeholders(messages jsonb)
  returns text[]
  language sql immutable
  security invoker
  set search_path = ''
as $$
  select coalesce(array_agg(found.name order by found.place), '{}')
  from (
    select part[1] as name, min(m.place * 100000 + p.place) as place
    from jsonb_array_elements(messages) with ordinality as m (message, place)
    cross join lateral regexp_matches(coalesce(
      m.message #>> '{content,text}', m.message #>> '{content,resource,text}', ''), '\{\{ *([A-Za-z_][A-Za-z0-9_-]*) *\}\}', 'g')
      with ordinality as p (part, place)
    group by part[1]
  ) as found
$$;
comment on function chumbo.placeholders(jsonb) is 'The names between {{ and }} in messages, each once, in the order they appear.';
revoke all on function chumbo.placeholders(jsonb) from public, anon, authenticated, service_role;

create or replace function chumbo.prompt_schema(arguments jsonb, described jsonb)
  returns jsonb
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
declare
  v_bad text;
begin
  if jsonb_typeof(arguments) <> 'array' then
    v_bad := 'arguments are no array.';
  else
    select min(format('the argument %s is not {name, title, description, required}.', coalesce(a.value ->> 'name', a.value::text)))
    into v_bad
    from jsonb_array_elements(arguments) as a
    where not coalesce(
      jsonb_typeof(a.value) = 'object' and a.value ->> 'name' ~ '^[A-Za-z_][A-Za-z0-9_-]{0,63}$'
        and a.value - array['name', 'title', 'description', 'required'] = '{}'
        and coalesce(jsonb_typeof(a.value -> 'required'), 'boolean') = 'boolean'
        and coalesce(jsonb_typeof(a.value -> 'title'), 'string') = 'string'
        and coalesce(jsonb_typeof(a.value -> 'description'), 'string') = 'string', false);
    if v_bad is null and jsonb_array_length(arguments) > (select count(distinct a ->> 'name') from jsonb_array_elements(arguments) as a) then
      v_bad := 'an argument is named twice.';
    end if;
    if v_bad is null then
      select min(format('there is no place for the argument %s.', a ->> 'name'))
      into v_bad
      from jsonb_array_elements(arguments) as a
      where not exists (select from jsonb_array_elements(described) as d where d ->> 'name' = a ->> 'name');
    end if;
  end if;
  if v_bad is not null then
    raise exception using errcode = 'PT400', message = 'invalid_option', detail = 'In a prompt, ' || v_bad,
      hint = 'Write arguments => ''[{"name": "city", "description": "Where to.", "required": false}]''.';
  end if;

  return (
    select jsonb_build_object(
      'type', 'object',
      'properties', coalesce(jsonb_object_agg(d.value ->> 'name',
        '{"type": "string"}'::jsonb || jsonb_strip_nulls(jsonb_build_object(
          'title', a.value -> 'title', 'description', coalesce(a.value -> 'description', d.value #> '{schema,description}')))), '{}'),
      'required', coalesce(jsonb_agg(d.value -> 'name' order by coalesce(a.place, 1000 + d.place))
        -- What a function requires stays required; a placeholder is, unless its argument says otherwise.
        filter (where case when d.value ? 'position' and (d.value ->> 'required')::boolean then true
          else coalesce((a.value ->> 'required')::boolean, (d.value ->> 'required')::boolean) end), '[]'),
      'propertyOrdering', coalesce(jsonb_agg(d.value -> 'name' order by coalesce(a.place, 1000 + d.place)), '[]'),
      'additionalProperties', false)
    from jsonb_array_elements(described) with ordinality as d (value, place)
    left join jsonb_array_elements(arguments) with ordinality as a (value, place) on a.value ->> 'name' = d.value ->> 'name'
  );
end;
$$;
comment on function chumbo.prompt_schema(jsonb, jsonb) is
  'The schema of a prompt''s arguments from what its author says of them and from the placeholders or parameters they fill. Raises invalid_option.';
revoke all on function chumbo.prompt_schema(jsonb, jsonb) from public, anon, authenticated, service_role;

create or replace function chumbo.describe_messages(target regprocedure)
  returns text
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_proc pg_catalog.pg_proc;
  v_columns text[];
begin
  select p.* into v_proc from pg_catalog.pg_proc as p where p.oid = target;
  select array_agg(c.name) into v_columns from chumbo.output_columns(target) as c;

  if v_columns is not null and not (v_columns <@ array['role', 'content'] and 'content' = any (v_columns))
    or v_columns is null and (chumbo.type_schema(v_proc.prorettype) is null or v_proc.prorettype in ('void'::regtype, 'record'::regtype, 'bytea'::regtype))
  then
    raise exception using errcode = 'PT400', message = 'unsupported_result',
      detail = format('%s does not return messages.', target),
      hint = 'Return text, jsonb, or a table of role and content.';
  end if;
  return case
    when v_columns is not null then format(
      'select jsonb_build_object(''count'', count(*), ''value'', coalesce(jsonb_agg(to_jsonb(t.*)), ''[]'')) from (select t.* from %%s as t limit 1000) as t')
    when v_proc.prorettype in ('json'::regtype, 'jsonb'::regtype) and not v_proc.proretset then
      'select jsonb_build_object(''count'', count(t.value), ''value'', (array_agg(to_jsonb(t.value)))[1]) from %s as t(value)'
    else format(
      'select jsonb_build_object(''count'', count(*), ''value'', coalesce(jsonb_agg(%s), ''[]'')) '
      'from (select t.value from %%s as t(value) limit 1000) as t where t.value is not null',
      case when v_proc.prorettype in ('json'::regtype, 'jsonb'::regtype) then 'to_jsonb(t.value)' else 'to_jsonb(t.value::text)' end)
  end;
end;
$$;
comment on function chumbo.describe_messages(regprocedure) is
  'The select around the call of a prompt''s function that returns {count, value: messages}. Raises unsupported_result.';
revoke all on function chumbo.describe_messages(regprocedure) from public, anon, authenticated, service_role;

create or replace function chumbo.register_prompt(
  name text,
  messages jsonb default null,
  arguments jsonb default null,
  target text default null,
  server text default 'default',
  title text default null,
  description text default null,
  scopes text[] default '{}',
  strict boolean default false,
  icons jsonb default null,
  meta jsonb default null
)
  returns bigint
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_server_id bigint := chumbo.server_id(register_prompt.server);
  v_target regprocedure;
  v_messages jsonb;
  v_parameters jsonb;
  v_schema jsonb;
  v_run jsonb := '{}';
  v_id bigint;
begin
  if num_nonnulls(messages, target) <> 1 then
    raise exception using errcode = 'PT400', message = 'invalid_option',
      detail = format('The prompt %s has neither messages nor a target, or both.', register_prompt.name),
      hint = 'Pass messages => ''…'' or target => ''schema.function''.';
  end if;
  perform chumbo.require_scopes(register_prompt.scopes);

  if target is not null then
    v_target := chumbo.resolve_target(register_prompt.target);
    perform chumbo.require_target(v_target);
    v_parameters := chumbo.describe_parameters(v_target);
    v_schema := chumbo.prompt_schema(coalesce(register_prompt.arguments, '[]'), v_parameters);
    perform chumbo.warn_of_target(v_target, strict, description is not null);
    v_run := chumbo.borrow(v_target, (select coalesce(jsonb_agg(p - 'schema'), '[]') from jsonb_array_elements(v_parameters) as p),
      chumbo.describe_messages(v_target));
  else
    v_messages := chumbo.normal_messages(register_prompt.messages);
    if v_messages is null then
      raise exception using errcode = 'PT400', message = 'invalid_option',
        detail = format('The messages of %s are none: each has a role, user or assistant, and a content.', register_prompt.name),
        hint = 'Write messages => ''[{"role": "user", "content": "Plan a trip to {{city}}."}]''.';
    end if;
    -- What is declared, and what stands between braces, which is required unless it is declared otherwise.
    v_schema := chumbo.prompt_schema(coalesce(register_prompt.arguments, '[]'), (
      select coalesce(jsonb_agg(jsonb_build_object('name', n.name, 'required', true) order by n.place), '[]')
      from (
        select p.name, min(p.place) as place
        from unnest(
          chumbo.placeholders(v_messages)
          || array(select a ->> 'name' from jsonb_array_elements(case when jsonb_typeof(register_prompt.arguments) = 'array' then register_prompt.arguments end) as a)
        ) with ordinality as p (name, place)
        group by p.name
      ) as n
    ));
  end if;
  perform chumbo.require_name('prompt', register_prompt.name, v_target::text, v_server_id);

  insert into chumbo.capabilities as c (
    server_id, kind, name, title, description, input_schema, meta, icons, required_scopes, handler,
    target, target_schema, target_name, parameters, result_shape, result_query, is_write, content
  )
  values (
    v_server_id, 'prompt', register_prompt.name, register_prompt.title,
    coalesce(register_prompt.description, chumbo.target_description(v_target)), v_schema, register_prompt.meta, register_prompt.icons,
    register_prompt.scopes, coalesce(v_run ->> 'handler', 'static'),
    v_run ->> 'target', v_run ->> 'target_schema', v_run ->> 'target_name', v_run -> 'parameters', v_run ->> 'result_shape', v_run ->> 'result_query',
    false, case when v_messages is not null then jsonb_build_object('messages', v_messages) end
  )
  on conflict on constraint capabilities_server_id_kind_name_key do update
  set title = excluded.title, description = excluded.description, input_schema = excluded.input_schema, meta = excluded.meta,
    icons = excluded.icons, required_scopes = excluded.required_scopes, handler = excluded.handler, target = excluded.target,
    target_schema = excluded.target_schema, target_name = excluded.target_name, parameters = excluded.parameters,
    result_shape = excluded.result_shape, result_query = excluded.result_query, is_write = excluded.is_write, content = excluded.content,
    completions = (select jsonb_object_agg(e.key, e.value) from jsonb_each(c.completions) as e where excluded.input_schema -> 'properties' ? e.key),
    updated_at = now()
  returning c.id into v_id;

  return v_id;
end;
$$;
comment on function chumbo.register_prompt(text, jsonb, jsonb, text, text, text, text, text[], boolean, jsonb, jsonb) is
  'Offers a prompt: messages with {{argument}} placeholders, or a function that returns messages under the caller''s rights. Repeating it renews '
  'everything and keeps whether it is enabled and what completes its arguments. Returns the capability. Raises invalid_option, invalid_name, '
  'name_taken, unknown_target, ambiguous_target, unsupported_target, unsupported_parameter, unnamed_parameter, unsupported_result, '
  'unknown_scope, unknown_server, unsafe_target, definition_too_large.';
revoke all on function chumbo.register_prompt(text, jsonb, jsonb, text, text, text, text, text[], boolean, jsonb, jsonb)
  from public, anon, authenticated, service_role;

create or replace function chumbo.set_completion(
  name text,
  argument text,
  target text,
  kind text default 'prompt',
  server text default 'default'
)
  returns void
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_server_id bigint := chumbo.server_id(set_completion.server);
  v_row chumbo.capabilities;
  v_target regprocedure;
  v_proc pg_catalog.pg_proc;
  v_run jsonb;
begin
  select c.* into v_row
  from chumbo.capabilities as c
  where c.server_id = v_server_id and c.kind = set_completion.kind and c.name = set_completion.name and c.handler <> 'typescript'
  for update;
  if not found then
    raise exception using errcode = 'PT404', message = 'unknown_capability',
      detail = format('The server %L has no %s named %L in SQL.', set_completion.server, set_completion.kind, set_completion.name),
      hint = 'Register it first; kind is prompt or resource_template.';
  end if;
  if not coalesce(
    case v_row.kind
      when 'prompt' then v_row.input_schema -> 'properties' ? set_completion.argument
      when 'resource_template' then set_completion.argument = any (v_row.uri_variables || v_row.uri_query)
    end, false)
  then
    raise exception using errcode = 'PT400', message = 'invalid_option',
      detail = format('The %s %s has no argument %L.', v_row.kind, v_row.name, set_completion.argument),
      hint = 'Name an argument of a prompt, or a variable of a resource template.';
  end if;

  if set_completion.target is not null then
    v_target := chumbo.resolve_target(set_completion.target);
    perform chumbo.require_target(v_target);
    select p.* into v_proc from pg_catalog.pg_proc as p where p.oid = v_target;
    if not v_proc.proretset or (select count(*) from chumbo.output_columns(v_target)) > 1
      or v_proc.pronargs not between 1 and 2 or v_proc.proargtypes[0] <> 'text'::regtype
      or v_proc.pronargs = 2 and v_proc.proargtypes[1] <> 'jsonb'::regtype
    then
      raise exception using errcode = 'PT400', message = 'unsupported_target',
        detail = format('%s does not complete an argument.', v_target),
        hint = 'It takes the text typed so far, may take the other arguments as jsonb, and returns setof text.';
    end if;
    perform chumbo.warn_of_target(v_target, false, true);
    v_run := chumbo.borrow(v_target,
      (select jsonb_agg(p - 'schema') from jsonb_array_elements(chumbo.describe_parameters(v_target)) as p),
      -- One more than a total is worth telling.
      'select jsonb_build_object(''count'', count(*), ''value'', coalesce(jsonb_agg(left(t.value::text, 1000) order by t.place) filter (where t.place <= 100), ''[]'')) '
      'from (select t.value, row_number() over () as place from %s as t(value) where t.value is not null limit 1001) as t');
  end if;

  update chumbo.capabilities as c
  set completions = nullif(
      coalesce(c.completions, '{}') - set_completion.argument
        || case when v_run is null then '{}' else jsonb_build_object(set_completion.argument, v_run) end, '{}'),
    updated_at = now()
  where c.id = v_row.id;
end;
$$;
comment on function chumbo.set_completion(text, text, text, text, text) is
  'Lets a function (text [, jsonb]) returns setof text complete an argument of a prompt, or a variable of a template with kind => ''resource_template'', '
  'under the caller''s rights; null ends it. Raises unknown_capability, invalid_option, unknown_target, ambiguous_target, unsupported_target, unknown_server.';
revoke all on function chumbo.set_completion(text, text, text, text, text) from public, anon, authenticated, service_role;

create or replace function public.chumbo_read(server text, uri text, request jsonb)
  returns jsonb
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_started timestamptz := clock_timestamp();
  v_match record;
  v_gate record;
  v_row chumbo.capabilities;
  v_arguments jsonb;
  v_run record;
  v_contents jsonb;
  v_count integer;
  v_outcome text := 'ok';
  v_error jsonb;
begin
  select m.*
  into v_match
  from chumbo.servers as s
  cross join lateral chumbo.match_uri(s.id, chumbo_read.uri) as m
  where s.slug = chumbo_read.server and s.is_enabled;
  -- Code may know it. Nothing was decided, so nothing counts and no receipt is left.
  if not found and coalesce((request ->> 'may_be_code')::boolean, false) then
    return jsonb_build_object('outcome', 'unmatched');
  end if;

  -- What no row answers is admitted like an unknown name, so that guessing is limited and leaves its receipt.
  v_gate := chumbo.admit(server, coalesce(v_match.kind, 'resource'), coalesce(v_match.name, ''), request);
  v_row := v_gate.found_capability;
  v_error := v_gate.refusal;

  if v_error is null and v_row.handler = 'static' then
    v_contents := jsonb_build_array(v_row.content);
  elsif v_error is null and v_gate.target is null then
    v_error := jsonb_build_object('code', 'tool_unavailable');
  elsif v_error is null then
    v_arguments := chumbo.text_arguments(v_row.parameters, v_match.arguments);
    if exists (select from jsonb_array_elements(v_row.parameters) as p where (p ->> 'required')::boolean and not v_arguments ? (p ->> 'name')) then
      v_contents := '[]';
    else
      v_run := chumbo.attempt(v_row, v_gate.target, v_arguments, request);
      v_outcome := v_run.outcome;
      v_error := v_run.error;
      v_contents := v_run.answer -> 'value';
      v_count := v_run.row_count;
    end if;
    -- Nothing there, nothing the caller may see, and a variable that cannot be what the function takes: one answer, or ids
    -- could be guessed.
    if v_outcome = 'ok' and v_contents = '[]' or v_error ->> 'code' = 'invalid_arguments' then
      v_outcome := 'tool_error';
      v_error := jsonb_build_object('code', 'resource_not_found');
    end if;
  end if;

  if v_error is not null then
    v_outcome := case v_outcome when 'ok' then 'refused' else v_outcome end;
    v_contents := null;
  else
    v_contents := (
      select jsonb_agg(
        jsonb_strip_nulls(jsonb_build_object('uri', chumbo_read.uri, 'mimeType',
          coalesce(v_row.mime_type, case when c.value ? 'blob' then 'application/octet-stream' else 'text/plain' end))) || c.value
        order by c.place)
      from jsonb_array_elements(v_contents) with ordinality as c (value, place)
    );
  end if;

  perform chumbo.write_receipt(
    server, coalesce(v_match.kind, 'resource'), coalesce(v_match.name, ''), request, v_outcome, v_error ->> 'code',
    coalesce(v_count, jsonb_array_length(v_contents), 0), octet_length(v_contents::text),
    coalesce(v_contents @? '$[*]._meta."dev.chumbo/truncated"', false),
    round((extract(epoch from clock_timestamp() - v_started) * 1000)::numeric, 3), null,
    case when v_outcome <> 'refused' then v_row.version end);

  return jsonb_build_object(
    'outcome', v_outcome, 'revision', (v_gate.entry).revision, 'contents', v_contents, 'error', v_error, 'cache_ttl_ms', v_row.cache_ttl_ms);
end;
$$;
comment on function public.chumbo_read(text, text, jsonb) is
  'Admits the read of a URI that a row answers, runs it as its caller and writes its receipt, in one transaction. request holds verified facts only. '
  'Returns {outcome: ok, tool_error, refused or unmatched; revision; contents; cache_ttl_ms; error {code, message, hint, …}}.';
revoke all on function public.chumbo_read(text, text, jsonb) from public, anon, authenticated, service_role;
grant execute on function public.chumbo_read(text, text, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.refuse_prompt_arguments(input_schema jsonb, arguments jsonb)
  returns text
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
begin
  if jsonb_typeof(arguments) <> 'object' then
    return 'The arguments are no object.';
  end if;
  return coalesce(
    (select format('There is no argument `%s`.', min(key)) from jsonb_object_keys(arguments) as key
      where not input_schema -> 'properties' ? key having count(*) > 0),
    (select format('The argument `%s` is required.', min(name)) from jsonb_array_elements_text(input_schema -> 'required') as name
      where not arguments ? name having count(*) > 0),
    (select format('The argument `%s` must be a string.', min(a.key)) from jsonb_each(arguments) as a
      where jsonb_typeof(a.value) <> 'string' having count(*) > 0));
end;
$$;
comment on function chumbo.refuse_prompt_arguments(jsonb, jsonb) is
  'The first thing wrong with the arguments of a prompt, as a sentence: unknown, missing or no string. Null when none is.';
revoke all on function chumbo.refuse_prompt_arguments(jsonb, jsonb) from public, anon, authenticated;
grant execute on function chumbo.refuse_prompt_arguments(jsonb, jsonb) to service_role, chumbo_runtime;

create or replace function public.chumbo_prompt(server text, name text, arguments jsonb, request jsonb)
  returns jsonb
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_started timestamptz := clock_timestamp();
  v_gate record;
  v_row chumbo.capabilities;
  v_problem text;
  v_run record;
  v_value jsonb;
  v_messages jsonb;
  v_description text;
  v_outcome text := 'ok';
  v_error jsonb;
begin
  v_gate := chumbo.admit(server, 'prompt', name, request);
  v_row := v_gate.found_capability;
  v_error := v_gate.refusal;
  v_description := v_row.description;

  -- The row moved from SQL to code since the runtime looked; nothing ran, and it will ask again.
  if v_error is null and coalesce(v_row.handler, 'typescript') = 'typescript' then
    return jsonb_build_object('outcome', 'moved', 'revision', (v_gate.entry).revision);
  end if;

  if v_error is null then
    v_problem := chumbo.refuse_prompt_arguments(v_row.input_schema, arguments);
    v_error := case
      when v_gate.target is null and v_row.handler = 'sql' then jsonb_build_object('code', 'tool_unavailable')
      when v_problem is not null then jsonb_build_object('code', 'invalid_arguments', 'message', v_problem)
    end;
  end if;

  if v_error is not null then
    v_outcome := 'refused';
  elsif v_row.handler = 'static' and chumbo.filled_length(v_row.content -> 'messages', arguments) > 4194304 then
    v_outcome := 'refused';
    v_error := jsonb_build_object('code', 'result_too_large');
  elsif v_row.handler = 'static' then
    v_messages := chumbo.fill_messages(v_row.content -> 'messages', arguments);
  else
    v_run := chumbo.attempt(v_row, v_gate.target, chumbo.text_arguments(v_row.parameters, arguments), request);
    v_outcome := v_run.outcome;
    v_error := v_run.error;
    v_value := v_run.answer -> 'value';
    if jsonb_typeof(v_value) = 'object' and v_value ? 'messages' then
      v_description := coalesce(v_value ->> 'description', v_description);
      v_value := v_value -> 'messages';
    end if;
    if v_outcome = 'ok' and (v_value is null or v_value in ('null', '[]')) then
      v_outcome := 'tool_error';
      v_error := jsonb_build_object('code', 'empty_prompt');
    elsif v_outcome = 'ok' then
      v_messages := chumbo.normal_messages(v_value);
      if v_messages is null then
        v_outcome := 'tool_error';
        v_error := jsonb_build_object('code', 'tool_failed');
        raise log 'chumbo: the prompt % returned what is no message, trace %', v_row.name, request ->> 'trace_id';
      end if;
    end if;
  end if;

  perform chumbo.write_receipt(
    server, 'prompt', name, request, v_outcome, v_error ->> 'code', coalesce(jsonb_array_length(v_messages), 0), octet_length(v_messages::text), false,
    round((extract(epoch from clock_timestamp() - v_started) * 1000)::numeric, 3), null,
    case when v_outcome <> 'refused' then v_row.version end);

  return jsonb_build_object(
    'outcome', v_outcome, 'revision', (v_gate.entry).revision, 'description', v_description, 'messages', v_messages, 'error', v_error);
end;
$$;
comment on function public.chumbo_prompt(text, text, jsonb, jsonb) is
  'Admits a prompt of SQL, builds its messages as its caller and writes its receipt, in one transaction. request holds verified facts only. '
  'Returns {outcome: ok, tool_error, refused or moved; revision; description; messages; error {code, message, hint, …}}.';
revoke all on function public.chumbo_prompt(text, text, jsonb, jsonb) from public, anon, authenticated, service_role;
grant execute on function public.chumbo_prompt(text, text, jsonb, jsonb) to service_role, chumbo_runtime;

create or replace function public.chumbo_complete(server text, reference jsonb, argument jsonb, context jsonb, request jsonb)
  returns jsonb
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_kind text := case reference ->> 'type' when 'ref/prompt' then 'prompt' else 'resource_template' end;
  v_name text;
  v_gate record;
  v_run jsonb;
  v_row chumbo.capabilities;
  v_target oid;
  v_answer record;
  v_arguments jsonb;
begin
  select c.name
  into v_name
  from chumbo.capabilities as c
  join chumbo.servers as s on s.id = c.server_id
  where s.slug = chumbo_complete.server and c.kind = v_kind and c.handler <> 'typescript'
    and case v_kind when 'prompt' then c.name = reference ->> 'name' else c.uri_prefix = split_part(reference ->> 'uri', '{', 1) and c.uri = reference ->> 'uri' end;
  if not found and v_kind = 'resource_template' then
    -- A client may name a URI in place of its template.
    select m.kind, m.name into v_kind, v_name
    from chumbo.servers as s
    cross join lateral chumbo.match_uri(s.id, reference ->> 'uri') as m
    where s.slug = chumbo_complete.server;
  end if;
  if v_name is null and coalesce((request ->> 'may_be_code')::boolean, false) then
    return jsonb_build_object('outcome', 'unmatched');
  end if;

  v_gate := chumbo.admit(server, coalesce(v_kind, 'resource_template'), coalesce(v_name, ''), request);
  if v_gate.refusal is not null then
    return jsonb_build_object('outcome', 'refused', 'revision', (v_gate.entry).revision, 'error', v_gate.refusal);
  end if;

  -- No receipt: clients ask at every keystroke, and nothing is done. Limits count it all the same.
  v_run := (v_gate.found_capability).completions -> (argument ->> 'name');
  v_target := chumbo.find_target(v_run ->> 'target_name', v_run ->> 'target');
  -- A completion whose function is gone has nothing to suggest; whatever else has its name by now was never registered.
  if v_target is null then
    return jsonb_build_object('outcome', 'ok', 'revision', (v_gate.entry).revision, 'values', '[]'::jsonb, 'total', 0, 'has_more', false);
  end if;
  v_row := jsonb_populate_record(v_gate.found_capability, v_run);
  v_arguments := jsonb_build_object(v_run #>> '{parameters,0,name}', coalesce(argument ->> 'value', ''));
  if jsonb_array_length(v_run -> 'parameters') > 1 then
    v_arguments := v_arguments || jsonb_build_object(v_run #>> '{parameters,1,name}',
      case when jsonb_typeof(context -> 'arguments') = 'object' then context -> 'arguments' else '{}' end);
  end if;
  v_answer := chumbo.attempt(v_row, v_target, v_arguments, request);
  return jsonb_build_object(
    'outcome', v_answer.outcome, 'revision', (v_gate.entry).revision, 'error', v_answer.error, 'values', v_answer.answer -> 'value',
    'total', case when v_answer.row_count <= 1000 then v_answer.row_count end, 'has_more', v_answer.row_count > 100);
end;
$$;
comment on function public.chumbo_complete(text, jsonb, jsonb, jsonb, jsonb) is
  'Completes an argument of a prompt or a variable of a template as its caller: at most 100 values. Counted by limits; leaves no receipt. '
  'Returns {outcome: ok, tool_error, refused or unmatched; revision; values; total, when it is at most 1000; has_more; error {code, message, hint, …}}.';
revoke all on function public.chumbo_complete(text, jsonb, jsonb, jsonb, jsonb) from public, anon, authenticated, service_role;
grant execute on function public.chumbo_complete(text, jsonb, jsonb, jsonb, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.list_templates(entry chumbo.servers, scopes text[], after text, room integer, request jsonb)
  returns jsonb
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_templates chumbo.capabilities[];
  v_template chumbo.capabilities;
  v_target oid;
  v_run record;
  v_listed jsonb;
  v_all jsonb := '[]';
  v_last text := after;
begin
  -- Into an array first: the function that confines a body closes every cursor, the one of a loop over a query too.
  v_templates := array(
    select c
    from chumbo.capabilities as c
    where c.server_id = entry.id and c.kind = 'resource_template' and c.listing is not null and c.is_enabled
      and c.required_scopes <@ list_templates.scopes and c.name > coalesce(list_templates.after, '')
    order by c.name
    limit 21
  );

  for i in 1 .. cardinality(v_templates) loop
    -- Whole lists only, so that the name of the last one is all a cursor has to say; and no page waits for more than twenty.
    if jsonb_array_length(v_all) >= room or i > 20 then
      return jsonb_build_object('listed', v_all, 'next', '@' || coalesce(v_last, ''));
    end if;
    v_template := v_templates[i];
    v_last := v_template.name;
    v_template := jsonb_populate_record(v_template, v_template.listing);
    v_target := chumbo.find_target(v_template.target_name, v_template.target);
    -- What cannot be read is not listed, and neither is what cannot be listed.
    continue when v_target is null or chumbo.find_target((v_templates[i]).target_name, (v_templates[i]).target) is null;

    v_run := chumbo.attempt(v_template, v_target, '{}', request);
    if v_run.outcome = 'ok' then
      -- Each URI once, and only those that lead back to this template: anything else could not be read as what it is listed as.
      select coalesce(jsonb_agg(jsonb_build_object('name', v_template.name, 'definition', e.entry) order by e.place), '[]')
      into v_listed
      from (
        select jsonb_strip_nulls(jsonb_build_object('name', coalesce(e.value ->> 'name', e.value ->> 'uri'), 'mimeType', v_template.mime_type)) || e.value as entry,
          e.place, row_number() over (partition by e.value ->> 'uri' order by e.place) as repeat,
          sum(octet_length(e.value::text)) over (order by e.place) as bytes
        from jsonb_array_elements(v_run.answer -> 'value') with ordinality as e (value, place)
      ) as e
      where e.repeat = 1 and e.bytes <= 1048576
        and exists (
          select from chumbo.match_uri(entry.id, e.entry ->> 'uri') as m where m.kind = 'resource_template' and m.name = v_template.name
        );
      v_all := v_all || v_listed;
    end if;
    -- A statement has one timeout: after it went off, nothing would stop the next one.
    if v_run.error ->> 'code' = 'timeout' then
      return jsonb_build_object('listed', v_all, 'next', case when i < cardinality(v_templates) then '@' || v_last end);
    end if;
  end loop;
  return jsonb_build_object('listed', v_all, 'next', null);
end;
$$;
comment on function chumbo.list_templates(chumbo.servers, text[], text, integer, jsonb) is
  'What the listing functions of templates name for this caller, run as the caller: {listed: [{name of the template, definition}], next}. '
  'One that fails is left out and logged.';
revoke all on function chumbo.list_templates(chumbo.servers, text[], text, integer, jsonb) from public, anon, authenticated;
grant execute on function chumbo.list_templates(chumbo.servers, text[], text, integer, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.offers(server_id bigint)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  return jsonb_build_object(
    'resources', exists (
      select from chumbo.capabilities as c
      where c.server_id = offers.server_id and c.kind in ('resource', 'resource_template') and c.is_enabled and c.handler <> 'typescript'),
    'prompts', exists (
      select from chumbo.capabilities as c
      where c.server_id = offers.server_id and c.kind = 'prompt' and c.is_enabled and c.handler <> 'typescript'),
    'completions', exists (
      select from chumbo.capabilities as c where c.server_id = offers.server_id and c.completions is not null and c.is_enabled));
end;
$$;
comment on function chumbo.offers(bigint) is 'What a server can announce because of its rows: {resources, prompts, completions}.';
revoke all on function chumbo.offers(bigint) from public, anon, authenticated;
grant execute on function chumbo.offers(bigint) to service_role, chumbo_runtime;

create or replace function public.chumbo_list(server text, kind text, request jsonb)
  returns jsonb
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_answer jsonb := public.chumbo_enter(server, request || '{"operation": "describe"}');
  v_entry chumbo.servers;
  v_scopes text[];
  v_size integer;
  v_after text := request ->> 'after';
  v_page jsonb := '{"entries": [], "next": null}';
begin
  if v_answer ->> 'outcome' <> 'listed' then
    return v_answer;
  end if;
  select s.* into v_entry from chumbo.servers as s where s.slug = chumbo_list.server;
  v_answer := v_answer || jsonb_build_object('offers', chumbo.offers(v_entry.id));
  if kind is null then
    return v_answer;
  end if;

  v_scopes := array(select jsonb_array_elements_text(v_answer -> 'scopes'));
  v_size := coalesce((v_entry.settings ->> 'page_size')::integer, 100);
  -- Behind the rows come the lists of templates; a cursor into them begins with a sign that no name has.
  if coalesce(v_after, '') not like '@%' then
    v_page := chumbo.list_page(v_entry.id, kind, v_scopes, v_after, v_size, true, false);
    v_after := '@';
  end if;
  if kind = 'resource' and v_page ->> 'next' is null then
    v_page := v_page || chumbo.list_templates(
      v_entry, v_scopes, nullif(substr(v_after, 2), ''), v_size - jsonb_array_length(v_page -> 'entries'), request);
  end if;
  return v_answer || v_page;
end;
$$;
comment on function public.chumbo_list(text, text, jsonb) is
  'What chumbo_enter says to describe, what rows let the server announce, and one page of resources, templates or prompts: '
  '{outcome, server, scopes, code, offers {resources, prompts, completions}, entries, listed, next}. Without a kind no page.';
revoke all on function public.chumbo_list(text, text, jsonb) from public, anon, authenticated, service_role;
grant execute on function public.chumbo_list(text, text, jsonb) to service_role, chumbo_runtime;

insert into chumbo.installed (number, name, hash)
values (18, 'resources', 'e03bdc2892e8b64c0299f8c91ca3e91fe0c3adbff1e563ced4c778a92171a1e6') -- chumbo.installed
on conflict (number) do update set name = excluded.name, hash = excluded.hash;
-- migrate:down
