// tests/unit/capabilities/definitions.test.ts — resources and prompts at module scope, and what becomes of definitions as rows.
import { completable, ResourceNotFoundError } from '@modelcontextprotocol/server'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import * as zod3 from 'zod3'

import {
  definePrompt,
  defineResource,
  defineTool,
  manifest,
  textResult,
  type DefinedPrompt,
  type DefinedResource,
  type DefinedTool,
} from '../../../runtime/index.ts'
import { alice, createProject, read, type Project } from '../app/project.ts'

const account = defineResource(
  {
    name: 'account',
    uri: 'account://me',
    title: 'Account',
    mimeType: 'text/plain',
    size: 7,
    icons: [{ src: 'https://acme.example/icon.png' }],
    _meta: { 'acme/x': 1 },
  },
  (uri, ctx) => ({ contents: [{ uri: uri.href, text: ctx.user.id }] }),
)

const project = defineResource(
  {
    name: 'project',
    uriTemplate: 'project://{team}/{id}',
    description: 'A project.',
    list: (ctx) => ({ resources: [{ uri: `project://red/${ctx.user.id}`, name: 'Mine' }] }),
    complete: {
      id: (value, ctx, { team }) => [`${value}-${team ?? 'any'}-${ctx.scopes.join()}`],
    },
  },
  (uri, { team, id }, ctx) => {
    if (id === 'none') throw new ResourceNotFoundError(uri.href)
    return { contents: [{ uri: uri.href, text: `${String(team)}/${String(id)} for ${ctx.user.id}` }] }
  },
)

const plan = definePrompt(
  {
    name: 'plan',
    title: 'Plan',
    description: 'Plans the next steps.',
    argsSchema: z.object({
      name: z.string().min(2).describe('Which project.'),
      tone: completable(z.string(), (value) => [`${value}!`]).optional(),
    }),
    complete: { name: (value, ctx, { tone }) => [`${value} of ${ctx.user.id} ${tone ?? ''}`] },
  },
  ({ name, tone = 'calm' }, ctx) => ({
    messages: [
      { role: 'user', content: { type: 'text', text: `Plan ${name}, ${tone}, for ${ctx.user.id}.` } },
    ],
  }),
)

const hello = definePrompt({ name: 'hello', scopes: ['write'] }, (_args, ctx) => ({
  messages: [{ role: 'user', content: { type: 'text', text: ctx.traceId } }],
}))

async function start(rows: Parameters<typeof createProject>[0] = []) {
  const made = await createProject(rows)
  const app = made.start({ resources: [account, project], prompts: [plan, hello] })
  const ask = async (method: string, params: Record<string, unknown> = {}) =>
    read(await made.modern(app, method, params))
  return { project: made, ask }
}

const trips = ({ database }: Project) => database.trips.map(({ rpc }) => rpc)

describe('a defined resource', () => {
  it('is listed with all it says about itself, and its family beside it', async () => {
    const { ask } = await start()

    const { result: listed } = await ask('resources/list')
    const { result: templates } = await ask('resources/templates/list')

    expect(listed?.['resources']).toEqual([
      {
        uri: 'account://me',
        name: 'account',
        title: 'Account',
        mimeType: 'text/plain',
        size: 7,
        icons: [{ src: 'https://acme.example/icon.png' }],
        _meta: { 'acme/x': 1 },
      },
      { uri: `project://red/${alice}`, name: 'Mine', description: 'A project.' },
    ])
    expect(templates?.['resourceTemplates']).toEqual([
      { name: 'project', uriTemplate: 'project://{team}/{id}', description: 'A project.' },
    ])
  })

  it('is read by its caller in one trip before and one after, from the first request on', async () => {
    const { project: made, ask } = await start()

    const one = await ask('resources/read', { uri: 'account://me' })
    expect(trips(made)).toEqual(['chumbo_enter'])
    const other = await ask('resources/read', { uri: 'project://red/7' })

    expect(one.result?.['contents']).toEqual([{ uri: 'account://me', text: alice }])
    expect(other.result?.['contents']).toEqual([{ uri: 'project://red/7', text: `red/7 for ${alice}` }])
  })

  it('that does not exist is answered in the words of the protocol', async () => {
    const { ask } = await start()

    for (const uri of ['project://red/none', 'nowhere://x'])
      expect((await ask('resources/read', { uri })).error).toMatchObject({ code: -32602, data: { uri } })
  })

  it('completes its variables for the caller', async () => {
    const { project: made, ask } = await start()
    made.database.scopesOf = () => ['write']

    const { result } = await ask('completion/complete', {
      ref: { type: 'ref/resource', uri: 'project://{team}/{id}' },
      argument: { name: 'id', value: 'a' },
      context: { arguments: { team: 'red' } },
    })

    expect(result?.['completion']).toMatchObject({ values: ['a-red-write'] })
  })

  it('obeys its row', async () => {
    const { ask } = await start([
      { name: 'account', kind: 'resource', isDisabled: true },
      { name: 'project', kind: 'resource_template', scopes: ['hidden'] },
    ])

    expect((await ask('resources/list')).result?.['resources'] ?? []).toEqual([])
    for (const uri of ['account://me', 'project://red/7'])
      expect((await ask('resources/read', { uri })).error).toMatchObject({ code: -32602, data: { uri } })
  })

  it('exists only for those who hold its scopes', async () => {
    const made = await createProject()
    const secret = defineResource({ name: 'secret', uri: 'secret://x', scopes: ['write'] }, (uri) => ({
      contents: [{ uri: uri.href, text: 'secret' }],
    }))
    const app = made.start({ resources: [secret] })
    const readIt = async () => read(await made.modern(app, 'resources/read', { uri: 'secret://x' }))

    expect((await readIt()).error).toBeDefined()
    made.database.scopesOf = () => ['write']
    expect((await readIt()).result?.['contents']).toHaveLength(1)
  })
})

describe('a defined prompt', () => {
  it('is listed with its arguments, to those who hold its scopes', async () => {
    const { project: made, ask } = await start()
    const planned = {
      name: 'plan',
      title: 'Plan',
      description: 'Plans the next steps.',
      arguments: [
        { name: 'name', description: 'Which project.', required: true },
        { name: 'tone', required: false },
      ],
    }

    expect((await ask('prompts/list')).result?.['prompts']).toEqual([planned])
    made.database.scopesOf = () => ['write']
    expect((await ask('prompts/list')).result?.['prompts']).toEqual([planned, { name: 'hello' }])
  })

  it('is written for its caller, with arguments that were checked', async () => {
    const { project: made, ask } = await start()
    made.database.scopesOf = () => ['write']

    const { result } = await ask('prompts/get', { name: 'plan', arguments: { name: 'Alpha' } })
    const wrong = await ask('prompts/get', { name: 'plan', arguments: { name: 'A' } })
    const bare = await ask('prompts/get', { name: 'hello' })

    expect(result?.['messages']).toEqual([
      { role: 'user', content: { type: 'text', text: `Plan Alpha, calm, for ${alice}.` } },
    ])
    expect(wrong.error).toMatchObject({ code: -32602 })
    expect(bare.result?.['messages']).toHaveLength(1)
  })

  it.each([
    ['what its definition adds', 'name', [`Al of ${alice} dry`]],
    ['what its schema says itself', 'tone', ['Al!']],
    ['nothing for others', 'other', []],
  ])('completes %s', async (_label, name, values) => {
    const { ask } = await start()

    const { result } = await ask('completion/complete', {
      ref: { type: 'ref/prompt', name: 'plan' },
      argument: { name, value: 'Al' },
      context: { arguments: { tone: 'dry' } },
    })

    expect(result?.['completion']).toMatchObject({ values })
  })

  it.each([
    ['zod 3', zod3.object({ name: zod3.string().describe('Who.') })],
    [
      'JSON Schema',
      { type: 'object', properties: { name: { type: 'string', description: 'Who.' } }, required: ['name'] },
    ],
  ])('completes and lists arguments written in %s', async (_label, argsSchema) => {
    const made = await createProject()
    const greet = definePrompt(
      { name: 'greet', argsSchema, complete: { name: (value) => [`${value}a`] } },
      () => ({ messages: [] }),
    )
    const app = made.start({ prompts: [greet] })

    const listed = await read(await made.modern(app, 'prompts/list'))
    const completed = await read(
      await made.modern(app, 'completion/complete', {
        ref: { type: 'ref/prompt', name: 'greet' },
        argument: { name: 'name', value: 'Ad' },
      }),
    )

    expect(listed.result?.['prompts']).toEqual([
      { name: 'greet', arguments: [{ name: 'name', description: 'Who.', required: true }] },
    ])
    expect(completed.result?.['completion']).toMatchObject({ values: ['Ada'] })
  })

  it('types its arguments', () => {
    definePrompt({ name: 'a', argsSchema: z.object({ n: z.coerce.number() }) }, ({ n }) => {
      expectTypeOf(n).toEqualTypeOf<number>()
      return { messages: [] }
    })
    definePrompt({ name: 'b', argsSchema: zod3.object({ n: zod3.string() }) }, ({ n }) => {
      expectTypeOf(n).toEqualTypeOf<string>()
      return { messages: [] }
    })
  })
})

const tool = (name: string, more: object = {}): DefinedTool =>
  defineTool({ name, description: 'A tool.', inputSchema: z.object({}), ...more }, () => textResult(''))
const nothing = () => ({ contents: [] })
const silence = () => ({ messages: [] })

describe('a definition is refused', () => {
  it.each<[string, () => unknown, RegExp]>([
    ['a tool with a blank name', () => tool(''), /defineTool: "" is not a name/],
    ['a tool with too long a name', () => tool('x'.repeat(65)), /is not a name/],
    [
      'a resource with a space in its name',
      () => defineResource({ name: 'a b', uri: 'a://b' }, nothing),
      /defineResource: "a b"/,
    ],
    ['a prompt with an accent in its name', () => definePrompt({ name: 'é' }, silence), /definePrompt: "é"/],
    ['a name that is no text', () => tool(7 as never), /defineTool: 7 is not a name/],
    [
      'a blank scope',
      () => defineResource({ name: 'a', uri: 'a://b', scopes: [' '] }, nothing),
      /defineResource a: a scope is blank/,
    ],
    [
      'a URI that is none',
      () => defineResource({ name: 'a', uri: 'nope' }, nothing),
      /defineResource a: "nope" is not a URI/,
    ],
    [
      'a template that is none',
      () => defineResource({ name: 'a', uriTemplate: 'a://{x' }, nothing),
      /defineResource a: "a:\/\/\{x" is not a URI template/,
    ],
    [
      'a completion of no variable',
      () => defineResource({ name: 'a', uriTemplate: 'a://{x}', complete: { y: () => [] } }, nothing),
      /complete names y/,
    ],
    [
      'a completion of no argument',
      () =>
        definePrompt(
          { name: 'a', argsSchema: z.object({ x: z.string() }), complete: { y: () => [] } },
          silence,
        ),
      /complete names y/,
    ],
    [
      'a prompt whose schema cannot be shown',
      () => definePrompt({ name: 'a', argsSchema: z.object({ x: z.date() }) }, silence),
      /definePrompt a: argsSchema/,
    ],
    ['visibility for nobody', () => tool('a', { visibility: [] }), /defineTool a: visibility/],
    ['visibility for somebody else', () => tool('a', { visibility: ['user'] }), /defineTool a: visibility/],
  ])('%s', (_label, make, message) => {
    expect(make).toThrow(message)
  })

  const resource = (name: string, uri: string): DefinedResource => defineResource({ name, uri }, nothing)
  const prompt = (name: string): DefinedPrompt => definePrompt({ name }, silence)

  it.each([
    ['tools', { tools: [tool('a'), tool('b'), tool('a')] }, /the tool a/],
    ['resources', { resources: [resource('a', 'a://1'), resource('a', 'a://2')] }, /the resource a/],
    [
      'a resource and a template',
      { resources: [resource('a', 'a://1'), defineResource({ name: 'a', uriTemplate: 'a://{x}' }, nothing)] },
      /the resource a/,
    ],
    ['prompts', { prompts: [prompt('a'), prompt('a')] }, /the prompt a/],
  ])('when two %s share a name, at start-up and in the manifest', async (_label, definitions, message) => {
    const made = await createProject()

    expect(() => made.start(definitions)).toThrow(message)
    expect(() => manifest(definitions)).toThrow(message)
  })

  it('when two resources share a URI', async () => {
    const made = await createProject()

    expect(() => made.start({ resources: [resource('a', 'a://x'), resource('b', 'a://x')] })).toThrow(
      /the URI a:\/\/x/,
    )
  })

  it('when a further server defines one twice', async () => {
    const made = await createProject()

    expect(() => made.start({ servers: { other: { tools: [tool('a'), tool('a')] } } })).toThrow(/the tool a/)
  })
})

describe('the manifest', () => {
  it('holds every definition as rows need it', () => {
    const app = tool('panel', {
      title: 'Panel',
      scopes: ['write'],
      visibility: ['app'],
      pinned: true,
      search: 'chart graph',
      icons: [{ src: 'https://acme.example/icon.png' }],
      _meta: { ui: { resourceUri: 'ui://panel' } },
      annotations: { readOnlyHint: true },
    })

    expect(
      manifest({ tools: [app, tool('plain')], resources: [account, project], prompts: [plan, hello] }),
    ).toEqual({
      tools: [
        {
          name: 'panel',
          title: 'Panel',
          description: 'A tool.',
          inputSchema: { type: 'object', properties: {} },
          annotations: { readOnlyHint: true },
          icons: [{ src: 'https://acme.example/icon.png' }],
          _meta: { ui: { resourceUri: 'ui://panel', visibility: ['app'] } },
          scopes: ['write'],
          visibility: ['app'],
          pinned: true,
          search: 'chart graph',
        },
        {
          name: 'plain',
          description: 'A tool.',
          inputSchema: { type: 'object', properties: {} },
          scopes: [],
        },
      ],
      resources: [
        {
          name: 'account',
          uri: 'account://me',
          size: 7,
          title: 'Account',
          mimeType: 'text/plain',
          icons: [{ src: 'https://acme.example/icon.png' }],
          _meta: { 'acme/x': 1 },
          scopes: [],
        },
        { name: 'project', uriTemplate: 'project://{team}/{id}', description: 'A project.', scopes: [] },
      ],
      prompts: [
        {
          name: 'plan',
          title: 'Plan',
          description: 'Plans the next steps.',
          inputSchema: {
            type: 'object',
            properties: {
              name: { type: 'string', minLength: 2, description: 'Which project.' },
              tone: { type: 'string' },
            },
            required: ['name'],
          },
          scopes: [],
        },
        { name: 'hello', scopes: ['write'] },
      ],
    })
  })

  it('takes entries that stand for what register offers', () => {
    const entries = {
      resources: [{ name: 'snippet', uriTemplate: 'snippet://{id}' }],
      prompts: [{ name: 'ask', scopes: ['write'] }],
    }

    expect(manifest(entries)).toEqual({ tools: [], ...entries })
  })

  it('marks a tool of the app in the list as well', async () => {
    const made = await createProject()
    const app = made.start({
      tools: [tool('panel', { visibility: ['app'], icons: [{ src: 'https://x.example/i.png' }] })],
    })

    const { result } = await read(await made.modern(app, 'tools/list'))

    expect(result?.tools).toEqual([
      {
        name: 'panel',
        description: 'A tool.',
        inputSchema: { type: 'object', properties: {} },
        icons: [{ src: 'https://x.example/i.png' }],
        _meta: { ui: { visibility: ['app'] } },
      },
    ])
  })
})
