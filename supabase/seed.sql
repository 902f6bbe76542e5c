-- supabase/seed.sql — Alice in workspace A, Bob in workspace B, one snippet of each visibility for both.
-- Accounts are made by the auth service, never here: without them nothing is inserted, and a second run changes nothing.

insert into public.workspaces (id, name, created_by, created_at)
select w.id, w.name, u.id, '2026-01-05 09:00+00'
from (values
  ('00000000-0000-4000-8000-00000000000a'::uuid, 'Workspace A', 'alice@example.test'),
  ('00000000-0000-4000-8000-00000000000b'::uuid, 'Workspace B', 'bob@example.test')
) as w (id, name, owner)
-- By address, because the auth service chooses the ids.
join auth.users as u on u.email = w.owner
on conflict (id) do nothing;

insert into public.snippets (id, workspace_id, created_by, title, body, tags, visibility, created_at, updated_at)
select s.id, w.id, w.created_by, s.title, s.body, s.tags, s.visibility, s.written_at, s.written_at
from (values
  (
    '00000000-0000-4000-8000-0000000a0001'::uuid, '00000000-0000-4000-8000-00000000000a'::uuid,
    'Notes for the review', 'What I want to raise on Thursday: the export still times out.',
    array['notes'], 'private'::public.snippet_visibility, '2026-01-05 09:10+00'::timestamptz
  ),
  (
    '00000000-0000-4000-8000-0000000a0002', '00000000-0000-4000-8000-00000000000a',
    'Release note', 'Write a release note in three sentences: what changed, for whom, what to do.',
    array['release', 'writing'], 'workspace', '2026-01-05 09:20+00'
  ),
  (
    '00000000-0000-4000-8000-0000000a0003', '00000000-0000-4000-8000-00000000000a',
    'Plain words', 'Rewrite the text so that a newcomer understands it. Keep every fact.',
    array['writing'], 'public', '2026-01-05 09:30+00'
  ),
  (
    '00000000-0000-4000-8000-0000000b0001', '00000000-0000-4000-8000-00000000000b',
    'Draft reply', 'Thank them, say no, offer the March date.',
    array['mail'], 'private', '2026-01-05 10:10+00'
  ),
  (
    '00000000-0000-4000-8000-0000000b0002', '00000000-0000-4000-8000-00000000000b',
    'Incident summary', 'Summarise the incident: timeline, impact, cause, next steps. No blame.',
    array['incident', 'writing'], 'workspace', '2026-01-05 10:20+00'
  ),
  (
    '00000000-0000-4000-8000-0000000b0003', '00000000-0000-4000-8000-00000000000b',
    'Meeting minutes', 'List decisions, then open questions, then who does what by when.',
    array['meeting'], 'public', '2026-01-05 10:30+00'
  )
) as s (id, workspace_id, title, body, tags, visibility, written_at)
join public.workspaces as w on w.id = s.workspace_id
on conflict (id) do nothing;
