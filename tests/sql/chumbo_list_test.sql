-- tests/sql/chumbo_list_test.sql — chumbo_list: lists end, name nothing twice, and equal what the caller can read.
begin;
\ir support/people.psql
select plan(34);
\ir support/runtime.psql

select function_privs_are('public', 'chumbo_list', array['text', 'text', 'jsonb'], role, array[]::text[], role || ' may not list')
from unnest(array['anon', 'authenticated']) as role;
select function_privs_are('public', 'chumbo_list', array['text', 'text', 'jsonb'], role, array['EXECUTE'], role || ' may')
from unnest(array['service_role', 'chumbo_runtime']) as role;

create function tests.list(person text, kind text, more jsonb default '{}') returns jsonb language sql volatile
  as $$ select public.chumbo_list('demo', kind, tests.request(person, '{"kind": "resource,resource_template,prompt"}' || more)) $$;
create function tests.names(answer jsonb) returns text language sql immutable as $$
  select concat_ws(' | ', (select string_agg(e ->> 'name', ' ' order by place) from jsonb_array_elements(answer -> 'entries') with ordinality as x (e, place)),
    (select string_agg(e #>> '{definition,uri}', ' ' order by place) from jsonb_array_elements(answer -> 'listed') with ordinality as x (e, place)), '→ ' || (answer ->> 'next'))
$$;

select tests.act_as_runtime();
select is(tests.list('alice', null) - array['revision', 'scopes'],
  '{"outcome": "listed", "server": {"name": null, "version": null, "title": null, "instructions": null, "unregistered": "serve", "catalog_mode": "list", "cache_seconds": 0}, "offers": {"resources": false, "prompts": false, "completions": false}}',
  'a server without rows announces nothing');
select is(tests.names(tests.list('alice', 'resource')), '', 'and lists nothing');
select tests.act_as_owner();

create table demo.notes (id integer primary key, owner_id uuid not null, body text);
alter table demo.notes enable row level security;
create policy select_own on demo.notes for select to authenticated using (owner_id = (select auth.uid()));
grant select on demo.notes to authenticated;
insert into demo.notes values (1, tests.person('alice'), 'one'), (2, tests.person('alice'), 'two'), (3, tests.person('bob'), 'three');
create function demo.note(id text) returns text language sql stable as 'select n.body from demo.notes as n where n.id::text = note.id';
create function demo.notes() returns table (uri text, name text, title text, description text, mime_type text, size bigint, last_modified date) language sql stable
  as 'select ''app://notes/'' || n.id, ''note '' || n.id, initcap(n.body), null, null, length(n.body), ''2026-01-01''::date from demo.notes as n order by n.id';
create function demo.strays() returns table (uri text) language sql stable as $$ values
  ('app://strays/1'), ('app://strays/1'), ('app://strays/fixed'), ('app://notes/1'), ('other://x'), (null), (''), ('app://strays/%00'), ('app://strays/2') $$;
create function demo.failing() returns table (uri text) language plpgsql stable as $$ begin raise exception 'secret'; end $$;
create function demo.endless() returns table (uri text) language sql stable as 'select ''app://endless/'' || n from generate_series(1, 100000) as n';
do $$ declare f regprocedure; begin
  for f in select oid::regprocedure from pg_proc where pronamespace = 'demo'::regnamespace loop
    execute format('comment on function %s is %L', f, 'A function.');
  end loop;
end $$;
select chumbo.define_scope('demo:hidden');
select chumbo.register_resource('app://' || n, content => n, name => n, server => 'demo') from unnest(array['a', 'b', 'c']) as n;
select chumbo.register_resource('app://hidden', content => 'x', name => 'hidden', server => 'demo', scopes => '{demo:hidden}');
select chumbo.register_resource('app://off', content => 'x', name => 'off', server => 'demo'), chumbo.disable('off', 'demo', 'resource');
select chumbo.register_resource('app://notes/{id}', 'demo.note', list => 'demo.notes', name => 'notes', mime_type => 'text/markdown', server => 'demo');
select chumbo.register_resource('app://strays/{id}', 'demo.note', list => 'demo.strays', name => 'strays', server => 'demo');
select chumbo.register_resource('app://strays/fixed', content => 'x', name => 'fixed', server => 'demo');
select chumbo.register_resource('app://failing/{id}', 'demo.note', list => 'demo.failing', name => 'failing', server => 'demo');
select chumbo.register_resource('app://unlisted/{id}', 'demo.note', name => 'unlisted', server => 'demo');
select chumbo.register_resource('app://hidden/{id}', 'demo.note', list => 'demo.strays', name => 'secret', server => 'demo', scopes => '{demo:hidden}');
select chumbo.register_prompt('hello', '"Hello {{who}}."', server => 'demo');
select chumbo.register_prompt('hushed', '"Hush."', server => 'demo', scopes => '{demo:hidden}');
select chumbo.sync_capabilities('{"resources": [{"name": "coded", "uri": "app://coded"}]}', 'demo');

-- Act, assert.
select tests.act_as_runtime();
select is(tests.list('alice', null) -> 'offers', '{"resources": true, "prompts": true, "completions": false}', 'rows let the server announce their kinds');
select is(tests.names(tests.list('alice', 'resource')), 'a b c coded fixed | app://notes/1 app://notes/2 app://strays/1 app://strays/2',
  'what is registered comes first, then what each template lists for this caller, every URI once and only its own');
select is(tests.names(tests.list('bob', 'resource')), 'a b c coded fixed | app://notes/3 app://strays/1 app://strays/2', 'Bob gets his own');
select is(tests.names(tests.list('nobody', 'resource')), 'a b c coded fixed', 'a function that the caller may not run costs its own entries only');
select is(tests.names(tests.list('alice', 'resource_template')), 'failing notes strays unlisted', 'templates are listed by name');
select is(tests.names(tests.list('alice', 'prompt')), 'hello', 'and so are prompts');
select is(tests.list('alice', 'resource') #> '{listed,0,definition}',
  '{"uri": "app://notes/1", "name": "note 1", "size": 3, "title": "One", "mimeType": "text/markdown", "annotations": {"lastModified": "2026-01-01T00:00:00.000Z"}}',
  'an entry says what its row says, and takes the rest from the template');
select is(tests.list('alice', 'resource') #> '{listed,2,definition}', '{"uri": "app://strays/1", "name": "app://strays/1", "mimeType": "text/plain"}', 'one without a name is called by its URI');
select is(tests.list('alice', 'prompt') #> '{entries,0,definition}', '{"name": "hello", "arguments": [{"name": "who", "required": true}]}', 'a prompt comes with its arguments');
select is((select count(*) from jsonb_array_elements(tests.list('alice', 'resource') -> 'listed') as e
  where public.chumbo_read('demo', e #>> '{definition,uri}', tests.request('alice')) ->> 'outcome' not in ('ok', 'tool_error')), 0::bigint, 'nothing is listed that is not admitted');
select is_empty($$ select from chumbo.receipts where kind not like 'resource%' $$, 'a list leaves no receipt');
select tests.act_as_owner();
select chumbo.grant_scope('demo:hidden', 'user', tests.person('bob'));
select tests.act_as_runtime();
select is(tests.names(tests.list('bob', 'resource')), 'a b c coded fixed hidden | app://notes/3 app://strays/1 app://strays/2', 'a granted scope shows at once');
select is(tests.names(tests.list('bob', 'prompt')), 'hello hushed', 'in every list');

-- Pages end, and together they are the list.
select tests.act_as_owner();
select chumbo.register_server('demo', settings => '{"page_size": 2}');
create function tests.pages(person text, kind text) returns text language plpgsql volatile as $$
declare
  v_after jsonb := '{}';
  v_answer jsonb;
  v_pages text[];
begin
  for i in 1 .. 50 loop
    v_answer := tests.list(person, kind, v_after);
    v_pages := v_pages || tests.names(v_answer - 'next');
    exit when v_answer ->> 'next' is null;
    v_after := jsonb_build_object('after', v_answer ->> 'next');
  end loop;
  return array_to_string(v_pages, ' ; ');
end;
$$;
select tests.act_as_runtime();
select is(tests.pages('alice', 'resource'), 'a b ; c coded ; fixed | app://notes/1 app://notes/2 ; app://strays/1 app://strays/2', 'a page holds as many as it may, and the last list whole');
select is(tests.pages('alice', 'resource_template'), 'failing notes ; strays unlisted', 'templates have pages');
select is(tests.pages('alice', 'prompt'), 'hello', 'prompts as well');
select is(tests.names(tests.list('alice', 'resource', '{"after": "zzz"}')), 'app://notes/1 app://notes/2 | → @notes', 'behind the last row come the lists');
select is(tests.names(tests.list('alice', 'resource', '{"after": "@zzz"}')), '', 'and behind the last list nothing');
select is(tests.names(tests.list('alice', 'resource_template', '{"after": "@x"}')), '', 'templates have no lists behind them');
select tests.act_as_owner();
select chumbo.register_server('demo', settings => '{"page_size": 5}');
select tests.act_as_runtime();
select is(tests.pages('alice', 'resource'), 'a b c coded fixed ; app://notes/1 app://notes/2 app://strays/1 app://strays/2', 'a page full of rows leaves the lists to the next');

-- Bounds.
select tests.act_as_owner();
select chumbo.register_resource('app://endless/{id}', 'demo.note', list => 'demo.endless', name => 'endless', row_cap => 150, server => 'demo');
select tests.act_as_runtime();
select is((select count(*) from jsonb_array_elements(tests.list('alice', 'resource', '{"after": "@"}') -> 'listed')), 150::bigint, 'a list without end is cut at its cap');
select is(tests.list('alice', 'resource', '{"after": "@"}') ->> 'next', '@endless', 'and the next page goes on behind it');
select tests.act_as_owner();
select chumbo.register_resource(format('app://t%s/{id}', n), 'demo.note', list => 'demo.failing', name => format('zt%s', lpad(n::text, 2, '0')), server => 'demo') from generate_series(1, 30) as n;
select tests.act_as_runtime();
select is(tests.list('alice', 'resource', '{"after": "@z"}') ->> 'next', '@zt20', 'a page waits for twenty lists at most');
select is(tests.list('alice', 'resource', '{"after": "@zt20"}') ->> 'next', null, 'the rest comes with the next');
select tests.act_as_owner();
drop function demo.notes();
select tests.act_as_runtime();
select is(tests.names(tests.list('alice', 'resource', '{"after": "@nota"}')), 'app://strays/1 app://strays/2 | → @zt18', 'a list whose function is gone is left out');
select tests.act_as_owner();
drop function demo.note(text);
select tests.act_as_runtime();
select is(tests.names(tests.list('alice', 'resource', '{"after": "@nota"}')), '→ @zt18', 'and so is one whose resources nothing could read');
select tests.act_as_owner();
delete from auth.sessions where id = tests.session('bob');
select tests.act_as_runtime();
select is(tests.list('bob', 'resource'), '{"outcome": "refused", "error": {"code": "session_revoked"}}', 'an ended session lists nothing');
select is(public.chumbo_list('absent', 'resource', tests.request('alice', '{"kind": "resource"}')) #>> '{error,code}', 'unknown_server', 'nor does a server that is not there');

select * from finish();
rollback;
