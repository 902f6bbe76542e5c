-- migrate:up
-- 0010_gate.sql — the three RPCs of the runtime: admit a request, run a SQL tool, close the receipts of TypeScript calls.

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
  v_path text;
  v_earlier chumbo.idempotency;
  v_problem text;
  v_changed bigint;
  v_answer jsonb;
  v_value jsonb;
  v_count integer;
  v_truncated boolean := false;
  v_result text;
  v_outcome text := 'ok';
  v_error jsonb;
  v_state text;
  v_message text;
  v_detail text;
  v_hint text;
  v_receipt jsonb;
  v_replay_of uuid;
  v_is_claimed boolean := false;
begin
  v_gate := chumbo.admit(server, 'tool', capability, request);
  v_tool := v_gate.found_capability;
  v_error := v_gate.refusal;

  -- The row moved from SQL to code since the runtime looked; nothing ran, and it will ask again.
  if v_error is null and v_tool.handler is distinct from 'sql' then
    return jsonb_build_object('outcome', 'moved', 'revision', (v_gate.entry).revision);
  end if;

  if v_error is null then
    v_problem := chumbo.refuse_arguments(v_tool.parameters, arguments);
    v_error := case
      when v_gate.target is null then jsonb_build_object('code', 'tool_unavailable')
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
        v_replay_of := v_earlier.receipt_id;
      end if;
    end if;
  end if;

  if v_error is not null then
    v_outcome := 'refused';
  elsif v_outcome = 'ok' then
    v_path := format('%I, public, extensions, pg_temp', v_tool.target_schema);

    -- A sub-transaction: what a failing tool wrote goes, its receipt stays.
    begin
      if v_tool.result_shape = 'void' and v_tool.empty_is_error then
        v_changed := chumbo.rows_changed();
      end if;
      v_answer := chumbo.run(chumbo.call_statement(v_tool, v_gate.target, arguments), arguments, v_path, request);
      v_value := v_answer -> 'value';
      v_count := case
        when v_changed is not null then least(chumbo.rows_changed() - v_changed, 2147483647)
        when v_tool.result_shape = 'void' then null
        else (v_answer ->> 'count')::integer
      end;

      if octet_length(v_answer::text) > 4194304 then
        raise exception using errcode = 'PT413', message = 'result_too_large';
      end if;
      if v_count = 0 and v_tool.empty_is_error then
        -- Raised, so that whatever it did write goes too: an error always means that nothing happened.
        raise exception using errcode = 'PT404', message = 'no_rows_changed';
      end if;
    exception
      -- others does not cover a cancelled statement, and that is how a timeout arrives.
      when others or query_canceled or assert_failure then
        get stacked diagnostics v_state = returned_sqlstate, v_message = message_text, v_detail = pg_exception_detail,
          v_hint = pg_exception_hint;
        v_outcome := 'tool_error';
        v_error := chumbo.tool_error(v_state, v_message, v_detail, v_hint);
        if v_error ->> 'code' = 'tool_unavailable' then
          v_outcome := 'refused';
        end if;
        -- The state only: message and detail may hold values.
        raise log 'chumbo: tool % failed with SQLSTATE %, trace %', v_tool.name, v_state, request ->> 'trace_id';
    end;

    if v_outcome = 'tool_error' and v_error ->> 'code' = 'invalid_value' then
      v_problem := chumbo.find_bad_argument(v_tool.parameters, arguments, v_path, request);
      if v_problem is not null then
        v_error := jsonb_build_object('code', 'invalid_arguments', 'message', v_problem);
      end if;
    end if;
    perform chumbo.clear_session();

    if v_outcome = 'ok' then
      if v_tool.result_shape = 'rows' then
        v_truncated := v_count > v_tool.row_cap;
        v_count := least(v_count, v_tool.row_cap);
        v_value := jsonb_build_object('rows', case when v_truncated then v_value - v_tool.row_cap else v_value end)
          || case when v_truncated then '{"truncated": true}'::jsonb else '{}' end;
      elsif v_tool.result_shape in ('scalar', 'void') or jsonb_typeof(v_value) <> 'object' then
        v_value := jsonb_build_object('result', v_value);
      end if;
      v_result := v_value::text;
    else
      v_count := coalesce(v_count, 0);
    end if;
  end if;

  v_receipt := chumbo.write_receipt(
    server, 'tool', capability, request, v_outcome, v_error ->> 'code', v_count, octet_length(v_result), v_truncated,
    round((extract(epoch from clock_timestamp() - v_started) * 1000)::numeric, 3), v_replay_of);

  if v_is_claimed then
    perform chumbo.settle_key(v_tool.server_id, v_tool.name, request, v_outcome, v_result, (v_receipt ->> 'id')::uuid);
  end if;

  -- The result travels as text, so that no reader on the way rounds its numbers.
  return jsonb_build_object(
    'outcome', v_outcome, 'revision', (v_gate.entry).revision, 'result', v_result, 'error', v_error,
    'truncated', v_truncated, 'row_cap', v_tool.row_cap);
end;
$$;
comment on function public.chumbo_call(text, text, jsonb, jsonb) is
  'Admits a call of a SQL tool, runs it as its caller and writes its receipt, in one transaction. request holds verified facts only. '
  'Returns {outcome: ok, tool_error, refused, replayed or moved; revision; result as JSON text; error {code, message, hint, …}}.';
revoke all on function public.chumbo_call(text, text, jsonb, jsonb) from public, anon, authenticated, service_role;
grant execute on function public.chumbo_call(text, text, jsonb, jsonb) to service_role, chumbo_runtime;

create or replace function chumbo.list_page(server_id bigint, kind text, scopes text[], after text, page_size integer, with_definitions boolean)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  return (
    select jsonb_build_object(
      'entries', coalesce(
        jsonb_agg(
          jsonb_build_object('id', page.id, 'name', page.name, 'kind', page.kind, 'handler', page.handler)
            || case when with_definitions then jsonb_build_object('definition', chumbo.definition(page.capability)) else '{}' end
          order by page.name
        ) filter (where page.position <= page_size), '[]'),
      'next', max(page.name) filter (where page.position = page_size and page.available > page_size)
    )
    from (
      select c.id, c.name, c.kind, c.handler, c.capability,
        row_number() over (order by c.name) as position,
        count(*) over () as available
      from (
        -- Walks the unique index in its order and stops after one page, however many tools there are.
        select c.id, c.name, c.kind, c.handler, c as capability
        from chumbo.capabilities as c
        where c.server_id = list_page.server_id
          and c.kind = list_page.kind
          and c.name > coalesce(list_page.after, '')
          and c.is_enabled
          and c.required_scopes <@ list_page.scopes
          -- A tool whose function is gone cannot run, so it is not offered. Asked row by row: as an exists, the planner would
          -- read the whole catalog of functions for a page of ten.
          and (c.handler <> 'sql'
            or (select t.oid from chumbo.targets as t where t.name = c.target_name and t.signature = c.target) is not null)
        order by c.name
        limit list_page.page_size + 1
      ) as c
    ) as page
  );
end;
$$;
comment on function chumbo.list_page(bigint, text, text[], text, integer, boolean) is
  'One page of what these scopes may use, by name: {entries, next}; next is the cursor of the following page or null.';
revoke all on function chumbo.list_page(bigint, text, text[], text, integer, boolean) from public, anon, authenticated;
grant execute on function chumbo.list_page(bigint, text, text[], text, integer, boolean) to service_role, chumbo_runtime;

create or replace function chumbo.code_names(server_id bigint, kinds text[], scopes text[], names jsonb)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  return (
    select coalesce(
      jsonb_object_agg(c.name, c.handler = 'typescript' and c.is_enabled and c.required_scopes <@ code_names.scopes), '{}')
    from chumbo.capabilities as c
    where c.server_id = code_names.server_id
      and c.kind = any (code_names.kinds)
      and c.name in (select jsonb_array_elements_text(code_names.names))
  );
end;
$$;
comment on function chumbo.code_names(bigint, text[], text[], jsonb) is
  'Of the names code handles, those that have a row, each with whether these scopes may use it from code.';
revoke all on function chumbo.code_names(bigint, text[], text[], jsonb) from public, anon, authenticated;
grant execute on function chumbo.code_names(bigint, text[], text[], jsonb) to service_role, chumbo_runtime;

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
    where s.slug = chumbo_enter.server and c.kind = any (v_kinds) and c.name = request ->> 'name' and c.handler = 'sql'
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
        'server', jsonb_build_object('name', (v_gate.entry).name, 'version', (v_gate.entry).version, 'title', (v_gate.entry).title,
          'instructions', (v_gate.entry).instructions, 'unregistered', coalesce((v_gate.entry).settings ->> 'unregistered', 'serve')),
        'scopes', to_jsonb(v_gate.scopes))
      || case when request ->> 'operation' <> 'list' then '{}' else
        chumbo.list_page(
          (v_gate.entry).id, request ->> 'kind', v_gate.scopes, request ->> 'after',
          coalesce(((v_gate.entry).settings ->> 'page_size')::integer, 100),
          (request ->> 'known_revision')::bigint is distinct from (v_gate.entry).revision)
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
    v_earlier.receipt_id);
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
    'server', jsonb_build_object('name', (v_gate.entry).name, 'version', (v_gate.entry).version, 'title', (v_gate.entry).title,
      'instructions', (v_gate.entry).instructions, 'unregistered', coalesce((v_gate.entry).settings ->> 'unregistered', 'serve')),
    'scopes', to_jsonb(v_gate.scopes), 'receipt', v_receipt, 'result', v_result, 'error', v_error);
end;
$$;
comment on function public.chumbo_enter(text, jsonb) is
  'Admits a request that code answers: the operation list, describe, or call, whose receipt it opens. request holds verified facts only. '
  'Returns {outcome: listed, admitted, replayed, refused, wait or sql; revision; server; scopes; entries, next, code; receipt; error}.';
revoke all on function public.chumbo_enter(text, jsonb) from public, anon, authenticated, service_role;
grant execute on function public.chumbo_enter(text, jsonb) to service_role, chumbo_runtime;

create or replace function public.chumbo_finish(receipts jsonb)
  returns integer
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_count integer;
begin
  -- Only an open receipt closes: repeating the call, as a runtime does after a lost answer, changes nothing.
  update chumbo.receipts as r
  set outcome = f.outcome, code = f.code, row_count = f.row_count, bytes = f.bytes, truncated = coalesce(f.truncated, false),
    duration_ms = f.duration_ms, capability = coalesce(r.capability, f.capability), kind = coalesce(f.kind, r.kind)
  from jsonb_to_recordset(chumbo_finish.receipts) as f(
    id uuid, created_at timestamptz, outcome text, code text, row_count integer, bytes integer, truncated boolean,
    duration_ms numeric, capability text, kind text
  )
  where r.id = f.id and r.created_at = f.created_at and r.outcome = 'open';
  get diagnostics v_count = row_count;

  -- A handler whose call was answered keeps that answer, failures too: what it did before failing cannot be undone here.
  update chumbo.idempotency as i
  set status = 'done', outcome = f.outcome, result = f.result
  from jsonb_to_recordset(chumbo_finish.receipts) as f(id uuid, outcome text, result text)
  where f.result is not null and i.receipt_id = f.id and i.status = 'running';

  -- One that never ran frees its key.
  delete from chumbo.idempotency as i
  using jsonb_to_recordset(chumbo_finish.receipts) as f(id uuid, outcome text)
  where f.outcome = 'refused' and i.receipt_id = f.id and i.status = 'running';

  return v_count;
end;
$$;
comment on function public.chumbo_finish(jsonb) is
  'Closes open receipts [{id, created_at, outcome, code, row_count, bytes, truncated, duration_ms, capability, kind, result}] and returns how many.';
revoke all on function public.chumbo_finish(jsonb) from public, anon, authenticated, service_role;
grant execute on function public.chumbo_finish(jsonb) to service_role, chumbo_runtime;

insert into chumbo.installed (number, name, hash)
values (10, 'gate', 'e0c4ce2e1ca088dcf4c5cf763af3a9cbd4c6456ab20b8e9525131304a94866ca') -- chumbo.installed
on conflict (number) do update set name = excluded.name, hash = excluded.hash;
-- migrate:down
