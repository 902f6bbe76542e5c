-- tests/sql/hostile_shapes_test.sql — names, values and rows chosen to be taken for something else, and calls that must leave a receipt all the same.
begin;
\ir support/people.psql
select plan(44);
\ir support/runtime.psql

-- A column called like the alias of a row is a column, and the row stays a row.
create table demo.todo (id integer primary key, t text);
alter table demo.todo enable row level security;
create policy everybody on demo.todo to authenticated using (true) with check (true);
grant select, insert on demo.todo to authenticated;
insert into demo.todo values (1, 'milk'), (2, null);
create function demo.todos() returns setof demo.todo language sql stable as 'select * from demo.todo order by id';
create function demo.one_todo() returns demo.todo language sql stable as 'select * from demo.todo where id = 2';
create function demo.add_todo(k integer, out t text, out id integer) language sql volatile as 'insert into demo.todo values (k, null) returning t, id';
create function demo.alone(out t demo.todo) language sql stable as 'select x from demo.todo as x where id = 2';
create function demo.alone_null(out t demo.todo) language sql stable as 'select null::demo.todo';
create function demo.page_todos("limit" integer default 20, "cursor" integer default null) returns table (t text, id integer) language sql stable as
  'select x.t, x.id from demo.todo as x where x.id > coalesce("cursor", 0) order by x.id limit "limit"';
select chumbo.register_tool('demo.' || f, 'demo') from unnest(array['todos', 'one_todo', 'add_todo', 'alone', 'alone_null']) as f;
select chumbo.register_tool('demo.page_todos', 'demo', result => 'collection', cursor => '{id}');
create function demo.read_todos() returns setof demo.todo language sql stable as 'select * from demo.todo where id = 1';
select chumbo.register_resource('demo://todos', 'demo.read_todos', server => 'demo', name => 'read_todos');
select tests.act_as_runtime();
select is(tests.answer('alice', 'todos'), 'ok {"rows": [{"t": "milk", "id": 1}, {"t": null, "id": 2}]}', 'rows with a column t are rows');
select is(tests.answer('alice', 'one_todo'), 'ok {"t": null, "id": 2}', 'so is one row');
select is(tests.answer('alice', 'add_todo', '{"k": 5}'), 'ok {"t": null, "id": 5}', 'a write whose first column is null is no write of nothing');
select is(tests.answer('alice', 'alone'), 'ok {"t": {"t": null, "id": 2}}', 'a row in a column t is a row');
select is(tests.answer('alice', 'alone_null') ~ 'null', true, 'and none is none');
select is((tests.call('alice', 'page_todos') ->> 'result')::jsonb #> '{structuredContent,items}', '[{"t": "milk", "id": 1}, {"t": null, "id": 2}, {"t": null, "id": 5}]', 'a collection goes on');
select is((public.chumbo_read('demo', 'demo://todos', tests.request('alice')) #>> '{contents,0,text}')::jsonb, '[{"t": "milk", "id": 1}]', 'a resource reads rows');

-- What a client sends, or a domain does, ends in an answer and a receipt.
select tests.act_as_owner();
create type demo.priced as (name text, price numeric(10, 2));
create domain demo.asserted as integer;
create function demo.assert_positive(n integer) returns boolean language plpgsql immutable as 'begin assert n > 0, ''private''; return true; end';
alter domain demo.asserted add check (demo.assert_positive(value));
create function demo.line(l demo.priced) returns integer language sql stable as 'select 1';
create function demo.asserts(n demo.asserted) returns integer language sql stable as 'select 1';
create function demo.returns_deep() returns jsonb language sql stable as $$ select jsonb_build_object('a', (repeat('[', 900) || repeat(']', 900))::jsonb) $$;
create table demo.log (note text);
grant insert on demo.log to authenticated;
create function demo.logs(n integer) returns boolean language plpgsql volatile as 'begin insert into demo.log values (''checked''); return n > 0; end';
create domain demo.logged as integer check (demo.logs(value));
create function demo.uses_logged(a demo.logged, b demo.logged) returns integer language sql volatile as 'select 1';
create function demo.pretends() returns integer language plpgsql volatile as $$ begin raise exception using errcode = 'PT409', message = 'tool_unavailable'; end $$;
select chumbo.register_tool('demo.' || f, 'demo') from unnest(array['line', 'asserts', 'returns_deep', 'uses_logged', 'pretends']) as f;
select tests.act_as_runtime();
select matches(tests.answer('alice', 'line', jsonb_build_object('l', jsonb_build_object('name', 'x', 'price', price))), '^tool_error invalid_arguments The argument `l', format('a price of %s is refused by name', price))
from unnest(array['1.2.3', '.1.', '.', '1e']) as price;
select is(tests.answer('alice', 'line', '{"l": {"name": "x", "price": ".5"}}'), 'ok {"result": 1}', 'and .5 is a price');
select matches(tests.answer('alice', 'asserts', '{"n": -1}'), '^tool_error', 'a check that asserts is a failure like any');
select matches(tests.answer('alice', 'returns_deep'), '^ok', 'a deep value leaves');
select matches(tests.answer('alice', 'uses_logged', '{"a": 1, "b": -1}'), '^tool_error invalid_arguments', 'a check that writes refuses');
select is(tests.answer('alice', 'pretends'), 'tool_error tool_unavailable', 'a body that raises our slug has still run');
select tests.act_as_owner();
select is_empty('select from demo.log', 'and a refused call leaves nothing of what checking it wrote');
select is((select count(*) from chumbo.receipts where outcome = 'refused'), 0::bigint, 'no body passes for the gate');

-- A date is what the calendar says, and not what the clock of the server makes of a word.
create function demo.dated(d date default null, ts timestamptz default null, t time default null, many date[] default null) returns text language sql stable as $$ select concat_ws(' ', d, ts at time zone 'utc', t, many) $$;
select chumbo.register_tool('demo.dated', 'demo');
select tests.act_as_runtime();
select matches(tests.answer('alice', 'dated', args::jsonb), '^tool_error invalid_arguments The argument `', format('%s is refused', args))
from unnest(array['{"d": "tomorrow"}', '{"d": "01/02/2026"}', '{"d": "epoch"}', '{"d": "Jan 5 2026"}', '{"ts": "now"}', '{"ts": "today"}', '{"t": "allballs"}', '{"many": ["2026-01-01", "yesterday"]}']) as args;
select is(tests.answer('alice', 'dated', args::jsonb), 'ok {"result": "' || wanted || '"}', format('%s is taken', args))
from (values ('{"d": "2026-01-31"}', '2026-01-31'), ('{"d": "infinity"}', 'infinity'), ('{"ts": "2026-01-31T13:45:00.123456+02:00"}', '2026-01-31 11:45:00.123456'),
  ('{"ts": "2026-01-31 13:45:00Z"}', '2026-01-31 13:45:00'), ('{"t": "13:45"}', '13:45:00'), ('{"d": "0044-03-15 BC"}', '0044-03-15 BC')) as v (args, wanted);
select tests.act_as_owner();

-- One odd entry is refused where it is written, before it costs a list.
select throws_ok(format('select chumbo.register_tool(''demo.todos'', ''demo'', icons => %L)', icons), 'PT400', 'invalid_option', format('icons %s', icons))
from unnest(array['[5]', '[{"sizes": ["48x48"]}]', '[{"src": "x", "sizes": "48x48"}]', '[{"src": "x", "theme": "red"}]']) as icons;
select throws_ok(format('select chumbo.register_tool(''demo.todos'', ''demo'', annotations => %L)', a), 'PT400', 'invalid_option', format('annotations %s', a))
from unnest(array['{"title": 5}', '{"destructiveHint": "yes"}']) as a;
select throws_ok($$ select chumbo.register_resource('demo://x', content => 'x', server => 'demo', annotations => '{"lastModified": "yesterday"}') $$, 'PT400', 'invalid_option', 'a day nobody can read');

-- Messages and blocks are held to what clients read.
select is(chumbo.find_block_fault(block) is not null, true, block::text)
from unnest(array['{"type": "text", "text": "x", "annotations": {"lastModified": 5}}', '{"type": "resource_link", "uri": "a:b", "name": "x", "icons": [5]}',
  '{"type": "resource", "resource": {"uri": "a:b", "text": "x", "mimeType": 5}}']::jsonb[]) as block;
select is(chumbo.normal_messages('[{"role": "user", "content": {"type": "image", "data": "!!!", "mimeType": "image/png"}}]'), null, 'an image that is none is no message');

-- A prompt whose short argument is named often would be long.
select chumbo.register_prompt('echo', jsonb_build_array(jsonb_build_object('role', 'user', 'content', repeat('{{a}}', 200))), arguments => '[{"name": "a"}]', server => 'demo');
select tests.act_as_runtime();
select is(public.chumbo_prompt('demo', 'echo', jsonb_build_object('a', repeat('x', 100000)), tests.request('alice')) #>> '{error,code}', 'result_too_large', 'and is refused before it is written');

select * from finish();
rollback;
