-- tests/sql/chumbo_complete_test.sql — set_completion and chumbo_complete: suggestions under the caller's rights.
begin;
\ir support/people.psql
select plan(39);
\ir support/runtime.psql

select function_privs_are('public', 'chumbo_complete', array['text', 'jsonb', 'jsonb', 'jsonb', 'jsonb'], role, array[]::text[], role || ' may not complete')
from unnest(array['anon', 'authenticated']) as role;
select function_privs_are('chumbo', 'set_completion', array['text', 'text', 'text', 'text', 'text'], role, array[]::text[], role || ' may not decide what completes')
from unnest(array['anon', 'authenticated', 'service_role', 'chumbo_runtime']) as role;

create table demo.cities (name text, country text, owner_id uuid);
alter table demo.cities enable row level security;
create policy select_own on demo.cities for select to authenticated using (owner_id is null or owner_id = (select auth.uid()));
grant select on demo.cities to authenticated;
insert into demo.cities values ('Paris', 'France', null), ('Passau', 'Germany', null), ('Palermo', 'Italy', null), ('Pa secret', 'Italy', tests.person('bob'));
insert into demo.cities select 'Q' || n, 'Numbers', null from generate_series(1, 1500) as n;
create function demo.suggest_city(typed text) returns setof text language sql stable as 'select c.name from demo.cities as c where c.name like typed || ''%'' order by c.name';
create function demo.suggest_in(typed text, others jsonb) returns table (city text) language sql stable
  as 'select c.name from demo.cities as c where c.name like typed || ''%'' and c.country = others ->> ''country'' order by c.name';
create function demo.suggest_badly(typed text) returns setof text language plpgsql stable as $$ begin raise exception 'secret'; end $$;
create function demo.suggest_writing(typed text) returns setof text language plpgsql volatile as $$ begin delete from demo.cities; return next 'x'; end $$;
create function demo.suggest_one(typed text) returns text language sql stable as 'select typed';
create function demo.suggest_number(typed integer) returns setof text language sql stable as 'select typed::text';
create function demo.suggest_all() returns setof text language sql stable as 'select ''x''';
create function demo.weather(city text, country text) returns text language sql stable as 'select city || country';
grant delete on demo.cities to authenticated;
do $$ declare f regprocedure; begin
  for f in select oid::regprocedure from pg_proc where pronamespace = 'demo'::regnamespace loop
    execute format('comment on function %s is %L', f, 'A function.');
  end loop;
end $$;
select chumbo.define_scope('demo:hidden');
select chumbo.register_prompt('trip', '"Plan a trip to {{city}} in {{country}} with {{other}}, {{bad}}, {{writing}}."', server => 'demo');
select chumbo.register_prompt('hidden', '"To {{city}}."', server => 'demo', scopes => '{demo:hidden}');
select chumbo.register_resource('app://weather/{country}/{city}', 'demo.weather', server => 'demo');
select lives_ok($$ select chumbo.set_completion('trip', 'city', 'demo.suggest_city', server => 'demo') $$, 'an argument of a prompt is completed by a function');
select chumbo.set_completion('trip', 'country', 'demo.suggest_city', server => 'demo'), chumbo.set_completion('trip', 'country', null, server => 'demo'),
  chumbo.set_completion('trip', 'bad', 'demo.suggest_badly', server => 'demo'), chumbo.set_completion('trip', 'writing', 'demo.suggest_writing', server => 'demo'),
  chumbo.set_completion('hidden', 'city', 'demo.suggest_city', server => 'demo'),
  chumbo.set_completion('weather', 'city', 'demo.suggest_in(text, jsonb)', 'resource_template', 'demo');
select throws_ok(statement, code, slug, label)
from (values
  ('select chumbo.set_completion(''absent'', ''x'', ''demo.suggest_city'', server => ''demo'')', 'PT404', 'unknown_capability', 'of an unknown prompt'),
  ('select chumbo.set_completion(''weather'', ''city'', ''demo.suggest_city'', server => ''demo'')', 'PT404', 'unknown_capability', 'of a template that is called a prompt'),
  ('select chumbo.set_completion(''trip'', ''absent'', ''demo.suggest_city'', server => ''demo'')', 'PT400', 'invalid_option', 'of an argument that is not there'),
  ('select chumbo.set_completion(''weather'', ''absent'', ''demo.suggest_city'', ''resource_template'', ''demo'')', 'PT400', 'invalid_option', 'of a variable that is not there'),
  ('select chumbo.set_completion(''trip'', ''city'', ''demo.absent'', server => ''demo'')', 'PT404', 'unknown_target', 'by nothing'),
  ('select chumbo.set_completion(''trip'', ''city'', ''demo.suggest_one'', server => ''demo'')', 'PT400', 'unsupported_target', 'by a single text'),
  ('select chumbo.set_completion(''trip'', ''city'', ''demo.suggest_number'', server => ''demo'')', 'PT400', 'unsupported_target', 'by a function of a number'),
  ('select chumbo.set_completion(''trip'', ''city'', ''demo.suggest_all'', server => ''demo'')', 'PT400', 'unsupported_target', 'by a function of nothing')
) as v (statement, code, slug, label);

create function tests.complete(person text, reference jsonb, argument text, typed text, context jsonb default null, more jsonb default '{}') returns text language sql volatile as $$
  select case a ->> 'outcome' when 'ok' then concat_ws(' ', a ->> 'values', a ->> 'total', a ->> 'has_more') else concat_ws(' ', a ->> 'outcome', a #>> '{error,code}') end
  from public.chumbo_complete('demo', reference, jsonb_build_object('name', argument, 'value', typed), context, tests.request(person, more)) as a
$$;
create function tests.trip() returns jsonb language sql immutable as $$ select '{"type": "ref/prompt", "name": "trip"}'::jsonb $$;
create function tests.weather() returns jsonb language sql immutable as $$ select '{"type": "ref/resource", "uri": "app://weather/{country}/{city}"}'::jsonb $$;

select tests.act_as_runtime();
select is(tests.complete('alice', tests.trip(), 'city', 'Pa'), '["Palermo", "Paris", "Passau"] 3 false', 'what the caller may see is suggested');
select is(tests.complete('bob', tests.trip(), 'city', 'Pa'), '["Pa secret", "Palermo", "Paris", "Passau"] 4 false', 'to each what is theirs');
select is(tests.complete('alice', tests.trip(), 'city', 'Zz'), '[] 0 false', 'or nothing');
select is(tests.complete('alice', tests.trip(), 'city', '%'' or true --'), '[] 0 false', 'what was typed is data');
select matches(tests.complete('alice', tests.trip(), 'city', 'Q1'), '"Q1088"\] 612 true', 'a hundred at most, the rest is counted');
select is(right(tests.complete('alice', tests.trip(), 'city', ''), 6), '] true', 'up to a thousand');
select is(tests.complete('alice', tests.trip(), 'country', 'Pa'), '[] 0 false', 'what nothing completes has no suggestions');
select is(tests.complete('alice', tests.trip(), 'absent', 'Pa'), '[] 0 false', 'nor has what is no argument');
select is(tests.complete('alice', tests.weather(), 'city', 'Pa', '{"arguments": {"country": "Italy"}}'), '["Palermo"] 1 false', 'the other arguments may narrow it down');
select is(tests.complete('alice', tests.weather(), 'city', 'Pa', '{"arguments": []}'), '[] 0 false', 'when they are given');
select is(tests.complete('alice', '{"type": "ref/resource", "uri": "app://weather/Italy/P"}', 'city', 'Pa', '{"arguments": {"country": "Italy"}}'), '["Palermo"] 1 false', 'a URI stands for its template');
select is(tests.complete('alice', tests.trip(), 'bad', 'x'), 'tool_error tool_failed', 'a function that fails says so');
select is(tests.complete('alice', tests.trip(), 'writing', 'x'), 'tool_error tool_failed', 'and one that writes is held off');
select is(tests.complete('alice', reference::jsonb, 'city', 'Pa'), 'refused unknown_capability', reference || ' is as good as absent')
from unnest(array['{"type": "ref/prompt", "name": "absent"}', '{"type": "ref/prompt", "name": "hidden"}', '{"type": "ref/resource", "uri": "app://absent"}', '{"type": "ref/resource"}', '{}']) as r (reference);
select is(tests.complete('alice', '{"type": "ref/prompt", "name": "absent"}', 'city', 'Pa', null, '{"may_be_code": true}'), 'unmatched', 'what code may know is not refused yet');
select tests.act_as_owner();
select is((select count(*) from demo.cities), 1504::bigint, 'nothing was deleted');
select is_empty('select from chumbo.receipts', 'completing leaves no receipts');
select chumbo.set_rate_limit('typing', 'demo', 'trip', requests => 1);
select tests.act_as_runtime();
select is(tests.complete('alice', tests.trip(), 'city', 'Passa'), '["Passau"] 1 false', 'but limits count it');
select is(tests.complete('alice', tests.trip(), 'city', 'Passa'), 'refused rate_limited', 'every time');
select tests.act_as_owner();
select chumbo.register_prompt('trip', '"Plan a trip to {{town}}, {{bad}}."', server => 'demo');
select is((select array(select jsonb_object_keys(c.completions)) from chumbo.capabilities as c where c.name = 'trip'), array['bad'], 'what completes an argument goes with it');

select * from finish();
rollback;
