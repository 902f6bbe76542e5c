-- tests/sql/chumbo_synonyms_test.sql — set_synonyms, and how a query is read with them.
begin;
\ir support/people.psql
select plan(42);
\ir support/runtime.psql
select chumbo.register_server('other');

select function_privs_are('chumbo', 'set_synonyms', array['jsonb', 'text'], role, array[]::text[], role || ' may not teach a server words')
from unnest(array['anon', 'authenticated', 'service_role', 'chumbo_runtime']) as role;
select policies_are('chumbo', 'search_synonyms', array['select_runtime'], 'the runtime may read them');

create function pg_temp.read(query text, server text default 'demo') returns text language sql volatile as $$
  select array_to_string(q.terms[:q.telling], ' ') || coalesce(nullif(' (' || array_to_string(q.terms[q.telling + 1:], ' ') || ')', ' ()'), '')
  from chumbo.search_query((select id from chumbo.servers where slug = $2), query) as q
$$;

-- Without any.
select is(pg_temp.read(query), told, coalesce(format('%L', left(query, 40)), 'null') || ' asks for ' || coalesce(nullif(left(told, 40), ''), 'nothing'))
from (values
  ('create invoice', 'create invoice'),
  ('How do I create an invoice, please?', 'create invoice (an do how i please)'),
  ('the of and', 'and of the'),
  ('who am i', 'am i who'),
  ('', ''),
  (null, ''),
  (' , ) " % _ \ '' ; -- ` $$', ''),
  ('invoice invoice INVOICES', 'invoice')
) as t (query, told);
select is(cardinality((chumbo.search_query(1, string_agg(format('a%sb', repeat('x', i)), ' '))).terms), 32, 'no more than 32 terms') from generate_series(1, 60) as i;
select is(pg_temp.read(repeat('a ', 490) || 'invoice ' || repeat(' ticket', 2000)), 'a', 'out of no more than the first words') ;
select is(cardinality((chumbo.search_query(1, repeat('ä', 10240))).terms), 1, 'ten kilobytes of a query are read as far as a thousand characters');

-- With some.
select is(chumbo.set_synonyms('{"Deuda": "debt", "Débo": ["owe", "debts"], "fecha de corte": "cut-off date", "fecha": "day", "quiza": "", "ya": "now"}', 'demo'), 6, 'six are taught');
select is(chumbo.set_synonyms('{"deuda": "debt", "debo": ["owe", "debts"], "fecha de corte": "cut-off date", "fecha": "day", "quiza": [], "ya": "now"}', 'demo'), 0,
  'and again is no news, however it is written');
select is(pg_temp.read(query), told, format('%L now asks for %s', query, told))
from (values
  ('deuda', 'debt'),
  ('¿Cuánto DEBO?', 'owe debt (cuanto)'),
  ('la fecha de corte de mi tarjeta', 'cut off date tarjeta cutoff (de la mi)'),
  ('fecha de pago', 'day pago (de)'),
  ('quizá una deuda', 'debt (una)'),
  ('quizá', 'quiza'),
  ('deuda-ya', 'deuda ya deudaya'),
  ('fecha', 'day')
) as t (query, told);
select is(pg_temp.read('deuda', 'other'), 'deuda', 'another server was taught nothing');
select is(chumbo.set_synonyms('{"deuda": "liability", "fecha": null, "nunca": null}', 'demo'), 2, 'one is changed, one forgotten, and one was never there');
select is(pg_temp.read('fecha deuda'), 'fecha liability', 'which shows');
select is((select count(*) from chumbo.search_synonyms where meaning ~ '[A-Z]' or phrase ~ '[^a-z ]'), 0::bigint, 'they are kept folded');
select is(chumbo.set_synonyms('{}', 'demo'), 0, 'nothing changes nothing');

select throws_ok(format('select chumbo.set_synonyms(%L, ''demo'')', entries), 'PT400', 'invalid_synonyms', entries || ' are no synonyms')
from unnest(array['[]', '"a"', 'null', '{"a": 1}', '{"a": {}}', '{"a": ["b", 1]}', '{"": "a"}', '{" ? ": "a"}', '{"a b c d": "e"}', '{"a": true}']) as entries;
select throws_ok($$ select chumbo.set_synonyms('{}', 'absent') $$, 'PT404', 'unknown_server', 'nor is there such a server');

select * from finish();
rollback;
