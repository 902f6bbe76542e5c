-- migrate:up
-- 20260201000002_snippets_snippets.sql — snippets: the texts a team keeps, and the one rule of who sees and changes them.

do $$
begin
  if to_regtype('public.snippet_visibility') is null then
    create type public.snippet_visibility as enum ('private', 'workspace', 'public');
  end if;
  if to_regtype('public.authorship') is null then
    create type public.authorship as enum ('you', 'teammate', 'outsider');
  end if;
end;
$$;
comment on type public.snippet_visibility is
  'Who may read a snippet: its author, the members of its workspace, or everybody who is signed in.';
comment on type public.authorship is
  'Whose words a snippet holds, seen from the caller: their own, those of a workspace they belong to, or a stranger''s.';

create or replace function private.tags_are_valid(tags text[])
  returns boolean
  language sql immutable
  security invoker
  set search_path = ''
as $$
  select coalesce(array_ndims(tags), 1) = 1
    and cardinality(tags) <= 20
    and not exists (
      select from unnest(tags) as t (tag) where t.tag is null or char_length(t.tag) not between 1 and 40
    )
$$;
comment on function private.tags_are_valid(text[]) is 'Whether a flat list has at most 20 tags of 1 to 40 characters.';
revoke all on function private.tags_are_valid(text[]) from public, anon, authenticated;
-- Checks run with the rights of whoever writes the row.
grant execute on function private.tags_are_valid(text[]) to authenticated, service_role;

create table if not exists public.snippets (
  id uuid primary key default gen_random_uuid(),
  workspace_id uuid not null references public.workspaces on delete cascade,
  -- A team keeps what a former colleague wrote; a private one is then readable by nobody.
  created_by uuid default auth.uid() references auth.users on delete set null,
  title text not null constraint snippets_title_length check (char_length(title) between 1 and 120),
  body text not null constraint snippets_body_length check (char_length(body) between 1 and 60000),
  tags text[] not null default '{}' constraint snippets_tags_valid check (private.tags_are_valid(tags)),
  visibility public.snippet_visibility not null default 'workspace',
  version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
comment on table public.snippets is 'Texts a team keeps. Whoever reads one reads somebody''s words: data, never instructions.';
comment on column public.snippets.created_by is 'The author; null once the account is gone.';
comment on column public.snippets.version is 'Counts the changes; a writer may ask that it is still what he read.';

create index if not exists snippets_workspace_id_idx on public.snippets (workspace_id, updated_at desc, id desc);
create index if not exists snippets_created_by_idx on public.snippets (created_by);
-- The order of every listing, so that a page costs what it shows.
create index if not exists snippets_updated_at_idx on public.snippets (updated_at desc, id desc);
-- No text index: a text match is not leakproof, so under row security the planner may not use one before it has
-- asked the policies, and it would only make writes dearer.

-- Before the update, so that order and version move with the row whoever writes it.
create or replace function private.tg_snippets__stamp()
  returns trigger
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
begin
  new.version := old.version + 1;
  new.updated_at := now();
  return new;
end;
$$;
comment on function private.tg_snippets__stamp() is 'Counts a change and notes when it happened.';
revoke all on function private.tg_snippets__stamp() from public, anon, authenticated;

create or replace trigger _500_stamp
  before update on public.snippets
  for each row when (old.* is distinct from new.*)
  execute function private.tg_snippets__stamp();

alter table public.snippets enable row level security;

-- Membership is asked of authors too: who leaves a workspace leaves what he wrote there.
drop policy if exists select_reader on public.snippets;
create policy select_reader on public.snippets for select to authenticated
  using (
    visibility = 'public'
    or (
      workspace_id = any (array(select private.workspace_ids()))
      and (visibility = 'workspace' or created_by = (select auth.uid()))
    )
  );

drop policy if exists insert_member on public.snippets;
create policy insert_member on public.snippets for insert to authenticated
  with check (
    created_by = (select auth.uid())
    and workspace_id = any (array(select private.workspace_ids()))
  );

-- A private snippet is its author's alone, so an owner may neither edit one nor make somebody else's private.
drop policy if exists update_author_or_owner on public.snippets;
create policy update_author_or_owner on public.snippets for update to authenticated
  using (
    (created_by = (select auth.uid()) and workspace_id = any (array(select private.workspace_ids())))
    or (visibility <> 'private' and workspace_id = any (array(select private.workspace_ids('owner'))))
  );

drop policy if exists delete_author_or_owner on public.snippets;
create policy delete_author_or_owner on public.snippets for delete to authenticated
  using (
    (created_by = (select auth.uid()) and workspace_id = any (array(select private.workspace_ids())))
    or (visibility <> 'private' and workspace_id = any (array(select private.workspace_ids('owner'))))
  );

-- Neither author nor workspace can be written after the fact, nor the author chosen at all.
revoke all on public.snippets from public, anon, authenticated;
grant select, insert (workspace_id, title, body, tags, visibility), update (title, body, tags, visibility), delete
  on public.snippets to authenticated;

create or replace view public.readable_snippets with (security_invoker = true) as
  select
    s.id,
    s.workspace_id,
    w.name as workspace_name,
    s.created_by,
    case
      when s.created_by = (select auth.uid()) then 'you'
      when s.workspace_id = any (array(select private.workspace_ids())) then 'teammate'
      else 'outsider'
    end::public.authorship as author,
    s.title,
    s.body,
    s.tags,
    s.visibility,
    s.version,
    s.created_at,
    s.updated_at
  from public.snippets as s
  -- Left: a stranger reads a public snippet, not the name of the team it comes from.
  left join public.workspaces as w on w.id = s.workspace_id;
comment on view public.readable_snippets is 'The snippets the caller may read, and whose words they are.';
comment on column public.readable_snippets.workspace_name is 'Null where the caller does not belong to the workspace.';
revoke all on public.readable_snippets from public, anon, authenticated;
grant select on public.readable_snippets to authenticated;

-- migrate:down
