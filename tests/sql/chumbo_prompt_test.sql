-- tests/sql/chumbo_prompt_test.sql — register_prompt and chumbo_prompt: arguments are data, whatever they look like.
begin;
\ir support/people.psql
select plan(94);
\ir support/runtime.psql

select function_privs_are('public', 'chumbo_prompt', array['text', 'text', 'jsonb', 'jsonb'], role, array[]::text[], role || ' may not ask for a prompt')
from unnest(array['anon', 'authenticated']) as role;
select function_privs_are('public', 'chumbo_prompt', array['text', 'text', 'jsonb', 'jsonb'], role, array['EXECUTE'], role || ' may')
from unnest(array['service_role', 'chumbo_runtime']) as role;
select function_privs_are('chumbo', 'register_prompt', array['text', 'jsonb', 'jsonb', 'text', 'text', 'text', 'text', 'text[]', 'boolean', 'jsonb', 'jsonb'], role,
  array[]::text[], role || ' may not register one') from unnest(array['anon', 'authenticated', 'service_role', 'chumbo_runtime']) as role;

-- Filling in.
select is(chumbo.fill_text(template, '{"a": "{{b}}", "b": "B", "c": "\\1 & $1", "empty": ""}'), wanted, format('%L becomes %L', template, wanted))
from (values ('', ''), ('plain', 'plain'), ('{{a}}', '{{b}}'), ('{{a}}{{b}}', '{{b}}B'), ('{{ b }}', 'B'), ('{{{b}}}', '{B}'), ('{{b}', '{{b}'), ('{b}', '{b}'),
  ('{{c}}', '\1 & $1'), ('x{{empty}}y{{absent}}z', 'xyz'), ('{{b}}' || E'\n' || '{{b}}', E'B\nB'), ('{{1}}', '{{1}}'), ('{{b b}}', '{{b b}}'), ('%s {{b}} %', '%s B %')) as v (template, wanted);
select is(length(chumbo.fill_text(repeat('{', 100000), '{}')), 100000, 'a hundred thousand braces take no time');

-- Messages in their short forms.
select is(chumbo.normal_messages(given), wanted, format('%s is %s', given, coalesce(wanted::text, 'no message')))
from (values
  ('"Hi"'::jsonb, '[{"role": "user", "content": {"text": "Hi", "type": "text"}}]'::jsonb),
  ('["Hi", {"role": "assistant", "content": "Yes?"}]', '[{"role": "user", "content": {"text": "Hi", "type": "text"}}, {"role": "assistant", "content": {"text": "Yes?", "type": "text"}}]'),
  ('{"content": "Hi", "colour": "red"}', '[{"role": "user", "content": {"text": "Hi", "type": "text"}}]'),
  ('[{"role": "user", "content": {"type": "image", "data": "AA==", "mimeType": "image/png"}}]', '[{"role": "user", "content": {"type": "image", "data": "AA==", "mimeType": "image/png"}}]'),
  ('[{"role": "user", "content": {"type": "resource", "resource": {"uri": "a://b", "text": "x"}}}]', '[{"role": "user", "content": {"type": "resource", "resource": {"uri": "a://b", "text": "x"}}}]'),
  ('[{"role": "user", "content": {"type": "resource_link", "uri": "a://b", "name": "b"}}]', '[{"role": "user", "content": {"type": "resource_link", "uri": "a://b", "name": "b"}}]'),
  ('[]', null), ('null', null), ('1', null), ('{}', null), ('[{"role": "system", "content": "x"}]', null), ('[{"role": "user"}]', null), ('[{"role": "user", "content": 1}]', null),
  ('[{"role": "user", "content": {"type": "text"}}]', null), ('[{"role": "user", "content": {"type": "image", "data": "x"}}]', null), ('[{"role": "user", "content": {"type": "odd"}}]', null),
  ('["Hi", 1]', null), (null, null)) as v (given, wanted);

-- Arrange.
create table demo.notes (id integer primary key, owner_id uuid not null, body text);
alter table demo.notes enable row level security;
create policy select_own on demo.notes for select to authenticated using (owner_id = (select auth.uid()));
grant select on demo.notes to authenticated;
insert into demo.notes values (1, tests.person('alice'), 'Alice''s {{tone}}'), (2, tests.person('bob'), 'Bob''s');
create function demo.review(id integer, tone text default 'kind', deep boolean default false, tags text[] default '{}') returns table (role text, content text) language sql stable as $$
  select 'user', format('Review in a %s tone (deep: %s, %s): %s', tone, deep, tags, n.body) from demo.notes as n where n.id = review.id
  union all select 'assistant', 'Gladly.' from demo.notes as n where n.id = review.id
$$;
create function demo.said(what text) returns text language sql stable as 'select nullif(what, '''')';
create function demo.lines() returns setof text language sql stable as 'values (''one''), (null), (''two'')';
create function demo.whole(kind text) returns jsonb language sql stable as $$
  select case kind when 'whole' then '{"description": "Whole.", "messages": [{"role": "user", "content": {"type": "text", "text": "x"}}]}' when 'one' then '{"role": "assistant", "content": "y"}'
    when 'list' then '["a", "b"]' when 'null' then 'null' when 'none' then '[]' when 'bad' then '[{"role": "system", "content": "z"}]' end::jsonb
$$;
create function demo.rich() returns table (content jsonb) language sql stable as $$ values ('{"type": "text", "text": "rich"}'::jsonb) $$;
create function demo.nothing() returns void language sql stable as '';
create function demo.odd() returns table (role text, words text) language sql stable as 'select ''user'', ''x''';
create function demo.bytes() returns bytea language sql stable as 'select ''\x00''::bytea';
do $$ declare f regprocedure; begin
  for f in select oid::regprocedure from pg_proc where pronamespace = 'demo'::regnamespace loop
    execute format('comment on function %s is %L', f, 'A prompt.');
  end loop;
end $$;
select chumbo.define_scope('demo:hidden');

-- Registering.
select chumbo.register_prompt('greet', '[{"role": "user", "content": "Greet {{who}} in {{lang}}, {{who}}."}, {"role": "assistant", "content": "Hello {{who}}"}]', server => 'demo', title => 'Greet');
select is((select chumbo.definition(c) from chumbo.capabilities as c where c.name = 'greet'),
  '{"name": "greet", "title": "Greet", "arguments": [{"name": "who", "required": true}, {"name": "lang", "required": true}]}', 'placeholders are required arguments, in the order they appear');
select chumbo.register_prompt('greet', '"Greet {{who}} in {{lang}}."', '[{"name": "lang", "description": "A language.", "required": false}, {"name": "who", "title": "Who"}, {"name": "style", "required": false}]', server => 'demo');
select is((select chumbo.definition(c) from chumbo.capabilities as c where c.name = 'greet'),
  '{"name": "greet", "arguments": [{"name": "lang", "required": false, "description": "A language."}, {"name": "who", "required": true, "title": "Who"}, {"name": "style", "required": false}]}',
  'declared ones come in their own order, with what is said of them');
select chumbo.register_prompt('review', target => 'demo.review', arguments => '[{"name": "tone", "description": "How."}]', server => 'demo');
select is((select chumbo.definition(c) from chumbo.capabilities as c where c.name = 'review'),
  '{"name": "review", "description": "A prompt.", "arguments": [{"name": "tone", "required": false, "description": "How."}, {"name": "id", "required": true}, {"name": "deep", "required": false}, {"name": "tags", "required": false}]}',
  'a function says itself what it takes');
select chumbo.register_prompt(f, target => 'demo.' || f, server => 'demo') from unnest(array['said', 'lines', 'whole', 'rich']) as f;
select chumbo.register_prompt('embedded', '[{"role": "user", "content": {"type": "resource", "resource": {"uri": "a://{{x}}", "text": "See {{x}}."}}}, {"role": "user", "content": {"type": "image", "data": "AA==", "mimeType": "image/png"}}]', server => 'demo');
select chumbo.register_prompt('hidden', '"x"', server => 'demo', scopes => '{demo:hidden}');
select chumbo.register_prompt('off', '"x"', server => 'demo');
select chumbo.disable('off', 'demo', 'prompt');
select chumbo.sync_capabilities('{"prompts": [{"name": "coded"}]}', 'demo');

select throws_ok(statement, code, slug, label)
from (values
  ('select chumbo.register_prompt(''p'', server => ''demo'')', 'PT400', 'invalid_option', 'neither messages nor a target'),
  ('select chumbo.register_prompt(''p'', ''"x"'', target => ''demo.said'', server => ''demo'')', 'PT400', 'invalid_option', 'both'),
  ('select chumbo.register_prompt(''p'', ''[{"role": "system", "content": "x"}]'', server => ''demo'')', 'PT400', 'invalid_option', 'a role that is none'),
  ('select chumbo.register_prompt(''p'', ''"x"'', ''{"a": 1}'', server => ''demo'')', 'PT400', 'invalid_option', 'arguments that are no list'),
  ('select chumbo.register_prompt(''p'', ''"x"'', ''[{"name": "a b"}]'', server => ''demo'')', 'PT400', 'invalid_option', 'an argument whose name has a space'),
  ('select chumbo.register_prompt(''p'', ''"x"'', ''[{"name": "a", "type": "text"}]'', server => ''demo'')', 'PT400', 'invalid_option', 'an argument with a type'),
  ('select chumbo.register_prompt(''p'', ''"x"'', ''[{"name": "a", "required": "no"}]'', server => ''demo'')', 'PT400', 'invalid_option', 'a required that is a word'),
  ('select chumbo.register_prompt(''p'', ''"x"'', ''[{"name": "a"}, {"name": "a"}]'', server => ''demo'')', 'PT400', 'invalid_option', 'an argument twice'),
  ('select chumbo.register_prompt(''p'', target => ''demo.said'', arguments => ''[{"name": "other"}]'', server => ''demo'')', 'PT400', 'invalid_option', 'an argument the function does not take'),
  ('select chumbo.register_prompt(''p'', target => ''demo.nothing'', server => ''demo'')', 'PT400', 'unsupported_result', 'void'),
  ('select chumbo.register_prompt(''p'', target => ''demo.odd'', server => ''demo'')', 'PT400', 'unsupported_result', 'columns of its own'),
  ('select chumbo.register_prompt(''p'', target => ''demo.bytes'', server => ''demo'')', 'PT400', 'unsupported_result', 'bytes'),
  ('select chumbo.register_prompt(''p'', target => ''demo.absent'', server => ''demo'')', 'PT404', 'unknown_target', 'a function that is not there'),
  ('select chumbo.register_prompt(''a b'', ''"x"'', server => ''demo'')', 'PT400', 'invalid_name', 'a name with a space'),
  ('select chumbo.register_prompt(''said'', target => ''demo.lines'', server => ''demo'')', 'PT409', 'name_taken', 'a name that another function has'),
  ('select chumbo.register_prompt(''p'', ''"x"'', scopes => ''{absent}'', server => ''demo'')', 'PT400', 'unknown_scope', 'an unknown scope'),
  ('select chumbo.register_prompt(''p'', ''"x"'', server => ''absent'')', 'PT404', 'unknown_server', 'an unknown server')
) as v (statement, code, slug, label);

create function tests.prompt(person text, name text, arguments jsonb default '{}', more jsonb default '{}') returns jsonb language sql volatile
  as $$ select public.chumbo_prompt('demo', name, arguments, tests.request(person, more)) $$;
create function tests.said(person text, name text, arguments jsonb default '{}') returns text language sql volatile as $$
  select coalesce(
    (select string_agg(m.value ->> 'role' || ': ' || coalesce(m.value #>> '{content,text}', m.value ->> 'content'), ' / ' order by m.place) from jsonb_array_elements(case when jsonb_typeof(a -> 'messages') = 'array' then a -> 'messages' end) with ordinality as m (value, place)),
    concat_ws(' ', a ->> 'outcome', a #>> '{error,code}', a #>> '{error,message}'))
  from tests.prompt(person, name, arguments) as a
$$;

-- Act, assert.
select tests.act_as_runtime();
select is(tests.prompt('nobody', 'greet', '{"who": "Ann", "lang": "Greek"}') - 'revision',
  '{"outcome": "ok", "description": null, "messages": [{"role": "user", "content": {"type": "text", "text": "Greet Ann in Greek."}}], "error": null}', 'a fixed prompt is filled in');
select is(tests.said(person, name, arguments::jsonb), wanted, format('%s %s %s: %s', person, name, arguments, wanted))
from (values
  ('alice', 'greet', '{"who": "{{lang}}", "lang": "{{who}}"}', 'user: Greet {{lang}} in {{who}}.'),
  ('alice', 'greet', '{"who": "\"quoted\" \\ \n €"}', E'user: Greet "quoted" \\ \n € in .'),
  ('alice', 'greet', '{}', 'refused invalid_arguments The argument `who` is required.'),
  ('alice', 'greet', '{"who": "x", "whom": "y"}', 'refused invalid_arguments There is no argument `whom`.'),
  ('alice', 'greet', '{"who": 1}', 'refused invalid_arguments The argument `who` must be a string.'),
  ('alice', 'greet', '[]', 'refused invalid_arguments The arguments are no object.'),
  ('alice', 'review', '{"id": "1"}', 'user: Review in a kind tone (deep: f, {}): Alice''s {{tone}} / assistant: Gladly.'),
  ('alice', 'review', '{"id": "1", "tone": "%s {{id}}", "deep": "true", "tags": "[\"a\",\"b\"]"}', 'user: Review in a %s {{id}} tone (deep: t, {a,b}): Alice''s {{tone}} / assistant: Gladly.'),
  ('alice', 'review', '{"id": "1", "deep": "", "tags": ""}', 'user: Review in a kind tone (deep: f, {}): Alice''s {{tone}} / assistant: Gladly.'),
  ('alice', 'review', '{"id": "2"}', 'tool_error empty_prompt'),
  ('bob', 'review', '{"id": "2"}', 'user: Review in a kind tone (deep: f, {}): Bob''s / assistant: Gladly.'),
  ('alice', 'review', '{"id": "one"}', 'tool_error invalid_arguments The argument `id` is not a valid integer.'),
  ('nobody', 'review', '{"id": "1"}', 'tool_error forbidden'),
  ('alice', 'said', '{"what": "Hi"}', 'user: Hi'), ('alice', 'said', '{"what": ""}', 'tool_error empty_prompt'),
  ('alice', 'lines', '{}', 'user: one / user: two'), ('alice', 'rich', '{}', 'user: rich'),
  ('alice', 'whole', '{"kind": "whole"}', 'user: x'), ('alice', 'whole', '{"kind": "one"}', 'assistant: y'), ('alice', 'whole', '{"kind": "list"}', 'user: a / user: b'),
  ('alice', 'whole', '{"kind": "null"}', 'tool_error empty_prompt'), ('alice', 'whole', '{"kind": "none"}', 'tool_error empty_prompt'), ('alice', 'whole', '{"kind": "absent"}', 'tool_error empty_prompt'),
  ('alice', 'whole', '{"kind": "bad"}', 'tool_error tool_failed'),
  ('alice', 'absent', '{}', 'refused unknown_capability'), ('alice', 'hidden', '{}', 'refused unknown_capability'), ('alice', 'off', '{}', 'refused unknown_capability'),
  ('alice', 'coded', '{}', 'moved')
) as v (person, name, arguments, wanted);
select is(tests.prompt('alice', 'whole', '{"kind": "whole"}') ->> 'description', 'Whole.', 'a function may describe what it wrote');
select is(tests.prompt('alice', 'embedded', '{"x": "y"}') -> 'messages',
  '[{"role": "user", "content": {"type": "resource", "resource": {"uri": "a://{{x}}", "text": "See y."}}}, {"role": "user", "content": {"type": "image", "data": "AA==", "mimeType": "image/png"}}]',
  'texts are filled in wherever they stand, and nothing else');
select tests.act_as_owner();
select results_eq($$ select capability, outcome, code, row_count from chumbo.receipts where kind = 'prompt' order by created_at, id limit 4 $$,
  $$ values ('greet', 'ok', null::text, 1), ('greet', 'ok', null, 1), ('greet', 'ok', null, 1), ('greet', 'refused', 'invalid_arguments', 0) $$, 'every prompt left a receipt');
select is((select count(*) from chumbo.receipts where kind = 'prompt'), 30::bigint, 'but the one that code answers');

select * from finish();
rollback;
