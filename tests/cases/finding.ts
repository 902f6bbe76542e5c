// tests/cases/finding.ts — J: finding the right tool.
import { expect, same, type Case, type Stage } from './case.ts'

const slug = 'crowded'

async function search({ call, stack }: Stage, query: string, token?: string): Promise<string[]> {
  const url = `${stack.mcpUrl}/${slug}`
  const { structuredContent, ...rest } = await call(
    'search_tools',
    { query },
    { url, ...(token === undefined ? {} : { token }) },
  )
  expect(structuredContent !== undefined, JSON.stringify(rest))
  return (structuredContent['tools'] as { name: string }[]).map(({ name }) => name)
}

export const finding: readonly Case[] = [
  {
    id: 'D40',
    title: 'searching by words finds snake_case, camelCase and kebab-case names',
    async run(stage) {
      const { sql, bob, alice, tools, stack } = stage
      await sql.unsafe(`
        create function cases.noop(page text default null) returns integer language sql stable security invoker set search_path = '' as 'select 1';
        revoke execute on function cases.noop(text) from public, anon;
        grant execute on function cases.noop(text) to authenticated;
        select chumbo.register_server('${slug}', settings => '{"catalog_mode": "search"}');
        select chumbo.define_scope('invoices');
        select chumbo.grant_scope('invoices', 'user', '${alice.id}');
        select chumbo.register_tool('cases.noop', server => '${slug}', name => 'filler_' || n, description => 'Does the thing number ' || n) from generate_series(1, 196) as n;
        select chumbo.register_tool('cases.noop', server => '${slug}', name => 'board_add_link', description => 'Puts an address beside a card.');
        select chumbo.register_tool('cases.noop', server => '${slug}', name => 'createInvoice', description => 'Writes a bill.', scopes => array['invoices']);
        select chumbo.register_tool('cases.noop', server => '${slug}', name => 'list-open-tasks', description => 'Shows what is left to do.');
        select chumbo.register_tool('cases.noop', server => '${slug}', name => 'turn_page', description => 'Goes on.')`)

      same(
        (await tools({ url: `${stack.mcpUrl}/${slug}` })).map(({ name }) => name).sort(),
        ['call_tool', 'search_tools'],
        'what is listed',
      )
      const wanted = {
        'add link': 'board_add_link',
        'create invoice': 'createInvoice',
        'open tasks': 'list-open-tasks',
      }
      for (const [query, name] of Object.entries(wanted)) {
        expect(
          (await search(stage, query)).slice(0, 3).includes(name),
          `${query}: ${JSON.stringify(await search(stage, query))}`,
        )
        same((await search(stage, name))[0], name, `the exact name ${name}`)
      }
      same(await search(stage, 'zebra quantum'), [], 'a query without a match')
      same((await search(stage, 'page'))[0], 'turn_page', 'a word in a name beside one in a parameter')
      same(
        (await search(stage, 'create invoice', bob.token)).includes('createInvoice'),
        false,
        'without the right to it',
      )
    },
  },
]
