-- tests/sql/chumbo_upkeep_test.sql — upkeep_report: what grew, how old it is, and when maintain last ran.
begin;
select plan(12);

select function_privs_are('chumbo', 'upkeep_report', array[]::text[], role, array[]::text[], role || ' may not ask')
from unnest(array['anon', 'authenticated', 'service_role', 'chumbo_runtime']) as role;
select policies_are('chumbo', 'upkeep', array[]::name[], 'nobody but the owner reads when it ran');
select is(chumbo.upkeep_report() -> 'last_run', 'null', 'it never ran');
select is(chumbo.upkeep_report() #> '{receipts,oldest}', 'null', 'and there is no receipt');

-- D35: half of the receipts are older than what is kept.
insert into chumbo.receipts (created_at, server, kind, strategy, trace_id, outcome)
select now() - days * interval '1 day', 'default', 'tool', 'oauth', '', 'ok' from unnest(array[0, 0, 40, 41]) as d (days);
select results_eq(
  $$ select (r #>> '{receipts,oldest}')::timestamptz, (r #>> '{receipts,rest_rows}')::integer, (r #>> '{receipts,bytes}')::bigint > 0 from chumbo.upkeep_report() as r $$,
  $$ values (now() - interval '41 days', 2, true) $$, 'the oldest is told, and how many lie outside of any month');
insert into chumbo.idempotency (server_id, subject, client_id, capability, key_hash, status, expires_at)
values (chumbo.server_id('default'), '', '', 'x', 'y', 'done', now() - interval '1 day');
select is(chumbo.upkeep_report() #> '{keys,expired}', '1', 'and how many keys have expired');

select chumbo.maintain(keep => '30 days');
select results_eq(
  $$ select (r #>> '{last_run,result,receipts}')::integer, (r #>> '{last_run,ran_at}')::timestamptz between now() and clock_timestamp(),
      (r #>> '{receipts,oldest}')::timestamptz, (r #>> '{keys,expired}')::integer from chumbo.upkeep_report() as r $$,
  $$ values (2, true, now(), 0) $$, 'after maintain only newer ones are left, and it is told when that was');
select chumbo.maintain(keep => '30 days');
select is(chumbo.upkeep_report() #> '{last_run,result,receipts}', '0', 'a second run does nothing, and says so');
select is((select count(*) from chumbo.upkeep), 1::bigint, 'and leaves no second row behind');

select * from finish();
rollback;
