-- migrate:up
-- 20260201000005_snippets_saving.sql — the tool that writes snippets: a new one, or a change of exactly what is given.

do $$
begin
  if to_regtype('app.saved_snippet') is null then
    create type app.saved_snippet as (
      id uuid,
      workspace_id uuid,
      title text,
      tags text[],
      visibility public.snippet_visibility,
      version integer,
      updated_at timestamptz,
      is_new boolean
    );
  end if;
end;
$$;
comment on type app.saved_snippet is 'A snippet as it stands after saving, without its text.';

create or replace function app.save_snippet(
  id uuid default null,
  workspace_id uuid default null,
  title text default null,
  body text default null,
  tags text[] default null,
  visibility public.snippet_visibility default null,
  expected_version integer default null
)
  returns app.saved_snippet
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_problem text;
  v_snippet public.snippets;
begin
  v_problem := case
    when char_length(save_snippet.title) not between 1 and 120 then 'title has 1 to 120 characters.'
    when char_length(save_snippet.body) not between 1 and 60000 then 'body has 1 to 60000 characters.'
    when not private.tags_are_valid(save_snippet.tags) then 'tags are at most 20, each of 1 to 40 characters.'
    when save_snippet.id is null
      and num_nulls(save_snippet.workspace_id, save_snippet.title, save_snippet.body) > 0
      then 'A new snippet needs workspace_id, title and body.'
    when save_snippet.id is null and save_snippet.expected_version is not null
      then 'expected_version belongs to a change; a new snippet has no version yet.'
    when save_snippet.id is not null
      and num_nonnulls(save_snippet.title, save_snippet.body, save_snippet.tags, save_snippet.visibility) = 0
      then 'A change names at least one of title, body, tags and visibility.'
  end;
  if v_problem is not null then
    raise exception using errcode = 'PT400', message = 'invalid_arguments', detail = v_problem,
      hint = 'Give id to change a snippet, or workspace_id, title and body to create one.';
  end if;

  if save_snippet.id is null then
    -- Asked before the insert, so that the caller gets our sentence and not the policy's name.
    if save_snippet.workspace_id not in (select private.workspace_ids()) then
      raise exception using errcode = 'PT404', message = 'workspace_not_found',
        detail = format('You belong to no workspace %s.', save_snippet.workspace_id),
        hint = 'Call list_workspaces and retry with one of its ids.';
    end if;

    insert into public.snippets as s (workspace_id, title, body, tags, visibility)
    values (
      save_snippet.workspace_id,
      save_snippet.title,
      save_snippet.body,
      coalesce(save_snippet.tags, '{}'),
      coalesce(save_snippet.visibility, 'workspace')
    )
    returning s.* into v_snippet;

    return row(v_snippet.id, v_snippet.workspace_id, v_snippet.title, v_snippet.tags, v_snippet.visibility,
      v_snippet.version, v_snippet.updated_at, true)::app.saved_snippet;
  end if;

  -- A lock asks the update policy too, so a row comes back only if the caller may change it; and it holds the
  -- version that is compared below.
  select s.* into v_snippet from public.snippets as s where s.id = save_snippet.id for update;

  if not found then
    if exists (select from public.snippets as s where s.id = save_snippet.id) then
      raise exception using errcode = 'PT403', message = 'forbidden',
        detail = 'Only its author or an owner of its workspace may change this snippet.',
        hint = 'Save a copy without an id in a workspace of yours.';
    end if;

    raise exception using errcode = 'PT404', message = 'snippet_not_found',
      detail = format('No snippet %s is visible to you.', save_snippet.id),
      hint = 'Call list_snippets and retry with one of its ids.';
  end if;

  if save_snippet.workspace_id <> v_snippet.workspace_id then
    raise exception using errcode = 'PT400', message = 'invalid_arguments',
      detail = 'A snippet stays in the workspace it was created in.',
      hint = 'Leave workspace_id out, or save a copy without an id.';
  end if;

  if save_snippet.expected_version <> v_snippet.version then
    raise exception using errcode = 'PT409', message = 'conflict',
      detail = format('The snippet is at version %s, not %s: somebody changed it.', v_snippet.version,
        save_snippet.expected_version),
      hint = 'Call get_snippet, merge, and retry with its version.';
  end if;

  if save_snippet.visibility = 'public' and v_snippet.visibility <> 'public' then
    raise exception using errcode = 'PT409', message = 'confirmation_required',
      detail = 'Everybody who can sign in would read this snippet.',
      hint = 'Ask the user, then call share_snippet with visibility public and confirm_public true.';
  end if;

  if save_snippet.visibility = 'private' and v_snippet.created_by is distinct from auth.uid() then
    raise exception using errcode = 'PT403', message = 'forbidden',
      detail = 'Only its author may make a snippet private.',
      hint = 'Leave visibility out, or ask the author.';
  end if;

  update public.snippets as s
  set title = coalesce(save_snippet.title, s.title),
    body = coalesce(save_snippet.body, s.body),
    tags = coalesce(save_snippet.tags, s.tags),
    visibility = coalesce(save_snippet.visibility, s.visibility)
  where s.id = save_snippet.id
  returning s.* into v_snippet;

  return row(v_snippet.id, v_snippet.workspace_id, v_snippet.title, v_snippet.tags, v_snippet.visibility,
    v_snippet.version, v_snippet.updated_at, false)::app.saved_snippet;
end;
$$;
comment on function app.save_snippet(uuid, uuid, text, text, text[], public.snippet_visibility, integer) is
  'Saves a prompt snippet. Use it when the user wants to keep, edit, retitle or retag one. '
  'Without id it creates one and needs workspace_id, title (1 to 120 characters) and body (1 to 60000); it is then '
  'visible to the workspace unless visibility says otherwise. With id it changes exactly the fields given and leaves '
  'the rest; expected_version refuses to overwrite a newer change. Tags are at most 20 of 1 to 40 characters. '
  'Calling it twice without id makes two snippets. '
  'Raises invalid_arguments, workspace_not_found, snippet_not_found, forbidden, conflict, confirmation_required.';
revoke all on function app.save_snippet(uuid, uuid, text, text, text[], public.snippet_visibility, integer)
  from public, anon, authenticated;
grant execute on function app.save_snippet(uuid, uuid, text, text, text[], public.snippet_visibility, integer)
  to authenticated;

-- migrate:down
