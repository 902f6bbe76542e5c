// tests/cases/schemas.ts — E: what a client sees in tools/list and sends in tools/call.
import { fromJsonSchema } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { z as z3 } from 'zod/v3'

import { defineTool, structuredResult } from '../../runtime/index.ts'
import { expect, same, type Case, type Stage, type Tool } from './case.ts'

type Schema = Readonly<Record<string, unknown>>

/** Walks every node of a schema. */
function* nodesOf(value: unknown): Generator<Schema> {
  if (Array.isArray(value)) for (const item of value) yield* nodesOf(item)
  else if (typeof value === 'object' && value !== null) {
    yield value as Schema
    for (const inner of Object.values(value)) yield* nodesOf(inner)
  }
}

async function install({ sql }: Stage, statements: string, names: readonly string[]): Promise<void> {
  await sql.unsafe(`
    ${statements};
    revoke execute on all functions in schema cases from public, anon;
    grant execute on all functions in schema cases to authenticated`)
  for (const name of names) await sql`select chumbo.register_tool(${`cases.${name}`})`
}

const named = (tools: readonly Tool[], name: string): Tool => {
  const tool = tools.find((one) => one.name === name)
  expect(tool !== undefined, `${name} is not listed`)
  return tool
}

export const schemas: readonly Case[] = [
  {
    id: 'D17',
    title: 'one awkward schema does not cost the server its tools',
    async run(stage) {
      const shape = z.discriminatedUnion('kind', [
        z.object({ kind: z.literal('circle'), radius: z.number() }),
        z.object({ kind: z.literal('box'), width: z.number(), height: z.number() }),
      ])
      const plain = Array.from({ length: 9 }, (_, index) =>
        defineTool(
          { name: `plain_${index}`, description: 'x', inputSchema: z.object({ a: z.string() }) },
          ({ a }) => structuredResult({ a }),
        ),
      )
      const odd = defineTool({ name: 'odd', description: 'x', inputSchema: shape }, (args) =>
        structuredResult({ kind: args.kind }),
      )
      const app = stage.serve({ tools: [...plain, odd] })

      const listed = await stage.tools({ to: app })
      same(
        plain.filter(({ definition }) => !listed.some(({ name }) => name === definition.name)).length,
        0,
        'plain tools missing',
      )
      for (const { name, inputSchema } of [...listed, ...(await stage.tools())]) {
        same(inputSchema['type'], 'object', `root of ${name}`)
        const unions = ['anyOf', 'oneOf', 'allOf', 'not', 'if', 'enum'].filter((key) => key in inputSchema)
        same(unions, [], `unions at the root of ${name}`)
      }
      const call = (args: object) => stage.call('odd', args, { to: app })
      same(
        (await call({ kind: 'circle', radius: 1 })).structuredContent,
        { kind: 'circle' },
        'the first shape',
      )
      same(
        (await call({ kind: 'box', width: 1, height: 2 })).structuredContent,
        { kind: 'box' },
        'the second shape',
      )
      same((await call({ kind: 'box', radius: 1 })).isError, true, 'a mixture')
      same((await call({})).isError, true, 'neither')
    },
  },
  {
    id: 'D18',
    title: 'published schemas hold no references',
    async run(stage) {
      await install(
        stage,
        `
        create type cases.addr as (street text, city text);
        create function cases.send_to(ship cases.addr, bill cases.addr) returns cases.addr language sql stable security invoker set search_path = '' as 'select bill'`,
        ['send_to'],
      )
      type Node = { readonly value: string; readonly children: readonly Node[] }
      const node: z.ZodType<Node> = z.lazy(() => z.object({ value: z.string(), children: z.array(node) }))
      const part = z.object({ street: z.string() })
      const app = stage.serve({
        tools: [
          defineTool(
            { name: 'grow', description: 'x', inputSchema: z.object({ node, ship: part, bill: part }) },
            () => structuredResult({}),
          ),
        ],
      })
      const listed = [...(await stage.tools()), ...(await stage.tools({ to: app }))]
      named(listed, 'send_to')
      named(listed, 'grow')
      const text = JSON.stringify(listed)
      same(
        ['"$ref"', '"$defs"', '"definitions"', '"$id"'].filter((key) => text.includes(`${key}:`)),
        [],
        'keywords',
      )
      expect(text.length < 1_000_000, `${text.length} bytes`)
      const answer = await stage.call('send_to', {
        ship: { street: 'a', city: 'b' },
        bill: { street: 'c', city: 'd' },
      })
      expect(JSON.stringify(answer.structuredContent).includes('"street":"c"'), JSON.stringify(answer))
    },
  },
  {
    id: 'D19',
    title: 'every array says what it holds',
    async run(stage) {
      await install(
        stage,
        `
        create function cases.arrays(tags text[] default '{}', ids bigint[] default '{}', grid integer[][] default '{}', parts cases.addr[] default '{}', extra jsonb default '{}')
          returns text[] language sql stable security invoker set search_path = '' as 'select tags'`,
        ['arrays'],
      )
      for (const { name, inputSchema, outputSchema } of await stage.tools()) {
        for (const node of nodesOf([inputSchema, outputSchema ?? {}])) {
          const isArray =
            node['type'] === 'array' || (Array.isArray(node['type']) && node['type'].includes('array'))
          if (!isArray) continue
          const { items } = node
          expect(
            typeof items === 'object' && items !== null && Object.keys(items).length > 0,
            `an array without items in ${name}: ${JSON.stringify(node)}`,
          )
        }
      }
      const { properties } = named(await stage.tools(), 'arrays').inputSchema as {
        properties: Record<string, Schema>
      }
      expect(properties['extra']?.['type'] !== 'array', 'extra is described as an array')
      same('properties' in (properties['parts']?.['items'] as object), true, 'the fields of a part')
      for (const tags of [[], ['a,b', 'c"d', '']]) {
        same(
          (await stage.call('arrays', { tags })).structuredContent,
          { result: tags },
          'the tags that come back',
        )
      }
    },
  },
  {
    id: 'D20',
    title: "names fit after a client's prefix, and each leads back to its function",
    async run(stage) {
      const long = 'n'.repeat(62)
      await install(
        stage,
        `
        create function cases.${long}a() returns text language sql stable security invoker set search_path = '' as 'select ''a''';
        create function cases.${long}b() returns text language sql stable security invoker set search_path = '' as 'select ''b''';
        create function cases."Créer Élément"() returns text language sql stable security invoker set search_path = '' as 'select ''é'''`,
        [`${long}a`, `${long}b`, '"Créer Élément"'],
      )
      const tools = await stage.tools()
      same(
        tools.filter(({ name }) => !/^[A-Za-z0-9_-]{1,64}$/.test(name)).map(({ name }) => name),
        [],
        'names',
      )
      same(new Set(tools.map(({ name }) => name)).size, tools.length, 'different names')
      for (const [name, result] of [
        [`${long}a`, 'a'],
        [`${long}b`, 'b'],
        ['Creer_Element', 'é'],
      ] as const) {
        same((await stage.call(name)).structuredContent, { result }, name)
      }
      const near = await stage.sql<
        { capability: string }[]
      >`select distinct capability from chumbo.lint() where rule like '%name%'`
      expect(
        near.some(({ capability }) => capability === `${long}a`),
        'a name near the limit is not flagged',
      )
    },
  },
  {
    id: 'D21',
    title: 'structured arguments that arrive as JSON text are taken as what they are',
    async run(stage) {
      await install(
        stage,
        `
        create function cases.file(tags text[], addr cases.addr, body text) returns jsonb
          language sql stable security invoker set search_path = '' as 'select jsonb_build_object(''tags'', tags, ''addr'', to_jsonb(addr), ''body'', body)'`,
        ['file'],
      )
      const args = { tags: '["a","b"]', addr: '{"street":"x","city":"y"}', body: '[1,2]' }
      same(
        (await stage.call('file', args)).structuredContent,
        { addr: { city: 'y', street: 'x' }, body: '[1,2]', tags: ['a', 'b'] },
        'what arrived',
      )
      for (const name of ['tags', 'addr']) {
        const { isError, content } = await stage.call('file', { ...args, [name]: '{"broken' })
        expect(
          isError === true && content?.[0]?.text?.includes(`\`${name}\``) === true,
          JSON.stringify(content),
        )
      }
    },
  },
  {
    id: 'D22',
    title: 'both generations of zod, and plain JSON Schema, list and validate alike',
    async run(stage) {
      const fields = {
        three: z3.object({
          text: z3.string().describe('The text.'),
          count: z3.number().int().default(3),
          flag: z3.boolean().optional(),
        }),
        four: z.object({
          text: z.string().describe('The text.'),
          count: z.int().default(3),
          flag: z.boolean().optional(),
        }),
        json: {
          type: 'object',
          properties: {
            text: { type: 'string', description: 'The text.' },
            count: { type: 'integer', default: 3 },
            flag: { type: 'boolean' },
          },
          required: ['text'],
        },
      }
      const app = stage.serve({
        tools: Object.entries(fields).map(([name, inputSchema]) =>
          defineTool({ name, description: 'x', inputSchema: inputSchema as never }, (args) =>
            structuredResult({ args }),
          ),
        ),
      })
      const listed = await stage.tools({ to: app })
      const facts = Object.keys(fields).map((name) => {
        const { properties, required } = named(listed, name).inputSchema as {
          properties: Record<string, Schema>
          required?: string[]
        }
        return Object.fromEntries(
          Object.entries(properties).map(([key, { type, description, default: fallback }]) => [
            key,
            { type, description, default: fallback, required: required?.includes(key) === true },
          ]),
        )
      })
      same(facts[1], facts[0], 'zod 4 beside zod 3')
      same(facts[2], facts[0], 'JSON Schema beside zod 3')
      for (const name of Object.keys(fields)) {
        same(
          (await stage.call(name, { text: 'x', count: 1 }, { to: app })).isError,
          undefined,
          `${name}: valid`,
        )
        same((await stage.call(name, { count: 1 }, { to: app })).isError, true, `${name}: missing`)
        same((await stage.call(name, { text: 'x', count: 1.5 }, { to: app })).isError, true, `${name}: wrong`)
      }
      let refusal = ''
      try {
        defineTool({ name: 'empty', description: 'x', inputSchema: {} as never }, () => structuredResult({}))
      } catch (error) {
        refusal = String(error)
      }
      expect(refusal.includes('empty'), `the refusal was: ${refusal}`)
    },
  },
  {
    id: 'D23',
    title: 'rows come back in the envelope that clients accept',
    async run(stage) {
      await install(
        stage,
        `
        create function cases.scalar() returns integer language sql stable security invoker set search_path = '' as 'select 1';
        create function cases.one() returns cases.addr language sql stable security invoker set search_path = '' as 'select row(''a'', null)::cases.addr';
        create function cases.some() returns setof cases.addr language sql stable security invoker set search_path = '' as 'select row(''a'', null)::cases.addr';
        create function cases.none() returns setof cases.addr language sql stable security invoker set search_path = '' as 'select row(''a'', null)::cases.addr where false';
        create function cases.nothing() returns void language sql stable security invoker set search_path = '' as 'select null::void';
        create function cases.nil() returns text language sql stable security invoker set search_path = '' as 'select null::text'`,
        ['scalar', 'one', 'some', 'none', 'nothing', 'nil'],
      )
      const tools = await stage.tools()
      for (const name of ['scalar', 'one', 'some', 'none', 'nothing', 'nil']) {
        const { structuredContent, content } = await stage.call(
          name,
          {},
          { headers: { 'MCP-Protocol-Version': '2025-06-18' } },
        )
        expect(
          typeof structuredContent === 'object' && !Array.isArray(structuredContent),
          `${name}: ${JSON.stringify(structuredContent)}`,
        )
        same(JSON.parse(content?.[0]?.text ?? ''), structuredContent, `the text of ${name}`)
        const { outputSchema } = named(tools, name)
        if (outputSchema === undefined) continue
        same(outputSchema['type'], 'object', `output of ${name}`)
        const checked = await fromJsonSchema(outputSchema)['~standard'].validate(structuredContent)
        same(checked.issues, undefined, `${name} against its schema`)
      }
    },
  },
]
