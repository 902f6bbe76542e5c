-- migrate:up
-- 20260201000001_snippets_workspaces.sql — workspaces and who belongs to them: the boundary every other table leans on.

create schema if not exists app;
comment on schema app is 'The functions offered as MCP tools; reached through chumbo, not through the Data API.';
revoke all on schema app from public, anon, authenticated;
grant usage on schema app to authenticated;

create schema if not exists private;
comment on schema private is 'What policies and triggers lean on; never exposed through the Data API.';
revoke all on schema private from public, anon, authenticated;
grant usage on schema private to authenticated, service_role;

do $$
begin
  if to_regtype('public.workspace_role') is null then
    create type public.workspace_role as enum ('owner', 'member');
  end if;
end;
$$;
comment on type public.workspace_role is
  'What a member may do: owners invite, remove and edit what they can read; members write their own.';

create table if not exists public.workspaces (
  id uuid primary key default gen_random_uuid(),
  name text not null constraint workspaces_name_length check (char_length(name) between 1 and 80),
  created_at timestamptz not null default now(),
  -- No cascade: an account that opened a workspace is not deleted from under its members.
  created_by uuid not null default auth.uid() references auth.users
);
comment on table public.workspaces is 'A team; visible to its members only.';
create index if not exists workspaces_created_by_idx on public.workspaces (created_by);

create table if not exists public.workspace_members (
  workspace_id uuid not null references public.workspaces on delete cascade,
  user_id uuid not null references auth.users on delete cascade,
  role public.workspace_role not null default 'member',
  joined_at timestamptz not null default now(),
  primary key (workspace_id, user_id)
);
comment on table public.workspace_members is 'Who belongs to which workspace; members see each other.';
-- Serves private.workspace_ids(), which every policy asks.
create index if not exists workspace_members_user_id_idx on public.workspace_members (user_id);

-- Definer, because a policy on workspace_members that reads workspace_members would recurse without end.
-- Whoever calls it learns only about himself: there is no argument that names another person.
create or replace function private.workspace_ids(least_role public.workspace_role default 'member')
  returns setof uuid
  language sql stable
  security definer
  set search_path = ''
as $$
  select m.workspace_id
  from public.workspace_members as m
  where m.user_id = (select auth.uid())
    and (least_role = 'member' or m.role = 'owner')
$$;
comment on function private.workspace_ids(public.workspace_role) is
  'The workspaces the caller belongs to; with owner, those the caller owns.';
revoke all on function private.workspace_ids(public.workspace_role) from public, anon, authenticated;
grant execute on function private.workspace_ids(public.workspace_role) to authenticated;

alter table public.workspaces enable row level security;

drop policy if exists select_member on public.workspaces;
create policy select_member on public.workspaces for select to authenticated
  using (id = any (array(select private.workspace_ids())));

drop policy if exists insert_self on public.workspaces;
create policy insert_self on public.workspaces for insert to authenticated
  with check (created_by = (select auth.uid()));

drop policy if exists update_owner on public.workspaces;
create policy update_owner on public.workspaces for update to authenticated
  using (id = any (array(select private.workspace_ids('owner'))));

drop policy if exists delete_owner on public.workspaces;
create policy delete_owner on public.workspaces for delete to authenticated
  using (id = any (array(select private.workspace_ids('owner'))));

-- The id may be chosen because nobody can read a workspace back before its first membership exists.
revoke all on public.workspaces from public, anon, authenticated;
grant select, insert (id, name), update (name), delete on public.workspaces to authenticated;

alter table public.workspace_members enable row level security;

drop policy if exists select_member on public.workspace_members;
create policy select_member on public.workspace_members for select to authenticated
  using (workspace_id = any (array(select private.workspace_ids())));

drop policy if exists update_owner on public.workspace_members;
create policy update_owner on public.workspace_members for update to authenticated
  using (workspace_id = any (array(select private.workspace_ids('owner'))));

drop policy if exists delete_self_or_owner on public.workspace_members;
create policy delete_self_or_owner on public.workspace_members for delete to authenticated
  using (
    user_id = (select auth.uid())
    or workspace_id = any (array(select private.workspace_ids('owner')))
  );

-- No insert: a person joins by opening a workspace or by accepting an invitation, never by somebody else's hand.
revoke all on public.workspace_members from public, anon, authenticated;
grant select, update (role), delete on public.workspace_members to authenticated;

-- Definer, because nobody may insert a membership himself. It can only be reached as a trigger, and the policy
-- has already proven that created_by is the caller.
create or replace function private.tg_workspaces__add_owner()
  returns trigger
  language plpgsql volatile
  security definer
  set search_path = ''
as $$
begin
  insert into public.workspace_members (workspace_id, user_id, role)
  values (new.id, new.created_by, 'owner');
  return null;
end;
$$;
comment on function private.tg_workspaces__add_owner() is 'Makes whoever opens a workspace its first owner.';
revoke all on function private.tg_workspaces__add_owner() from public, anon, authenticated;

create or replace trigger _500_add_owner
  after insert on public.workspaces
  for each row execute function private.tg_workspaces__add_owner();

-- Definer, because the person who just left can no longer see the workspace this has to look at. It can only be
-- reached as a trigger, reads nothing out and refuses or does nothing.
create or replace function private.tg_workspace_members__keep_owner()
  returns trigger
  language plpgsql volatile
  security definer
  set search_path = ''
as $$
begin
  -- The lock closes the race of two owners leaving at once: the second looks again after the first has committed.
  perform from public.workspaces as w where w.id = old.workspace_id for no key update;

  -- A deleted workspace takes its members along; only a living one needs an owner.
  if not found then
    return null;
  end if;

  if not exists (
    select from public.workspace_members as m where m.workspace_id = old.workspace_id and m.role = 'owner'
  ) then
    raise exception using errcode = 'PT409', message = 'last_owner',
      detail = 'A workspace keeps at least one owner.',
      hint = 'Make another member owner first, or delete the workspace.';
  end if;

  return null;
end;
$$;
comment on function private.tg_workspace_members__keep_owner() is
  'Refuses to leave a workspace without an owner. Raises last_owner.';
revoke all on function private.tg_workspace_members__keep_owner() from public, anon, authenticated;

create or replace trigger _500_keep_owner
  after delete or update of role on public.workspace_members
  for each row when (old.role = 'owner')
  execute function private.tg_workspace_members__keep_owner();

-- migrate:down
