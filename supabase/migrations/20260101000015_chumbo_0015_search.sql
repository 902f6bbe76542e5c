-- migrate:up
-- 0015_search.sql — finding tools by words: an index kept by triggers, synonyms per server, and the RPC that ranks.

-- Folding names its collation: the one of a database may know ASCII letters only, or lower I as Turkish does.
create or replace function chumbo.search_fold(value text)
  returns text
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
declare
  -- Nobody chooses a tool by what stands behind this, and a field without an end must not make an index without one.
  v_text text := left(value, 10000);
  v_is_ascii boolean := octet_length(v_text) = length(v_text);
begin
  if not v_is_ascii then
    -- Compatibility forms (full width, ligatures) become plain, accents and vowel points go, what is left is composed again.
    v_text := normalize(regexp_replace(normalize(v_text, nfkd), '[\u0300-\u036f\u0591-\u05c7\u064b-\u065f]', '', 'g'), nfc);
  end if;

  -- createInvoice, HTTPServer, oauth2; the s of a plural such as URLs is no word.
  v_text := regexp_replace(v_text collate "und-x-icu", '([[:lower:]])([[:upper:]])', '\1-\2', 'g');
  v_text := regexp_replace(v_text collate "und-x-icu", '([[:upper:]])([[:upper:]](?!s(?![[:lower:]]))[[:lower:]])', '\1-\2', 'g');
  v_text := regexp_replace(v_text collate "und-x-icu", '([[:alpha:]])([[:digit:]])', '\1-\2', 'g');
  v_text := regexp_replace(v_text collate "und-x-icu", '([[:digit:]])([[:alpha:]])', '\1-\2', 'g');
  v_text := lower(v_text collate "und-x-icu");

  if not v_is_ascii then
    v_text := translate(
      replace(replace(replace(replace(v_text, 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'), 'øđłħŧðıς', 'odlhtdiσ');
    -- Between Han or kana and anything else there is a border, though nothing marks it.
    v_text := regexp_replace(v_text, '([\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])(?=[^\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])', '\1-', 'g');
    v_text := regexp_replace(v_text, '([^\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])(?=[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])', '\1-', 'g');
  end if;

  -- The vowel signs of Indic and neighbouring scripts are no letters to a regular expression, and part of their word all the same.
  return regexp_replace(
    regexp_replace(v_text collate "und-x-icu", '[^[:alnum:]\u0900-\u0963\u0966-\u109f\u1780-\u17ff_-]+', ' ', 'g'), '[_-]+', '-', 'g');
end;
$$;
comment on function chumbo.search_fold(text) is
  'Text without case, accents and punctuation: words are parted by spaces, the parts of a compound such as createInvoice or board_add by -.';
revoke all on function chumbo.search_fold(text) from public, anon, authenticated, service_role;
grant execute on function chumbo.search_fold(text) to service_role, chumbo_runtime;

-- Invoices and invoice are one word. Both sides pass here, so what is no plural only has to end up the same twice.
create or replace function chumbo.search_stem(folded text)
  returns text
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
begin
  return regexp_replace(regexp_replace(regexp_replace(folded collate "C",
    '([^ -][^ sui-]|[^ s-]i)s\M', '\1', 'g'), '([^ -][^ -])ie\M', '\1y', 'g'), '(ch|sh|ss|x|z)e\M', '\1', 'g');
end;
$$;
comment on function chumbo.search_stem(text) is 'Folded text whose words have lost the s of an English plural.';
revoke all on function chumbo.search_stem(text) from public, anon, authenticated, service_role;
grant execute on function chumbo.search_stem(text) to service_role, chumbo_runtime;

create or replace function chumbo.search_function_words()
  returns text[]
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
begin
  -- Folded, and whole: what is left of it's and don't when the apostrophe parts them as well.
  return string_to_array(
    -- English.
    'a about all also am an and another any anybody anyone anything are as at be because been being both but by can could d did do does doing '
    'don during each either else etc every everybody everyone everything few for from had has have having he hello her here hers hi him his '
    'how i if in into is isn it its itself just let ll m many may maybe me might mine more most much must my myself neither no nor not now of '
    'off ok okay on one ones only or other others our ours out over own please re s shall she should so some somebody someone something such t '
    'than thank thanks that the their theirs them themselves then there these they thing things this those through to too under until up upon '
    'us ve very want wanted wants was wasn we were what whatever when where whether which while who whom whose why will with within without '
    'would yes yet you your yours '
    -- Spanish.
    'aca ahi al algo alguien algun alguna algunas alguno algunos alla alli ambos ante antes aquel aquella aquellas aquello aquellos aqui asi '
    'aun aunque bien cada casi como con contra cual cuales cualquier cuando cuanta cuantas cuanto cuantos de del desde donde el ella ellas '
    'ello ellos en entre eran eres es esa esas ese eso esos esta estaba estamos estan estar estas este esto estos estoy favor fue fueron '
    'fui gracias ha haber habia han has hasta hay he hemos hola hoy la las le les lo los luego mas me mi mia mias mio mios mis misma mismo '
    'mucha muchas mucho muchos muy nada nadie ni ningun ninguna ninguno no nos nosotros nuestra nuestras nuestro nuestros nunca o otra '
    'otras otro otros para pero poca poco por porque puede puedo pues que quiero quien quienes quisiera se si sido siempre sobre '
    'solo somos soy su sus suya suyo tal tambien tampoco tan tanto te tener tengo ti tiene tienen todo todos tu tus tuya tuyo un una unas '
    'uno unos usted ustedes va vamos vez voy y ya yo', ' ');
end;
$$;
comment on function chumbo.search_function_words() is
  'English and Spanish words that say nothing of what is looked for, none of which is another kind of word in the other language.';
revoke all on function chumbo.search_function_words() from public, anon, authenticated, service_role;
grant execute on function chumbo.search_function_words() to service_role, chumbo_runtime;

create or replace function chumbo.search_words(folded text, with_function_words boolean default true)
  returns text[]
  language plpgsql immutable
  security invoker
  set search_path = ''
as $$
declare
  v_text text := case when with_function_words then folded else array_to_string(array(
    select word from string_to_table(folded, ' ') as word where not word = any (chumbo.search_function_words())), ' ') end;
  v_words text[];
begin
  -- No word anybody asks for is longer, and the index must take every one.
  v_text := regexp_replace(chumbo.search_stem(v_text), '([^ -]{64})[^ -]+', '\1', 'g');
  v_words := array_remove(string_to_array(translate(v_text, '-', ' '), ' '), '');
  if octet_length(v_text) > length(v_text) then
    -- Han and kana part no words: two neighbours stand for one.
    v_words := array(
      select unnest(case
        when word ~ '^[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]{3}' then array(select substr(word, i, 2) from generate_series(1, length(word) - 1) as i)
        else array[word]
      end)
      from unnest(v_words) as word
    );
  end if;
  -- A compound is found by its parts and, written as one, by the whole.
  return v_words || array(select left(replace(m[1], '-', ''), 64) from regexp_matches(v_text, '([^ -]+(?:-[^ -]+)+)', 'g') as m);
end;
$$;
comment on function chumbo.search_words(text, boolean) is 'The terms of a folded text, each as often as it stands there.';
revoke all on function chumbo.search_words(text, boolean) from public, anon, authenticated, service_role;
grant execute on function chumbo.search_words(text, boolean) to service_role, chumbo_runtime;

create table if not exists chumbo.search_synonyms (
  server_id bigint not null references chumbo.servers on delete cascade,
  phrase text collate "C" not null,
  meaning text not null,
  primary key (server_id, phrase)
);
comment on table chumbo.search_synonyms is 'What words of a query stand for in the words of the catalog. The index never hears of them, so a change costs no rebuilding.';
comment on column chumbo.search_synonyms.phrase is 'One to three folded words.';
comment on column chumbo.search_synonyms.meaning is 'The folded words that take its place; empty drops it from queries.';

alter table chumbo.search_synonyms enable row level security;
drop policy if exists select_runtime on chumbo.search_synonyms;
create policy select_runtime on chumbo.search_synonyms for select to chumbo_runtime using (true);
revoke all on chumbo.search_synonyms from public, anon, authenticated, service_role;
grant select on chumbo.search_synonyms to service_role, chumbo_runtime;

create or replace function chumbo.set_synonyms(entries jsonb, server text default 'default')
  returns integer
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_server_id bigint := chumbo.server_id(set_synonyms.server);
  v_entry record;
  v_removed integer;
  v_written integer;
begin
  if jsonb_typeof(entries) is distinct from 'object' then
    raise exception using errcode = 'PT400', message = 'invalid_synonyms',
      detail = 'Synonyms are an object: what is asked, and the words of the catalog it stands for.',
      hint = 'For example {"deuda": "debt", "fecha de corte": "cutoff date"}.';
  end if;
  for v_entry in
    select e.key, e.value, btrim(translate(chumbo.search_fold(e.key), '-', ' ')) as phrase
    from jsonb_each(set_synonyms.entries) as e
  loop
    if v_entry.phrase !~ '^[^ ]+( [^ ]+){0,2}$'
      or jsonb_typeof(v_entry.value) not in ('string', 'array', 'null')
      or jsonb_path_exists(v_entry.value, 'strict $[*] ? (@.type() != "string")', silent => true) and jsonb_typeof(v_entry.value) = 'array'
    then
      raise exception using errcode = 'PT400', message = 'invalid_synonyms',
        detail = format('The entry %L is no synonym.', v_entry.key),
        hint = 'One to three words stand for a text, for a list of texts, or for null, which forgets them.';
    end if;
  end loop;

  with given as (
    -- Two spellings that fold alike are one phrase; the last one in the order of their keys counts.
    select distinct on (phrase) btrim(translate(chumbo.search_fold(e.key), '-', ' ')) as phrase, e.value
    from jsonb_each(set_synonyms.entries) as e
    order by phrase, e.key desc
  ), removed as (
    delete from chumbo.search_synonyms as s
    using given as g
    where s.server_id = v_server_id and s.phrase = g.phrase and g.value = 'null'
    returning s.phrase
  ), written as (
    insert into chumbo.search_synonyms as s (server_id, phrase, meaning)
    select v_server_id, g.phrase, btrim(chumbo.search_fold(case jsonb_typeof(g.value)
        when 'array' then (select coalesce(string_agg(word, ' '), '') from jsonb_array_elements_text(g.value) as word)
        else g.value #>> '{}'
      end))
    from given as g
    where g.value <> 'null'
    on conflict on constraint search_synonyms_pkey do update
    set meaning = excluded.meaning
    where s.meaning <> excluded.meaning
    returning s.phrase
  )
  select (select count(*) from removed), (select count(*) from written) into v_removed, v_written;
  return v_removed + v_written;
end;
$$;
comment on function chumbo.set_synonyms(jsonb, text) is
  'Teaches a server what words of a query stand for: {phrase: words or a list of them}. Empty words drop the phrase from queries, null forgets it. '
  'What is not named stays. Returns how many changed; repeating it changes nothing. Raises invalid_synonyms, unknown_server.';
revoke all on function chumbo.set_synonyms(jsonb, text) from public, anon, authenticated, service_role;

create table if not exists chumbo.search_audiences (
  id integer generated always as identity primary key,
  server_id bigint not null references chumbo.servers on delete cascade,
  scopes text[] not null,
  tools bigint not null default 0,
  constraint search_audiences_server_id_scopes_key unique (server_id, scopes)
);
comment on table chumbo.search_audiences is
  'The sets of scopes that tools of a server ask for. A search decides once for each whether its caller holds them, and not for each tool.';
comment on column chumbo.search_audiences.tools is 'How many of its tools can be found; counted as they come and go, since counting ten thousand takes milliseconds.';

-- No foreign keys here and below: thirty checks a tool would cost more than the index itself, a cascade would take rows away
-- uncounted, and the same triggers keep all three tables.
create table if not exists chumbo.search_documents (
  capability_id bigint primary key,
  audience_id integer not null,
  name text collate "C" not null
);
comment on table chumbo.search_documents is 'The tools that can be found: enabled, and meant for models. Kept by triggers on chumbo.capabilities.';
create index if not exists search_documents_audience_id_name_idx on chumbo.search_documents (audience_id, name);

create table if not exists chumbo.search_postings (
  audience_id integer not null,
  term text collate "C" not null,
  capability_id bigint not null,
  impact real not null,
  primary key (capability_id, term)
);
comment on table chumbo.search_postings is 'Which tools hold a term, and how much it says there. Audiences belong to one server each, and so do these.';
comment on column chumbo.search_postings.impact is 'The part of BM25 that one tool decides: the frequency in each field, saturated, over its length, by its weight.';
-- In the order in which a search of a common word reads: what says the most comes first.
create index if not exists search_postings_term_idx on chumbo.search_postings (term, audience_id, impact desc, capability_id);

do $$
declare
  v_table text;
begin
  foreach v_table in array array['search_audiences', 'search_documents', 'search_postings'] loop
    execute format('alter table chumbo.%I enable row level security', v_table);
    execute format('drop policy if exists select_runtime on chumbo.%I', v_table);
    execute format('create policy select_runtime on chumbo.%I for select to chumbo_runtime using (true)', v_table);
    execute format('revoke all on chumbo.%I from public, anon, authenticated, service_role', v_table);
    execute format('grant select on chumbo.%I to service_role, chumbo_runtime', v_table);
  end loop;
end
$$;

create or replace function chumbo.index_capabilities(ids bigint[])
  returns void
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
begin
  delete from chumbo.search_postings as p where p.capability_id = any (ids);
  with gone as (
    delete from chumbo.search_documents as d where d.capability_id = any (ids) returning d.audience_id
  )
  update chumbo.search_audiences as a
  set tools = a.tools - g.tools
  from (select gone.audience_id, count(*) as tools from gone group by gone.audience_id) as g
  where a.id = g.audience_id;

  insert into chumbo.search_audiences (server_id, scopes)
  select distinct c.server_id, c.required_scopes
  from chumbo.capabilities as c
  where c.id = any (ids)
  on conflict on constraint search_audiences_server_id_scopes_key do nothing;

  with come as (
    insert into chumbo.search_documents (capability_id, audience_id, name)
    select c.id, a.id, c.name
    from chumbo.capabilities as c
    join chumbo.search_audiences as a on a.server_id = c.server_id and a.scopes = c.required_scopes
    where c.id = any (ids) and c.kind = 'tool' and c.is_enabled and 'model' = any (c.visibility)
    returning audience_id
  )
  update chumbo.search_audiences as a
  set tools = a.tools + g.tools
  from (select come.audience_id, count(*) as tools from come group by come.audience_id) as g
  where a.id = g.audience_id;

  -- The usual lengths are those of a tool anywhere and not the average of this server: so no tool moves because of another one,
  -- and writing one costs the same whatever there is. A name saturates at once and hardly minds its length, and what describes
  -- weighs less than a name even in sum: a word in the name outranks the same word repeated anywhere below the title.
  with fields as materialized (
    select d.audience_id, d.capability_id, f.weight, f.k, f.b, f.usual, chumbo.search_words(chumbo.search_fold(f.value), f.is_title) as words
    from chumbo.search_documents as d
    join chumbo.capabilities as c on c.id = d.capability_id
    cross join lateral (
      select string_agg(p.key, ' ') as names, string_agg(p.value ->> 'description', ' ') as explanations
      from jsonb_each(case when jsonb_typeof(c.input_schema -> 'properties') = 'object' then c.input_schema -> 'properties' end) as p
    ) as p
    cross join lateral (values
      (3::double precision, 0.3::double precision, 0.3::double precision, 4, true, c.name::text),
      (2, 1.2, 0.75, 6, true, concat_ws(' ', c.title, c.search_terms)),
      (1, 1.2, 0.75, 15, false, c.description),
      (0.5, 1.2, 0.75, 8, true, p.names),
      (0.25, 1.2, 0.75, 30, false, p.explanations)
    ) as f (weight, k, b, usual, is_title, value)
    where d.capability_id = any (ids) and f.value <> ''
  )
  insert into chumbo.search_postings (audience_id, term, capability_id, impact)
  select w.audience_id, w.term, w.capability_id, sum(w.weight * w.frequency / (w.frequency + w.k * (1 - w.b + w.b * w.length / w.usual)))
  from (
    select f.audience_id, f.capability_id, f.weight, f.k, f.b, f.usual, cardinality(f.words) as length, w.term, count(*) as frequency
    from fields as f
    cross join lateral unnest(f.words) as w (term)
    group by f.audience_id, f.capability_id, f.weight, f.k, f.b, f.usual, cardinality(f.words), w.term
  ) as w
  group by w.audience_id, w.capability_id, w.term
  -- In the order of the index that grows, which takes many at once far faster so.
  order by w.term;
end;
$$;
comment on function chumbo.index_capabilities(bigint[]) is
  'Makes the search index say what the rows of these capabilities say now, or nothing where there is none. Weights: name 3, title and '
  'search terms 2, description 1, names of parameters 0.5, their descriptions 0.25.';
revoke all on function chumbo.index_capabilities(bigint[]) from public, anon, authenticated, service_role;

create or replace function chumbo.tg_capabilities__index()
  returns trigger
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_ids bigint[];
begin
  case tg_op
    when 'INSERT' then
      v_ids := array(select n.id from current_rows as n where n.kind = 'tool');
    when 'UPDATE' then
      v_ids := array(
        select n.id
        from current_rows as n
        join former_rows as o on o.id = n.id
        where (n.server_id, n.kind, n.name, n.title, n.description, n.search_terms, n.input_schema, n.required_scopes, n.visibility, n.is_enabled)
          is distinct from (o.server_id, o.kind, o.name, o.title, o.description, o.search_terms, o.input_schema, o.required_scopes, o.visibility, o.is_enabled)
      );
    else
      v_ids := array(select o.id from former_rows as o where o.kind = 'tool');
  end case;
  if v_ids <> '{}' then
    perform chumbo.index_capabilities(v_ids);
  end if;
  return null;
end;
$$;
comment on function chumbo.tg_capabilities__index() is 'Keeps the search index; a row written again as it was costs nothing.';
revoke all on function chumbo.tg_capabilities__index() from public, anon, authenticated, service_role;

drop trigger if exists _600_index_insert on chumbo.capabilities;
create trigger _600_index_insert after insert on chumbo.capabilities
  referencing new table as current_rows
  for each statement execute function chumbo.tg_capabilities__index();
drop trigger if exists _600_index_update on chumbo.capabilities;
create trigger _600_index_update after update on chumbo.capabilities
  referencing new table as current_rows old table as former_rows
  for each statement execute function chumbo.tg_capabilities__index();
drop trigger if exists _600_index_delete on chumbo.capabilities;
create trigger _600_index_delete after delete on chumbo.capabilities
  referencing old table as former_rows
  for each statement execute function chumbo.tg_capabilities__index();

-- What an earlier version registered.
select chumbo.index_capabilities(array(
  select c.id from chumbo.capabilities as c
  where c.kind = 'tool' and not exists (select from chumbo.search_documents as d where d.capability_id = c.id)
));

create or replace function chumbo.search_query(server_id bigint, query text, out terms text[], out telling integer)
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_words text[] := (array_remove(string_to_array(chumbo.search_fold(left(query, 1000)), ' '), ''))[1:64];
  v_known jsonb;
  v_phrase text;
  v_text text := '';
  v_at integer := 1;
begin
  -- Every row of one to three neighbouring words, asked for at once.
  select coalesce(jsonb_object_agg(s.phrase, s.meaning), '{}')
  into v_known
  from chumbo.search_synonyms as s
  where s.server_id = search_query.server_id
    and s.phrase in (
      select translate(array_to_string(v_words[i:i + n], ' '), '-', ' ')
      from generate_series(1, cardinality(v_words)) as i
      cross join generate_series(0, 2) as n
    );
  -- The longest phrase from the left goes first.
  while v_at <= cardinality(v_words) loop
    for v_length in reverse least(3, cardinality(v_words) - v_at + 1)..1 loop
      v_phrase := translate(array_to_string(v_words[v_at:v_at + v_length - 1], ' '), '-', ' ');
      if v_known ? v_phrase or v_length = 1 then
        v_text := v_text || ' ' || coalesce(v_known ->> v_phrase, v_words[v_at]);
        v_at := v_at + v_length;
        exit;
      end if;
    end loop;
  end loop;

  if btrim(v_text) = '' then
    v_text := array_to_string(v_words, ' ');
  end if;
  terms := chumbo.search_words(v_text, false);
  terms := array(select term from unnest(terms) with ordinality as t (term, place) group by term order by min(place) limit 32);
  telling := cardinality(terms);
  terms := (terms || array(select distinct term from unnest(chumbo.search_words(v_text)) as term where not term = any (terms) order by term))[1:32];
  if telling = 0 then
    telling := cardinality(terms);
  end if;
end;
$$;
comment on function chumbo.search_query(bigint, text) is
  'The terms a query asks for, synonyms taken in. The first ones, as many as telling, can find a tool; the function words behind them only help to '
  'rank it, unless there is nothing else. The first 1000 characters, 64 words and 32 terms count.';
revoke all on function chumbo.search_query(bigint, text) from public, anon, authenticated, service_role;
grant execute on function chumbo.search_query(bigint, text) to service_role, chumbo_runtime;

create or replace function chumbo.search_ranked(server_id bigint, scopes text[], query text, most integer default 5)
  returns bigint[]
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
declare
  v_query record := chumbo.search_query(search_ranked.server_id, query);
  v_audiences integer[] := array(
    select a.id from chumbo.search_audiences as a where a.server_id = search_ranked.server_id and a.scopes <@ search_ranked.scopes);
  -- Quoted or not: what stands around a name is no part of it.
  v_name text := regexp_replace(left(query, 200) collate "C", '^[^A-Za-z0-9_-]+|[^A-Za-z0-9_-]+$', '', 'g');
  v_weights double precision[];
  v_take integer := most;
  v_best bigint[];
  v_id bigint;
  v_found bigint[] := '{}';
begin
  -- How rare a term is among what this caller may see: nothing about the rest shows in the order of an answer. A search reads at
  -- most 1000 postings of a term and about 3000 in all, rarer terms first, so that it stays short however large the catalog is.
  -- Of a term that more tools have, those in which it says the most are read; where there are rarer ones enough, it is left
  -- out: a null weight.
  v_weights := array(
    select case
      when sum(least(f.tools, 1000)) over (order by f.tools, t.place) <= 3000
        then ln(1 + (n.tools - f.tools + 0.5) / (f.tools + 0.5))
    end
    from (select sum(a.tools)::double precision as tools from chumbo.search_audiences as a where a.id = any (v_audiences)) as n
    cross join unnest(v_query.terms) with ordinality as t (term, place)
    cross join lateral (
      -- From 2500 on a word is as common as words are; how common exactly would take longer to count than to use.
      select case when count(*) > 2500 then n.tools else count(*)::double precision end as tools
      from (
        select from chumbo.search_postings as p where p.term = t.term and p.audience_id = any (v_audiences) limit 2501
      ) as p
    ) as f
    order by t.place
  );

  v_best := array(
    select d.capability_id from chumbo.search_documents as d where d.name = v_name and d.audience_id = any (v_audiences));
  loop
    v_best := v_best || array(
      select p.capability_id
      from unnest(v_query.terms, v_weights) with ordinality as t (term, weight, place)
      cross join lateral (
        select strongest.capability_id, strongest.impact
        from unnest(v_audiences) as a (id)
        cross join lateral (
          select p.capability_id, p.impact
          from chumbo.search_postings as p
          where p.term = t.term and p.audience_id = a.id
          order by p.impact desc, p.capability_id
          limit 1000
        ) as strongest
        order by strongest.impact desc, strongest.capability_id
        limit 1000
      ) as p
      where t.weight is not null
      group by p.capability_id
      having min(t.place) <= v_query.telling
      -- By age where the words decide nothing: their names would have to be fetched for all of thousands of equals.
      order by sum(p.impact * t.weight) desc, p.capability_id
      limit v_take
    );
    -- Looked at one by one, as far as it takes: a tool whose function is gone cannot run, so it is not offered.
    foreach v_id in array v_best loop
      if not v_id = any (v_found) and exists (
        select
        from chumbo.capabilities as c
        where c.id = v_id and (c.handler <> 'sql' or chumbo.find_target(c.target_name, c.target) is not null)
      ) then
        v_found := v_found || v_id;
      end if;
      exit when cardinality(v_found) = most;
    end loop;
    -- Fewer than were asked for are all there are.
    exit when cardinality(v_found) = most or cardinality(v_best) < v_take;
    v_take := v_take * 20;
    v_best := v_found;
  end loop;
  return v_found;
end;
$$;
comment on function chumbo.search_ranked(bigint, text[], text, integer) is
  'The tools these scopes may use that a query finds, best first by BM25, then in the order of their registration; the one of exactly that name before all others.';
revoke all on function chumbo.search_ranked(bigint, text[], text, integer) from public, anon, authenticated, service_role;
grant execute on function chumbo.search_ranked(bigint, text[], text, integer) to service_role, chumbo_runtime;

create or replace function chumbo.find_tools(query text, server text default 'default', scopes text[] default '{}', most integer default 5)
  returns table (place integer, name text)
  language sql stable
  security invoker
  set search_path = ''
as $$
  select f.place::integer, c.name
  from unnest(chumbo.search_ranked(chumbo.server_id(server), scopes, query, most)) with ordinality as f (id, place)
  join chumbo.capabilities as c on c.id = f.id
  order by f.place
$$;
comment on function chumbo.find_tools(text, text, text[], integer) is
  'What somebody who holds these scopes would find, best first: for trying descriptions and synonyms, and for tests of ranks. Counts as no call and '
  'leaves no receipt. Raises unknown_server.';
revoke all on function chumbo.find_tools(text, text, text[], integer) from public, anon, authenticated, service_role;

create or replace function public.chumbo_search(server text, query text, request jsonb)
  returns jsonb
  language plpgsql volatile
  security invoker
  set search_path = ''
as $$
declare
  v_started timestamptz := clock_timestamp();
  -- Named as no call: search_tools has no row, and whether it exists is the server's mode to say.
  v_gate record := chumbo.admit(server, 'tool', null, request || '{"operation": "search"}');
  v_error jsonb := v_gate.refusal;
  v_wait integer;
  v_found bigint[];
  v_entries jsonb := '[]';
begin
  -- Where the catalog is listed there is no such tool, whatever its arguments are.
  if (v_error is null or v_error ->> 'code' = 'invalid_arguments')
    and coalesce((v_gate.entry).settings ->> 'catalog_mode', 'list') <> 'search'
  then
    v_error := '{"code": "unknown_capability"}';
  end if;
  if v_error is null or v_error ->> 'code' = 'unknown_capability' then
    if coalesce((request ->> 'attempt')::integer, 1) = 1 then
      v_wait := chumbo.consume_limits((v_gate.entry).id, case when v_error is null then 'search_tools' end, request);
      v_error := case
        when v_wait = 0 then jsonb_build_object('code', 'queue_timeout', 'retry_after', 1)
        when v_wait > 0 then jsonb_build_object('code', 'rate_limited', 'retry_after', v_wait)
        else v_error
      end;
    end if;
  end if;

  if v_error is null and request ->> 'tool' = 'call_tool' then
    v_error := '{"code": "invalid_arguments"}';
  end if;

  if v_error is null then
    -- Apart from the statement below, whose planner would search once more to learn how many rows to expect.
    v_found := chumbo.search_ranked((v_gate.entry).id, v_gate.scopes, query);
    select coalesce(jsonb_agg(
      jsonb_build_object('id', c.id, 'name', c.name, 'kind', c.kind, 'handler', c.handler, 'definition', chumbo.definition(c)) order by f.place), '[]')
    into v_entries
    from unnest(v_found) with ordinality as f (id, place)
    join chumbo.capabilities as c on c.id = f.id;
  end if;

  -- How much was found, and never what was asked for.
  perform chumbo.write_receipt(
    server, 'tool', coalesce(request ->> 'tool', 'search_tools'), request, case when v_error is null then 'ok' else 'refused' end, v_error ->> 'code',
    jsonb_array_length(v_entries), octet_length(v_entries::text), false,
    round((extract(epoch from clock_timestamp() - v_started) * 1000)::numeric, 3), null);

  return jsonb_build_object('outcome', case when v_error is null then 'found' else 'refused' end, 'revision', (v_gate.entry).revision, 'error', v_error)
    || case when v_error is null
      then jsonb_build_object('server', chumbo.server_facts(v_gate.entry, request), 'scopes', to_jsonb(v_gate.scopes), 'entries', v_entries)
      else '{}'
    end;
end;
$$;
comment on function public.chumbo_search(text, text, jsonb) is
  'Admits a search as a call of search_tools, answers it with at most five tools the caller may use, and writes its receipt. request holds verified '
  'facts only; with tool call_tool it refuses what is no proper call of that. Returns {outcome: found or refused; revision; server; scopes; entries, each with its definition, best first; error}.';
revoke all on function public.chumbo_search(text, text, jsonb) from public, anon, authenticated, service_role;
grant execute on function public.chumbo_search(text, text, jsonb) to service_role, chumbo_runtime;

-- Built in place: nothing is pinned before this version, so it is empty and only reads a table of a row a capability.
-- squawk-ignore require-concurrent-index-creation
create index if not exists capabilities_pinned_idx on chumbo.capabilities (server_id, kind, name) where is_pinned;

drop function if exists chumbo.list_page(bigint, text, text[], text, integer, boolean);
create or replace function chumbo.list_page(server_id bigint, kind text, scopes text[], after text, page_size integer, with_definitions boolean, only_pinned boolean default false)
  returns jsonb
  language plpgsql stable
  security invoker
  set search_path = ''
as $$
begin
  return (
    select jsonb_build_object(
      'entries', coalesce(
        jsonb_agg(
          jsonb_build_object('id', page.id, 'name', page.name, 'kind', page.kind, 'handler', page.handler)
            || case when with_definitions then jsonb_build_object('definition', chumbo.definition(page.capability)) else '{}' end
          order by page.name
        ) filter (where page.fits), '[]'),
      'next', case when bool_or(not page.fits) then max(page.name) filter (where page.fits) end
    )
    from (
      select c.id, c.name, c.kind, c.handler, c.capability,
        -- 512 KiB a page: what a client holds at once is bounded by its size too, and an entry alone has 64 KiB at most.
        row_number() over by_name <= page_size and sum((c.capability).definition_bytes) over by_name <= 524288 as fits
      from (
        -- Walks an index in its order and stops after one page, however many tools there are: the unique one, or that of what is
        -- pinned. Two branches, of which one is never begun, since no plan of one could use both.
        (
          select c.id, c.name, c.kind, c.handler, c as capability
          from chumbo.capabilities as c
          where not (list_page.only_pinned and list_page.kind = 'tool')
            and c.server_id = list_page.server_id
            and c.kind = list_page.kind
            and c.name > coalesce(list_page.after, '')
            and c.is_enabled
            and c.required_scopes <@ list_page.scopes
            -- A tool whose function is gone cannot run, so it is not offered. Asked row by row: as an exists, the planner would
            -- read the whole catalog of functions for a page of ten.
            and (c.handler <> 'sql'
              or (select t.oid from chumbo.targets as t where t.name = c.target_name and t.signature = c.target) is not null)
          order by c.name
          limit list_page.page_size + 1
        )
        union all
        (
          select c.id, c.name, c.kind, c.handler, c as capability
          from chumbo.capabilities as c
          where list_page.only_pinned and list_page.kind = 'tool'
            and c.is_pinned
            and c.server_id = list_page.server_id
            and c.kind = list_page.kind
            and c.name > coalesce(list_page.after, '')
            and c.is_enabled
            and c.required_scopes <@ list_page.scopes
            and (c.handler <> 'sql'
              or (select t.oid from chumbo.targets as t where t.name = c.target_name and t.signature = c.target) is not null)
          order by c.name
          limit list_page.page_size + 1
        )
      ) as c
      window by_name as (order by c.name)
    ) as page
  );
end;
$$;
comment on function chumbo.list_page(bigint, text, text[], text, integer, boolean, boolean) is
  'One page of what these scopes may use, by name: {entries, next}; next is the cursor of the following page or null. only_pinned leaves out '
  'the tools that are found by search.';
revoke all on function chumbo.list_page(bigint, text, text[], text, integer, boolean, boolean) from public, anon, authenticated;
grant execute on function chumbo.list_page(bigint, text, text[], text, integer, boolean, boolean) to service_role, chumbo_runtime;

insert into chumbo.installed (number, name, hash)
values (15, 'search', 'fa2e724f0bf3b72f9065cd0c254eb6d94aa592cce3901977b08c0a9c8e3a6b72') -- chumbo.installed
on conflict (number) do update set name = excluded.name, hash = excluded.hash;
-- migrate:down
