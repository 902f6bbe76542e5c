-- migrate:up
-- 0003_access.sql — application scopes, who holds them, and whether the sign-in behind a token still lives.

create table if not exists chumbo.scopes (
  name text primary key
    constraint scopes_name_is_token check (name ~ '^[A-Za-z0-9][A-Za-z0-9:._/-]{0,127}$')
    -- Supabase Auth gives these to any client that asks; a capability must never open because of that.
    constraint scopes_name_is_not_reserved check (name not in ('openid', 'email', 'profile', 'phone', 'offline_access')),
  title text,
  description text,
  is_requestable boolean not null default false,
  created_at timestamptz not null default now()
);
comment on table chumbo.scopes is 'Application scopes. Supabase Auth knows only its own five, so these live and are granted here.';
comment on column chumbo.scopes.is_requestable is
  'A user may delegate it to a client. Lacking one that is not requestable looks like an unknown capability.';

alter table chumbo.scopes enable row level security;
drop policy if exists select_runtime on chumbo.scopes;
create policy select_runtime on chumbo.scopes for select to chumbo_runtime using (true);
revoke all on chumbo.scopes from public, anon, authenticated, service_role;
grant select on chumbo.scopes to service_role, chumbo_runtime;

create table if not exists chumbo.grants (
  id bigint generated always as identity primary key,
  scope text not null references chumbo.scopes on update cascade on delete cascade,
  grantee text not null
    constraint grants_grantee_is_known check (grantee in ('everyone', 'authenticated', 'user', 'client', 'user_client', 'claim')),
  user_id uuid references auth.users on delete cascade,
  client_id text,
  claim jsonb,
  effect text not null default 'allow' constraint grants_effect_is_known check (effect in ('allow', 'deny')),
  expires_at timestamptz,
  granted_by text not null default current_user,
  created_at timestamptz not null default now(),
  -- A grantee carries exactly what identifies it.
  constraint grants_grantee_is_complete check (
    (user_id is not null) = (grantee in ('user', 'user_client'))
    and (client_id is not null) = (grantee in ('client', 'user_client'))
    and (claim is not null) = (grantee = 'claim')
  ),
  -- user_metadata is edited by the user, so it must never become authority.
  constraint grants_claim_is_trustworthy check (
    jsonb_typeof(claim) = 'object' and claim <> '{}' and not claim ? 'user_metadata'
  ),
  constraint grants_scope_grantee_key unique nulls not distinct (scope, grantee, user_id, client_id, claim, effect)
);
comment on table chumbo.grants is 'Who holds which scope. A deny outweighs every allow; an expired row counts for nothing.';
comment on column chumbo.grants.claim is 'Holds for callers whose verified claims contain this object.';
create index if not exists grants_user_id_idx on chumbo.grants (user_id) where user_id is not null;
create index if not exists grants_client_id_idx on chumbo.grants (client_id) where client_id is not null;
create index if not exists grants_general_idx on chumbo.grants (scope) where user_id is null and client_id is null;

alter table chumbo.grants enable row level security;
drop policy if exists select_runtime on chumbo.grants;
create policy select_runtime on chumbo.grants for select to chumbo_runtime using (true);
revoke all on chumbo.grants from public, anon, authenticated, service_role;
grant select on chumbo.grants to service_role, chumbo_runtime;

create or replace function chumbo.define_scope(
  name text,
  title text default null,
  description text default null,
  requestable boolean default false
)
  returns text
  language sql volatile
  security invoker
  set search_path = ''
as $$
  insert into chumbo.scopes as s (name, title, description, is_requestable)
  values (define_scope.name, define_scope.title, define_scope.description, define_scope.requestable)
  on conflict (name) do update
  set title = excluded.title, description = excluded.description, is_requestable = excluded.is_requestable
  returning s.name
$$;
comment on function chumbo.define_scope(text, text, text, boolean) is
  'Creates or redescribes a scope and returns its name. The five scopes of Supabase Auth are refused.';
revoke all on function chumbo.define_scope(text, text, text, boolean) from public, anon, authenticated, service_role;

create or replace function chumbo.require_scopes(scopes text[])
  returns void
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_missing text;
begin
  select coalesce(nullif(btrim(wanted), ''), '(blank)')
  into v_missing
  from unnest(require_scopes.scopes) as wanted
  where not exists (select from chumbo.scopes as s where s.name = wanted)
  limit 1;

  if found then
    raise exception using errcode = 'PT400', message = 'unknown_scope',
      detail = format('The scope %L is not defined.', v_missing),
      hint = 'Define it first with chumbo.define_scope.';
  end if;
end;
$$;
comment on function chumbo.require_scopes(text[]) is 'Raises unknown_scope unless every scope is defined; a blank one never is.';
revoke all on function chumbo.require_scopes(text[]) from public, anon, authenticated, service_role;

create or replace function chumbo.grant_scope(
  scope text,
  grantee text default 'authenticated',
  user_id uuid default null,
  client_id text default null,
  claim jsonb default null,
  effect text default 'allow',
  expires_at timestamptz default null
)
  returns bigint
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_id bigint;
begin
  perform chumbo.require_scopes(array[grant_scope.scope]);
  if not coalesce(
    grantee in ('everyone', 'authenticated', 'user', 'client', 'user_client', 'claim') and effect in ('allow', 'deny')
      and (user_id is not null) = (grantee in ('user', 'user_client'))
      and (client_id is not null) = (grantee in ('client', 'user_client'))
      and (claim is not null) = (grantee = 'claim')
      and coalesce(jsonb_typeof(claim) = 'object' and claim <> '{}' and not claim ? 'user_metadata', true),
    false
  ) then
    raise exception using errcode = 'PT400', message = 'invalid_grantee',
      detail = format('The scope %L cannot be given to grantee %L with effect %L as described.', scope, grantee, effect),
      hint = 'A user takes user_id, a client client_id, user_client both, a claim an object without user_metadata; others none.';
  end if;

  insert into chumbo.grants as g (scope, grantee, user_id, client_id, claim, effect, expires_at)
  values (
    grant_scope.scope, grant_scope.grantee, grant_scope.user_id, grant_scope.client_id, grant_scope.claim,
    grant_scope.effect, grant_scope.expires_at
  )
  on conflict on constraint grants_scope_grantee_key do update
  set expires_at = excluded.expires_at, granted_by = excluded.granted_by
  returning g.id into v_id;

  return v_id;
end;
$$;
comment on function chumbo.grant_scope(text, text, uuid, text, jsonb, text, timestamptz) is
  'Allows or denies a scope to a grantee from the next request on and returns the grant. Repeating it changes the expiry only. '
  'Raises invalid_grantee, unknown_scope.';
revoke all on function chumbo.grant_scope(text, text, uuid, text, jsonb, text, timestamptz) from public, anon, authenticated, service_role;

create or replace function chumbo.revoke_scope(
  scope text,
  grantee text default 'authenticated',
  user_id uuid default null,
  client_id text default null,
  claim jsonb default null,
  effect text default 'allow'
)
  returns integer
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_count integer;
begin
  delete from chumbo.grants as g
  where g.scope = revoke_scope.scope
    and g.grantee = revoke_scope.grantee
    and g.user_id is not distinct from revoke_scope.user_id
    and g.client_id is not distinct from revoke_scope.client_id
    and g.claim is not distinct from revoke_scope.claim
    and g.effect = revoke_scope.effect;
  get diagnostics v_count = row_count;
  return v_count;
end;
$$;
comment on function chumbo.revoke_scope(text, text, uuid, text, jsonb, text) is
  'Withdraws a grant from the next request on. Returns how many were withdrawn, 0 when there was none.';
revoke all on function chumbo.revoke_scope(text, text, uuid, text, jsonb, text) from public, anon, authenticated, service_role;

create or replace function chumbo.effective_scopes(request jsonb)
  returns text[]
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  return (
    with matching as materialized (
      select g.scope, g.effect
      from chumbo.grants as g
      where (
          (g.user_id is null and g.client_id is null)
          or g.user_id = (request ->> 'user_id')::uuid
          or g.client_id = request ->> 'client_id'
        )
        and (g.expires_at is null or g.expires_at > statement_timestamp())
        and case g.grantee
          when 'everyone' then true
          when 'authenticated' then request ->> 'role' = 'authenticated'
          when 'user' then true
          when 'client' then true
          when 'user_client' then g.user_id = (request ->> 'user_id')::uuid and g.client_id = request ->> 'client_id'
          else request -> 'claims' @> g.claim
        end
    )
    select coalesce(array_agg(held.scope order by held.scope), '{}')
    from (
      select m.scope from matching as m where m.effect = 'allow'
      union
      select s.name from chumbo.scopes as s where request -> 'token_scopes' ? s.name
      except
      select m.scope from matching as m where m.effect = 'deny'
    ) as held
  );
end;
$$;
comment on function chumbo.effective_scopes(jsonb) is
  'The application scopes this verified caller holds now: allowed or carried by the token, and not denied.';
revoke all on function chumbo.effective_scopes(jsonb) from public, anon, authenticated;
grant execute on function chumbo.effective_scopes(jsonb) to service_role, chumbo_runtime;

-- Definer because neither service_role nor chumbo_runtime may read the auth schema. It answers only about a session, a
-- user and a client that belong together, so knowing one of the three tells nothing about the others.
create or replace function chumbo.sign_in_is_live(user_id uuid, session_id uuid, client_id uuid)
  returns boolean
  language plpgsql stable
  security definer
  set search_path = ''
as $$
begin
  -- Branches, so that a project whose Auth has no OAuth tables still serves first-party sessions.
  if client_id is null then
    return exists (
      select
      from auth.users as u
      left join auth.sessions as s on s.id = sign_in_is_live.session_id and s.user_id = u.id
      where u.id = sign_in_is_live.user_id
        and u.deleted_at is null
        and (u.banned_until is null or u.banned_until <= statement_timestamp())
        and (sign_in_is_live.session_id is null or (
          s.id is not null and (s.not_after is null or s.not_after > statement_timestamp())))
    );
  end if;

  return exists (
    select
    from auth.users as u
    join auth.sessions as s on s.id = sign_in_is_live.session_id and s.user_id = u.id
    join auth.oauth_clients as c on c.id = s.oauth_client_id
    where u.id = sign_in_is_live.user_id
      and u.deleted_at is null
      and (u.banned_until is null or u.banned_until <= statement_timestamp())
      and (s.not_after is null or s.not_after > statement_timestamp())
      and c.id = sign_in_is_live.client_id
      and c.deleted_at is null
      and not exists (
        select from auth.oauth_consents as o where o.user_id = u.id and o.client_id = c.id and o.revoked_at is not null
      )
  );
end;
$$;
comment on function chumbo.sign_in_is_live(uuid, uuid, uuid) is
  'Whether the user exists unbanned, the session belongs to him and lives, and the OAuth client still holds his consent.';
revoke all on function chumbo.sign_in_is_live(uuid, uuid, uuid) from public, anon, authenticated, service_role;
grant execute on function chumbo.sign_in_is_live(uuid, uuid, uuid) to service_role, chumbo_runtime;

insert into chumbo.installed (number, name, hash)
values (3, 'access', '884d2d701fd3493916fc7106ade22354c5cb775af9554656d583c973adf431c1') -- chumbo.installed
on conflict (number) do update set name = excluded.name, hash = excluded.hash;
-- migrate:down
