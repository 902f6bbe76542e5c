-- tests/sql/chumbo_register_resource_test.sql — register_resource, and which URI belongs to which row.
begin;
\ir support/people.psql
select plan(163);
\ir support/runtime.psql

select function_privs_are('chumbo', 'register_resource',
  array['text', 'text', 'text', 'bytea', 'text', 'text', 'text', 'text', 'text', 'text[]', 'jsonb', 'bigint', 'integer', 'text', 'integer', 'boolean', 'jsonb', 'jsonb'],
  role, array[]::text[], role || ' may not register') from unnest(array['anon', 'authenticated', 'service_role', 'chumbo_runtime']) as role;

-- Decoding.
select is(chumbo.percent_decode(given), wanted, format('%s stands for %s', given, coalesce(wanted, 'nothing')))
from (values ('', ''), ('plain', 'plain'), ('a%20b', 'a b'), ('a+b', 'a+b'), ('%2F', '/'), ('%2f%2F', '//'), ('Z%C3%BCrich', 'Zürich'), ('Zürich', 'Zürich'),
  ('%E2%82%AC', '€'), ('%F0%9F%91%A9', '👩'), ('%25', '%'), ('%2541', '%41'), ('%5C', '\'), ('\x41', '\x41'), ('%7B%7D', '{}'), ('%0A', E'\n'),
  ('%', null), ('%2', null), ('%zz', null), ('a%', null), ('%00', null), ('%C0%80', null), ('%C0%AF', null), ('%E0%80%AF', null), ('%ED%A0%80', null),
  ('%F4%90%80%80', null), ('%FF', null), ('%C3', null), ('%C3x%BC', null)) as v (given, wanted);
select is(length(chumbo.percent_decode(repeat('%41', 3000))), 3000, 'a long value is decoded whole');

-- What is no URI, and no template of the subset.
select throws_ok(format('select chumbo.register_resource(%L, ''demo.one'', server => ''demo'')', uri), 'PT400', 'invalid_uri', format('%L is refused', uri))
from unnest(array[null, '', 'about', '//host/path', '{scheme}://x', 'app://a b', 'app://ä', 'app://a%zz', 'app://<x>', 'app://x|y', 'app://{id', 'app://id}', 'app://{}',
  'app://{1id}', 'app://{id*}', 'app://{id:3}', 'app://{/id}', 'app://{#id}', 'app://{;id}', 'app://{&id}', 'app://{.id}', 'app://{a,b}', 'app://{a}{b}', 'app://{a}{+b}',
  'app://{id}/{id}', 'app://{id}{?id}', 'app://{?a}/x', 'app://x?y=1{?a}', 'app://x#y{?a}', 'app://{{id}}', 'app://' || repeat('x', 1100), 'app://' || repeat('x', 300) || '/{id}']) as u (uri);

-- What is said of a resource.
create function demo.one(id text) returns text language sql stable as 'select id';
comment on function demo.one(text) is 'One of them.';
create function demo.numbered(id integer, lang text default 'en') returns text language sql stable as 'select id || lang';
comment on function demo.numbered(integer, text) is 'Numbered.';
create function demo.nothing() returns void language sql stable as '';
create function demo.bare() returns record language sql stable as 'select 1, 2';
create function demo.blobs() returns table (blob text) language sql stable as 'select ''x''';
create function demo.listed() returns table (uri text, name text, size integer, last_modified timestamptz) language sql stable as 'select ''app://one/1'', ''One'', 3, null::timestamptz';
comment on function demo.listed() is 'Lists.';
create function demo.listed_openly() returns table (uri text) language sql stable as 'select ''app://one/1''';
grant execute on function demo.listed_openly() to anon;
create function demo.listed_badly() returns table (uri text, colour text) language sql stable as 'select ''app://one/1'', ''red''';
create function demo.listed_of(x text) returns table (uri text) language sql stable as 'select x';
create function demo.classy(id regclass) returns text language sql stable as 'select id::text';
select chumbo.define_scope('demo:secret');

select ok(chumbo.register_resource('app://about', content => 'About ü.', server => 'demo', title => 'About', cache_seconds => 60,
  annotations => '{"audience": ["user"], "priority": 0.5, "lastModified": "2026-01-01T00:00:00Z"}', icons => '[{"src": "https://example.test/i.png"}]', meta => '{"a": 1}') is not null,
  'a text becomes a resource');
select is((select chumbo.definition(c) from chumbo.capabilities as c where c.uri = 'app://about'),
  '{"name": "app_about", "title": "About", "uri": "app://about", "mimeType": "text/plain", "size": 9, "annotations": {"audience": ["user"], "priority": 0.5, "lastModified": "2026-01-01T00:00:00Z"}, "icons": [{"src": "https://example.test/i.png"}], "_meta": {"a": 1}}',
  'listed with its size in bytes, and named after its URI');
select is((select c.cache_ttl_ms from chumbo.capabilities as c where c.uri = 'app://about'), 60000, 'cache_seconds become milliseconds');
select chumbo.register_resource('app://logo', blob => '\x89504e47', mime_type => 'image/png', name => 'logo', server => 'demo');
select is((select chumbo.definition(c) || c.content from chumbo.capabilities as c where c.uri = 'app://logo'),
  '{"name": "logo", "uri": "app://logo", "mimeType": "image/png", "size": 4, "blob": "iVBORw=="}', 'bytes are kept in base64');
select chumbo.register_resource('app://one/{id}', 'demo.one', list => 'demo.listed', server => 'demo', scopes => '{demo:secret}');
select is((select chumbo.definition(c) from chumbo.capabilities as c where c.uri = 'app://one/{id}'),
  '{"name": "one", "description": "One of them.", "uriTemplate": "app://one/{id}", "mimeType": "text/plain"}', 'a URI with variables becomes a template, described by its function');
select is((select c.kind || ' ' || c.handler || ' ' || c.is_write::text || ' ' || c.target from chumbo.capabilities as c where c.name = 'one'),
  'resource_template sql false demo.one(text)', 'that only reads');
select chumbo.disable('one', 'demo', 'resource_template');
select is(chumbo.register_resource('app://one/{id}', 'demo.one', server => 'demo'), (select c.id from chumbo.capabilities as c where c.name = 'one'), 'registering again keeps the row');
select is((select row(c.is_enabled, c.listing is null, c.required_scopes)::text from chumbo.capabilities as c where c.name = 'one'), '(f,t,{})', 'whether it is enabled, and nothing that was left out');

-- What is refused.
select throws_ok(statement, code, slug, label)
from (values
  ('select chumbo.register_resource(''app://x'', server => ''demo'')', 'PT400', 'invalid_option', 'a resource without content'),
  ('select chumbo.register_resource(''app://x'', ''demo.listed'', content => ''x'', server => ''demo'')', 'PT400', 'invalid_option', 'two contents'),
  ('select chumbo.register_resource(''app://x'', content => ''x'', blob => ''\x00'', server => ''demo'')', 'PT400', 'invalid_option', 'a text and bytes'),
  ('select chumbo.register_resource(''app://{x}'', content => ''x'', server => ''demo'')', 'PT400', 'invalid_option', 'variables nobody takes'),
  ('select chumbo.register_resource(''app://x'', content => ''x'', list => ''demo.listed'', server => ''demo'')', 'PT400', 'invalid_option', 'a list without variables'),
  ('select chumbo.register_resource(''app://x'', content => repeat(''x'', 3145729), server => ''demo'')', 'PT400', 'invalid_option', 'a content beyond 3 MiB'),
  ('select chumbo.register_resource(''app://x'', content => ''x'', cache_seconds => -1, server => ''demo'')', 'PT400', 'invalid_option', 'a cache of the past'),
  ('select chumbo.register_resource(''app://x'', content => ''x'', cache_seconds => 86401, server => ''demo'')', 'PT400', 'invalid_option', 'a cache of more than a day'),
  ('select chumbo.register_resource(''app://x'', content => ''x'', size => -1, server => ''demo'')', 'PT400', 'invalid_option', 'a negative size'),
  ('select chumbo.register_resource(''app://x'', content => ''x'', mime_type => ''text'', server => ''demo'')', 'PT400', 'invalid_option', 'half a mime type'),
  ('select chumbo.register_resource(''app://x'', content => ''x'', annotations => ''{"audience": ["god"]}'', server => ''demo'')', 'PT400', 'invalid_option', 'an audience of others'),
  ('select chumbo.register_resource(''app://x'', content => ''x'', annotations => ''{"audience": "user"}'', server => ''demo'')', 'PT400', 'invalid_option', 'an audience that is no list'),
  ('select chumbo.register_resource(''app://x'', content => ''x'', annotations => ''{"priority": 2}'', server => ''demo'')', 'PT400', 'invalid_option', 'a priority above one'),
  ('select chumbo.register_resource(''app://x'', content => ''x'', annotations => ''{"priority": "high"}'', server => ''demo'')', 'PT400', 'invalid_option', 'a priority in words'),
  ('select chumbo.register_resource(''app://x'', content => ''x'', annotations => ''{"color": 1}'', server => ''demo'')', 'PT400', 'invalid_option', 'an annotation of their own'),
  ('select chumbo.register_resource(''app://x'', content => ''x'', annotations => ''[]'', server => ''demo'')', 'PT400', 'invalid_option', 'annotations that are a list'),
  ('select chumbo.register_resource(''app://x'', content => ''x'', scopes => ''{absent}'', server => ''demo'')', 'PT400', 'unknown_scope', 'an unknown scope'),
  ('select chumbo.register_resource(''app://x'', content => ''x'', server => ''absent'')', 'PT404', 'unknown_server', 'an unknown server'),
  ('select chumbo.register_resource(''app://x'', content => ''x'', name => ''a b'', server => ''demo'')', 'PT400', 'invalid_name', 'a name with a space'),
  ('select chumbo.register_resource(''app://x'', ''demo.absent'', server => ''demo'')', 'PT404', 'unknown_target', 'a function that is not there'),
  ('select chumbo.register_resource(''app://x'', ''demo.one'', server => ''demo'')', 'PT400', 'invalid_uri', 'a parameter that no variable fills'),
  ('select chumbo.register_resource(''app://{id}/{x}'', ''demo.one'', server => ''demo'')', 'PT400', 'invalid_uri', 'a variable that no parameter takes'),
  ('select chumbo.register_resource(''app://x'', ''demo.nothing'', server => ''demo'')', 'PT400', 'unsupported_result', 'void'),
  ('select chumbo.register_resource(''app://x'', ''demo.bare'', server => ''demo'')', 'PT400', 'unsupported_result', 'rows without columns'),
  ('select chumbo.register_resource(''app://x'', ''demo.blobs'', server => ''demo'')', 'PT400', 'unsupported_result', 'a blob that is text'),
  ('select chumbo.register_resource(''app://{id}'', ''demo.classy'', server => ''demo'')', 'PT400', 'unsupported_parameter', 'a parameter nobody can fill'),
  ('select chumbo.register_resource(''app://l/{id}'', ''demo.one'', list => ''demo.listed_badly'', name => ''l'', server => ''demo'')', 'PT400', 'unsupported_target', 'a list with a column of its own'),
  ('select chumbo.register_resource(''app://l/{id}'', ''demo.one'', list => ''demo.listed_of'', name => ''l'', server => ''demo'')', 'PT400', 'unsupported_target', 'a list that asks for something'),
  ('select chumbo.register_resource(''app://l/{id}'', ''demo.one'', list => ''demo.one'', name => ''l'', server => ''demo'')', 'PT400', 'unsupported_target', 'a list that is none'),
  ('select chumbo.register_resource(''app://about'', content => ''x'', name => ''other'', server => ''demo'')', 'PT409', 'uri_taken', 'a URI that another resource has'),
  ('select chumbo.register_resource(''app://one/{id}'', ''demo.one'', name => ''other'', server => ''demo'')', 'PT409', 'uri_taken', 'a template that another one has'),
  ('select chumbo.register_resource(''app://three/{id}'', ''demo.numbered'', name => ''one'', server => ''demo'')', 'PT409', 'name_taken', 'a name that another function has'),
  ('select chumbo.register_resource(''app://s/{id}'', ''demo.one'', name => ''strict'', strict => true, list => ''demo.listed_openly'', server => ''demo'')', 'PT400', 'unsafe_target', 'a list that anon may run, when strict')
) as v (statement, code, slug, label);
select is((select count(*) from chumbo.capabilities as c join chumbo.servers as s on s.id = c.server_id where s.slug = 'demo'), 3::bigint, 'and none of them left a row');

-- Which row a URI belongs to.
create function demo.two(id text, part text default 'all') returns text language sql stable as 'select id || part';
comment on function demo.two(text, text) is 'Two.';
create function demo.path(path text) returns text language sql stable as 'select path';
comment on function demo.path(text) is 'A path.';
create function demo.search(q text default '', page integer default 1) returns text language sql stable as 'select q || page';
comment on function demo.search(text, integer) is 'Searches.';
select chumbo.register_server('match');
select chumbo.register_resource('m://notes/{id}', 'demo.one', server => 'match', name => 'note');
select chumbo.register_resource('m://notes/{id}/{part}', 'demo.two', server => 'match', name => 'part');
select chumbo.register_resource('m://notes/{id}.md', 'demo.one', server => 'match', name => 'markdown');
select chumbo.register_resource('m://notes/recent', content => 'x', server => 'match', name => 'recent');
select chumbo.register_resource('m://{+path}', 'demo.path', server => 'match', name => 'any');
select chumbo.register_resource('m://files/{+path}', 'demo.path', server => 'match', name => 'file');
select chumbo.register_resource('m://files/{+path}/meta', 'demo.path', server => 'match', name => 'meta');
select chumbo.register_resource('m://search{?q,page}', 'demo.search', server => 'match', name => 'search');
select chumbo.register_resource('m://a.b*c(d)$%5E/{id}', 'demo.one', server => 'match', name => 'meta_characters');
select chumbo.register_resource('x://100%25_sure/{id}', 'demo.one', server => 'match', name => 'like_characters');
select chumbo.register_resource('x://{id}-{part}', 'demo.two', server => 'match', name => 'dashed');
create function tests.match(uri text) returns text language sql stable as $$
  select (select m.name || ' ' || m.arguments::text from chumbo.servers as s cross join lateral chumbo.match_uri(s.id, uri) as m where s.slug = 'match')
$$;
select is(tests.match(uri), wanted, format('%s is %s', left(uri, 60), coalesce(wanted, 'nothing')))
from (values
  ('m://notes/recent', 'recent {}'), ('m://notes/1', 'note {"id": "1"}'), ('m://notes/a%20b', 'note {"id": "a b"}'), ('m://notes/a b', 'note {"id": "a b"}'),
  ('m://notes/a%2Fb', 'note {"id": "a/b"}'), ('m://notes/..%2F..', 'note {"id": "../.."}'), ('m://notes/..', 'note {"id": ".."}'),
  ('m://notes/../x', 'part {"id": "..", "part": "x"}'), ('m://notes/{id}', 'note {"id": "{id}"}'), ('m://notes/%7Bid%7D', 'note {"id": "{id}"}'),
  ('m://notes/Zürich', 'note {"id": "Zürich"}'), ('m://notes/1.md', 'markdown {"id": "1"}'), ('m://notes/1.md.md', 'markdown {"id": "1.md"}'),
  ('m://notes/1/2', 'part {"id": "1", "part": "2"}'), ('m://notes/1/2/3', 'any {"path": "notes/1/2/3"}'), ('m://notes/', 'any {"path": "notes/"}'),
  ('m://notes/1?x', 'any {"path": "notes/1?x"}'), ('m://files/a/b/../c', 'file {"path": "a/b/../c"}'), ('m://files/a/meta', 'meta {"path": "a"}'),
  ('m://files/%2e%2e%2fetc', 'file {"path": "../etc"}'), ('m://search', 'search {}'), ('m://search?q=a%26b&page=2', 'search {"q": "a&b", "page": "2"}'),
  ('m://search?page=2', 'search {"page": "2"}'), ('m://search?q=', 'search {"q": ""}'), ('m://search?q', 'search {"q": ""}'), ('m://search?q=a=b', 'search {"q": "a=b"}'),
  ('m://search?q=1&q=2', 'any {"path": "search?q=1&q=2"}'), ('m://search?sort=1', 'any {"path": "search?sort=1"}'), ('m://search#q', 'any {"path": "search#q"}'),
  ('m://search?q=%zz', null), ('m://notes/%00', null), ('m://notes/%', null), ('m://notes/%C0%AF', null), (E'm://notes/a\nb', null), ('m://', null), ('m:', null), ('', null),
  ('M://notes/1', null), ('xm://notes/1', null), ('m://notes/' || repeat('x', 10000), null), ('m://a.b*c(d)$%5E/1', 'meta_characters {"id": "1"}'),
  ('m://aXb*c(d)$%5E/1', 'any {"path": "aXb*c(d)$^/1"}'), ('x://100%25_sure/1', 'like_characters {"id": "1"}'), ('x://100%25xsure/1', null),
  ('x://a-b-c', 'dashed {"id": "a-b", "part": "c"}'), ('x://a', null), ('x://-', null), ('x://--', null), ('x://---', 'dashed {"id": "-", "part": "-"}'),
  (null, null)) as v (uri, wanted);
select chumbo.disable('note', 'match', 'resource_template');
select is(tests.match('m://notes/1'), 'note {"id": "1"}', 'a template that is switched off still decides: a wider one never answers in its place');
select chumbo.drop_capability('note', 'match', 'resource_template');
select is(tests.match('m://notes/1'), 'any {"path": "notes/1"}', 'and one that is gone does not');

-- Cost: neither many templates nor a long URI slow a read down.
select chumbo.register_server('many');
select chumbo.register_resource(format('n://%s/{id}', n), 'demo.one', server => 'many', name => 'n' || n) from generate_series(1, 300) as n;
insert into chumbo.capabilities (server_id, kind, name, uri, handler, target, target_schema, target_name, parameters, result_shape, result_query, uri_prefix, uri_like, uri_pattern, uri_rank, uri_variables, uri_query)
select c.server_id, c.kind, format('%s_%s', c.name, k), format('n://%s_%s/{id}', c.name, k), c.handler, c.target, c.target_schema, c.target_name, c.parameters, c.result_shape, c.result_query,
  format('n://%s_%s/', c.name, k), format('n://%s\_%s/%%', c.name, k), format('^n\:\/\/%s\_%s\/([^/?#]+)$', c.name, k), c.uri_rank, c.uri_variables, c.uri_query
from chumbo.capabilities as c join chumbo.servers as s on s.id = c.server_id and s.slug = 'many', generate_series(1, 30) as k;
analyze chumbo.capabilities;
create function tests.milliseconds(uri text, times integer) returns double precision language plpgsql volatile as $$
declare
  v_started timestamptz := clock_timestamp();
  v_id bigint := chumbo.server_id('many');
begin
  for i in 1 .. times loop
    perform chumbo.match_uri(v_id, uri);
  end loop;
  return extract(epoch from clock_timestamp() - v_started) * 1000 / times;
end;
$$;
select is((select m.name from chumbo.match_uri(chumbo.server_id('many'), 'n://n77_9/x') as m), 'n77_9', 'one of 9,300 templates is found');
select cmp_ok(tests.milliseconds('n://n77_9/' || repeat('x', 200), 50), '<', 20::double precision, 'without trying the others');
select cmp_ok(tests.milliseconds('n://' || repeat('a-', 1000), 5), '<', 100::double precision, 'nor does a URI of two thousand characters take long');

select * from finish();
rollback;
