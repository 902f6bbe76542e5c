-- tests/cases/schema.sql — what the conventions of the cases call for: notes that a policy keeps to their owner.

create schema cases;
grant usage on schema cases to authenticated;

create table cases.notes (
  id bigint generated always as identity primary key,
  owner uuid not null default auth.uid(),
  body text not null
);
alter table cases.notes enable row level security;
create policy own on cases.notes to authenticated using (owner = (select auth.uid())) with check (owner = (select auth.uid()));
grant select, insert, update, delete on cases.notes to authenticated;

create function cases.list_notes() returns setof cases.notes
  language sql stable security invoker set search_path = ''
  as 'select * from cases.notes order by id';
comment on function cases.list_notes() is 'Lists the notes of the caller.';

create function cases.add_note(body text) returns setof cases.notes
  language sql volatile security invoker set search_path = ''
  as 'insert into cases.notes (body) values (add_note.body) returning *';
comment on function cases.add_note(text) is 'Adds a note.';

create function cases.change_note(id bigint, body text) returns setof bigint
  language sql volatile security invoker set search_path = ''
  as 'update cases.notes as n set body = change_note.body where n.id = change_note.id returning n.id';
comment on function cases.change_note(bigint, text) is 'Changes a note.';

create function cases.ctx() returns table (role text, uid uuid, client_id text)
  language sql stable security invoker set search_path = ''
  as $$ select current_user::text, auth.uid(), auth.jwt() ->> 'client_id' $$;
comment on function cases.ctx() is 'Says who the database takes the caller for.';

create function cases.who_after(seconds double precision) returns text
  language sql volatile security invoker set search_path = ''
  as 'select auth.uid()::text from pg_catalog.pg_sleep(seconds)';
comment on function cases.who_after(double precision) is 'Says who calls, after a while.';

revoke execute on all functions in schema cases from public, anon;
grant execute on all functions in schema cases to authenticated;

select chumbo.register_tool('cases.list_notes');
select chumbo.register_tool('cases.add_note');
select chumbo.register_tool('cases.change_note');
select chumbo.register_tool('cases.ctx');
select chumbo.register_tool('cases.who_after', annotations => '{"readOnlyHint": true}');
