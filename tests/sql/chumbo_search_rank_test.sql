-- tests/sql/chumbo_search_rank_test.sql — in which order tools are found: a row a query, over two catalogs.
begin;
\ir support/people.psql
select plan(113);
\ir support/runtime.psql

-- The names of what a query finds, best first.
create function tests.ranked(query text, scopes text[] default '{}', server text default 'demo') returns text[] language sql volatile as $$
  select array(
    select c.name::text
    from unnest(chumbo.search_ranked((select id from chumbo.servers as s where s.slug = $3), $2, $1)) with ordinality as f (id, place)
    join chumbo.capabilities as c on c.id = f.id
    order by f.place)
$$;

-- Case D40: two hundred tools, some of which say in their names what their descriptions do not repeat.
select chumbo.define_scope('invoices');
select chumbo.sync_capabilities(jsonb_build_object('tools', (
  select jsonb_agg(jsonb_build_object('name', t.name, 'description', t.description, 'scopes', t.scopes::jsonb, 'inputSchema', jsonb_build_object('type', 'object',
    'properties', coalesce(t.properties::jsonb, '{"id": {"type": "string", "description": "Which one."}}'))))
  from (
    select format('%s_%s_%s', v, n, i), format('Works on the %s of record %s.', n, i), '[]', null
    from (select i, (array['read', 'update', 'remove', 'send'])[1 + i % 4] as v, (array['note', 'file', 'page', 'user', 'team', 'role'])[1 + i % 6] as n from generate_series(1, 186) as i) as f
    union all values
    ('board_add_link', 'Puts an address beside a card.', '[]', null),
    ('createInvoice', 'Writes a bill for somebody.', '["invoices"]', null),
    ('list-open-tasks', 'What is left to do.', '[]', null),
    ('exportLedger', 'Writes it out. Export.', '[]', null),
    ('quarterly', 'Says how the year went.', '[]', '{"ledger": {"type": "string", "description": "The ledger. Ledger, ledger, ledger and ledger."}}'),
    ('bookkeeping', 'Ledger: the ledger, ledger by ledger, ledger upon ledger, of any ledger and every ledger.', '[]', '{"ledger": {"type": "string", "description": "Ledger."}}'),
    ('HTTPServerStatus', 'Whether it answers.', '[]', null),
    ('sign_in', 'Opens a session.', '[]', null), ('sign_out', 'Ends a session.', '[]', null), ('who_am_i', 'Says whose session this is.', '[]', null),
    ('list_open_tasks', 'What is left to do.', '[]', null), ('oauth2_clients', 'Registered applications.', '[]', null),
    ('crear_etiqueta', 'Etiqueta nueva para una tarea.', '[]', null), ('translate', 'Übersetzt Straßennamen; 翻訳 請求書.', '[]', null)
  ) as t (name, description, scopes, properties)
)), 'demo');
select is((select count(*) from chumbo.capabilities where server_id = (select id from chumbo.servers where slug = 'demo')), 200::bigint, 'there are two hundred');

select cmp_ok(array_position(tests.ranked(query, '{invoices}'), name), '<=', 3, format('%L finds %s among the first three', query, name))
from (values ('add link', 'board_add_link'), ('create invoice', 'createInvoice'), ('open tasks', 'list-open-tasks')) as t (query, name);
select is((tests.ranked(query, '{invoices}'))[1], name, format('%L finds %s first', query, name))
from (values
  ('add link', 'board_add_link'), ('link add', 'board_add_link'), ('please add a link to the board', 'board_add_link'), ('links', 'board_add_link'),
  ('create invoice', 'createInvoice'), ('invoices', 'createInvoice'), ('INVOICE', 'createInvoice'), ('createinvoice', 'createInvoice'), ('create-invoice', 'createInvoice'),
  ('http status', 'HTTPServerStatus'), ('server', 'HTTPServerStatus'), ('httpserverstatus', 'HTTPServerStatus'),
  ('sign out', 'sign_out'), ('sign in', 'sign_in'), ('how do I sign out?', 'sign_out'), ('who am i', 'who_am_i'), ('whoami', 'who_am_i'),
  ('oauth', 'oauth2_clients'), ('oauth2', 'oauth2_clients'), ('OAuth clients', 'oauth2_clients'),
  ('etiquetas', 'crear_etiqueta'), ('ETIQUETA', 'crear_etiqueta'), ('strassennamen', 'translate'), ('ubersetzt', 'translate'), ('請求書', 'translate'), ('翻訳', 'translate'),
  ('ledger', 'exportLedger'), ('read note 24', 'read_note_24'), ('note 24', 'read_note_24'), ('role of record 35', 'send_role_35')
) as t (query, name);
select is((tests.ranked(query, '{invoices}'))[1], name, format('the exact name %L comes first', query))
from (values ('board_add_link', 'board_add_link'), ('createInvoice', 'createInvoice'), ('list-open-tasks', 'list-open-tasks'), ('list_open_tasks', 'list_open_tasks'),
  (' list-open-tasks ', 'list-open-tasks'), ('`list_open_tasks`', 'list_open_tasks'), ('"list-open-tasks"?', 'list-open-tasks'), ('who_am_i', 'who_am_i'), ('translate', 'translate')) as t (query, name);
select is(tests.ranked('ledger'), '{exportLedger,bookkeeping,quarterly}', 'a word in the name outranks the description that repeats it, and that a parameter');
select is((tests.ranked('open tasks'))[:2], '{list-open-tasks,list_open_tasks}', 'what is equal comes in the order of registration');
select is(cardinality(tests.ranked('record')), 5, 'five at most');
select is(tests.ranked('record'), tests.ranked('record'), 'the same five each time');
select is(tests.ranked(query), '{}', format('%L finds nothing', query))
from unnest(array['zebra quantum', 'weather in Paris', 'the', 'of the by', 'xyzzy', 'do you have anything about rockets?']) as query;
select is(tests.ranked(query, '{}'), found, format('without the right to createInvoice, %L finds %s', query, found))
from (values ('create invoice', '{}'::text[]), ('createInvoice', '{}'), ('bill', '{}')) as t (query, found);

-- Every injection is a query like any other.
select lives_ok(format('select tests.ranked(%L)', query), 'no harm in ' || query)
from unnest(array[',', ')', '"', '%', '_', '\', '''', '; drop table chumbo.capabilities; --', '$1', '${x}', '{{x}}', '<script>', '(?:x+)+y', '[a-', '\u0000', '*:*', 'a | b & !c <-> d', E'\n\t\r', E'\x01\x1f']) as query;

-- A bank, asked in two languages. What its tools are called and do is English.
delete from chumbo.capabilities where server_id = (select id from chumbo.servers where slug = 'demo');
select chumbo.sync_capabilities(jsonb_build_object('tools', (
  select jsonb_agg(jsonb_build_object('name', t.name, 'description', t.description, 'inputSchema', '{"type": "object", "properties": {"request": {"type": "object", "description": "The request with its scope."}}}'::jsonb))
  from (values
    ('get_financial_overview', 'Overview of financial health: balances, income, expenses, debts and savings in one summary.'),
    ('get_accounts', 'Bank accounts with their available balance and the cards that belong to them.'),
    ('get_credit_cards', 'Credit cards with their limit, available credit, cutoff and due dates.'),
    ('get_transactions', 'Latest transactions: purchases, charges and deposits with merchant and category.'),
    ('analyze_spending', 'How much was spent in a month or period, by category and merchant, compared with the one before.'),
    ('get_cash_flow', 'Monthly cash flow: income against expenses and what is left.'),
    ('get_budget_progress', 'Budgets with their limit and how much of it is used.'),
    ('get_savings_progress', 'Savings goals with the contributions made so far and the progress.'),
    ('get_debt_overview', 'Outstanding debts: what the user owes, monthly instalments and interest.'),
    ('compare_debt_scenarios', 'Compares scenarios and strategies to pay off one debt.'),
    ('get_upcoming_payments', 'Upcoming payments with due dates: subscriptions, bills and debts that are due soon.'),
    ('get_financial_alerts', 'Active alerts and warnings, the urgent ones first, and the risk they tell of.'),
    ('get_bank_statements', 'Bank statements with opening and closing balances.'),
    ('get_payment_activity', 'Transfers and payment orders that were made, with their status.'),
    ('get_beneficiaries', 'Saved payees: beneficiaries and recipients of transfers.'),
    ('get_transaction_disputes', 'Disputes of fraudulent or wrong transactions and how they were resolved.'),
    ('forecast_cash_balance', 'Forecasts the balance of an account over the next days: liquidity and the lowest cash to expect.'),
    ('predict_savings_goal', 'Predicts whether a savings goal will be complete on time: probability and estimated date.'),
    ('forecast_recurring_charges', 'Forecasts recurring charges such as subscriptions in the weeks to come.'),
    ('detect_transaction_anomalies', 'Detects unusual transactions: anomalies in recent movements.'),
    ('database_overview', 'The tables and views that may be read.')
  ) as t (name, description)
)), 'demo');
\ir support/spanish.psql
select is((tests.ranked(query))[1], name, format('%L finds %s first', query, name))
from (values
  ('debts outstanding', 'get_debt_overview'), ('how much do I owe?', 'get_debt_overview'), ('compare ways to pay off my debt', 'compare_debt_scenarios'),
  ('how much did I spend this month by category', 'analyze_spending'), ('transfers I made last month', 'get_payment_activity'), ('upcoming bills', 'get_upcoming_payments'),
  ('is my savings goal on time', 'predict_savings_goal'), ('fraud dispute', 'get_transaction_disputes'), ('saved recipients', 'get_beneficiaries'), ('card limit', 'get_credit_cards'),
  ('bank statement', 'get_bank_statements'), ('unusual transactions', 'detect_transaction_anomalies'),
  ('¿Cuánto debo?', 'get_debt_overview'), ('mis deudas pendientes', 'get_debt_overview'), ('cuánto gasté este mes', 'analyze_spending'), ('CUANTO GASTE ESTE MES', 'analyze_spending'),
  ('¿Cuál es mi flujo de efectivo?', 'get_cash_flow'), ('quiero una aclaración', 'get_transaction_disputes'), ('encuentra movimientos anómalos', 'detect_transaction_anomalies'),
  ('próximos pagos', 'get_upcoming_payments'), ('saldo de mis cuentas', 'get_accounts'), ('mis tarjetas de crédito', 'get_credit_cards'), ('fecha de corte de mi tarjeta', 'get_credit_cards'),
  ('avance de mis metas de ahorro', 'get_savings_progress'), ('presupuestos', 'get_budget_progress'), ('mis beneficiarios guardados', 'get_beneficiaries'), ('alertas urgentes', 'get_financial_alerts'),
  ('resumen de mi salud financiera', 'get_financial_overview'), ('compara estrategias para pagar la deuda', 'compare_debt_scenarios'), ('pronóstico de cargos recurrentes', 'forecast_recurring_charges')
) as t (query, name);
select ok(array[name] <@ tests.ranked(query), format('%L finds %s', query, name))
from (values
  ('latest movements', 'get_transactions'), ('latest movements', 'detect_transaction_anomalies'), ('how is my savings goal going', 'get_savings_progress'), ('how is my savings goal going', 'predict_savings_goal'),
  ('probabilidad de completar mi meta', 'predict_savings_goal'), ('fecha estimada de mi meta', 'predict_savings_goal'), ('liquidez de mi cuenta', 'forecast_cash_balance'), ('cargos inusuales', 'detect_transaction_anomalies')
) as t (query, name);

select * from finish();
rollback;
