-- tests/sql/chumbo_read_test.sql — chumbo_read: admits, reads as the caller, and always leaves one receipt.
begin;
\ir support/people.psql
select plan(69);
\ir support/runtime.psql

select function_privs_are('public', 'chumbo_read', array['text', 'text', 'jsonb'], role, array[]::text[], role || ' may not read')
from unnest(array['anon', 'authenticated']) as role;
select function_privs_are('public', 'chumbo_read', array['text', 'text', 'jsonb'], role, array['EXECUTE'], role || ' may')
from unnest(array['service_role', 'chumbo_runtime']) as role;

-- Arrange: notes are private to their owner.
create table demo.notes (id integer primary key, owner_id uuid not null, body text, big bigint, drawing bytea, changed_at timestamptz default '2026-01-02T03:04:05Z');
alter table demo.notes enable row level security;
create policy select_own on demo.notes for select to authenticated using (owner_id = (select auth.uid()));
grant select on demo.notes to authenticated;
insert into demo.notes values (1, tests.person('alice'), 'Alice''s', 9007199254740993, '\x00ff'), (2, tests.person('alice'), 'more', 2, null), (3, tests.person('bob'), 'Bob''s', 3, '\x01');

create function demo.note(id integer) returns text language sql stable as 'select n.body from demo.notes as n where n.id = note.id';
create function demo.note_json(id integer) returns jsonb language sql stable as 'select to_jsonb(n) from demo.notes as n where n.id = note_json.id';
create function demo.note_exact(id integer) returns json language sql stable as $$ select '{"z":1, "a":0.10000000000000000000001}'::json $$;
create function demo.note_row(id integer) returns demo.notes language sql stable as 'select n.* from demo.notes as n where n.id = note_row.id';
create function demo.note_drawing(id integer) returns bytea language sql stable as 'select n.drawing from demo.notes as n where n.id = note_drawing.id';
create function demo.note_parts(id integer) returns setof text language sql stable as 'select unnest(array[n.body, null, ''end'']) from demo.notes as n where n.id = note_parts.id';
create function demo.note_contents(id integer) returns table (uri text, mime_type text, text text, blob bytea, last_modified timestamptz) language sql stable
  as 'select ''n://'' || n.id, null::text, n.body, null::bytea, n.changed_at from demo.notes as n where n.id = note_contents.id
      union all select null, ''image/png'', null, n.drawing, null from demo.notes as n where n.id = note_contents.id';
create function demo.all_notes() returns table (id integer, body text, big bigint, "50%" text) language sql stable as 'select n.id, n.body, n.big, ''half'' from demo.notes as n order by n.id';
create function demo.notes_of(letter text) returns table (id integer, big bigint) language sql stable as 'select n.id, n.big from demo.notes as n where n.body like letter || ''%'' order by n.id';
create function demo.tagged(tags text[], meta jsonb, flag boolean default false, day date default null) returns text language sql stable
  as 'select format(''%s %s %s %s'', tags, meta, flag, day)';
create function demo.sneaky(id integer) returns text language plpgsql volatile as $$ begin delete from demo.notes; return 'gone'; end $$;
create function demo.failing(id integer) returns text language plpgsql stable as $$
begin
  raise exception using errcode = 'PT409', message = 'note_is_locked', detail = 'The note is locked.', hint = 'Wait.';
end;
$$;
create function demo.broken(id integer) returns text language sql stable as 'select (1 / 0)::text';
create function demo.whoami(x text) returns text language sql stable as 'select format(''%s %s %s'', current_user, auth.uid(), current_setting(''transaction_read_only''))';
create function demo.huge(n integer) returns text language sql stable as 'select repeat(''x'', n)';
grant delete on demo.notes to authenticated;
do $$ declare f regprocedure; begin
  for f in select oid::regprocedure from pg_proc where pronamespace = 'demo'::regnamespace loop
    execute format('comment on function %s is %L', f, 'A resource.');
  end loop;
end $$;
select chumbo.define_scope('demo:hidden'), chumbo.define_scope('demo:wanted', requestable => true);
select chumbo.register_resource('app://about', content => 'About.', server => 'demo', cache_seconds => 5);
select chumbo.register_resource('app://logo', blob => '\x00ff', mime_type => 'image/png', server => 'demo');
select chumbo.register_resource(format('app://%s/{id}', f), 'demo.' || f, server => 'demo')
from unnest(array['note', 'note_json', 'note_exact', 'note_row', 'note_drawing', 'note_parts', 'note_contents', 'sneaky', 'failing', 'broken']) as f;
select chumbo.register_resource('app://all', 'demo.all_notes', server => 'demo', row_cap => 2);
select chumbo.register_resource('app://by/{letter}', 'demo.notes_of', server => 'demo', mime_type => 'application/vnd.notes+json');
select chumbo.register_resource('app://tagged/{tags}{?meta,flag,day}', 'demo.tagged', server => 'demo');
select chumbo.register_resource('app://me/{x}', 'demo.whoami', server => 'demo');
select chumbo.register_resource('app://huge/{n}', 'demo.huge', server => 'demo');
select chumbo.register_resource('app://hidden', content => 'x', server => 'demo', scopes => '{demo:hidden}');
select chumbo.register_resource('app://hidden/{x}', 'demo.whoami', name => 'hidden_template', server => 'demo', scopes => '{demo:hidden}');
select chumbo.register_resource('app://wanted', content => 'x', server => 'demo', scopes => '{demo:wanted}');
select chumbo.register_resource('app://off', content => 'x', server => 'demo');
select chumbo.disable('app_off', 'demo', 'resource');
select chumbo.sync_capabilities('{"resources": [{"name": "coded", "uri": "app://coded"}]}', 'demo');

create function tests.read(person text, uri text, more jsonb default '{}') returns jsonb language sql volatile
  as $$ select public.chumbo_read('demo', uri, tests.request(person, more)) $$;
create function tests.contents(person text, uri text) returns text language sql volatile as $$
  select coalesce(a ->> 'contents', concat_ws(' ', a ->> 'outcome', a #>> '{error,code}', a #>> '{error,message}')) from tests.read(person, uri) as a
$$;

-- Act, assert.
select tests.act_as_runtime();
select is(tests.read('alice', 'app://about') - 'revision', '{"outcome": "ok", "contents": [{"uri": "app://about", "mimeType": "text/plain", "text": "About."}], "error": null, "cache_ttl_ms": 5000}',
  'a fixed text is read, with how long it keeps');
select is(tests.contents('alice', 'app://logo'), '[{"uri": "app://logo", "blob": "AP8=", "mimeType": "image/png"}]', 'and so are bytes');
select is(tests.contents('nobody', 'app://about'), '[{"uri": "app://about", "text": "About.", "mimeType": "text/plain"}]', 'by anybody, when it needs no scope');

select is(tests.contents(person, 'app://note/' || id), wanted, format('%s reads note %s: %s', person, id, wanted))
from (values ('alice', '1', '[{"uri": "app://note/1", "text": "Alice''s", "mimeType": "text/plain"}]'),
  ('bob', '3', '[{"uri": "app://note/3", "text": "Bob''s", "mimeType": "text/plain"}]'), ('bob', '1', 'tool_error resource_not_found'),
  ('alice', '3', 'tool_error resource_not_found'), ('alice', '99', 'tool_error resource_not_found'), ('alice', 'abc', 'tool_error resource_not_found'),
  ('alice', '99999999999', 'tool_error resource_not_found'), ('alice', '1%20', '[{"uri": "app://note/1%20", "text": "Alice''s", "mimeType": "text/plain"}]'),
  ('nobody', '1', 'tool_error forbidden')) as v (person, id, wanted);
select is(tests.contents('alice', uri), wanted, uri || ': ' || left(wanted, 80))
from (values
  ('app://note_json/2', '[{"uri": "app://note_json/2", "text": "{\"id\": 2, \"big\": 2, \"body\": \"more\", \"drawing\": null, \"owner_id\": \"6384e2b2-184b-cbf5-8ecc-f10ca7a6563c\", \"changed_at\": \"2026-01-02T03:04:05+00:00\"}", "mimeType": "application/json"}]'),
  ('app://note_exact/2', '[{"uri": "app://note_exact/2", "text": "{\"z\":1, \"a\":0.10000000000000000000001}", "mimeType": "application/json"}]'),
  ('app://note_row/1', '[{"uri": "app://note_row/1", "text": "{\"id\": 1, \"big\": \"9007199254740993\", \"body\": \"Alice''s\", \"drawing\": \"\\\\x00ff\", \"owner_id\": \"6384e2b2-184b-cbf5-8ecc-f10ca7a6563c\", \"changed_at\": \"2026-01-02T03:04:05+00:00\"}", "mimeType": "application/json"}]'),
  ('app://note_row/3', 'tool_error resource_not_found'),
  ('app://note_drawing/1', '[{"uri": "app://note_drawing/1", "blob": "AP8=", "mimeType": "application/octet-stream"}]'),
  ('app://note_drawing/2', 'tool_error resource_not_found'),
  ('app://note_parts/1', '[{"uri": "app://note_parts/1", "text": "Alice''s", "mimeType": "text/plain"}, {"uri": "app://note_parts/1", "text": "end", "mimeType": "text/plain"}]'),
  ('app://note_parts/3', 'tool_error resource_not_found'),
  ('app://note_contents/1', '[{"uri": "n://1", "text": "Alice''s", "_meta": {"dev.chumbo/last-modified": "2026-01-02T03:04:05+00:00"}, "mimeType": "text/plain"}, {"uri": "app://note_contents/1", "blob": "AP8=", "mimeType": "image/png"}]'),
  ('app://by/A', '[{"uri": "app://by/A", "text": "[{\"id\": 1, \"big\": \"9007199254740993\"}]", "mimeType": "application/vnd.notes+json"}]'),
  ('app://by/Z', 'tool_error resource_not_found'),
  ('app://by/%25', '[{"uri": "app://by/%25", "text": "[{\"id\": 1, \"big\": \"9007199254740993\"}, {\"id\": 2, \"big\": \"2\"}]", "mimeType": "application/vnd.notes+json"}]'),
  ('app://tagged/["a","b%22"]?meta={"n":1}', 'tool_error resource_not_found'),
  ('app://tagged/["a","b"]?meta={"n":12345678901234567890}&flag=true&day=2026-02-28', '[{"uri": "app://tagged/[\"a\",\"b\"]?meta={\"n\":12345678901234567890}&flag=true&day=2026-02-28", "text": "{a,b} {\"n\": 12345678901234567890} t 2026-02-28", "mimeType": "text/plain"}]'),
  ('app://tagged/["a"]?meta=x&flag=&day=', '[{"uri": "app://tagged/[\"a\"]?meta=x&flag=&day=", "text": "{a} \"x\" f ", "mimeType": "text/plain"}]'),
  ('app://tagged/["a"]?meta=x&day=2026-02-30', 'tool_error resource_not_found'),
  ('app://tagged/["a"]', 'tool_error resource_not_found'),
  ('app://tagged/a?meta=1', 'tool_error resource_not_found'),
  ('app://me/x', '[{"uri": "app://me/x", "text": "authenticated 6384e2b2-184b-cbf5-8ecc-f10ca7a6563c on", "mimeType": "text/plain"}]')
) as v (uri, wanted);
select is(tests.contents('alice', 'app://all'), '[{"uri": "app://all", "text": "[{\"id\": 1, \"50%\": \"half\", \"big\": \"9007199254740993\", \"body\": \"Alice''s\"}, {\"id\": 2, \"50%\": \"half\", \"big\": \"2\", \"body\": \"more\"}]", "mimeType": "application/json"}]',
  'rows are one document, big numbers as text');
select is(tests.contents('carol', 'app://all'), '[{"uri": "app://all", "text": "[]", "mimeType": "application/json"}]', 'and without a row an empty one, since nothing was asked for by name');
select is(tests.contents('alice', 'app://note/1/2'), 'refused unknown_capability', 'what no row answers is refused');
select is(tests.contents('alice', uri), 'refused unknown_capability', uri || ' is as good as absent')
from unnest(array['app://absent', 'app://hidden', 'app://hidden/x', 'app://off', 'app://coded', '', null, repeat('x', 10000)]) as u (uri);
select is(tests.read('alice', 'app://wanted') -> 'error', '{"code": "scope_required", "scopes": ["demo:wanted"]}', 'what the caller could be given is told apart');
select is(tests.read('alice', 'app://absent', '{"may_be_code": true}'), '{"outcome": "unmatched"}', 'what code may know is not refused yet');
select is(tests.read('alice', 'app://absent', '{"rejection": {"code": "invalid_arguments", "message": "No."}}') -> 'error', '{"code": "invalid_arguments", "message": "No."}', 'what the runtime found wrong is refused with it');

-- Reading changes nothing, and a failure tells what its author wrote.
select is(tests.contents('alice', 'app://sneaky/1'), 'tool_error tool_failed', 'a function that writes fails');
select is(tests.contents('alice', 'app://failing/1'), 'tool_error note_is_locked The note is locked.', 'an error raised for people passes');
select is(tests.contents('alice', 'app://broken/1'), 'tool_error invalid_value', 'any other says what it means');
select is(tests.contents('alice', 'app://huge/4194304'), 'tool_error result_too_large', 'more than 4 MiB is refused');
select is(length(tests.contents('alice', 'app://huge/1000000')) > 1000000, true, 'a megabyte is not');

select tests.act_as_owner();
select is((select count(*) from demo.notes), 3::bigint, 'nothing is gone');
select results_eq($$ select kind, capability, outcome, code, row_count, bytes, truncated from chumbo.receipts order by created_at, id limit 5 $$,
  $$ values ('resource', 'app_about', 'ok', null::text, 1, 68, false), ('resource', 'app_logo', 'ok', null, 1, 64, false), ('resource', 'app_about', 'ok', null, 1, 68, false),
    ('resource_template', 'note', 'ok', null, 1, 70, false), ('resource_template', 'note', 'ok', null, 1, 68, false) $$, 'every read left a receipt');
select is((select count(*) from chumbo.receipts where capability is null and outcome = 'refused' and code = 'unknown_capability'), 6::bigint, 'the unknown ones without a name');
select is((select count(*) from chumbo.receipts where capability like 'hidden%' or capability = 'app_hidden'), 2::bigint, 'the hidden ones with theirs');
select is_empty($$ select from chumbo.receipts where (outcome = 'refused') <> (capability_version is null) $$, 'with the version that ran, if one did');
select is((select count(*) from chumbo.receipts where code = 'resource_not_found'), 13::bigint, 'and what was not there says so');

-- From the next request on.
insert into demo.notes select n, tests.person('alice'), 'x', n from generate_series(10, 12) as n;
select chumbo.grant_scope('demo:hidden', 'user', tests.person('alice'));
select tests.act_as_runtime();
select is(tests.read('alice', 'app://all') #> '{contents,0,_meta}', '{"dev.chumbo/truncated": true}', 'rows beyond the cap are cut, and said to be');
select matches(tests.contents('alice', 'app://hidden'), '"text": "x"', 'a granted scope opens at once');
select is(tests.contents('bob', 'app://hidden'), 'refused unknown_capability', 'for that caller only');
select tests.act_as_owner();
select is((select truncated from chumbo.receipts where capability = 'all_notes' order by id desc limit 1), true, 'the receipt knows of the cut');
select chumbo.revoke_scope('demo:hidden', 'user', tests.person('alice'));
delete from auth.sessions where id = tests.session('bob');
drop function demo.note_row(integer);
select chumbo.set_rate_limit('reads', 'demo', 'app_about', requests => 1);
select tests.act_as_runtime();
select is(tests.contents('alice', 'app://hidden'), 'refused unknown_capability', 'and is gone at once');
select is(tests.contents('bob', 'app://about'), 'refused session_revoked', 'an ended session reads nothing');
select is(tests.contents('alice', 'app://note_row/1'), 'refused tool_unavailable', 'a function that is gone is no fault of the URI');
select is(tests.contents('alice', 'app://about') like '[%', true, 'a limit lets one read pass');
select is(tests.contents('alice', 'app://about'), 'refused rate_limited', 'and counts the next');

select * from finish();
rollback;
