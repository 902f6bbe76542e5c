-- tests/sql/chumbo_result_modes_test.sql — what leaves in each mode, what it may weigh, and what is refused at registration.
begin;
\ir support/people.psql
select plan(128);
\ir support/runtime.psql

create table demo.notes (id bigint primary key, owner_id uuid not null default auth.uid(), body text not null);
alter table demo.notes enable row level security;
create policy own on demo.notes to authenticated using (owner_id = (select auth.uid())) with check (owner_id = (select auth.uid()));
grant select, insert, update on demo.notes to authenticated;
insert into demo.notes values (9007199254740993, tests.person('alice'), 'Dear "you"'), (2, tests.person('bob'), 'of Bob');

create function demo.render_rows(data jsonb) returns text language sql stable set search_path = ''
  as $$ select format('%s as %s: ', current_user, (select auth.uid()) = tests.person('alice')) || coalesce((select string_agg('- ' || (r ->> 'body'), E'\n') from jsonb_array_elements(data -> 'rows') as r), 'none')
    || case when data ? 'truncated' then ' …' else '' end $$;
create function demo."render 100%"(jsonb) returns text language sql stable as $$ select $1::text $$;
create function demo.render_null(jsonb) returns text language sql stable as $$ select null::text $$;
create function demo.render_failing(jsonb) returns text language plpgsql stable as $$ begin raise exception using errcode = 'PT400', message = 'cannot_render'; end $$;
create function demo.two_values(jsonb, integer) returns text language sql stable as 'select ''''';
create function demo.not_text(jsonb) returns jsonb language sql stable as 'select $1';

create function demo.rows(until integer default 2) returns table (id bigint, body text) language sql stable
  as $$ select n.id, n.body from demo.notes as n union all select g, 'row ' || g from generate_series(2, until) as g $$;
create function demo."a row%"() returns demo.notes language sql stable as 'select n from demo.notes as n';
create function demo.no_row() returns demo.notes language sql stable as 'select n from demo.notes as n where false';
create function demo.scalar() returns bigint language sql stable as 'select 9007199254740993';
create function demo.json_object() returns jsonb language sql stable as $$ select '{"n": 9007199254740993, "x": 1.50}'::jsonb $$;
create function demo.json_list() returns jsonb language sql stable as $$ select '[1]'::jsonb $$;
create function demo.nothing() returns void language sql stable as 'select';
create function demo.letter(name text default 'you') returns text language sql stable as $$ select 'Dear ' || name $$;
create function demo.write_note(id bigint, body text) returns setof demo.notes language sql volatile
  as 'insert into demo.notes (id, body) values (write_note.id, write_note.body) returning *';
create function demo.as_records() returns setof record language sql stable as $$ select 9007199254740993, 'x'::text, '{1,2}'::bigint[] $$;
create function demo.one_record() returns record language sql stable as $$ select 5::bigint, 'x'::varchar(3) $$;
create function demo.bad_json(at integer default 2) returns table (id integer, doc json) language sql stable
  as $$ select n, case when n = at then '{"a": "\u0000"}' else '{"n": 1.50}' end::json from generate_series(1, 3) as n $$;
create function demo.bad_json_list() returns table (docs json[], other json) language sql stable
  as $$ values (array['{"a": "\u0000"}', '1.50']::json[], null::json), (array['[1]', null]::json[], null), (null, null) $$;
create function demo.whole(given jsonb) returns jsonb language sql volatile as $$ insert into demo.notes (id, body) values (77, 'written') on conflict do nothing; select given $$;
create function demo.whole_read(given json) returns json language sql stable as 'select given';
create function demo.spoof() returns jsonb language plpgsql volatile as $$ begin raise exception using errcode = 'PT422', message = 'reported_error', detail = 'Mine.'; end $$;
create function demo.page("limit" integer, "cursor" jsonb default null) returns table (id bigint) language sql stable as 'select 1';
create function demo.volatile_page("limit" integer, "cursor" jsonb default null) returns table (id bigint) language sql volatile as 'select 1';
create function demo.page_without_cursor("limit" integer) returns table (id bigint) language sql stable as 'select 1';
create function demo.page_without_limit("cursor" jsonb default null) returns table (id bigint) language sql stable as 'select 1';
create function demo.page_of_text_limit("limit" text, "cursor" jsonb default null) returns table (id bigint) language sql stable as 'select 1';
create function demo.page_of_one("limit" integer, "cursor" bigint default null) returns table (id bigint, at date) language sql stable as 'select 1, current_date';
create function demo.page_that_asks("limit" integer, "cursor" jsonb) returns table (id bigint) language sql stable as 'select 1';
create function demo.page_of_scalars("limit" integer, "cursor" jsonb default null) returns setof bigint language sql stable as 'select 1';

-- Text and hybrid, each shape.
select chumbo.register_tool(format('demo.%I', f), 'demo', name => regexp_replace(f, '[^a-z_]', '_', 'g') || '_' || m, result => m, render => 'demo."render 100%"', row_cap => 3, empty => 'ok')
from unnest(array['rows', 'a row%', 'no_row', 'scalar', 'json_object', 'json_list', 'nothing']) as f, unnest(array['text', 'hybrid']) as m;
select chumbo.register_tool(format('demo.%I', f), 'demo', name => regexp_replace(f, '[^a-z_]', '_', 'g'), row_cap => 3, empty => 'ok')
from unnest(array['rows', 'a row%', 'no_row', 'scalar', 'json_object', 'json_list', 'nothing']) as f;
select chumbo.register_tool('demo.rows', 'demo', name => 'rendered', result => 'text', render => 'demo.render_rows(jsonb)', row_cap => 3);
select chumbo.register_tool('demo.rows', 'demo', name => 'rendered_null', result => 'text', render => 'demo.render_null');
select chumbo.register_tool('demo.write_note', 'demo', name => 'write_failing', result => 'hybrid', render => 'demo.render_failing');
select chumbo.register_tool('demo.letter', 'demo', result => 'text');
select chumbo.register_tool('demo.page_of_one', 'demo', result => 'collection', cursor => array['id']);

create function tests.whole(tool text, arguments jsonb default '{}', more jsonb default '{}') returns jsonb language sql volatile
  as $$ select (tests.call('alice', tool, arguments, more) ->> 'result')::jsonb $$;
create function tests.has(tool text) returns boolean language sql stable
  as $$ select output_schema is not null from chumbo.capabilities where server_id = chumbo.server_id('demo') and name = tool $$;

select is(array_agg(tests.has(tool || suffix) order by suffix), array[true, true, false], format('%s lists an output schema unless it is text alone', tool))
from unnest(array['rows', 'a_row_', 'no_row', 'scalar', 'json_object', 'json_list', 'nothing']) as tool, unnest(array['', '_hybrid', '_text']) as suffix group by tool;
select is((select output_schema from chumbo.capabilities where name = 'rows_hybrid'), (select output_schema from chumbo.capabilities where name = 'rows'), 'that of a hybrid is the structured one');
select tests.act_as_runtime();
select is(tests.whole(tool || '_hybrid') -> 'structuredContent', tests.whole(tool), format('%s is as structured in a hybrid as it is alone', tool))
from unnest(array['rows', 'a_row_', 'no_row', 'scalar', 'json_object', 'json_list', 'nothing']) as tool;
select is(tests.whole(tool || '_hybrid') #>> '{content,0,text}', tests.call('alice', tool) ->> 'result', format('%s is what its text is written from', tool))
from unnest(array['rows', 'a_row_', 'no_row', 'scalar', 'json_object', 'json_list', 'nothing']) as tool;
select is(tests.whole(tool || '_text'), jsonb_build_object('content', tests.whole(tool || '_hybrid') -> 'content'), format('and all that %s has as a text', tool))
from unnest(array['rows', 'a_row_', 'no_row', 'scalar', 'json_object', 'json_list', 'nothing']) as tool;
select is(tests.whole('rendered'), '{"content": [{"type": "text", "text": "authenticated as t: - Dear \"you\"\n- row 2"}]}', 'a text is written as the caller');
select is(tests.whole('rendered', '{"until": 9}'), '{"content": [{"type": "text", "text": "authenticated as t: - Dear \"you\"\n- row 2\n- row 3 …"}, {"type": "text", "text": "Cut after 3 rows; narrow the request to see others."}]}', 'a cut is visible to whoever writes it, and written beside it');
select is(tests.whole('rows_hybrid', '{"until": 9}') -> 'structuredContent' -> 'truncated', 'true', 'and in the data');
select is(tests.whole('rendered_null'), '{"content": [{"type": "text", "text": ""}]}', 'no text is an empty one');
select is(tests.whole('letter', '{"name": "<system>\n\"you\"}]}"}'), '{"content": [{"type": "text", "text": "Dear <system>\n\"you\"}]}"}]}', 'a function can write its own text, whatever is in it');
select is(tests.answer('alice', 'write_failing', '{"id": 8, "body": "x"}'), 'tool_error cannot_render', 'who cannot write fails the call');
select tests.act_as_owner();
select is_empty('select from demo.notes where id = 8', 'and undoes it');

-- Columns of a record.
select chumbo.register_tool('demo.as_records', 'demo', columns => 'id bigint, "50% ""of"" it, all" text , ids bigint[]');
select chumbo.register_tool('demo.one_record', 'demo', columns => 'ID int8, t character varying(3)');
select is((select output_schema #> '{properties,rows,items,required}' from chumbo.capabilities where name = 'as_records'), '["id", "50% \"of\" it, all", "ids"]', 'declared columns are described');
select throws_ok(format('select chumbo.register_tool(''demo.as_records'', columns => %L)', c), 'PT400', 'invalid_option', format('columns cannot be %s', c))
from unnest(array['', ' ', 'id', 'id bigint,', ', id bigint', 'id bigint, id text', 'id nonsense', 'id bigint) as t; drop table demo.notes; --', 'id bigint); drop table demo.notes; --', 'id bigint; select 1',
  'id "bigint', 'id bigint text', '1d bigint', 'id bigint default 1', 'id setof bigint', 'id (select 1)', 'id numeric(10', E'id bigint\n) ; --', 'id record']) as c;
select throws_ok($$ select chumbo.register_tool('demo.rows', columns => 'id bigint') $$, 'PT400', 'invalid_option', 'nor stand beside columns that the function has');
select throws_ok($$ select chumbo.register_tool('demo.as_records') $$, 'PT400', 'undeclared_result', 'a record needs them');
select tests.act_as_runtime();
select is(tests.whole('as_records'), '{"rows": [{"id": "9007199254740993", "50% \"of\" it, all": "x", "ids": ["1", "2"]}]}', 'and given');
select is(tests.whole('one_record'), '{"id": "5", "t": "x"}', 'also of one row');

-- A value that jsonb cannot hold.
select tests.act_as_owner();
select chumbo.register_tool('demo.bad_json', 'demo');
select chumbo.register_tool('demo.bad_json_list', 'demo');
select tests.act_as_runtime();
select is(tests.whole('bad_json_list'), '{"rows": [{"docs": ["{\"a\": \"\\u0000\"}", "1.50"], "other": null}, {"docs": [[1], null], "other": null}, {"docs": null, "other": null}]}', 'nor does one in an array');
select is(tests.whole('bad_json'), '{"rows": [{"id": 1, "doc": {"n": 1.50}}, {"id": 2, "doc": "{\"a\": \"\\u0000\"}"}, {"id": 3, "doc": {"n": 1.50}}]}', 'one bad value leaves as its text and costs no other row');

-- Sizes.
select tests.act_as_owner();
select chumbo.register_tool('demo.rows', 'demo', name => 'rows_small', max_bytes => 512);
select chumbo.register_tool('demo.rows', 'demo', name => 'rows_small_hybrid', max_bytes => 512, result => 'hybrid', render => 'demo.render_rows');
select tests.act_as_runtime();
select matches(tests.answer('alice', 'rows_small', '{"until": 5}'), '^ok', 'what fits leaves');
select is(tests.answer('alice', t, '{"until": 60}'), 'tool_error result_too_large The result is larger than 512 bytes, so nothing was changed and nothing is returned.', format('%s says what does not', t)) from unnest(array['rows_small', 'rows_small_hybrid']) as t;

-- A full result.
select tests.act_as_owner();
select chumbo.register_tool('demo.whole', 'demo', result => 'mcp');
select chumbo.register_tool('demo.whole_read', 'demo', result => 'mcp');
select chumbo.register_tool('demo.spoof', 'demo', result => 'mcp');
select is(tests.has('whole'), false, 'a full result lists no output schema');
select tests.act_as_runtime();
select is(tests.whole('whole_read', jsonb_build_object('given', r::jsonb)), r::jsonb, 'leaves as it is: ' || left(r, 60))
from unnest(array[
  '{"content": []}', '{"content": [{"type": "text", "text": "a"}], "structuredContent": {"n": 9007199254740993}, "isError": false, "_meta": {"app/x": 1}}',
  '{"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png", "annotations": {"audience": ["user"], "priority": 0.5}}, {"type": "audio", "data": "aGk", "mimeType": "audio/wav"}]}',
  '{"content": [{"type": "resource_link", "uri": "a:b", "name": "b", "size": 3}, {"type": "resource", "resource": {"uri": "a:b", "text": "x"}}, {"type": "resource", "resource": {"uri": "a:b", "blob": "aGk="}}]}']) as r;
select is(tests.answer('alice', 'whole', jsonb_build_object('given', r.given::jsonb)), 'tool_error invalid_result The tool returned something that is no result, so nothing was changed. ' || r.problem, r.given)
from (values
  ('[]', 'It is no object.'), ('{}', 'Its content is no array.'), ('{"content": "x"}', 'Its content is no array.'),
  ('{"content": [], "structuredContent": [1]}', 'Its structuredContent is no object.'), ('{"content": [], "isError": "true"}', 'Its isError is no boolean.'),
  ('{"content": [], "_meta": 1}', 'Its _meta is no object.'), ('{"content": [], "_meta": {"dev.chumbo/error": {"code": "x"}}}', 'Its _meta uses a key of dev.chumbo/.'),
  ('{"content": [], "resultType": "input_required"}', 'It has ''resultType'' beside content, structuredContent, isError and _meta.'),
  ('{"content": ["x"]}', 'content[0] is no block of text, image, audio, resource_link or resource.'),
  ('{"content": [{"type": "text", "text": "a"}, {"type": "video"}]}', 'content[1] is no block of text, image, audio, resource_link or resource.'),
  ('{"content": [{"type": "text", "text": 1}]}', 'content[0] is text without a string text.'), ('{"content": [{"type": "image", "data": "aGk="}]}', 'content[0] is image without a string mimeType.'),
  ('{"content": [{"type": "image", "data": "~", "mimeType": "image/png"}]}', 'content[0] holds data that is not base64.'),
  ('{"content": [{"type": "resource", "resource": {"uri": "a:b"}}]}', 'content[0] is resource without a resource of uri and text or blob.'),
  ('{"content": [{"type": "text", "text": "a", "annotations": {"audience": ["model"]}}]}', 'content[0] has an optional field of another type than the protocol gives it.'),
  ('{"content": [{"type": "text", "text": "a", "annotations": {"priority": "high"}}]}', 'content[0] has an optional field of another type than the protocol gives it.')) as r (given, problem);
select tests.act_as_owner();
select is_empty('select from demo.notes where id = 77', 'what returned no result was undone');
select tests.act_as_runtime();
select set_config('tests.reported', tests.call('alice', 'whole', '{"given": {"isError": true, "content": [{"type": "text", "text": "No."}]}}')::text, true);
select is(current_setting('tests.reported')::jsonb - 'revision', '{"outcome": "tool_error", "result": "{\"content\": [{\"text\": \"No.\", \"type\": \"text\"}], \"isError\": true}", "is_whole": true,
  "error": {"code": "reported_error", "message": null, "hint": null}, "truncated": false, "row_cap": 1000}', 'a result that says it is an error is told as it is');
select is(tests.call('alice', 'spoof') - array['revision', 'row_cap'], '{"outcome": "tool_error", "result": null, "is_whole": false, "error": {"code": "reported_error", "message": "Mine.", "hint": null}, "truncated": false}',
  'a body that raises the same slug has nothing to tell but that');
select tests.act_as_owner();
select is_empty('select from demo.notes where id = 77', 'and is undone');
select results_eq($$ select outcome, code, row_count from chumbo.receipts where capability = 'whole' order by id desc limit 1 $$, $$ values ('tool_error', 'reported_error', 0) $$, 'the receipt says so');

-- A call that is repeated with its key gives the same, to the byte, whatever became of the registration since.
create function tests.twice(tool text, arguments jsonb, change text) returns text language plpgsql volatile as $$
declare
  v_one jsonb;
  v_two jsonb;
begin
  perform tests.act_as_runtime();
  v_one := tests.call('alice', tool, arguments, '{"idempotency_key_hash": "k", "argument_digest": "d"}');
  perform tests.act_as_owner();
  execute change;
  perform tests.act_as_runtime();
  v_two := tests.call('alice', tool, arguments, '{"idempotency_key_hash": "k", "argument_digest": "d"}');
  perform tests.act_as_owner();
  return concat_ws(' ', v_one ->> 'outcome', v_two ->> 'outcome', (v_one -> 'result') = (v_two -> 'result'), (v_one -> 'is_whole') = (v_two -> 'is_whole'), v_two ->> 'is_whole');
end;
$$;
select is(tests.twice(t.tool, t.arguments, t.change), 'ok replayed t t ' || t.is_whole, 'the same again: ' || t.tool)
from (values
  ('letter', '{}'::jsonb, 'select chumbo.register_tool(''demo.letter'', ''demo'')', true),
  ('rows', '{"until": 9}', 'select chumbo.register_tool(''demo.rows'', ''demo'', row_cap => 5)', true),
  ('scalar', '{}', 'select chumbo.register_tool(''demo.scalar'', ''demo'', result => ''hybrid'', render => ''demo.render_null'')', false),
  ('rows_hybrid', '{"until": 9}', 'drop function demo."render 100%"(jsonb)', true),
  ('whole_read', '{"given": {"content": [], "structuredContent": {"n": 1.50}}}', 'select', true),
  ('page_of_one', '{"limit": 1}', 'select', true)) as t (tool, arguments, change, is_whole);

-- Registered by 0.1.0: the queries are those that it built.
update chumbo.capabilities as c
set result_query = o.query
from (values
  ('rows', 'select jsonb_build_object(''count'', count(*), ''value'', coalesce(jsonb_agg(to_jsonb(t) || jsonb_build_object(''id'', to_jsonb((t.id)::text))), ''[]'')) from (select t.* from %s as t limit 6) as t'),
  ('a_row_', 'select jsonb_build_object(''count'', case when t is null then 0 else 1 end, ''value'', case when not (t is null) then to_jsonb(t) || jsonb_build_object(''id'', to_jsonb((t.id)::text)) end) from (select t.* from %s as t) as t'),
  ('json_object', 'select jsonb_build_object(''count'', case when t.value is null then 0 else 1 end, ''value'', to_jsonb(t.value)) from %s as t(value)'),
  ('scalar_hybrid', 'select jsonb_build_object(''count'', case when t.value is null then 0 else 1 end, ''value'', to_jsonb((t.value)::text)) from %s as t(value)')) as o (name, query)
where c.name = o.name;
update chumbo.capabilities set result_mode = 'structured', render = null where name = 'scalar_hybrid';
select tests.act_as_runtime();
select is(tests.call('alice', t.tool, t.arguments) ->> 'result', t.result, 'an older registration still answers: ' || t.tool)
from (values
  ('rows', '{"until": 2}'::jsonb, '{"rows": [{"id": "9007199254740993", "body": "Dear \"you\""}, {"id": "2", "body": "row 2"}]}'), ('json_object', '{}', '{"n": 9007199254740993, "x": 1.50}'),
  ('scalar_hybrid', '{}', '{"result": "9007199254740993"}')) as t (tool, arguments, result);
select is(tests.whole('a_row_') - 'owner_id', '{"id": "9007199254740993", "body": "Dear \"you\""}', 'an older registration still answers: a_row_');
select is(jsonb_array_length(tests.whole('rows', '{"until": 20}') #> '{structuredContent,rows}'), 5, 'and is cut');

-- What registration refuses.
select tests.act_as_owner();
select throws_ok(format('select chumbo.register_tool(%L, %s)', 'demo.' || r.target, r.options), 'PT400', 'invalid_option', r.target || ' with ' || r.options)
from (values
  ('rows', 'result => ''json'''), ('rows', 'result => null'), ('rows', 'render => ''demo.render_rows'''), ('rows', 'result => ''hybrid'''), ('rows', 'result => ''text'''), ('scalar', 'result => ''text'''),
  ('rows', 'result => ''text'', render => ''demo.two_values'''), ('rows', 'result => ''text'', render => ''demo.not_text'''), ('rows', 'cursor => array[''id'']'), ('rows', 'result => ''mcp'''),
  ('rows', 'max_bytes => 511'), ('rows', 'max_bytes => 4194305'), ('page', 'result => ''collection'''), ('page', 'result => ''collection'', cursor => array[''id''], max_bytes => 1048577'),
  ('page', 'result => ''collection'', cursor => array[]::text[]'), ('page', 'result => ''collection'', cursor => array[''id'', ''id'']'), ('page', 'result => ''collection'', cursor => array[''id'', null]'),
  ('page', 'result => ''collection'', cursor => array[''nr'']'), ('volatile_page', 'result => ''collection'', cursor => array[''id'']'), ('page_without_cursor', 'result => ''collection'', cursor => array[''id'']'),
  ('page_without_limit', 'result => ''collection'', cursor => array[''id'']'), ('page_of_text_limit', 'result => ''collection'', cursor => array[''id'']'), ('page_that_asks', 'result => ''collection'', cursor => array[''id'']'),
  ('page_of_one', 'result => ''collection'', cursor => array[''at'', ''id'']'), ('scalar', 'result => ''collection'', cursor => array[''id'']')) as r (target, options);
select throws_ok($$ select chumbo.register_tool('demo.page_of_scalars', result => 'collection', cursor => array['value']) $$, 'PT400', 'unsupported_result', 'a collection is made of rows');

select * from finish();
rollback;
