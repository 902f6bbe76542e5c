// tests/unit/capabilities/rows.test.ts — resources, prompts and completions of rows: what they cost, and who answers where code is there too.
import { completable, ResourceTemplate } from '@modelcontextprotocol/server'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { textResult, type SupabaseMcpApp, type SupabaseMcpServer } from '../../../runtime/index.ts'
import { createProject, legacyMessage, read, type Project, type Row } from '../app/project.ts'

const note: Row = {
  kind: 'resource_template',
  name: 'note',
  uri: 'note://{id}',
  says: { contents: [{ uri: 'note://1', mimeType: 'text/plain', text: 'Of a row.' }], cache_ttl_ms: 5000 },
  values: ['1', '10'],
}
const about: Row = {
  kind: 'resource',
  name: 'about',
  uri: 'app://about',
  says: { contents: [{ uri: 'app://about', text: 'About.' }] },
}
const greet: Row = {
  kind: 'prompt',
  name: 'greet',
  says: { messages: [{ role: 'user', content: { type: 'text', text: 'Hello.' } }], description: 'Greets.' },
  values: ['Ann'],
}

const questions = {
  read: ['resources/read', { uri: 'note://1' }],
  prompt: ['prompts/get', { name: 'greet', arguments: { who: 'Ann' } }],
  complete: [
    'completion/complete',
    { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'who', value: 'A' } },
  ],
  list: ['resources/list', {}],
  templates: ['resources/templates/list', {}],
  prompts: ['prompts/list', {}],
  discover: ['server/discover', {}],
} as const

async function ask(project: Project, app: SupabaseMcpApp, question: keyof typeof questions) {
  const [method, params] = questions[question]
  project.database.trips.length = 0
  const answer = await read(await project.modern(app, method, params))
  return { answer, trips: project.database.trips.map(({ rpc }) => rpc.replace('chumbo_', '')) }
}

/** Registers what is about something else: two of these kinds, and a tool. */
function elsewhere(server: SupabaseMcpServer): void {
  server.registerTool('greet', { inputSchema: z.object({}) }, () => textResult('A tool.'))
  server.registerResource('code', 'code://about', {}, (uri) => ({
    contents: [{ uri: uri.href, text: 'Of code.' }],
  }))
  server.registerPrompt('code', { argsSchema: z.object({ x: z.string() }) }, () => ({ messages: [] }))
}

describe('a row', () => {
  it.each([
    ['read', ['read']],
    ['prompt', ['prompt']],
    ['complete', ['complete']],
    ['list', ['list']],
    ['templates', ['list']],
    ['prompts', ['list']],
    ['discover', ['list']],
  ] as const)('answers %s in one trip', async (question, expected) => {
    const project = await createProject([note, about, greet])
    const app = project.start()

    const { answer, trips } = await ask(project, app, question)

    expect(answer.result).toBeDefined()
    expect(trips).toEqual(expected)
  })

  it.each(['read', 'prompt', 'complete', 'list', 'prompts'] as const)(
    'answers %s in one trip beside code, once that is known',
    async (question) => {
      const project = await createProject([note, about, greet])
      const app = project.start({ register: elsewhere })
      await ask(project, app, 'list')
      await ask(project, app, question)
      await ask(project, app, 'prompts')

      const { answer, trips } = await ask(project, app, question)

      expect(answer.result).toBeDefined()
      expect(trips).toHaveLength(1)
    },
  )

  it('says what it is: contents, messages, values', async () => {
    const project = await createProject([note, about, greet])
    const app = project.start()

    expect((await ask(project, app, 'read')).answer.result).toMatchObject({
      contents: [{ uri: 'note://1', mimeType: 'text/plain', text: 'Of a row.' }],
      ttlMs: 5000,
      cacheScope: 'private',
    })
    expect((await ask(project, app, 'prompt')).answer.result).toMatchObject({
      description: 'Greets.',
      messages: [{ role: 'user', content: { type: 'text', text: 'Hello.' } }],
    })
    expect((await ask(project, app, 'complete')).answer.result).toMatchObject({
      completion: { values: ['Ann'], total: 1, hasMore: false },
    })
    expect((await ask(project, app, 'discover')).answer.result).toMatchObject({
      capabilities: { resources: { listChanged: false }, prompts: { listChanged: false }, completions: {} },
    })
  })

  it('lists with a time to keep for clients that know of one', async () => {
    const project = await createProject([about])
    project.database.server = { cache_seconds: 9 }
    const app = project.start()

    const modern = (await ask(project, app, 'list')).answer.result
    const legacy = (await read(await project.post(app, legacyMessage('resources/list')))).result

    expect(modern).toMatchObject({ resources: [{ uri: 'app://about' }], ttlMs: 9000, cacheScope: 'private' })
    expect(legacy).toEqual({ resources: [{ name: 'about', uri: 'app://about' }] })
  })

  it('is listed page by page', async () => {
    const rows = ['a', 'b', 'c'].map((name): Row => ({ ...about, name, uri: `app://${name}` }))
    const project = await createProject(rows)
    project.database.pageSize = 2
    const app = project.start({ register: elsewhere })
    const page = async (params: Record<string, unknown>) =>
      (await read(await project.modern(app, 'resources/list', params))).result

    const first = await page({})
    const second = await page({ cursor: first?.nextCursor })

    expect(first?.['resources']).toMatchObject([{ uri: 'app://a' }, { uri: 'app://b' }])
    expect(second?.['resources']).toMatchObject([{ uri: 'app://c' }, { uri: 'code://about' }])
    expect(second?.nextCursor).toBeUndefined()
    const foreign = await read(await project.modern(app, 'resources/list', { cursor: 'bm90IG91cnMh' }))
    expect(foreign.error).toMatchObject({ code: -32602, message: 'Invalid cursor' })
  })

  it('that is not for the caller is as good as absent', async () => {
    const project = await createProject([
      { ...about, scopes: ['hidden'] },
      { ...greet, scopes: ['hidden'] },
      { ...note, isDisabled: true },
    ])
    const app = project.start()
    const errorOf = async (method: string, params: Record<string, unknown>) =>
      JSON.stringify((await read(await project.modern(app, method, params))).error)

    expect(await errorOf('resources/read', { uri: 'app://about' })).toBe(
      (await errorOf('resources/read', { uri: 'app://nobody' })).replaceAll('nobody', 'about'),
    )
    expect(await errorOf('resources/read', { uri: 'note://1' })).toContain('-32602')
    expect(await errorOf('prompts/get', { name: 'greet' })).toBe(
      (await errorOf('prompts/get', { name: 'nobody' })).replaceAll('nobody', 'greet'),
    )
    expect(
      await errorOf('completion/complete', {
        ref: { type: 'ref/prompt', name: 'greet' },
        argument: { name: 'a', value: '' },
      }),
    ).toContain('Prompt greet not found')
  })

  it.each([
    ['resources/read', { uri: 'note://1' }],
    ['prompts/get', { name: 'greet' }],
    [
      'completion/complete',
      { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'a', value: '' } },
    ],
  ])('is limited like a tool: %s', async (method, params) => {
    const project = await createProject([note, greet])
    project.database.refusal = { code: 'rate_limited', retry_after: 4 }

    const response = await project.modern(project.start(), method, params)

    expect(response.headers.get('retry-after')).toBe('4')
    expect((await read(response)).error).toMatchObject({ code: -32603, data: { code: 'rate_limited' } })
  })

  it.each([
    ['resources/read', { uri: 'note://1' }],
    ['resources/list', {}],
    ['prompts/get', { name: 'greet' }],
    ['prompts/list', {}],
    [
      'completion/complete',
      { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'a', value: '' } },
    ],
  ])('ends with its session and is away with its database: %s', async (method, params) => {
    const project = await createProject([note, greet])
    const app = project.start()

    project.database.refusal = { code: 'session_revoked' }
    expect((await project.modern(app, method, params)).status).toBe(401)
    project.database.refusal = undefined
    project.database.outage = () => new Response('', { status: 503 })
    expect((await project.modern(app, method, params)).status).toBe(503)
  })

  it('whose body takes a slug of the gate into its mouth is not taken for it', async () => {
    const outcome = { outcome: 'tool_error', error: { code: 'session_revoked', message: 'Says the body.' } }
    const project = await createProject([{ ...note, says: outcome }])

    const response = await project.modern(project.start(), 'resources/read', { uri: 'note://1' })

    expect(response.status).toBe(200)
    expect((await read(response)).error?.message).toContain('Says the body.')
  })
})

describe('where code and rows meet', () => {
  it('a URI that code registered is its own, a name that a row has is not', async () => {
    const project = await createProject([about, note, greet])
    const app = project.start({
      register(server) {
        server.registerResource('first', 'app://about', {}, (uri) => ({
          contents: [{ uri: uri.href, text: 'Code first.' }],
        }))
        server.registerResource(
          'note',
          new ResourceTemplate('code://{id}', { list: undefined }),
          {},
          (uri) => ({
            contents: [{ uri: uri.href, text: 'Never.' }],
          }),
        )
        server.registerPrompt('greet', {}, () => ({ messages: [] }))
      },
    })
    const contents = async (uri: string) =>
      (await read(await project.modern(app, 'resources/read', { uri }))).result?.['contents']

    expect(await contents('app://about')).toMatchObject([{ text: 'Code first.' }])
    expect(await contents('note://1')).toMatchObject([{ text: 'Of a row.' }])
    expect(await contents('code://1')).toBeUndefined()
    expect((await ask(project, app, 'prompt')).answer.result?.['messages']).toHaveLength(1)
    expect((await ask(project, app, 'list')).answer.result?.['resources']).toEqual([
      { uri: 'app://about', name: 'first' },
    ])
    expect((await ask(project, app, 'templates')).answer.result?.['resourceTemplates']).toMatchObject([
      { uriTemplate: 'note://{id}' },
    ])
    expect((await ask(project, app, 'prompts')).answer.result?.['prompts']).toEqual([{ name: 'greet' }])
  })

  it('code that registers for some callers only is found for them', async () => {
    const project = await createProject([note])
    const app = project.start({
      register(server) {
        elsewhere(server)
        server.withScopes(['staff']).registerResource('staff', 'code://staff', {}, (uri) => ({
          contents: [{ uri: uri.href, text: 'Staff.' }],
        }))
        server.withScopes(['staff']).registerPrompt('staff', {}, () => ({ messages: [] }))
      },
    })
    const ofStaff = async () => [
      (await read(await project.modern(app, 'resources/read', { uri: 'code://staff' }))).error?.code,
      (await read(await project.modern(app, 'prompts/get', { name: 'staff' }))).error?.code,
    ]

    expect(await ofStaff()).toEqual([-32602, -32602])
    project.database.scopesOf = () => ['staff']
    expect(await ofStaff()).toEqual([undefined, undefined])
    project.database.scopesOf = () => []
    expect(await ofStaff()).toEqual([-32602, -32602])
  })

  it('a prompt of a row and a tool of code may carry one name', async () => {
    const project = await createProject([greet])
    const app = project.start({ register: elsewhere })
    await ask(project, app, 'prompts')
    await ask(project, app, 'prompt')

    const tool = await read(await project.modern(app, 'tools/call', { name: 'greet', arguments: {} }))

    expect(tool.result?.content).toMatchObject([{ text: 'A tool.' }])
    expect((await ask(project, app, 'prompt')).answer.result?.['messages']).toHaveLength(1)
  })

  it('code that lists what rows read, or the same twice, lists it once', async () => {
    const project = await createProject([note])
    const app = project.start({
      register(server) {
        server.registerResource('code', 'code://1', {}, (uri) => ({
          contents: [{ uri: uri.href, text: '' }],
        }))
        const list = () => ({
          resources: ['code://1', 'code://2', 'code://2', 'note://1'].map((uri) => ({ uri, name: uri })),
        })
        server.registerResource('codes', new ResourceTemplate('code://{id}', { list }), {}, (uri) => ({
          contents: [{ uri: uri.href, text: '' }],
        }))
      },
    })

    const resources = (await ask(project, app, 'list')).answer.result?.['resources'] as { uri: string }[]

    expect(resources.map(({ uri }) => uri)).toEqual(['code://1', 'code://2'])
  })

  it('a completion comes from whoever has the prompt', async () => {
    const project = await createProject([greet, note])
    const app = project.start({
      register(server) {
        server.registerPrompt(
          'of_code',
          { argsSchema: z.object({ x: completable(z.string(), () => ['code']), y: z.string() }) },
          () => ({ messages: [] }),
        )
      },
    })
    const complete = async (name: string, argument = 'x') =>
      await read(
        await project.modern(app, 'completion/complete', {
          ref: { type: 'ref/prompt', name },
          argument: { name: argument, value: '' },
        }),
      )

    expect((await complete('greet')).result).toMatchObject({ completion: { values: ['Ann'] } })
    expect((await complete('of_code')).result).toMatchObject({ completion: { values: ['code'] } })
    expect((await complete('of_code', 'y')).result).toMatchObject({ completion: { values: [] } })
    expect((await complete('absent')).error).toEqual({ code: -32602, message: 'Prompt absent not found' })
  })

  it('code without completions has none, and an unknown reference is told as such', async () => {
    const project = await createProject([{ ...greet, values: [] }])
    const app = project.start({ register: elsewhere })
    const ref = async (of: Record<string, unknown>) =>
      (
        await read(
          await project.modern(app, 'completion/complete', { ref: of, argument: { name: 'x', value: '' } }),
        )
      ).error

    expect(await ref({ type: 'ref/prompt', name: 'absent' })).toMatchObject({
      message: 'Prompt absent not found',
    })
    expect(await ref({ type: 'ref/resource', uri: 'a://b' })).toMatchObject({
      message: 'Resource template a://b not found',
    })
  })
})

describe('what cannot be stored', () => {
  it.each([
    ['resources/read', { uri: 'note://a\u0000b' }],
    ['prompts/get', { name: 'greet', arguments: { who: '\u0000' } }],
    [
      'completion/complete',
      { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'a', value: '\u0000' } },
    ],
    [
      'completion/complete',
      { ref: { type: 'ref/resource', uri: 'a\u0000' }, argument: { name: 'a', value: '' } },
    ],
  ])('is refused before it reaches the database: %s %j', async (method, params) => {
    const project = await createProject([note, greet])

    // In a body alone: the header of the modern revision could not carry it.
    const { error } = await read(await project.post(project.start(), legacyMessage(method, params)))

    expect(error).toMatchObject({ code: -32602 })
    expect(project.database.trips).not.toHaveLength(0)
    for (const { text } of project.database.trips) expect(text).not.toContain('\\u0000')
  })
})
