-- tests/sql/chumbo_search_words_test.sql — search_fold and search_words: what of a text is found by which words.
begin;
\ir support/people.psql
select plan(44);

select function_privs_are('chumbo', f, a, r, array['EXECUTE'], format('%s may run %s', r, f))
from (values ('search_fold', array['text']), ('search_words', array['text', 'boolean'])) as t (f, a), unnest(array['service_role', 'chumbo_runtime']) as r;

create function pg_temp.words(value text, with_function_words boolean default true) returns text language sql as $$
  select array_to_string(chumbo.search_words(chumbo.search_fold(value), with_function_words), ' ')
$$;
select is(pg_temp.words(value), words, what)
from (values
  ('createInvoice', 'create invoice createinvoice', 'a name is parted at a change of case'),
  ('HTTPServer', 'http server httpserver', 'before the last capital of a row of them'),
  ('userIDs', 'user id userid', 'though not before the s of a plural'),
  ('URLs', 'url', 'wherever that stands'),
  ('board_add_link', 'board add link boardaddlink', 'at underscores'),
  ('list-open-tasks', 'list open task listopentask', 'at hyphens'),
  ('invoice2pdf', 'invoice 2 pdf invoice2pdf', 'at digits'),
  ('__a--b_', 'a b ab', 'and a row of marks is one'),
  ('snake_caseAndCamel', 'snake case and camel snakecaseandcamel', 'both ways at once'),
  ('e-mail', 'e mail email', 'what is written as one is found as one'),
  ('invoices', 'invoice', 'a plural is its singular'),
  ('categories and movies', 'category and movy', 'which need not be a word'),
  ('category, movie', 'category movy', 'as long as both ways end there'),
  ('boxes addresses caches', 'box address cach', 'of each kind'),
  ('box address cache', 'box address cach', 'and back'),
  ('status analysis process bus', 'status analysis process bus', 'what only looks like one stays'),
  ('CRÉER Élément', 'creer element', 'case and accents do not matter'),
  ('Straße STRASSE STRAẞE', 'strass strass strass', 'nor how German writes it'),
  ('İstanbul ISTANBUL ıstanbul', 'istanbul istanbul istanbul', 'nor which i Turkish takes'),
  ('ＣｒｅａｔｅＩｎｖｏｉｃｅ', 'create invoice createinvoice', 'nor how wide the letters are'),
  ('ﬁle oﬃce', 'file office', 'nor ligatures'),
  ('Æsir œuvre smørrebrød Łódź', 'aesir oeuvre smorrebrod lodz', 'nor letters that Unicode does not take apart'),
  ('Ёлка ΟΔΟΣ', 'елка οδοσ', 'in any alphabet with cases'),
  ('한국어 검색', '한국어 검색', 'Korean has words'),
  ('हिन्दी में', 'हिन्दी में', 'so has Hindi, and keeps its vowels'),
  ('请求书作成', '请求 求书 书作 作成', 'Chinese is read two by two'),
  ('税 税金', '税 税金', 'and shorter things whole'),
  ('don’t the user''s l''addition', 'don t the user s l addition', 'an apostrophe parts'),
  ('a,b;c:d.e!f?g(h)i"j%k\l`m/n', 'a b c d e f g h i j k l m n', 'so does every mark'),
  ('😀 pay 💸now $5 +6', 'pay now 5 6', 'and every sign'),
  ('', '', 'nothing has no words'),
  (' , ) " % _ - \ ` ', '', 'nor have marks')
) as t (value, words, what);
select is(pg_temp.words('Give me the list of invoices', false), 'give list invoice', 'function words can be left out');
select is(pg_temp.words('¿Cuáles son mis próximas facturas?', false), 'son proxima factura', 'Spanish ones as well');
select is(pg_temp.words('sign-in', false), 'sign in signin', 'though not out of a compound');
select is(length(pg_temp.words(repeat('x', 20000))), 64, 'a word is as long as an index takes');
select is(cardinality(chumbo.search_words(chumbo.search_fold(repeat('word ', 20000)))), 2000, 'and a text as long as anybody reads');
select is(pg_temp.words(null), '', 'null has none');
select is(cardinality(array(select word from unnest(chumbo.search_function_words()) as word where word <> chumbo.search_fold(word) or word ~ '[ -]')), 0,
  'every function word is written as texts are folded');
select cmp_ok(cardinality(chumbo.search_function_words()), '>', 200, 'there are more than two hundred');

select * from finish();
rollback;
