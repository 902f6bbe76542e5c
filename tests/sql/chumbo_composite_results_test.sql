-- tests/sql/chumbo_composite_results_test.sql — row types leave whole, whichever way a function returns them.
begin;
\ir support/people.psql
select plan(22);
\ir support/runtime.psql

create type demo.addr as (street text, n bigint);
create domain demo.near as demo.addr;
create type demo.inner_one as (below demo.addr);
create function demo.plain() returns demo.addr language sql stable as $$ select row('x', 9007199254740993)::demo.addr $$;
create function demo.one_out(out r demo.addr) language sql stable as $$ select row('x', 1)::demo.addr $$;
create function demo.odd_out(out "50% %s" demo.addr) language sql stable as $$ select row('x', 1)::demo.addr $$;
create function demo.none_out(out r demo.addr) language sql stable as 'select null::demo.addr';
create function demo.two_out(out r demo.addr, out s demo.near) language sql stable as $$ select row('x', 1)::demo.addr, row('y', 2)::demo.addr::demo.near $$;
create function demo.one_near(out r demo.near) language sql stable as $$ select row('x', 1)::demo.addr::demo.near $$;
create function demo.one_column(n integer) returns table (r demo.addr) language sql stable as $$ select row('x', i)::demo.addr from generate_series(1, n) as i $$;
create function demo.near() returns demo.near language sql stable as $$ select row('x', 1)::demo.addr::demo.near $$;
create function demo.nears() returns setof demo.near language sql stable as $$ select row('x', 1)::demo.addr::demo.near $$;
create function demo.inner_one() returns demo.inner_one language sql stable as $$ select row(row('x', 1)::demo.addr)::demo.inner_one $$;
create function demo.listed() returns setof demo.addr[] language sql stable as $$ select array[row('x', 1)::demo.addr, null] $$;
select chumbo.register_tool(format('demo.%I', p.proname), 'demo') from pg_proc as p where p.pronamespace = 'demo'::regnamespace;

select tests.act_as_runtime();
select is(tests.answer('alice', tool, arguments::jsonb), told, format('%s: %s', tool, told))
from (values
  ('plain', '{}', 'ok {"n": "9007199254740993", "street": "x"}'), ('one_out', '{}', 'ok {"r": {"n": "1", "street": "x"}}'), ('odd_out', '{}', 'ok {"50% %s": {"n": "1", "street": "x"}}'),
  ('none_out', '{}', 'ok {"result": null}'), ('two_out', '{}', 'ok {"r": {"n": "1", "street": "x"}, "s": {"n": "2", "street": "y"}}'), ('one_near', '{}', 'ok {"r": {"n": "1", "street": "x"}}'),
  ('one_column', '{"n": 2}', 'ok {"rows": [{"r": {"n": "1", "street": "x"}}, {"r": {"n": "2", "street": "x"}}]}'), ('one_column', '{"n": 0}', 'ok {"rows": []}'),
  ('near', '{}', 'ok {"n": "1", "street": "x"}'), ('nears', '{}', 'ok {"rows": [{"n": "1", "street": "x"}]}'), ('inner_one', '{}', 'ok {"below": {"n": "1", "street": "x"}}'),
  ('listed', '{}', 'ok {"rows": [[{"n": "1", "street": "x"}, null]]}')) as t (tool, arguments, told);
select tests.act_as_owner();
select is((select output_schema #> path from chumbo.capabilities where server_id = chumbo.server_id('demo') and name = tool), schema::jsonb, format('and %s says so', tool))
from (values
  ('plain', array['properties', 'n', 'type'], '["string", "null"]'), ('one_out', array['properties', 'r', 'properties', 'n', 'type'], '["string", "null"]'),
  ('odd_out', array['properties', '50% %s', 'properties', 'n', 'type'], '["string", "null"]'), ('two_out', array['properties', 's', 'properties', 'n', 'type'], '["string", "null"]'),
  ('one_near', array['properties', 'r', 'properties', 'n', 'type'], '["string", "null"]'), ('one_column', array['properties', 'rows', 'items', 'properties', 'r', 'properties', 'n', 'type'], '["string", "null"]'),
  ('near', array['properties', 'n', 'type'], '["string", "null"]'), ('nears', array['properties', 'rows', 'items', 'properties', 'n', 'type'], '["string", "null"]'),
  ('inner_one', array['properties', 'below', 'properties', 'n', 'type'], '["string", "null"]'), ('listed', array['properties', 'rows', 'items', 'items', 'properties', 'n', 'type'], '["string", "null"]')) as t (tool, path, schema);

select * from finish();
rollback;
