-- migrate:up
-- 0009_running.sql — running a tool as its caller, and only as its caller.

-- Setting the role is no sandbox: a body may set it back. Inside a definer function Postgres refuses every change of role,
-- so the body runs inside one that is *owned by* the caller's role. Its owner lacks nothing and gains nothing by it.
-- No search path is pinned here: the path is the tool's, set by chumbo.run, and the body below names nothing that a path
-- could resolve.
do $$
declare
  v_role text;
begin
  foreach v_role in array array['anon', 'authenticated'] loop
    execute format('grant usage, create on schema chumbo to %I', v_role);
    execute format($shim$
      create or replace function chumbo.run_as_%1$s(statement text, arguments jsonb)
        returns jsonb
        language plpgsql volatile
        security definer
      as $body$
      declare
        v_result jsonb;
      begin
        execute statement into v_result using arguments;
        -- What is left for the commit would run there: outside this function and with the role of the runtime. So deferred
        -- triggers fire here, and a cursor with hold closes before the commit could run its query.
        set constraints all immediate;
        -- A temporary object left on a pooled connection could stand in for a name of somebody else's next call.
        discard temp;
        -- Again, because a trigger may defer what it causes; one of the body's own making is gone with its function by now.
        set constraints all immediate;
        execute 'close all';
        return v_result;
      end;
      $body$
    $shim$, v_role);
    execute format('comment on function chumbo.run_as_%1$s(text, jsonb) is %2$L', v_role, format(
      'Runs one select with the rights of %s and no way to change the role. Definer by design: owned by %s, which lacks nothing '
      'and gains nothing; chumbo.run checks before each call that it is still what was installed.', v_role, v_role));
    execute format('alter function chumbo.run_as_%1$s(text, jsonb) owner to %1$I', v_role);
    execute format('revoke all on function chumbo.run_as_%1$s(text, jsonb) from public, service_role, %2$I', v_role,
      case v_role when 'anon' then 'authenticated' else 'anon' end);
    execute format('revoke create on schema chumbo from %I', v_role);
  end loop;
end
$$;

create or replace function chumbo.require_shim(role text)
  returns void
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  -- The owner, which a tool body is, could alter the function or lend it to anon; replacing its text it could not.
  if not exists (
    select
    from pg_catalog.pg_proc as p
    where p.proname = case role when 'anon' then 'run_as_anon' else 'run_as_authenticated' end
      and p.pronamespace = 'chumbo'::regnamespace
      and p.proowner = case role when 'anon' then 'anon'::regrole else 'authenticated'::regrole end
      and p.prosecdef
      and p.proconfig is null
      and p.provolatile = 'v'
      and not p.proisstrict
  )
  or has_function_privilege('anon', 'chumbo.run_as_authenticated(text, jsonb)', 'execute') then
    raise exception using errcode = 'PT500', message = 'runner_tampered',
      detail = 'The function that confines tools was altered, so no tool runs.',
      hint = 'Find which tool alters functions, then run the migration 0009_running.sql again.';
  end if;
end;
$$;
comment on function chumbo.require_shim(text) is 'Raises runner_tampered unless the confining function of a role is as installed.';
revoke all on function chumbo.require_shim(text) from public, anon, authenticated;
grant execute on function chumbo.require_shim(text) to service_role, chumbo_runtime;

create or replace function chumbo.run(statement text, arguments jsonb, path text, request jsonb)
  returns jsonb
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_role text := current_setting('role');
  v_result jsonb;
begin
  if coalesce(request ->> 'role', '') not in ('anon', 'authenticated') then
    raise exception using errcode = 'PT403', message = 'forbidden',
      detail = 'Tools run as anon or authenticated only.', hint = 'Sign in as a user.';
  end if;
  perform chumbo.require_shim(request ->> 'role');

  -- Everything the body can read of its request is set here, transaction-locally, whatever a pooled connection left behind.
  -- The single-claim settings come first in auth.uid(), and the headers of a Data API request hold the secret key.
  perform set_config('request.jwt.claims', (request -> 'claims')::text, true),
    set_config('request.jwt.claim', '', true),
    set_config('request.jwt.claim.sub', '', true),
    set_config('request.jwt.claim.role', '', true),
    set_config('request.jwt.claim.email', '', true),
    set_config('request.headers', '{}', true),
    set_config('request.cookies', '{}', true),
    set_config('request.method', 'POST', true),
    set_config('request.path', '', true),
    set_config('row_security', 'on', true),
    set_config('search_path', path, true),
    set_config('role', request ->> 'role', true);

  if request ->> 'role' = 'anon' then
    v_result := chumbo.run_as_anon(statement, arguments);
  else
    v_result := chumbo.run_as_authenticated(statement, arguments);
  end if;

  -- What a body set for good would outlive this transaction on a pooled connection: claims, by which a later request would
  -- be taken for somebody else, an encoding, which would garble what it writes, a timeout. These go back to what the session
  -- began with. Not reset all, which would unpin the search path of the functions that are still running.
  perform pg_catalog.set_config('role', v_role, true),
    pg_catalog.set_config('request.jwt.claims', '', false),
    pg_catalog.set_config('request.jwt.claim', '', false),
    pg_catalog.set_config('request.jwt.claim.sub', '', false),
    pg_catalog.set_config('request.jwt.claim.role', '', false),
    pg_catalog.set_config('request.jwt.claim.email', '', false),
    pg_catalog.set_config('search_path', '', true);
  reset row_security;
  reset client_encoding;
  reset timezone;
  reset datestyle;
  reset intervalstyle;
  reset extra_float_digits;
  reset bytea_output;
  reset statement_timeout;
  reset lock_timeout;
  reset idle_in_transaction_session_timeout;
  reset default_transaction_isolation;
  reset default_transaction_read_only;
  reset default_transaction_deferrable;
  -- Postgres has it from 17 on.
  if coalesce(current_setting('transaction_timeout', true), '0') <> '0' then
    execute 'reset transaction_timeout';
  end if;
  return v_result;
end;
$$;
comment on function chumbo.run(text, jsonb, text, jsonb) is
  'Runs one select as the verified caller of a request: role, claims, search path. The caller of this function must hold it in a '
  'sub-transaction, whose end undoes all of that when the select fails. Raises forbidden, runner_tampered.';
revoke all on function chumbo.run(text, jsonb, text, jsonb) from public, anon, authenticated;
grant execute on function chumbo.run(text, jsonb, text, jsonb) to service_role, chumbo_runtime;

-- Neither of these ends with a transaction, not even with one that fails. A prepared statement may carry the name of one
-- that a driver made, and would run in its place, and with more rights, in the next request on a pooled connection.
create or replace function chumbo.clear_session()
  returns void
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_name text;
begin
  perform pg_advisory_unlock_all();
  for v_name in select s.name from pg_catalog.pg_prepared_statements as s where s.from_sql loop
    execute format('deallocate %I', v_name);
  end loop;
end;
$$;
comment on function chumbo.clear_session() is
  'Releases the advisory locks and removes the prepared statements that a tool left on the connection, failed or not.';
revoke all on function chumbo.clear_session() from public, anon, authenticated;
grant execute on function chumbo.clear_session() to service_role, chumbo_runtime;

create or replace function chumbo.call_statement(tool chumbo.capabilities, target oid, arguments jsonb)
  returns text
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_parameter jsonb;
  v_columns text;
  v_inputs text;
begin
  -- Every input is written out with its type, so an overload never answers in place of the registered signature. An omitted
  -- one is written as the default that the function declares now. The given ones become a row first, all of it: an inlined
  -- function would leave unread what it does not need, and let a malformed value pass.
  for v_parameter in select p from jsonb_array_elements(tool.parameters) as p loop
    if arguments ? (v_parameter ->> 'name') then
      v_columns := concat_ws(', ', v_columns, format('%I %s', v_parameter ->> 'name', v_parameter ->> 'type'));
      v_inputs := concat_ws(', ', v_inputs, format('input.%I', v_parameter ->> 'name'));
    else
      v_inputs := concat_ws(', ', v_inputs,
        format('(%s)::%s', pg_get_function_arg_default(target, (v_parameter ->> 'position')::integer), v_parameter ->> 'type'));
    end if;
  end loop;

  return format(tool.result_query,
    coalesce('jsonb_to_record($1) as input(' || v_columns || ') cross join lateral ', '')
    || format('%I.%I(%s)', tool.target_schema, tool.target_name, v_inputs));
end;
$$;
comment on function chumbo.call_statement(chumbo.capabilities, oid, jsonb) is
  'The select that calls a registered function with the arguments given, which it takes as $1.';
revoke all on function chumbo.call_statement(chumbo.capabilities, oid, jsonb) from public, anon, authenticated;
grant execute on function chumbo.call_statement(chumbo.capabilities, oid, jsonb) to service_role, chumbo_runtime;

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
    -- Digits beyond a double's 53 bits travel as text, so text is a number's second form.
    elsif v_kind not in ('any', v_given) and not (v_kind = 'number' and v_given = 'string') then
      v_mistyped := coalesce(v_mistyped, format('The argument `%s` must be %s, not %s.', v_name,
        case when v_kind = 'array' then 'an array' else 'a ' || v_kind end, v_given));
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

create or replace function chumbo.find_bad_argument(parameters jsonb, arguments jsonb, path text, request jsonb)
  returns text
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_parameter jsonb;
begin
  -- Over an array and not a query, whose cursor would be among those that the body's function closes.
  foreach v_parameter in array array(
    select p from jsonb_array_elements(parameters) as p where arguments ? (p ->> 'name') order by (p ->> 'position')::integer
  ) loop
    begin
      -- As the caller, like the call itself: a domain may run a function of the application to check a value.
      perform chumbo.run(
        format('select to_jsonb(input is null) from jsonb_to_record($1) as input(%I %s)', v_parameter ->> 'name', v_parameter ->> 'type'),
        arguments, path, request);
    exception
      when data_exception or integrity_constraint_violation then
        return format('The argument `%s` is not a valid %s.', v_parameter ->> 'name', v_parameter ->> 'type');
    end;
  end loop;
  return null;
end;
$$;
comment on function chumbo.find_bad_argument(jsonb, jsonb, text, jsonb) is
  'After a call failed on bad data: the argument that cannot be converted, as a sentence, or null when the tool itself failed.';
revoke all on function chumbo.find_bad_argument(jsonb, jsonb, text, jsonb) from public, anon, authenticated;
grant execute on function chumbo.find_bad_argument(jsonb, jsonb, text, jsonb) to service_role, chumbo_runtime;

-- What a failed tool may tell. Only what its author wrote for people passes: PTxyz with a slug, or a plain raise. Texts that
-- Postgres itself wrote name tables, constraints and values, so they are replaced by what they mean.
create or replace function chumbo.tool_error(state text, message text, detail text, hint text)
  returns jsonb
  language sql immutable
  security invoker
  set search_path = ''
as $$
  select case
    when state like 'PT%' and message ~ '^[a-z][a-z0-9_]{1,63}$' then
      jsonb_build_object('code', message, 'message', nullif(detail, ''), 'hint', nullif(hint, ''))
    when state like 'PT%' or state = 'P0001' then
      jsonb_build_object('code', 'tool_failed', 'message', message, 'hint', nullif(hint, ''))
    when state = '42501' then jsonb_build_object('code', 'forbidden')
    -- An overload with defaults makes the registered signature ambiguous; only its author can say which is meant.
    when state = '42725' then jsonb_build_object('code', 'tool_unavailable')
    when state in ('23505', '23503', '23P01') then jsonb_build_object('code', 'conflict')
    when state like '22%' or state like '23%' then jsonb_build_object('code', 'invalid_value')
    when state in ('57014', '55P03') then jsonb_build_object('code', 'timeout')
    when state in ('40001', '40P01') then jsonb_build_object('code', 'busy')
    else jsonb_build_object('code', 'tool_failed')
  end
$$;
comment on function chumbo.tool_error(text, text, text, text) is 'The error of a failed tool as {code, message, hint}; a code alone gets its sentence from the runtime.';
revoke all on function chumbo.tool_error(text, text, text, text) from public, anon, authenticated;
grant execute on function chumbo.tool_error(text, text, text, text) to service_role, chumbo_runtime;

create or replace function chumbo.rows_changed()
  returns bigint
  language sql volatile
  security invoker
  set search_path = ''
as $$
  select coalesce(sum(
    pg_stat_get_xact_tuples_inserted(c.oid) + pg_stat_get_xact_tuples_updated(c.oid) + pg_stat_get_xact_tuples_deleted(c.oid)
  ), 0)::bigint
  from pg_catalog.pg_class as c
  where c.relkind = 'r' and c.relnamespace not in ('chumbo'::regnamespace, 'pg_catalog'::regnamespace)
$$;
comment on function chumbo.rows_changed() is
  'Rows this session has changed since its statistics were last sent; only a difference within one transaction means anything.';
revoke all on function chumbo.rows_changed() from public, anon, authenticated;
grant execute on function chumbo.rows_changed() to service_role, chumbo_runtime;

insert into chumbo.installed (number, name, hash)
values (9, 'running', '091cd8ff5360c6b1b57ee8b62455818c9d2376b4f500c98230dd08ae1664c35c') -- chumbo.installed
on conflict (number) do update set name = excluded.name, hash = excluded.hash;
-- migrate:down
