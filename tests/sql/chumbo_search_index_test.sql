-- tests/sql/chumbo_search_index_test.sql — the triggers that keep the index: after any change it says what building it anew would.
begin;
\ir support/people.psql
select plan(30);
\ir support/runtime.psql

select function_privs_are('chumbo', 'index_capabilities', array['bigint[]'], role, array[]::text[], role || ' may not touch the index')
from unnest(array['anon', 'authenticated', 'service_role', 'chumbo_runtime']) as role;

create view pg_temp.index as
  select d.name, a.server_id, a.scopes, a.tools, p.term, p.impact
  from chumbo.search_documents as d
  join chumbo.search_audiences as a on a.id = d.audience_id
  left join chumbo.search_postings as p on p.capability_id = d.capability_id and p.audience_id = d.audience_id;
create function tests.is_kept(title text) returns text language plpgsql as $$
declare
  v_before text := (select md5(string_agg(i::text, ',' order by i::text)) from pg_temp.index as i);
begin
  delete from chumbo.search_postings;
  delete from chumbo.search_documents;
  update chumbo.search_audiences set tools = 0;
  perform chumbo.index_capabilities(array(select c.id from chumbo.capabilities as c));
  return is(v_before, (select md5(string_agg(i::text, ',' order by i::text)) from pg_temp.index as i), title);
end;
$$;
create function tests.terms(name text) returns text language sql stable as $$
  select string_agg(i.term, ' ' order by i.term) from pg_temp.index as i where i.name = $1
$$;

create function demo.pay(amount integer, paid_on date default current_date) returns integer language sql stable as 'select 1';
select chumbo.define_scope('a'), chumbo.define_scope('b');
select chumbo.register_tool('demo.pay', 'demo', name => 'pay_' || i, description => 'Pays bill ' || i) from generate_series(1, 20) as i;
select tests.is_kept('registering');
select is(tests.terms('pay_7'), '7 amount bill on paid paidon pay pay7', 'name, description and parameters are there');

select chumbo.register_tool('demo.pay', 'demo', name => 'pay_7', title => 'Settle', description => 'Settles it.', search => 'wire', scopes => '{b}');
select is(tests.terms('pay_7') ~ 'wire' and tests.terms('pay_7') !~ 'bill', true, 'registered anew, it says what it says now');
select is((select distinct scopes from pg_temp.index where name = 'pay_7'), '{b}', 'and to whom');
select tests.is_kept('registering anew');
select chumbo.disable('pay_8', 'demo');
select is(tests.terms('pay_8'), null, 'what is disabled is not there');
select is((select count(*) from pg_temp.index where name = 'pay_8'), 0::bigint, 'at all');
select tests.is_kept('disabling');
select chumbo.enable('pay_8', 'demo');
select isnt(tests.terms('pay_8'), null, 'what is enabled is');
update chumbo.capabilities set visibility = '{app}' where name = 'pay_9';
select is(tests.terms('pay_9'), null, 'what is for the app is not');
update chumbo.capabilities set name = name || 'x', required_scopes = '{a,b}', description = null where name like 'pay\_1_';
select is((select count(*) from pg_temp.index where name = 'pay_15'), 0::bigint, 'an old name goes');
select is(tests.terms('pay_15x') ~ 'pay15x', true, 'for the new one');
select tests.is_kept('changing many at once');
select chumbo.drop_capability('pay_1', 'demo');
select is((select count(*) from pg_temp.index where name = 'pay_1'), 0::bigint, 'what is dropped goes');
delete from chumbo.capabilities where name like 'pay\_1%';
select tests.is_kept('deleting');
select is((select count(*) from chumbo.search_postings as p where not exists (select from chumbo.capabilities as c where c.id = p.capability_id)), 0::bigint, 'nothing of it stays');

-- A second server, and code.
select chumbo.register_server('other');
select chumbo.sync_capabilities('{"tools": [{"name": "a", "description": "Alpha", "inputSchema": {"type": "object", "properties": {"beta": {"description": "Gamma"}, "odd": true}}, "search": "delta"},
  {"name": "b", "inputSchema": {"type": "object"}}, {"name": "c", "visibility": ["app"], "inputSchema": {"type": "object"}}], "prompts": [{"name": "p", "description": "Prompt"}]}', 'other');
select is(tests.terms('a'), 'a alpha beta delta gamma odd', 'a manifest is indexed like everything');
select is((select string_agg(distinct i.name, ' ') from pg_temp.index as i join chumbo.servers as s on s.id = i.server_id where s.slug = 'other'), 'a b', 'its tools for models, and nothing else');
select tests.is_kept('a manifest');
update chumbo.capabilities set server_id = (select id from chumbo.servers where slug = 'demo') where name = 'b';
select tests.is_kept('moving to another server');
delete from chumbo.servers where slug = 'other';
select is((select count(*) from pg_temp.index where name = 'a') + (select count(*) from chumbo.search_audiences as a where not exists (select from chumbo.servers as s where s.id = a.server_id)), 0::bigint,
  'a server takes its part along');
select tests.is_kept('deleting a server');

-- Writing a row again as it was must not write the index.
create temporary table stamps on commit drop as select ctid::text as place, capability_id, term from chumbo.search_postings;
update chumbo.capabilities set updated_at = now() + interval '1 day', row_cap = 7, is_pinned = true;
select chumbo.register_tool('demo.pay', 'demo', name => 'pay_2', description => 'Pays bill 2');
select set_eq('select ctid::text as place, capability_id, term from chumbo.search_postings', 'select place, capability_id, term from stamps', 'what changes no word leaves the index alone');
select tests.is_kept('and all of it agrees in the end');
update chumbo.capabilities set description = repeat('long words without an end ', 2000) || repeat('x', 5000) where name = 'pay_2';
select cmp_ok((select count(*) from chumbo.search_postings as p join chumbo.capabilities as c on c.id = p.capability_id where c.name = 'pay_2'), '<', 30::bigint, 'a text without an end makes no index without one');
select has_index('chumbo', 'search_postings', 'search_postings_term_idx', 'postings are read by their term');

select * from finish();
rollback;
