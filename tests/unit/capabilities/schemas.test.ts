// tests/unit/capabilities/schemas.test.ts — schemas of every library list alike, validate alike, and cost no other tool its place.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import * as mini from 'zod/mini'
import * as v3 from 'zod/v3'
import * as zod3 from 'zod3'

import {
  defineTool,
  manifest,
  structuredResult,
  textResult,
  type DefinedTool,
} from '../../../runtime/index.ts'
import { createProject, endpoint, errorOf, read } from '../app/project.ts'

const echo = (args: unknown) => structuredResult(args)

/** The same input in every way a program can write it. */
const sameInput = {
  'zod 4': z.object({
    title: z.string().min(2).max(40).describe('What to call it.'),
    count: z.number().int().min(0).default(3).describe('How many.'),
    state: z.enum(['open', 'done']).optional(),
    tags: z.array(z.string()).optional(),
    note: z.string().nullable().optional(),
    mail: z.email().optional(),
    place: z.object({ street: z.string(), floor: z.number().optional() }).optional(),
  }),
  'zod 3': zod3.object({
    title: zod3.string().min(2).max(40).describe('What to call it.'),
    count: zod3.number().int().min(0).default(3).describe('How many.'),
    state: zod3.enum(['open', 'done']).optional(),
    tags: zod3.array(zod3.string()).optional(),
    note: zod3.string().nullable().optional(),
    mail: zod3.string().email().optional(),
    place: zod3.object({ street: zod3.string(), floor: zod3.number().optional() }).optional(),
  }),
  'zod/v3': v3.object({
    title: v3.string().min(2).max(40).describe('What to call it.'),
    count: v3.number().int().min(0).default(3).describe('How many.'),
    state: v3.enum(['open', 'done']).optional(),
    tags: v3.array(v3.string()).optional(),
    note: v3.string().nullable().optional(),
    mail: v3.string().email().optional(),
    place: v3.object({ street: v3.string(), floor: v3.number().optional() }).optional(),
  }),
  'zod/mini': mini.object({
    title: mini.string().check(mini.minLength(2), mini.maxLength(40), mini.describe('What to call it.')),
    count: mini
      ._default(mini.number().check(mini.int(), mini.minimum(0)), 3)
      .check(mini.describe('How many.')),
    state: mini.optional(mini.enum(['open', 'done'])),
    tags: mini.optional(mini.array(mini.string())),
    note: mini.optional(mini.nullable(mini.string())),
    mail: mini.optional(mini.email()),
    place: mini.optional(mini.object({ street: mini.string(), floor: mini.optional(mini.number()) })),
  }),
  'JSON Schema': {
    type: 'object',
    properties: {
      title: { type: 'string', minLength: 2, maxLength: 40, description: 'What to call it.' },
      count: { type: 'integer', minimum: 0, default: 3, description: 'How many.' },
      state: { type: 'string', enum: ['open', 'done'] },
      tags: { type: 'array', items: { type: 'string' } },
      note: { type: ['string', 'null'] },
      mail: { type: 'string', format: 'email' },
      place: {
        type: 'object',
        properties: { street: { type: 'string' }, floor: { type: 'number' } },
        required: ['street'],
      },
    },
    required: ['title'],
  } as const,
}

async function listOf(tools: readonly DefinedTool[]) {
  const project = await createProject()
  const app = project.start({ tools })
  const listed = await read(await project.modern(app, 'tools/list'))
  return { project, app, tools: listed.result?.tools ?? [] }
}

const toolOf = (name: string, inputSchema: never) =>
  defineTool({ name, description: 'A tool.', inputSchema }, echo)

describe('the same input', () => {
  const ways = Object.entries(sameInput).map(([label, schema]) => [label, schema as never] as const)

  it.each(ways)('written in %s lists the same', async (label, schema) => {
    const { tools } = await listOf([
      toolOf('a_tool', schema),
      toolOf('reference', sameInput['JSON Schema'] as never),
    ])

    expect(tools[0]?.['inputSchema'], label).toEqual(tools[1]?.['inputSchema'])
    expect(tools[0]?.['inputSchema']).toMatchObject({
      properties: { title: { description: 'What to call it.' }, count: { default: 3 } },
      required: ['title'],
    })
  })

  it.each(ways)('written in %s goes into the manifest as it is listed', async (_label, schema) => {
    const tool = toolOf('a_tool', schema)
    const { tools } = await listOf([tool])

    expect(manifest({ tools: [tool] }).tools[0]?.['inputSchema']).toEqual(tools[0]?.['inputSchema'])
  })

  it.each(ways)('written in %s validates the same', async (_label, schema) => {
    const { project, app } = await listOf([toolOf('a_tool', schema)])
    const call = async (args: object) =>
      read(await project.modern(app, 'tools/call', { name: 'a_tool', arguments: args }))

    expect((await call({ title: 'Ada' })).result?.structuredContent).toEqual({ title: 'Ada', count: 3 })
    const full = {
      title: 'Ada',
      count: 0,
      state: 'done',
      tags: [],
      note: null,
      mail: 'a@b.test',
      place: { street: 'x' },
    }
    expect((await call(full)).result?.structuredContent).toEqual(full)
    for (const [args, name] of [
      [{}, /`title`|title/],
      [{ title: 'A' }, /`title`/],
      [{ title: 7 }, /`title`/],
      [{ title: 'Ada', count: 1.5 }, /`count`/],
      [{ title: 'Ada', count: -1 }, /`count`/],
      [{ title: 'Ada', state: 'lost' }, /`state`/],
      [{ title: 'Ada', tags: ['a', 7] }, /`tags\.1`/],
      [{ title: 'Ada', mail: 'nobody' }, /`mail`/],
      [{ title: 'Ada', place: {} }, /place/],
    ] as const) {
      const answer = await call(args)
      expect(errorOf(answer), JSON.stringify(args)).toMatchObject({ code: 'invalid_arguments' })
      expect(answer.result?.content?.[0]?.text).toMatch(name)
    }
  })

  it('types the arguments of the handler', () => {
    defineTool({ name: 'a', description: '', inputSchema: sameInput['zod 4'] }, (args) => {
      expectTypeOf(args.count).toEqualTypeOf<number>()
      expectTypeOf(args.state).toEqualTypeOf<'open' | 'done' | undefined>()
      return textResult('')
    })
    defineTool({ name: 'b', description: '', inputSchema: sameInput['zod 3'] }, (args) => {
      expectTypeOf(args.count).toEqualTypeOf<number>()
      expectTypeOf(args.state).toEqualTypeOf<'open' | 'done' | undefined>()
      return textResult('')
    })
    defineTool({ name: 'c', description: '', inputSchema: sameInput['zod/v3'] }, (args) => {
      expectTypeOf(args.title).toEqualTypeOf<string>()
      return textResult('')
    })
    defineTool({ name: 'd', description: '', inputSchema: sameInput['zod/mini'] }, (args) => {
      expectTypeOf(args.count).toEqualTypeOf<number>()
      return textResult('')
    })
    defineTool({ name: 'e', description: '', inputSchema: sameInput['JSON Schema'] }, (args) => {
      expectTypeOf(args).toEqualTypeOf<Readonly<Record<string, unknown>>>()
      return textResult('')
    })
    // @ts-expect-error a tool without the property
    defineTool({ name: 'f', description: '', inputSchema: z.object({}) }, (args) => textResult(args.missing))
  })
})

describe('zod 3 shows what zod 4 shows', () => {
  it.each([
    ['a tuple', z.tuple([z.string(), z.number()]), zod3.tuple([zod3.string(), zod3.number()])],
    ['a record', z.record(z.string(), z.number()), zod3.record(zod3.string(), zod3.number())],
    ['a literal', z.literal('x'), zod3.literal('x')],
    ['a native enum', z.enum({ A: 0, B: 1 }), zod3.nativeEnum({ A: 0, B: 1, 0: 'A', 1: 'B' } as never)],
    ['a union', z.union([z.string(), z.number()]), zod3.union([zod3.string(), zod3.number()])],
    ['a nullable array', z.array(z.string()).nullable(), zod3.array(zod3.string()).nullable()],
    ['numbers with bounds', z.number().gt(1).lte(9).multipleOf(2), zod3.number().gt(1).lte(9).multipleOf(2)],
    ['texts with patterns', z.string().regex(/^a/), zod3.string().regex(/^a/)],
    ['a beginning', z.string().startsWith('a.b'), zod3.string().startsWith('a.b')],
    [
      'formats',
      z.object({ a: z.uuid(), b: z.url(), c: z.iso.datetime(), d: z.ipv4() }),
      zod3.object({
        a: zod3.string().uuid(),
        b: zod3.string().url(),
        c: zod3.string().datetime(),
        d: zod3.string().ip({ version: 'v4' }),
      }),
    ],
    [
      'refined and transformed',
      z
        .string()
        .refine(() => true)
        .transform(Number),
      zod3
        .string()
        .refine(() => true)
        .transform(Number),
    ],
    ['preprocessed', z.preprocess(String, z.string()), zod3.preprocess(String, zod3.string())],
    [
      'an intersection',
      z.intersection(z.object({ a: z.string() }), z.object({ b: z.number() })),
      zod3.intersection(zod3.object({ a: zod3.string() }), zod3.object({ b: zod3.number() })),
    ],
    [
      'strict and loose objects',
      z.object({ a: z.strictObject({ x: z.string() }), b: z.looseObject({}) }),
      zod3.object({ a: zod3.object({ x: zod3.string() }).strict(), b: zod3.object({}).passthrough() }),
    ],
    [
      'brands, read-only and pipes',
      z.object({ a: z.string().brand('x'), b: z.string().readonly(), c: z.string().pipe(z.string()) }),
      zod3.object({
        a: zod3.string().brand('x'),
        b: zod3.string().readonly(),
        c: zod3.string().pipe(zod3.string()),
      }),
    ],
    ['lengths of arrays', z.array(z.string()).min(1).max(3), zod3.array(zod3.string()).min(1).max(3)],
    [
      'descriptions on wrappers',
      z.string().default('a').describe('Outer.'),
      zod3.string().default('a').describe('Outer.'),
    ],
  ])('of %s', async (_label, four, three) => {
    const { tools } = await listOf([
      toolOf('four', z.object({ value: four }) as never),
      toolOf('three', zod3.object({ value: three }) as never),
    ])

    expect(tools[1]?.['inputSchema']).toEqual(tools[0]?.['inputSchema'])
  })

  it('of a type that contains itself', async () => {
    interface Node {
      name: string
      kids: Node[]
    }
    const three: zod3.ZodType<Node> = zod3.object({
      name: zod3.string(),
      kids: zod3.lazy(() => three.array()),
    })
    const four = z.object({
      name: z.string(),
      get kids() {
        return z.array(four)
      },
    })

    const { tools, project, app } = await listOf([
      toolOf('four', four as never),
      toolOf('three', three as never),
    ])

    expect(tools[1]?.['inputSchema']).toEqual(tools[0]?.['inputSchema'])
    const deep = {
      name: 'a',
      kids: [{ name: 'b', kids: [{ name: 'c', kids: [{ name: 'd', kids: [{ name: 7, kids: [] }] }] }] }],
    }
    for (const name of ['four', 'three']) {
      const answer = await read(await project.modern(app, 'tools/call', { name, arguments: deep }))
      expect(answer.result?.content?.[0]?.text).toContain('`kids.0.kids.0.kids.0.kids.0.name`')
    }
  })

  it('of loose properties, as the official API took them', async () => {
    const project = await createProject()
    const app = project.start({
      register(server) {
        const four = { name: z.string(), times: z.number().default(2) }
        server.registerTool('four', { inputSchema: four as never }, echo as never)
        server.registerTool(
          'three',
          { inputSchema: { name: zod3.string(), times: zod3.number().default(2) } as never },
          echo as never,
        )
      },
    })

    const { result } = await read(await project.modern(app, 'tools/list'))

    expect(result?.tools?.[0]?.['inputSchema']).toEqual(result?.tools?.[1]?.['inputSchema'])
    for (const name of ['four', 'three']) {
      const answer = await read(await project.modern(app, 'tools/call', { name, arguments: { name: 'Ada' } }))
      expect(answer.result?.structuredContent).toEqual({ name: 'Ada', times: 2 })
      const wrong = await read(await project.modern(app, 'tools/call', { name, arguments: { name: 7 } }))
      expect(wrong.result?.content?.[0]?.text).toContain('`name`')
    }
  })
})

describe('a choice as the whole input', () => {
  const shape = z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('circle'), radius: z.number() }),
    z.strictObject({ kind: z.literal('box'), side: z.number(), color: z.string().optional() }),
  ])
  const plain = (name: string) => toolOf(name, z.object({ a: z.string() }) as never)
  const nine = Array.from({ length: 9 }, (_, index) => plain(`plain_${index}`))

  it('is listed as one object beside the others', async () => {
    const { tools } = await listOf([...nine, toolOf('draw', shape as never)])

    expect(tools).toHaveLength(10)
    expect(tools.find(({ name }) => name === 'draw')?.['inputSchema']).toEqual({
      type: 'object',
      description: 'One of these shapes: kind "circle" needs radius; kind "box" needs side.',
      properties: {
        kind: { type: 'string', enum: ['circle', 'box'] },
        radius: { type: 'number' },
        side: { type: 'number' },
        color: { type: 'string' },
      },
      required: ['kind'],
      additionalProperties: false,
    })
  })

  it.each([
    ['zod 4', shape],
    [
      'zod 3',
      zod3.discriminatedUnion('kind', [
        zod3.object({ kind: zod3.literal('circle'), radius: zod3.number() }).strict(),
        zod3
          .object({ kind: zod3.literal('box'), side: zod3.number(), color: zod3.string().optional() })
          .strict(),
      ]),
    ],
    [
      'JSON Schema',
      {
        type: 'object',
        oneOf: [
          {
            properties: { kind: { const: 'circle' }, radius: { type: 'number' } },
            required: ['kind', 'radius'],
            additionalProperties: false,
          },
          {
            properties: { kind: { const: 'box' }, side: { type: 'number' }, color: { type: 'string' } },
            required: ['kind', 'side'],
            additionalProperties: false,
          },
        ],
      },
    ],
  ])('written in %s takes each shape, and no mixture', async (_label, schema) => {
    const { project, app } = await listOf([toolOf('draw', schema as never)])
    const call = async (args: object) =>
      read(await project.modern(app, 'tools/call', { name: 'draw', arguments: args }))

    for (const args of [
      { kind: 'circle', radius: 1 },
      { kind: 'box', side: 2 },
    ])
      expect((await call(args)).result?.structuredContent).toEqual(args)
    for (const args of [{ kind: 'circle', radius: 1, side: 2 }, { radius: 1 }, {}, { kind: 'ring' }])
      expect(errorOf(await call(args)), JSON.stringify(args)).toMatchObject({ code: 'invalid_arguments' })
  })
})

describe('what is no schema', () => {
  class Custom {}

  it.each([
    ['nothing in an object', {}],
    ['an object of a class', new Custom()],
    ['a list', []],
    [
      'a Standard Schema that cannot show itself',
      { '~standard': { version: 1, vendor: 'acme', validate: () => ({ value: {} }) } },
    ],
    ['a type that JSON does not have', z.object({ at: z.date() })],
    ['the same in zod 3', zod3.object({ at: zod3.date() })],
    ['a map of zod 3', zod3.object({ at: zod3.map(zod3.string(), zod3.string()) })],
    ['a text', z.string()],
    ['a text in zod 3', zod3.string()],
    ['a reference to nowhere', { type: 'object', properties: { a: { $ref: '#/$defs/none' } } }],
    ['a JSON Schema in a dialect nobody speaks', { type: 'object', $schema: 'https://example.test/dialect' }],
    ['null', null],
  ])('fails at start-up, with the name of its tool: %s', (_label, schema) => {
    expect(() => toolOf('awkward', schema as never)).toThrow(
      /^defineTool awkward: inputSchema cannot be offered/,
    )
  })

  it.each([
    ['nothing in an object', {}],
    ['a type that JSON does not have', z.object({ at: z.date() })],
    [
      'a schema that throws when it is read',
      {
        get '~standard'(): never {
          throw new Error('boom')
        },
      },
    ],
  ])('leaves only itself out when it is registered: %s', async (_label, schema) => {
    const project = await createProject()
    const app = project.start({
      tools: [toolOf('defined', z.object({}) as never)],
      register(server) {
        server.registerTool('before', { inputSchema: z.object({}) }, echo)
        server.registerTool('awkward', { inputSchema: schema as never }, echo as never)
        server.registerTool('after', { inputSchema: z.object({}) }, echo)
      },
    })

    for (let round = 0; round < 2; round += 1) {
      const { result } = await read(await project.modern(app, 'tools/list'))
      expect(result?.tools?.map(({ name }) => name)).toEqual(['after', 'before', 'defined'])
    }

    expect(project.failures.map(({ error }) => String(error))).toEqual([
      expect.stringMatching(/registerTool awkward: inputSchema cannot be offered to clients/),
    ])
    const called = await read(await project.modern(app, 'tools/call', { name: 'awkward', arguments: {} }))
    expect(called.error?.message).toBe('Tool awkward not found')
  })

  it('leaves only itself out among prompts', async () => {
    const project = await createProject()
    const app = project.start({
      register(server) {
        const message = () => ({ messages: [] })
        server.registerPrompt('awkward', { argsSchema: z.object({ at: z.date() }) }, message)
        server.registerPrompt(
          'plain',
          { argsSchema: zod3.object({ name: zod3.string().describe('Who.') }) },
          message,
        )
      },
    })

    const { result } = await read(await project.modern(app, 'prompts/list'))

    expect(result?.['prompts']).toEqual([
      { name: 'plain', arguments: [{ name: 'name', description: 'Who.', required: true }] },
    ])
    expect(String(project.failures[0]?.error)).toMatch(/registerPrompt awkward: argsSchema/)
  })

  it.each(['search_tools', 'call_tool'])('is the name %s, which is taken', async (name) => {
    expect(() => toolOf(name, z.object({}) as never)).toThrow(/belongs to the search/)
    const project = await createProject()
    const app = project.start({ register: (server) => void server.registerTool(name, {}, echo as never) })

    expect((await read(await project.modern(app, 'tools/list'))).result?.tools).toEqual([])
    expect(String(project.failures[0]?.error)).toContain(name)
  })
})

describe('an output schema', () => {
  it('that describes a list is an object with the list as result, for every client', async () => {
    const project = await createProject()
    const app = project.start({
      tools: [
        defineTool(
          {
            name: 'words',
            description: 'Words.',
            inputSchema: z.object({}),
            outputSchema: z.array(z.string()),
          },
          () => structuredResult(['a', 'b']),
        ),
      ],
    })
    const token = await project.sign()
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
    await client.connect(
      new StreamableHTTPClientTransport(new URL(endpoint), {
        fetch: async (input, init) => app.fetch(new Request(input, init)),
        authProvider: { token: async () => token },
      }),
    )

    const { tools } = await client.listTools()
    const called = await client.callTool({ name: 'words', arguments: {} })

    expect(tools[0]?.outputSchema).toEqual({
      type: 'object',
      properties: { result: { type: 'array', items: { type: 'string' } } },
      required: ['result'],
    })
    expect(called.structuredContent).toEqual({ result: ['a', 'b'] })
    await client.close()
  })

  it('of zod 3 leaves extra properties behind, as one of zod 4 does', async () => {
    const output = { four: z.object({ id: z.string() }), three: zod3.object({ id: zod3.string() }) }
    const tools = Object.entries(output).map(([name, outputSchema]) =>
      defineTool({ name, description: '', inputSchema: z.object({}), outputSchema }, () =>
        structuredResult({ id: 'x', secret: 'y' }),
      ),
    )
    const { project, app, tools: listed } = await listOf(tools)

    expect(listed[0]?.['outputSchema']).toEqual(listed[1]?.['outputSchema'])
    for (const name of Object.keys(output)) {
      const answer = await read(await project.modern(app, 'tools/call', { name, arguments: {} }))
      expect(answer.result?.structuredContent).toEqual({ id: 'x' })
    }
  })
})

describe('a list of many large tools', () => {
  it('comes in pages of at most a megabyte, each tool once', async () => {
    const project = await createProject(
      Array.from({ length: 3 }, (_, index) => ({ name: `row_${index}`, run: () => '{}' })),
    )
    project.database.pageSize = 2
    const wide = z.object(
      Object.fromEntries(
        Array.from({ length: 500 }, (_, index) => [`p${index}`, z.string().describe('x'.repeat(60))]),
      ),
    )
    const tools = Array.from({ length: 60 }, (_, index) =>
      toolOf(`t${String(index).padStart(2, '0')}`, wide as never),
    )
    const app = project.start({ tools })

    const names: string[] = []
    let cursor: string | undefined
    do {
      const response = await project.modern(app, 'tools/list', cursor === undefined ? {} : { cursor })
      const text = await response.clone().text()
      expect(text.length).toBeLessThan(1_100_000)
      const { result } = await read(response)
      names.push(...(result?.tools ?? []).map(({ name }) => name))
      cursor = result?.nextCursor
    } while (cursor !== undefined)

    expect(names).toEqual(['row_0', 'row_1', 'row_2', ...tools.map(({ definition }) => definition.name)])
  })

  it('is not walked with a cursor that was made up', async () => {
    const { project, app } = await listOf([])

    for (const cursor of ['', '+', btoa('+'), btoa('+\u0001'), btoa('a b')])
      expect((await read(await project.modern(app, 'tools/list', { cursor }))).error).toMatchObject({
        code: -32602,
      })
  })
})
