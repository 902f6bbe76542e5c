-- migrate:up
-- 0017_lint.sql — what is wrong or risky about what is offered: one set of rules, for registration and for the doctor.

create or replace function chumbo.lint_rules()
  returns table (rule text, title text)
  language sql immutable
  security invoker
  set search_path = ''
as $$
  values
    -- The function behind a capability.
    ('missing_target', 'The function behind it is gone.'),
    ('ambiguous_overload', 'An overload makes every call of its function ambiguous.'),
    ('overload', 'Its function has another signature that nothing offers.'),
    ('drift', 'Its function says something else today than when it was registered.'),
    ('not_executable', 'The callers may not run its function.'),
    ('anon_execute', 'Anonymous visitors may run its function.'),
    ('definer_body', 'Its function runs with the rights of its owner.'),
    ('unpinned_path', 'Its function has no search path of its own.'),
    ('sets_role', 'Its function changes the role or the session.'),
    ('sets_claims', 'Its function changes who the caller is.'),
    ('identity_default', 'A parameter says who the caller is, and a caller may say otherwise.'),
    ('identity_argument', 'A parameter takes the identity of a person.'),
    ('calls_definer', 'Its function calls one that runs with the rights of its owner.'),
    ('body_not_followed', 'What its function reads cannot be told from its text.'),
    ('no_comment', 'Its function has no comment.'),
    -- What that function reads.
    ('owner_view', 'A view it reads runs with the rights of its owner.'),
    ('materialized_view', 'A materialized view it reads holds rows that row security guards elsewhere.'),
    ('open_table', 'A table it reads has no row security.'),
    -- What a client and a model see.
    ('missing_description', 'It has no description.'),
    ('long_description', 'A text is longer than the budget.'),
    ('invisible_characters', 'A text holds characters that nobody sees.'),
    ('long_name', 'The name leaves no room for the prefix of a client.'),
    ('confusable_names', 'Two names differ only in case, or in - and _.'),
    ('deep_schema', 'The schema of the inputs nests deeper than the budget.'),
    ('large_definition', 'The definition is larger than the budget.'),
    ('listing_size', 'How large the whole list of a server is.'),
    ('large_listing', 'The whole list of a server is larger than the budget.'),
    -- Who may use it.
    ('undefined_scope', 'A scope it needs is not defined.'),
    ('ungranted_scope', 'A scope it needs is held by nobody.'),
    -- The project around it.
    ('anon_definer', 'Anonymous visitors may run a function with the rights of its owner.'),
    ('own_privileges', 'An object of Chumbo is open to the callers.'),
    ('own_row_security', 'A table of Chumbo has no row security.'),
    ('own_definer', 'A function of Chumbo runs with the rights of its owner.'),
    ('runner_tampered', 'The function that confines tools was altered.')
$$;
comment on function chumbo.lint_rules() is 'The rules of chumbo.lint and what a finding of each says; docs/doctor.md has them all.';
revoke all on function chumbo.lint_rules() from public, anon, authenticated, service_role;

create table if not exists chumbo.accepted_findings (
  key text primary key,
  reason text not null constraint accepted_findings_reason_is_given check (btrim(reason) <> ''),
  accepted_by text not null default current_user,
  accepted_at timestamptz not null default now()
);
comment on table chumbo.accepted_findings is
  'Findings of chumbo.lint that somebody looked at and wants so. They are still listed, as information with the reason.';
comment on column chumbo.accepted_findings.key is 'The key that chumbo.lint gives to a finding.';

-- No policy: only authors write here, and the runtime has no use for it.
alter table chumbo.accepted_findings enable row level security;
revoke all on chumbo.accepted_findings from public, anon, authenticated, service_role;

create or replace function chumbo.accept_finding(key text, reason text)
  returns void
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
begin
  if not exists (select from chumbo.lint_rules() as r where r.rule = split_part(accept_finding.key, ' ', 1)) then
    raise exception using errcode = 'PT404', message = 'unknown_rule',
      detail = format('%L is not the key of a finding: it begins with no rule.', accept_finding.key),
      hint = 'Copy the key from select rule, key from chumbo.lint().';
  end if;
  if coalesce(btrim(accept_finding.reason), '') = '' then
    raise exception using errcode = 'PT400', message = 'invalid_option',
      detail = 'A finding is accepted for a reason.', hint = 'Say in one sentence why it is wanted.';
  end if;

  insert into chumbo.accepted_findings as a (key, reason)
  values (accept_finding.key, accept_finding.reason)
  on conflict on constraint accepted_findings_pkey do update
  set reason = excluded.reason, accepted_by = excluded.accepted_by, accepted_at = excluded.accepted_at
  where a.reason <> excluded.reason;
end;
$$;
comment on function chumbo.accept_finding(text, text) is
  'Says that a finding is wanted, and why: it stays listed as information, and registering no longer warns of it. Repeating it '
  'changes the reason. Raises unknown_rule, invalid_option.';
revoke all on function chumbo.accept_finding(text, text) from public, anon, authenticated, service_role;

create or replace function chumbo.withdraw_acceptance(key text)
  returns boolean
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
begin
  delete from chumbo.accepted_findings as a where a.key = withdraw_acceptance.key;
  return found;
end;
$$;
comment on function chumbo.withdraw_acceptance(text) is 'Takes an acceptance back; returns whether there was one.';
revoke all on function chumbo.withdraw_acceptance(text) from public, anon, authenticated, service_role;

-- Reading a body ---------------------------------------------------------------------------------------------------------

create or replace function chumbo.strip_source(source text, keep_strings boolean)
  returns text
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
begin
  -- One pass, so that a quote in a comment or a dash in a string opens nothing. The last quantifier makes every branch as
  -- short as it can be. Groups: a quoted name, which stays; a string; the tag of a dollar quote.
  return regexp_replace(
    source,
    '(?:("[^"]*")|(\m[eE]''(?:[^''\\]|\\.)*''|''[^'']*''|\$([A-Za-z_][A-Za-z_0-9]*|)\$.*?\$\3\$)|-{2}[^\n]*(?:\n|$)|/\*.*?\*/){1,1}?',
    case when keep_strings then ' \1\2 ' else ' \1 ' end,
    'g'
  );
end;
$$;
comment on function chumbo.strip_source(text, boolean) is 'The text of a body without its comments and, unless they are kept, its strings.';
revoke all on function chumbo.strip_source(text, boolean) from public, anon, authenticated, service_role;

-- Postgres knows what a body of the form "begin atomic" depends on. Any other is text, so this looks in it for names that
-- exist. A name without a schema counts only where a table can stand, and is looked up along the path of the function.
create or replace function chumbo.body_references(targets oid[])
  returns table (target oid, relation oid, called oid)
  language plpgsql stable rows 20
  security invoker
  set search_path = ''
as $$
begin
  return query
  with body as materialized (
    select p.oid as target,
      chumbo.strip_source(p.prosrc, false) as source,
      coalesce(
        (
          select array(select btrim(part, ' "') from unnest(string_to_array(substr(setting, 13), ',')) as part)
          from unnest(p.proconfig) as setting
          where setting like 'search_path=%'
        ),
        -- Chumbo sets this path when it calls.
        array[n.nspname::text, 'public', 'extensions']
      ) as path
    from unnest((select targets)) as wanted
    join pg_catalog.pg_proc as p on p.oid = wanted
    join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
    join pg_catalog.pg_language as l on l.oid = p.prolang
    where l.lanname in ('sql', 'plpgsql') and p.prosqlbody is null
  ),
  word as materialized (
    select b.target, w.position, case when w.m[1] like '"%' then btrim(w.m[1], '"') else lower(w.m[1]) end as text, w.m[1] !~ '^[.,(]' as is_name
    from body as b
    -- Names, and the three signs that tell what a name stands for. No group and no other sign: this runs at each registration.
    cross join lateral regexp_matches(b.source, '"[^"]+"|[A-Za-z_\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*|[.,(]', 'g') with ordinality as w (m, position)
  ),
  around as (
    select w.*, lag(w.text) over next_words as before, lead(w.text) over next_words as after,
      lead(w.text, 2) over next_words as second, lead(w.is_name, 2) over next_words as second_is_name, lead(w.text, 3) over next_words as third
    from word as w
    window next_words as (partition by w.target order by w.position)
  ),
  named as materialized (
    select distinct a.target, b.path,
      case when a.after = '.' and a.second_is_name then a.text end as qualifier,
      case when a.after = '.' and a.second_is_name then a.second else a.text end as name,
      coalesce(a.before in ('from', 'join', 'into', 'update', 'using', 'table', 'only', ','), false) as can_be_table,
      case when a.after = '.' and a.second_is_name then a.third else a.after end is not distinct from '(' as is_call
    from around as a
    join body as b on b.target = a.target
    where a.is_name and a.before is distinct from '.'
  ),
  -- A name given to a part of the query hides a table of that name.
  part as materialized (
    select distinct a.target, a.text as name
    from around as a
    where a.is_name and a.after = 'as' and a.second in ('(', 'materialized', 'not')
  )
  select n.target, found.oid, null::oid
  from named as n
  cross join lateral (
    -- By name first: the catalogs have an index for that, and most names are none.
    select c.oid
    from pg_catalog.pg_class as c
    join pg_catalog.pg_namespace as s on s.oid = c.relnamespace
    where c.relname = n.name
      and c.relkind in ('r', 'p', 'v', 'm', 'f')
      and s.nspname = any (case when n.qualifier is null then n.path else array[n.qualifier] end)
    order by array_position(n.path, s.nspname::text)
    limit 1
  ) as found
  where n.qualifier is not null
    or n.can_be_table and not exists (select from part where part.target = n.target and part.name = n.name)
  union
  select n.target, null, p.oid
  from named as n
  join pg_catalog.pg_proc as p on p.proname = n.name
  join pg_catalog.pg_namespace as s on s.oid = p.pronamespace
  where n.is_call
    and s.nspname = any (case when n.qualifier is null then n.path else array[n.qualifier] end)
    and s.nspname <> 'pg_catalog'
  union
  select d.objid, case when d.refclassid = 'pg_catalog.pg_class'::regclass then d.refobjid end,
    case when d.refclassid = 'pg_catalog.pg_proc'::regclass then d.refobjid end
  from unnest((select targets)) as wanted
  join pg_catalog.pg_proc as p on p.oid = wanted and p.prosqlbody is not null
  join pg_catalog.pg_depend as d on d.classid = 'pg_catalog.pg_proc'::regclass and d.objid = p.oid
  where d.refclassid in ('pg_catalog.pg_class'::regclass, 'pg_catalog.pg_proc'::regclass);
end;
$$;
comment on function chumbo.body_references(oid[]) is
  'The relations and the functions that these functions name, as far as their text tells; text built while they run is not seen.';
revoke all on function chumbo.body_references(oid[]) from public, anon, authenticated, service_role;

create or replace function chumbo.relation_tree(relations oid[])
  returns table (root oid, relation oid)
  language plpgsql stable rows 5
  security invoker
  set search_path = ''
as $$
begin
  return query
  with recursive tree (root, relation) as (
    select wanted, wanted from unnest((select relations)) as wanted
    union
    select t.root, d.refobjid
    from tree as t
    join pg_catalog.pg_class as c on c.oid = t.relation and c.relkind in ('v', 'm')
    join pg_catalog.pg_rewrite as w on w.ev_class = t.relation
    join pg_catalog.pg_depend as d on d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = w.oid
    where d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid <> t.relation
  )
  select t.root, t.relation
  from tree as t
  join pg_catalog.pg_class as c on c.oid = t.relation and c.relkind in ('r', 'p', 'v', 'm', 'f')
  where c.relnamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace);
end;
$$;
comment on function chumbo.relation_tree(oid[]) is 'These relations and, through views, all that they read; catalogs are left out.';
revoke all on function chumbo.relation_tree(oid[]) from public, anon, authenticated, service_role;

-- The rules ---------------------------------------------------------------------------------------------------------------

create or replace function chumbo.is_platform_schema(name text)
  returns boolean
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
begin
  return name ~ '^(pg_|_|supabase_)' or name in ('information_schema', 'auth', 'storage', 'realtime', 'extensions', 'graphql', 'graphql_public',
    'vault', 'pgsodium', 'pgsodium_masks', 'pgbouncer', 'pgmq', 'pgtle', 'net', 'cron');
end;
$$;
comment on function chumbo.is_platform_schema(text) is 'Whether a schema belongs to Postgres or to Supabase, so that its objects are not the author''s to mend.';
revoke all on function chumbo.is_platform_schema(text) from public, anon, authenticated, service_role;

create or replace function chumbo.lint_relations(relations oid[])
  returns table (relation oid, rule text, level text, object text, detail text, fix text)
  language plpgsql stable rows 5
  security invoker
  set search_path = ''
as $$
begin
  return query
  with reached as materialized (
    select t.root, c.oid, c.oid::regclass::text as name, c.relnamespace, c.relkind, c.relrowsecurity, c.relowner, c.relispartition,
      coalesce((
        select o.option_value::boolean from pg_options_to_table(c.reloptions) as o where o.option_name = 'security_invoker'
      ), false) as is_invoker
    from chumbo.relation_tree(lint_relations.relations) as t
    join pg_catalog.pg_class as c on c.oid = t.relation
    -- What an extension brings is not the author's to mend.
    where not exists (
      select from pg_catalog.pg_depend as d where d.classid = 'pg_catalog.pg_class'::regclass and d.objid = c.oid and d.deptype = 'e'
    )
  ),
  viewed as materialized (
    select v.oid, string_agg(b.oid::regclass::text, ', ' order by b.oid::regclass::text) as tables,
      -- What the platform keeps in tables, such as its users, is nobody's to read, with or without policies.
      bool_or(b.relrowsecurity or chumbo.is_platform_schema(n.nspname)) as is_guarded
    from (select distinct r.oid from reached as r where r.relkind in ('v', 'm')) as v
    join chumbo.relation_tree(array(select distinct r.oid from reached as r where r.relkind in ('v', 'm'))) as t on t.root = v.oid
    join pg_catalog.pg_class as b on b.oid = t.relation and b.relkind in ('r', 'p', 'f')
    join pg_catalog.pg_namespace as n on n.oid = b.relnamespace
    group by v.oid
  )
  select r.root, 'owner_view', case when w.is_guarded then 'error' else 'warning' end, r.name,
    format('The view %s reads %s with the rights of its owner %s, so every caller sees all of its rows.', r.name, w.tables, r.relowner::regrole),
    format('alter view %s set (security_invoker = true);', r.name)
  from reached as r
  join viewed as w on w.oid = r.oid
  where r.relkind = 'v' and not r.is_invoker
  union all
  select r.root, 'materialized_view', 'error', r.name,
    format('The materialized view %s keeps a copy of %s, and no row security can guard a copy: every caller sees all of it.', r.name, w.tables),
    format('Read %s instead, then revoke all on %s from anon, authenticated;', w.tables, r.name)
  from reached as r
  join viewed as w on w.oid = r.oid
  where r.relkind = 'm' and w.is_guarded
  union all
  select r.root, 'open_table', 'warning', r.name,
    format('The table %s has no row security, so every caller meets all of its rows.', r.name),
    case r.relkind
      when 'f' then format('A foreign table cannot have any: revoke all on %s from anon, authenticated; and offer a view or a function that filters.', r.name)
      else format('alter table %s enable row level security; and a policy for each verb', r.name)
    end
  from reached as r
  join pg_catalog.pg_namespace as n on n.oid = r.relnamespace
  where r.relkind in ('r', 'p', 'f') and not r.relrowsecurity and not chumbo.is_platform_schema(n.nspname);
end;
$$;
comment on function chumbo.lint_relations(oid[]) is 'What is risky about offering these relations, and those that they read.';
revoke all on function chumbo.lint_relations(oid[]) from public, anon, authenticated, service_role;

create or replace function chumbo.revoke_from_anon(target oid)
  returns text
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_signature text := target::regprocedure::text;
  v_grantees text;
  v_is_named boolean;
begin
  select
    string_agg(case a.grantee when 0 then 'public' else a.grantee::regrole::text end, ', ' order by a.grantee)
      filter (where case when a.grantee = 0 then true else pg_has_role('anon', a.grantee, 'usage') end),
    coalesce(bool_or(case when a.grantee = 0 then false else pg_has_role('authenticated', a.grantee, 'usage') end), false)
  into v_grantees, v_is_named
  from pg_catalog.pg_proc as p
  cross join aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as a
  where p.oid = target and a.privilege_type = 'EXECUTE';

  -- Whoever is signed in keeps what he had through public.
  return format('revoke execute on function %s from %s;', v_signature, v_grantees)
    || case
      when not v_is_named and has_function_privilege('authenticated', target, 'execute')
        then format(' grant execute on function %s to authenticated;', v_signature)
      else ''
    end;
end;
$$;
comment on function chumbo.revoke_from_anon(oid) is 'The statements that take a function away from anonymous visitors and from nobody else who is a caller.';
revoke all on function chumbo.revoke_from_anon(oid) from public, anon, authenticated, service_role;

create or replace function chumbo.lint_functions(targets oid[])
  returns table (target oid, rule text, level text, object text, detail text, fix text)
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  return query
  with f as materialized (
    select p.oid, p.oid::regprocedure::text as signature, p.prosecdef, p.proowner, p.proname, p.pronamespace, p.proconfig, p.proargnames,
      p.proargmodes, l.lanname, n.nspname,
      case when l.lanname in ('sql', 'plpgsql') and p.prosqlbody is null then chumbo.strip_source(p.prosrc, true) else '' end as source
    from unnest((select lint_functions.targets)) as wanted
    join pg_catalog.pg_proc as p on p.oid = wanted
    join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
    join pg_catalog.pg_language as l on l.oid = p.prolang
  ),
  own as materialized (select r.* from chumbo.body_references(lint_functions.targets) as r),
  -- One level of helpers. A helper with rights of its own is a finding, and what it reads is its own affair.
  helper as materialized (
    select o.target, p.oid, p.oid::regprocedure::text as signature, p.prosecdef, p.proowner
    from own as o
    join pg_catalog.pg_proc as p on p.oid = o.called
    where o.called <> o.target
  ),
  reading as materialized (
    select o.target, o.relation, null::text as through from own as o where o.relation is not null
    union
    select h.target, r.relation, h.signature
    from chumbo.body_references(array(select distinct h.oid from helper as h where not h.prosecdef)) as r
    join helper as h on h.oid = r.target
    where r.relation is not null
  ),
  argument as (
    select f.oid, f.signature, f.prosecdef, f.proargnames[i] as name, pg_get_function_arg_default(f.oid, i) as expression
    from f
    cross join lateral generate_subscripts(f.proargnames, 1) as i
    where coalesce(f.proargmodes[i], 'i') in ('i', 'b', 'v')
  ),
  identity_argument as (
    select a.*,
      a.expression ~* '\mauth\.(uid|jwt|email|role)\(|\mcurrent_setting\(|\m(current_user|session_user)\M' as is_caller,
      a.name ~* '^_?(p_|in_|arg_|param_)?(current_|calling_|acting_|auth_|my_|on_behalf_of_|as_)?(user|usr|uid|owner|caller|actor|subject|principal|tenant|profile|created_by)(_?(id|uuid|uid))?_?$' as is_named
    from argument as a
  )

  select f.oid, 'definer_body', 'error', f.signature,
    format('%s is security definer: it runs with the rights of %s and not of the caller.', f.signature, f.proowner::regrole),
    format('alter function %s security invoker;', f.signature)
  from f
  where f.prosecdef

  union all
  select f.oid, 'anon_execute', case when f.prosecdef then 'error' else 'warning' end, f.signature,
    format('anon may execute %s, without Chumbo and without signing in.', f.signature), chumbo.revoke_from_anon(f.oid)
  from f
  where has_function_privilege('anon', f.oid, 'execute')

  union all
  select f.oid, 'not_executable', 'error', f.signature,
    format('authenticated may not execute %s, so every call will be refused.', f.signature),
    concat_ws(' ',
      case when not has_schema_privilege('authenticated', f.pronamespace, 'usage') then format('grant usage on schema %I to authenticated;', f.nspname) end,
      case when not has_function_privilege('authenticated', f.oid, 'execute') then format('grant execute on function %s to authenticated;', f.signature) end)
  from f
  where not has_function_privilege('authenticated', f.oid, 'execute') or not has_schema_privilege('authenticated', f.pronamespace, 'usage')

  union all
  select f.oid, 'unpinned_path', case when f.prosecdef then 'error' else 'info' end, f.signature,
    case
      when f.prosecdef then format('%s is security definer without a search path, so whoever calls it chooses what its names mean.', f.signature)
      else format('%s has no search path. Chumbo sets one when it calls; anybody else who calls it chooses what its names mean.', f.signature)
    end,
    format('alter function %s set search_path = ''''; and qualify the names in its body', f.signature)
  from f
  where not exists (select from unnest(f.proconfig) as setting where setting like 'search_path=%')

  union all
  select f.oid, 'sets_role', 'error', f.signature,
    format('The text of %s changes the role or the session. Chumbo confines tools, so that call fails; elsewhere it would lift the caller''s limits.', f.signature),
    format('Remove it from the body of %s.', f.signature)
  from f
  where f.source ~* '\mset\s+(local|session)\s+"?role\M|\mset\s+"?role"?\s+(?!=)\S|(^|;|''|\m(begin|then|else|loop)\M)\s*set\s+"?role"?\s*=|\mreset\s+("?role|session\s+authorization|all)\M|\mset\s+(local\s+|session\s+)?session\s+authorization\M|\mdiscard\s+all\M|\mset_config\s*\(\s*(setting_name\s*(:=|=>)\s*)?e?''(role|session_authorization)'''
    or exists (select from unnest(f.proconfig) as setting where setting ~ '^(role|session_authorization)=')

  union all
  select f.oid, 'sets_claims', 'error', f.signature,
    format('The text of %s sets request.jwt claims: from there on policies see whomever it names.', f.signature),
    format('Remove it from the body of %s; auth.uid() is the caller already.', f.signature)
  from f
  where f.source ~* '\mset\s+(local\s+|session\s+)?"?request\.|\mreset\s+"?request\.|\mset_config\s*\(\s*(setting_name\s*(:=|=>)\s*)?e?''request\.'
    or exists (select from unnest(f.proconfig) as setting where setting ~ '^request\.')

  union all
  select a.oid, 'identity_default', case when a.prosecdef then 'error' else 'warning' end, format('%s %s', a.signature, a.name),
    format('The parameter %s of %s is who the caller is by default (%s), so a caller may pass somebody else.', a.name, a.signature, a.expression),
    'Drop the parameter and use auth.uid() in the body.'
  from identity_argument as a
  where a.is_caller or a.is_named and a.expression is not null

  union all
  select a.oid, 'identity_argument', case when a.prosecdef then 'error' else 'info' end, format('%s %s', a.signature, a.name),
    format('The parameter %s of %s names a person, and a caller may name anybody: only row security decides what comes of it.', a.name, a.signature),
    'If it stands for the caller, drop it and use auth.uid() in the body.'
  from identity_argument as a
  where a.is_named and a.expression is null

  union all
  select f.oid, 'ambiguous_overload', 'error', f.signature,
    format('A call of %s could mean another signature as well, so it is not offered: %s.', f.signature, string_agg(other.oid::regprocedure::text, ', ' order by other.oid)),
    format('drop function %s; or drop the signature that is no longer meant, and register the one that stays', f.signature)
  from f
  join pg_catalog.pg_proc as other on other.proname = f.proname and other.pronamespace = f.pronamespace and other.oid <> f.oid
  where not exists (select from chumbo.targets as t where t.oid = f.oid)
  group by f.oid, f.signature

  union all
  select f.oid, 'overload', 'info', f.signature,
    format('%s stands beside %s, which the tool keeps calling.', string_agg(other.oid::regprocedure::text, ', ' order by other.oid), f.signature),
    'If the other one is meant, register it and drop this one.'
  from f
  join pg_catalog.pg_proc as other on other.proname = f.proname and other.pronamespace = f.pronamespace and other.oid <> f.oid
  where exists (select from chumbo.targets as t where t.oid = f.oid)
    and not exists (select from chumbo.capabilities as c where c.target_name = other.proname and c.target = other.oid::regprocedure::text)
  group by f.oid, f.signature

  union all
  select f.oid, 'no_comment', 'warning', f.signature,
    format('%s has no comment, and the description is all a model has to choose by.', f.signature),
    format('comment on function %s is ''…'';', f.signature)
  from f
  where obj_description(f.oid, 'pg_proc') is null

  union all
  select h.target, 'calls_definer', 'info', h.signature,
    format('%s names %s, which runs with the rights of %s.', h.target::regprocedure, h.signature, h.proowner::regrole),
    format('Look that %s asks who calls and tells him only what is his.', h.signature)
  from helper as h
  where h.prosecdef

  union all
  select f.oid, 'body_not_followed', 'info', f.signature,
    case when f.lanname in ('sql', 'plpgsql')
      then format('%s runs text that it builds while it runs, or sets a setting whose name it computes; what that reads cannot be followed.', f.signature)
      else format('%s is written in %s, which is not read here.', f.signature, f.lanname)
    end,
    'Look yourself at what it reads.'
  from f
  where f.lanname not in ('sql', 'plpgsql')
    or f.lanname = 'plpgsql' and chumbo.strip_source(f.source, false) ~* '\mexecute\s+(?!function\M|procedure\M|on\M)\S|\mexecute\s*\('
    or f.source ~* '\mset_config\s*\(\s*(?!setting_name\M|e?'')\S'

  union all
  select r.target, found.rule, found.level, found.object,
    format('%s%s The text of %s names %s.', found.detail, case when r.through is not null then format(' It is reached through %s.', r.through) else '' end,
      coalesce(r.through, f.signature), r.relation::regclass),
    found.fix
  from (select distinct on (d.target, d.relation) d.* from reading as d order by d.target, d.relation, d.through nulls first) as r
  join f on f.oid = r.target and not f.prosecdef
  join chumbo.lint_relations(array(select distinct d.relation from reading as d)) as found on found.relation = r.relation;
end;
$$;
comment on function chumbo.lint_functions(oid[]) is
  'What is risky or useless about offering these functions. What they read is taken from their text, one level of helpers included.';
revoke all on function chumbo.lint_functions(oid[]) from public, anon, authenticated, service_role;

drop function if exists chumbo.target_warnings(regprocedure);
create or replace function chumbo.target_warnings(target regprocedure, is_described boolean)
  returns setof text
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  return query
  select format('%s Next: %s', f.detail, f.fix)
  from chumbo.lint_functions(array[target_warnings.target::oid]) as f
  where f.level <> 'info'
    and not (f.rule = 'no_comment' and target_warnings.is_described)
    and not exists (select from chumbo.accepted_findings as a where a.key = f.rule || ' ' || f.object)
  order by f.rule, f.object;
end;
$$;
comment on function chumbo.target_warnings(regprocedure, boolean) is
  'What is risky or useless about offering this function and was not accepted, a sentence and its remedy each.';
revoke all on function chumbo.target_warnings(regprocedure, boolean) from public, anon, authenticated, service_role;

create or replace function chumbo.find_function(signature text)
  returns oid
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  -- Not strict, so that it stops at the bracket; a bracket inside of a quoted name is part of the name.
  v_parts text[] := parse_ident(signature, false);
begin
  return (
    select p.oid from pg_catalog.pg_proc as p where p.proname = v_parts[cardinality(v_parts)] and p.oid::regprocedure::text = signature);
end;
$$;
comment on function chumbo.find_function(text) is 'The function with exactly this signature, or null when it is gone.';
revoke all on function chumbo.find_function(text) from public, anon, authenticated, service_role;

create or replace function chumbo.find_drift(capability chumbo.capabilities, target oid)
  returns text
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_parameters jsonb;
  v_result record;
  v_message text;
begin
  v_parameters := chumbo.describe_parameters(target::regprocedure);
  -- As registering does: clients see a limit and a cursor of a collection in their own way.
  if capability.result_mode = 'collection' then
    v_parameters := chumbo.collection_parameters(v_parameters, capability.row_cap);
  end if;
  if (select coalesce(jsonb_agg(p - 'schema'), '[]') from jsonb_array_elements(v_parameters) as p) <> capability.parameters then
    return 'its parameters';
  elsif capability.kind = 'tool' and chumbo.input_schema(v_parameters) <> capability.input_schema then
    return 'the schema of its inputs';
  end if;

  -- The columns of a bare record were declared when it was registered and stand nowhere else.
  if capability.kind = 'tool' and exists (
    select from pg_catalog.pg_proc as p
    where p.oid = target and (p.prorettype <> 'record'::regtype or p.proargmodes && array['o', 'b', 't']::"char"[])
  ) then
    select * into v_result
    from chumbo.describe_result(target::regprocedure, capability.row_cap, capability.result_mode, null);
    if (v_result.shape, v_result.schema) is distinct from (capability.result_shape, capability.output_schema)
      -- A render function is woven into the query, whose columns the schema tells as well.
      or capability.render is null and v_result.query <> capability.result_query then
      return 'its result';
    end if;
  end if;
  if capability.is_write and (select p.provolatile <> 'v' from pg_catalog.pg_proc as p where p.oid = target) then
    return 'whether it writes';
  end if;
  return null;
exception
  -- What was registered once could not be registered any more; whatever the reason, it costs the other findings nothing.
  when others then
    get stacked diagnostics v_message = pg_exception_detail;
    return format('its signature (%s)', coalesce(nullif(v_message, ''), sqlerrm));
end;
$$;
comment on function chumbo.find_drift(chumbo.capabilities, oid) is
  'What the function behind a capability says otherwise today than when it was registered; null when nothing.';
revoke all on function chumbo.find_drift(chumbo.capabilities, oid) from public, anon, authenticated, service_role;

-- Controls, soft hyphens, joiners, marks and overrides of direction, fillers, tags: characters that show nothing and can carry
-- words for a model. Line breaks and tabs are text, and so is the mark that makes a sign an emoji.
create or replace function chumbo.invisible_characters(value text)
  returns text
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
begin
  return (
    select string_agg(distinct 'U+' || lpad(upper(code), greatest(length(code), 4), '0'), ', ')
    from regexp_matches(
      value,
      '[\u0001-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]',
      'g'
    ) as m
    cross join lateral to_hex(ascii(m[1])) as code
  );
end;
$$;
comment on function chumbo.invisible_characters(text) is 'The characters of a text that nobody sees, as code points; null without any.';
revoke all on function chumbo.invisible_characters(text) from public, anon, authenticated, service_role;

create or replace function chumbo.schema_depth(schema jsonb)
  returns integer
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
begin
  return case
    when jsonb_typeof(schema) = 'object' then coalesce((
      select max(chumbo.schema_depth(child) + 1)
      from (
        select value from jsonb_each(case when jsonb_typeof(schema -> 'properties') = 'object' then schema -> 'properties' else '{}' end)
        union all
        select schema -> 'items' where jsonb_typeof(schema -> 'items') = 'object'
        union all
        select schema -> 'additionalProperties' where jsonb_typeof(schema -> 'additionalProperties') = 'object'
      ) as nested (child)
    ), 0)
    else 0
  end;
end;
$$;
comment on function chumbo.schema_depth(jsonb) is 'How deep objects and arrays of a schema nest: 1 for plain properties.';
revoke all on function chumbo.schema_depth(jsonb) from public, anon, authenticated, service_role;

create or replace function chumbo.schema_texts(schema jsonb)
  returns table (place text, content text)
  language plpgsql immutable rows 20
  security invoker
  set search_path = ''
as $$
begin
  return query
  select p.key || ' description', p.value ->> 'description'
  from jsonb_each(case when jsonb_typeof(schema -> 'properties') = 'object' then schema -> 'properties' else '{}' end) as p
  where p.value ? 'description'
  union all
  -- Whatever else is said in it: labels, titles, defaults, names, at any depth.
  select 'schema', t #>> '{}' from jsonb_path_query(schema, 'strict $.** ? (@.type() == "string")') as t
  union all
  select 'schema', t #>> '{}' from jsonb_path_query(schema, 'strict $.** ? (@.type() == "object").keyvalue().key') as t;
end;
$$;
comment on function chumbo.schema_texts(jsonb) is 'Every text in a schema and where it stands; descriptions of parameters by name.';
revoke all on function chumbo.schema_texts(jsonb) from public, anon, authenticated, service_role;

create or replace function chumbo.lint_capabilities(server_ids bigint[])
  returns table (server_id bigint, kind text, capability text, rule text, level text, object text, detail text, fix text)
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  return query
  with c as materialized (
    select k as row, k.id, k.server_id, k.kind, k.name, k.title, k.description, k.input_schema, k.output_schema, k.annotations, k.meta,
      k.required_scopes, k.handler, k.target, k.render, k.is_enabled, k.is_pinned, k.definition_bytes,
      format('%s %s', k.kind, k.name) as called
    from chumbo.capabilities as k
    where k.server_id = any (lint_capabilities.server_ids)
  ),
  behind as materialized (
    select c.id, 'function' as part, c.target as signature, chumbo.find_function(c.target) as oid from c where c.handler = 'sql'
    union all
    select c.id, 'render function', c.render, chumbo.find_function(c.render) from c where c.render is not null
    union all
    -- What lists the resources of a template and completes arguments stands in columns that later files add.
    select c.id, helper.part, helper.signature, chumbo.find_function(helper.signature)
    from c
    cross join lateral (
      select 'listing function', to_jsonb(c.row) #>> '{listing,target}'
      union all
      select 'completing function', e.value ->> 'target' from jsonb_each(nullif(to_jsonb(c.row) -> 'completions', 'null')) as e
    ) as helper (part, signature)
    where c.kind <> 'tool' and helper.signature is not null
  ),
  readable as materialized (
    select t.server_id, t.name::text as name, format('%I.%I', t.table_schema, t.table_name) as relation, r.oid
    from chumbo.readable_tables as t
    left join pg_catalog.pg_namespace as n on n.nspname = t.table_schema
    left join pg_catalog.pg_class as r on r.relnamespace = n.oid and r.relname = t.table_name
    where t.server_id = any (lint_capabilities.server_ids)
  ),
  instructing as materialized (
    select s.id, s.slug, s.instructions_target as signature, chumbo.find_function(s.instructions_target) as oid
    from chumbo.servers as s
    where s.id = any (lint_capabilities.server_ids) and s.instructions_target is not null
  ),
  of_function as materialized (
    select f.*
    from (
      -- In batches: what the rules join is small for each, so that the whole grows as the number of functions does.
      select array_agg(o.oid) as oids
      from (
        select w.oid, row_number() over () / 100 as batch
        from (select b.oid from behind as b where b.oid is not null union select i.oid from instructing as i where i.oid is not null) as w
      ) as o
      group by o.batch
    ) as b
    cross join lateral chumbo.lint_functions(b.oids) as f
  ),
  -- Text that reaches a model. Most definitions hold nothing invisible, so each is looked at as a whole first.
  told as materialized (
    select c.server_id, c.kind, c.name::text as name, c.called, t.place, t.content
    from c
    cross join lateral (
      select 'name', c.name
      union all select 'title', c.title
      union all select 'description', c.description
      union all select s.place, s.content from chumbo.schema_texts(c.input_schema) as s
      union all select 'result ' || s.place, s.content from chumbo.schema_texts(c.output_schema) as s
      union all select 'annotations', s.content from chumbo.schema_texts(c.annotations) as s
      union all select 'meta', s.content from chumbo.schema_texts(c.meta) as s
    ) as t (place, content)
    where length(c.description) > 1024
      or chumbo.invisible_characters(concat_ws(' ', c.name, c.title, c.description, c.input_schema, c.output_schema, c.annotations, c.meta)) is not null
      -- Written out as JSON, a control character is six plain ones.
      or concat_ws(' ', c.input_schema, c.output_schema, c.annotations, c.meta) ~ '\\u00[01]'
      or exists (select from chumbo.schema_texts(c.input_schema) as s where s.place like '% description' and length(s.content) > 1024)
    union all
    select s.id, null, null, format('server %s', s.slug), t.place, t.content
    from chumbo.servers as s
    cross join lateral (values ('name', s.name), ('title', s.title), ('instructions', s.instructions)) as t (place, content)
    where s.id = any (lint_capabilities.server_ids)
  ),
  listing as materialized (
    select s.id, s.slug, count(*) as entries, sum(c.definition_bytes) as bytes
    from chumbo.servers as s
    join c on c.server_id = s.id
    where c.kind = 'tool' and c.is_enabled and (c.is_pinned or coalesce(s.settings ->> 'catalog_mode', 'list') = 'list')
    group by s.id, s.slug
  )

  select c.server_id, c.kind, c.name::text, f.rule, f.level, f.object, f.detail, f.fix
  from behind as b
  join c on c.id = b.id
  join of_function as f on f.target = b.oid
  -- The others are called by their signatures and shown to nobody.
  where case when b.part = 'function' then f.rule <> 'no_comment' or c.description = replace(c.name, '_', ' ')
    else f.rule not in ('no_comment', 'overload', 'ambiguous_overload', 'identity_argument', 'identity_default') end
  union
  select i.id, null, null, f.rule, f.level, f.object, f.detail, f.fix
  from instructing as i
  join of_function as f on f.target = i.oid
  where f.rule not in ('no_comment', 'overload')

  union all
  select c.server_id, c.kind, c.name::text, 'missing_target', 'error', b.signature,
    format('The %s %s of the %s is gone, so it cannot run.', b.part, b.signature, c.called),
    format('Create it again, register another one, or run select chumbo.drop_capability(%L, %L, %L);', c.name,
      (select s.slug from chumbo.servers as s where s.id = c.server_id), c.kind)
  from behind as b
  join c on c.id = b.id
  where b.oid is null
  union all
  select i.id, null, null, 'missing_target', 'error', i.signature,
    format('The function %s that writes the instructions of %s is gone, so everybody gets the fixed ones.', i.signature, i.slug),
    format('Create it again, or run update chumbo.servers set instructions_target = null where slug = %L;', i.slug)
  from instructing as i
  where i.oid is null

  union all
  select r.server_id, 'table', r.name, 'missing_target', 'error', r.relation,
    format('The table or view %s behind the readable table %s is gone, so it cannot be read.', r.relation, r.name), 'Register the one that took its place.'
  from readable as r
  where r.oid is null
  union all
  select r.server_id, 'table', r.name, f.rule, f.level, f.object, f.detail, f.fix
  from readable as r
  join chumbo.lint_relations(array(select distinct o.oid from readable as o where o.oid is not null)) as f on f.relation = r.oid

  union all
  select c.server_id, c.kind, c.name::text, 'drift', 'warning', c.target,
    format('%s says something else today than when the %s was registered: %s.', c.target, c.called, d.what),
    format('Register %s again, in the migration that changed it.', c.target)
  from behind as b
  join c on c.id = b.id
  cross join lateral (select chumbo.find_drift(c.row, b.oid) as what) as d
  where b.part = 'function' and b.oid is not null and d.what is not null

  union all
  select c.server_id, c.kind, c.name::text, 'missing_description', 'warning', 'description',
    format('The %s has no description, and that is all a model has to choose by.', c.called), 'Describe it where it is defined.'
  from c
  where coalesce(btrim(c.description), '') = ''

  union all
  select distinct t.server_id, t.kind, t.name, 'long_description', 'warning', t.place,
    format('The %s of the %s has %s characters; the budget is 1024.', t.place, t.called, length(t.content)), 'Shorten it: every client pays for it with every list.'
  from told as t
  where length(t.content) > 1024 and (t.place = 'description' or t.place like '% description') and t.place not like 'result %'

  union all
  select distinct t.server_id, t.kind, t.name, 'invisible_characters', 'error', t.place,
    format('The %s of the %s holds characters that nobody sees: %s.', t.place, t.called, chumbo.invisible_characters(string_agg(t.content, ' '))),
    'Write it again without them: they can carry words for a model.'
  from told as t
  where chumbo.invisible_characters(t.content) is not null
  group by t.server_id, t.kind, t.name, t.called, t.place

  union all
  select c.server_id, c.kind, c.name::text, 'long_name', 'warning', 'name',
    format('The name of the %s has %s characters. Clients put the name of a server before it and take 64 in all; the budget is 48.', c.called, length(c.name)),
    'Register it under a shorter one with name => ''…''.'
  from c
  where length(c.name) > 48

  union all
  select c.server_id, c.kind, c.name::text, 'confusable_names', 'warning', other.name,
    format('The %s and %s are one name to a client that does not tell case, or - and _, apart.', c.called, other.name), 'Rename one of the two.'
  from c
  join c as other on other.server_id = c.server_id and other.kind = c.kind and other.name < c.name
    and lower(translate(other.name, '-', '_')) = lower(translate(c.name, '-', '_'))

  union all
  select c.server_id, c.kind, c.name::text, 'deep_schema', 'warning', 'input schema',
    format('The inputs of the %s nest %s levels deep; the budget is 5, and some clients refuse more.', c.called, chumbo.schema_depth(c.input_schema)),
    'Take the inner part as jsonb, or part the tool in two.'
  from c
  where c.kind = 'tool'
    -- Counted first, which is cheap: a schema with five of these in all cannot nest deeper.
    and case when regexp_count(c.input_schema::text, '"(properties|items|additionalProperties)": \{') > 5
      then chumbo.schema_depth(c.input_schema) > 5 else false end

  union all
  select c.server_id, c.kind, c.name::text, 'large_definition', 'warning', 'definition',
    format('The definition of the %s has %s bytes; the budget is 16384.', c.called, c.definition_bytes), 'Shorten the description, or take jsonb in place of a large type.'
  from c
  where c.definition_bytes > 16384

  union all
  select l.id, null, null, 'listing_size', 'info', l.slug,
    format('The list of tools has %s entries and %s bytes, about %s tokens.', l.entries, l.bytes, l.bytes / 4), null
  from listing as l
  union all
  select l.id, null, null, 'large_listing', 'warning', l.slug,
    format('The list of tools has %s bytes, about %s tokens, which every model reads before its first word; the budget is 131072 bytes.', l.bytes, l.bytes / 4),
    format('select chumbo.register_server(%L, settings => ''{"catalog_mode": "search"}''); or part the server in two', l.slug)
  from listing as l
  where l.bytes > 131072

  union all
  select c.server_id, c.kind, c.name::text, 'undefined_scope', 'error', wanted,
    format('The %s needs the scope %s, which is not defined: nobody can hold it.', c.called, wanted), format('select chumbo.define_scope(%L);', wanted)
  from c
  cross join lateral unnest(c.required_scopes) as wanted
  where not exists (select from chumbo.scopes as s where s.name = wanted)
  union all
  select c.server_id, c.kind, c.name::text, 'ungranted_scope', 'warning', wanted,
    format('The %s needs the scope %s, which no grant gives and no user may ask for; only a token that carries it opens this.', c.called, wanted),
    format('select chumbo.grant_scope(%L);', wanted)
  from c
  cross join lateral unnest(c.required_scopes) as wanted
  join chumbo.scopes as s on s.name = wanted and not s.is_requestable
  where not exists (
    select from chumbo.grants as g
    where g.scope = wanted and g.effect = 'allow' and (g.expires_at is null or g.expires_at > statement_timestamp())
  );
end;
$$;
comment on function chumbo.lint_capabilities(bigint[]) is 'What is wrong or risky about what these servers offer; kind and capability are null where it is the server''s.';
revoke all on function chumbo.lint_capabilities(bigint[]) from public, anon, authenticated, service_role;

create or replace function chumbo.shim_problem(role text)
  returns text
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_detail text;
begin
  perform chumbo.require_shim(role);
  return null;
exception
  when sqlstate 'PT500' then
    get stacked diagnostics v_detail = pg_exception_detail;
    return v_detail;
end;
$$;
comment on function chumbo.shim_problem(text) is 'What require_shim says against the confining function of a role; null when it is as installed.';
revoke all on function chumbo.shim_problem(text) from public, anon, authenticated, service_role;

create or replace function chumbo.exposed_schemas()
  returns text[]
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  return coalesce(
    (
      select array_agg(btrim(part, ' "'))
      from pg_catalog.pg_db_role_setting as d
      join pg_catalog.pg_roles as r on r.oid = d.setrole and r.rolname = 'authenticator'
      cross join unnest(d.setconfig) as setting
      cross join unnest(string_to_array(substr(setting, 18), ',')) as part
      where setting like 'pgrst.db_schemas=%'
    ),
    '{public,graphql_public}'
  );
end;
$$;
comment on function chumbo.exposed_schemas() is
  'The schemas of the Data API as far as the database knows them: the setting of its login, else what new projects have.';
revoke all on function chumbo.exposed_schemas() from public, anon, authenticated, service_role;

create or replace function chumbo.lint_project()
  returns table (rule text, level text, object text, detail text, fix text)
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  return query
  with function_of_ours as materialized (
    select p.oid, p.oid::regprocedure::text as signature, p.prosecdef, p.proowner,
      case p.oid::regprocedure::text
        when 'chumbo.run_as_anon(text,jsonb)' then 'anon'
        when 'chumbo.run_as_authenticated(text,jsonb)' then 'authenticated'
      end as confined
    from pg_catalog.pg_proc as p
    where p.pronamespace = 'chumbo'::regnamespace or p.pronamespace = 'public'::regnamespace and p.proname like 'chumbo\_%'
  ),
  relation_of_ours as materialized (
    select c.oid, c.oid::regclass::text as name, c.relkind, c.relrowsecurity, c.relacl, c.relowner
    from pg_catalog.pg_class as c
    where c.relkind in ('r', 'p', 'v', 'm', 'S')
      and (c.relnamespace = 'chumbo'::regnamespace or c.relnamespace = 'public'::regnamespace and c.relname like 'chumbo\_%')
  )

  select 'anon_definer', case when n.nspname = any (chumbo.exposed_schemas()) then 'error' else 'warning' end, p.oid::regprocedure::text,
    format('anon may execute %s, which runs with the rights of %s%s.', p.oid::regprocedure, p.proowner::regrole,
      case when n.nspname = any (chumbo.exposed_schemas()) then ', through the Data API and without signing in' else '' end),
    chumbo.revoke_from_anon(p.oid)
  from pg_catalog.pg_proc as p
  join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
  where p.prosecdef
    and has_function_privilege('anon', p.oid, 'execute')
    and has_schema_privilege('anon', n.oid, 'usage')
    -- A trigger cannot be called.
    and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
    and not chumbo.is_platform_schema(n.nspname)
    and not exists (
      select from pg_catalog.pg_depend as d where d.classid = 'pg_catalog.pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
    and not exists (select from function_of_ours as o where o.oid = p.oid)
    -- A registered one is told of with its tool.
    and not exists (select from chumbo.capabilities as c where c.target_name = p.proname and c.target = p.oid::regprocedure::text)

  union all
  select 'own_privileges', 'error', format('function %s', f.signature), format('%s may execute %s.', role, f.signature),
    format('revoke all on function %s from public, %I;', f.signature, role)
  from function_of_ours as f
  cross join unnest(array['anon', 'authenticated']) as role
  where has_function_privilege(role, f.oid, 'execute') and f.confined is distinct from role

  union all
  select 'own_privileges', 'error', format('relation %s', r.name),
    format('%s may %s %s.', case a.grantee when 0 then 'Everybody' else a.grantee::regrole::text end, lower(string_agg(a.privilege_type, ', ' order by a.privilege_type)), r.name),
    format('revoke all on %s%s from %s;', case r.relkind when 'S' then 'sequence ' else '' end, r.name, case a.grantee when 0 then 'public' else a.grantee::regrole::text end)
  from relation_of_ours as r
  cross join aclexplode(r.relacl) as a
  where (a.grantee = 0 or a.grantee in (select g.oid from pg_catalog.pg_roles as g where g.rolname in ('anon', 'authenticated')))
    and (r.name, a.privilege_type, a.grantee::regrole::text) <> ('public.chumbo_receipts', 'SELECT', 'authenticated')
  group by r.name, r.relkind, a.grantee

  union all
  select 'own_privileges', 'error', format('relation %s.%s', r.name, c.attname),
    format('%s may %s %s.%s.', case a.grantee when 0 then 'Everybody' else a.grantee::regrole::text end, lower(a.privilege_type), r.name, c.attname),
    format('revoke %s (%I) on %s from %s;', lower(a.privilege_type), c.attname, r.name, case a.grantee when 0 then 'public' else a.grantee::regrole::text end)
  from relation_of_ours as r
  join pg_catalog.pg_attribute as c on c.attrelid = r.oid
  cross join aclexplode(c.attacl) as a
  where (a.grantee = 0 or a.grantee in (select g.oid from pg_catalog.pg_roles as g where g.rolname in ('anon', 'authenticated')))
    -- What the view shows of a receipt, its reader has to be able to read.
    and (r.name, a.privilege_type, a.grantee::regrole::text) <> ('chumbo.receipts', 'SELECT', 'authenticated')

  union all
  select 'own_privileges', 'error', 'schema chumbo', format('%s may create objects in the schema chumbo.', role), format('revoke create on schema chumbo from public, %I;', role)
  from unnest(array['anon', 'authenticated']) as role
  where has_schema_privilege(role, 'chumbo', 'create')

  union all
  select 'own_row_security', 'error', r.name, format('Row security of %s is off.', r.name), format('alter table %s enable row level security;', r.name)
  from relation_of_ours as r
  where r.relkind in ('r', 'p') and not r.relrowsecurity

  union all
  select 'own_definer', 'info', f.signature,
    format('%s runs with the rights of %s. %s', f.signature, f.proowner::regrole, obj_description(f.oid, 'pg_proc')), null
  from function_of_ours as f
  where f.prosecdef

  union all
  select 'runner_tampered', 'error', format('chumbo.run_as_%s(text,jsonb)', role), chumbo.shim_problem(role),
    'Find which tool alters functions, then run the migration 0009_running.sql again.'
  from unnest(array['anon', 'authenticated']) as role
  where chumbo.shim_problem(role) is not null;
end;
$$;
comment on function chumbo.lint_project() is 'What is wrong or risky about the project around what is offered, and about the objects of Chumbo themselves.';
revoke all on function chumbo.lint_project() from public, anon, authenticated, service_role;

create or replace function chumbo.lint(only_server text default null)
  returns table (
    rule text, level text, server text, kind text, capability text, object text, detail text, fix text, key text
  )
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_server_ids bigint[] := case
    when only_server is null then array(select s.id from chumbo.servers as s)
    else array[chumbo.server_id(only_server)]
  end;
begin
  return query
  with found as (
    select f.rule, f.level, s.slug as server, f.kind, f.capability, f.object, f.detail, f.fix,
      -- What is wrong with a function or a relation is one thing, however many capabilities lead to it.
      case
        when f.object ~ '[.(]' then concat_ws(' ', f.rule, f.object)
        else concat_ws(' ', f.rule, concat_ws('/', s.slug, f.kind, f.capability), f.object)
      end as key
    from chumbo.lint_capabilities(v_server_ids) as f
    join chumbo.servers as s on s.id = f.server_id
    union all
    select f.rule, f.level, null, null, null, f.object, f.detail, f.fix, concat_ws(' ', f.rule, f.object)
    from chumbo.lint_project() as f
    where only_server is null
  )
  select f.rule, case when a.key is null then f.level else 'info' end, f.server, f.kind, f.capability, f.object,
    case when a.key is null then f.detail else format('%s Accepted: %s', f.detail, a.reason) end, f.fix, f.key
  from found as f
  left join chumbo.accepted_findings as a on a.key = f.key
  order by array_position(array['error', 'warning', 'info'], case when a.key is null then f.level else 'info' end),
    f.rule collate "C", f.server collate "C" nulls last, f.kind collate "C", f.capability collate "C", f.object collate "C", f.detail collate "C";
end;
$$;
comment on function chumbo.lint(text) is
  'Everything that is wrong or risky about what is offered, worst first: rule, level (error, warning, info), server, kind, capability, '
  'object, what it is, how to mend it (null where there is nothing to mend), and a key by which accept_finding silences it. Changes nothing. With a slug only that server, without '
  'the project around it. Raises unknown_server.';
revoke all on function chumbo.lint(text) from public, anon, authenticated, service_role;

-- Upkeep --------------------------------------------------------------------------------------------------------------------

create table if not exists chumbo.upkeep (
  task text primary key,
  ran_at timestamptz not null,
  result jsonb not null
);
comment on table chumbo.upkeep is 'When each task of upkeep last ran and what it did; one row a task, so that it does not grow.';
-- No policy: only who does the upkeep writes here, and the doctor of the owner reads it.
alter table chumbo.upkeep enable row level security;
revoke all on chumbo.upkeep from public, anon, authenticated, service_role;

create or replace function chumbo.maintain(keep interval default '90 days')
  returns jsonb
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_receipts jsonb := chumbo.maintain_receipts(keep);
  v_rest integer;
  v_keys integer;
  v_counters integer;
  v_result jsonb;
begin
  -- In batches: one run must not hold locks for long, and the next run goes on.
  delete from chumbo.receipts_rest as r
  where (r.id, r.created_at) in (
    select o.id, o.created_at from chumbo.receipts_rest as o where o.created_at < now() - keep limit 10000);
  get diagnostics v_rest = row_count;

  delete from chumbo.idempotency as i
  where i.ctid = any (array(
    select o.ctid from chumbo.idempotency as o where o.expires_at < now() limit 10000 for update skip locked));
  get diagnostics v_keys = row_count;

  -- The longest window is 31 days, so an older counter counts for nothing.
  delete from chumbo.rate_counters as k
  where k.ctid = any (array(
    select o.ctid from chumbo.rate_counters as o where o.reached_at < now() - interval '31 days' limit 10000 for update skip locked));
  get diagnostics v_counters = row_count;

  v_result := v_receipts || jsonb_build_object('receipts', v_rest, 'keys', v_keys, 'counters', v_counters);
  insert into chumbo.upkeep as u (task, ran_at, result)
  values ('maintain', clock_timestamp(), v_result)
  on conflict on constraint upkeep_pkey do update set ran_at = excluded.ran_at, result = excluded.result;
  return v_result;
end;
$$;
comment on function chumbo.maintain(interval) is
  'The upkeep of everything that grows: partitions ahead, receipts older than keep, expired keys, idle counters. Run it daily, by '
  'pg_cron or by hand; repeating it changes nothing but the time it last ran. Returns how many partitions were created and dropped and how many rows went.';
revoke all on function chumbo.maintain(interval) from public, anon, authenticated, service_role;

create or replace function chumbo.upkeep_report()
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_partition regclass;
  v_bytes bigint := 0;
  v_estimate bigint := 0;
  v_months integer := 0;
  v_found timestamptz;
  v_oldest timestamptz;
begin
  -- By month, oldest first: the first that holds a row holds the oldest, so the others are not read.
  for v_partition in
    select i.inhrelid::regclass
    from pg_catalog.pg_inherits as i
    join pg_catalog.pg_class as c on c.oid = i.inhrelid
    where i.inhparent = 'chumbo.receipts'::regclass
    -- The one that catches the rest comes last, whose rows may be of any time.
    order by c.relname = 'receipts_rest', c.relname
  loop
    v_bytes := v_bytes + pg_total_relation_size(v_partition);
    v_estimate := v_estimate + greatest((select c.reltuples from pg_catalog.pg_class as c where c.oid = v_partition), 0)::bigint;
    if v_partition = 'chumbo.receipts_rest'::regclass or v_oldest is null then
      execute format('select min(created_at) from %s', v_partition) into v_found;
      v_oldest := least(v_oldest, v_found);
    end if;
    if v_partition <> 'chumbo.receipts_rest'::regclass then
      v_months := v_months + 1;
    end if;
  end loop;

  return jsonb_build_object(
    'receipts', jsonb_build_object(
      'bytes', v_bytes,
      'estimated_rows', v_estimate,
      'oldest', v_oldest,
      'months', v_months,
      'last_month', (
        select max(right(c.relname, 7)) from pg_catalog.pg_class as c
        where c.relnamespace = 'chumbo'::regnamespace and c.relispartition and c.relname ~ '^receipts_[0-9]{4}_[0-9]{2}$'),
      'rest_rows', (select count(*) from (select from chumbo.receipts_rest limit 100001) as r)
    ),
    'keys', jsonb_build_object(
      'bytes', pg_total_relation_size('chumbo.idempotency'::regclass),
      'expired', (select count(*) from (select from chumbo.idempotency as i where i.expires_at < now() limit 100001) as i)),
    'counters', jsonb_build_object('bytes', pg_total_relation_size('chumbo.rate_counters'::regclass)),
    'last_run', (select jsonb_build_object('ran_at', u.ran_at, 'result', u.result) from chumbo.upkeep as u where u.task = 'maintain')
  );
end;
$$;
comment on function chumbo.upkeep_report() is
  'How large what grows has become: receipts (bytes, estimated_rows, oldest, months, last_month, rest_rows), keys, counters, and last_run of '
  'maintain. Counts stop at 100001.';
revoke all on function chumbo.upkeep_report() from public, anon, authenticated, service_role;

insert into chumbo.installed (number, name, hash)
values (17, 'lint', '726f83e22c2d2ef17edbf4353f48fbe6dccc621e9852e07069a48240427bd9a7') -- chumbo.installed
on conflict (number) do update set name = excluded.name, hash = excluded.hash;
-- migrate:down
