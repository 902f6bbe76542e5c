-- migrate:up
-- 20260201000003_snippets_invitations.sql — an owner names an address; only the person behind it can make that a membership.

create table if not exists public.invitations (
  id uuid primary key default gen_random_uuid(),
  workspace_id uuid not null references public.workspaces on delete cascade,
  email text not null
    constraint invitations_email_is_address check (
      char_length(email) <= 320 and email ~ '^[^@[:space:]]+@[^@[:space:]]+$'
    )
    constraint invitations_email_is_lower_case check (email = lower(email)),
  role public.workspace_role not null default 'member',
  invited_by uuid not null default auth.uid() references auth.users on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null default now() + interval '14 days',
  accepted_at timestamptz,
  -- Leads with workspace_id, so it also serves the foreign key and every policy below.
  constraint invitations_workspace_id_email_key unique (workspace_id, email)
);
comment on table public.invitations is
  'One open seat per workspace and address, visible to owners. It says nothing about whether the address has an account.';
comment on column public.invitations.accepted_at is 'When the invitee joined; null while the invitation is open.';
create index if not exists invitations_email_idx on public.invitations (email);
create index if not exists invitations_invited_by_idx on public.invitations (invited_by);

alter table public.invitations enable row level security;

drop policy if exists select_owner on public.invitations;
create policy select_owner on public.invitations for select to authenticated
  using (workspace_id = any (array(select private.workspace_ids('owner'))));

drop policy if exists insert_owner on public.invitations;
create policy insert_owner on public.invitations for insert to authenticated
  with check (
    invited_by = (select auth.uid())
    and workspace_id = any (array(select private.workspace_ids('owner')))
  );

drop policy if exists update_owner on public.invitations;
create policy update_owner on public.invitations for update to authenticated
  using (workspace_id = any (array(select private.workspace_ids('owner'))))
  with check (
    invited_by = (select auth.uid())
    and workspace_id = any (array(select private.workspace_ids('owner')))
  );

drop policy if exists delete_owner on public.invitations;
create policy delete_owner on public.invitations for delete to authenticated
  using (workspace_id = any (array(select private.workspace_ids('owner'))));

-- Inviting again renews the row, hence the update grant; accepted_at alone makes nobody a member.
revoke all on public.invitations from public, anon, authenticated;
grant select, insert (workspace_id, email, role), update (role, invited_by, expires_at, accepted_at), delete
  on public.invitations to authenticated;

-- Definer, because nobody may read auth.users. It tells a caller his own address and nothing else, and only once
-- it is confirmed: whoever signs up with a foreign address must not collect its invitations. The token's email
-- claim would not do, it says nothing about confirmation.
create or replace function private.caller_email()
  returns text
  language sql stable
  security definer
  set search_path = ''
as $$
  select lower(u.email)
  from auth.users as u
  where u.id = (select auth.uid()) and u.email_confirmed_at is not null
$$;
comment on function private.caller_email() is 'The caller''s confirmed address in lower case, or null.';
-- No grant: only the two functions below ask, and they run as its owner.
revoke all on function private.caller_email() from public, anon, authenticated;

-- Definer, because an invitee belongs to nothing yet and so may read neither the invitation nor the workspace.
-- It answers only for the caller's own confirmed address.
create or replace function private.open_invitations()
  returns table (
    invitation_id uuid,
    workspace_id uuid,
    workspace_name text,
    role public.workspace_role,
    invited_at timestamptz,
    expires_at timestamptz
  )
  language sql stable
  security definer
  set search_path = ''
as $$
  select i.id, i.workspace_id, w.name, i.role, i.created_at, i.expires_at
  from public.invitations as i
  join public.workspaces as w on w.id = i.workspace_id
  where i.email = private.caller_email()
    and i.accepted_at is null
    and i.expires_at > now()
  order by i.created_at desc, i.id
$$;
comment on function private.open_invitations() is 'The invitations the caller may still accept, newest first.';
revoke all on function private.open_invitations() from public, anon, authenticated;
grant execute on function private.open_invitations() to authenticated;

-- Definer, because nobody may insert a membership himself. It joins the caller and no one else, and only through
-- an invitation that an owner wrote to the caller's confirmed address.
create or replace function private.accept_invitation(invitation_id uuid)
  returns uuid
  language plpgsql volatile
  security definer
  set search_path = ''
as $$
declare
  v_invitation public.invitations;
begin
  select i.* into v_invitation
  from public.invitations as i
  where i.id = accept_invitation.invitation_id and i.email = private.caller_email()
  for update;

  if not found then
    return null;
  end if;

  if v_invitation.accepted_at is not null then
    -- Repeating it answers alike; but who was removed since does not come back through an old invitation.
    return (
      select m.workspace_id
      from public.workspace_members as m
      where m.workspace_id = v_invitation.workspace_id and m.user_id = auth.uid()
    );
  end if;

  if v_invitation.expires_at <= now() then
    return null;
  end if;

  -- A member stays what he is: changing a role is an owner's act of its own.
  insert into public.workspace_members (workspace_id, user_id, role)
  values (v_invitation.workspace_id, auth.uid(), v_invitation.role)
  on conflict on constraint workspace_members_pkey do nothing;

  update public.invitations as i set accepted_at = now() where i.id = v_invitation.id;

  return v_invitation.workspace_id;
end;
$$;
comment on function private.accept_invitation(uuid) is
  'Joins the caller to the workspace he was invited to and returns it; null where there is nothing to accept.';
revoke all on function private.accept_invitation(uuid) from public, anon, authenticated;
grant execute on function private.accept_invitation(uuid) to authenticated;

-- migrate:down
