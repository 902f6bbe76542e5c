// tests/unit/capabilities/offering.test.ts — what a caller is shown: pages, scopes, resources, prompts, instructions.
import { completable, ResourceTemplate } from '@modelcontextprotocol/server'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import {
  defineTool,
  manifest,
  textResult,
  type SupabaseMcpApp,
  type SupabaseMcpServer,
} from '../../../runtime/index.ts'
import {
  createProject,
  errorOf,
  legacyMessage,
  modernMessage,
  read,
  type Project,
  type Row,
} from '../app/project.ts'

const nothing = z.object({})
const note = (name: string, scopes: readonly string[] = []) =>
  defineTool({ name, description: `Tool ${name}.`, inputSchema: nothing, scopes }, () => textResult(name))
const sqlRow = (name: string, more: Partial<Row> = {}): Row => ({ name, run: () => '{}', ...more })

async function listAll(project: Project, app: SupabaseMcpApp): Promise<string[][]> {
  const pages: string[][] = []
  let cursor: string | undefined
  do {
    const { result } = await read(
      await project.modern(app, 'tools/list', cursor === undefined ? {} : { cursor }),
    )
    pages.push((result?.tools ?? []).map(({ name }) => name))
    cursor = result?.nextCursor
  } while (cursor !== undefined && pages.length < 20)
  return pages
}

describe('a list of tools', () => {
  it('ends, holds every name once, and equals what can be called', async () => {
    const project = await createProject([
      ...['a', 'c', 'e', 'g', 'i'].map((name) => sqlRow(name)),
      sqlRow('hidden-sql', { scopes: ['hidden'] }),
      sqlRow('off', { isDisabled: true }),
      { name: 'd' },
      { name: 'code-of-nobody' },
      { name: 'f', scopes: ['hidden'] },
      sqlRow('both'),
    ])
    project.database.pageSize = 3
    const app = project.start({ tools: ['b', 'd', 'f', 'both', 'z'].map((name) => note(name)) })

    const pages = await listAll(project, app)

    const names = pages.flat()
    expect([...names].sort()).toEqual(['a', 'b', 'both', 'c', 'd', 'e', 'g', 'i', 'z'])
    expect(pages.length).toBeGreaterThan(2)
    for (const name of [...names, 'hidden-sql', 'off', 'f', 'code-of-nobody']) {
      const answer = await read(await project.modern(app, 'tools/call', { name, arguments: {} }))
      expect({ name, isCallable: answer.error === undefined }).toEqual({
        name,
        isCallable: names.includes(name),
      })
    }
  })

  it('with as many rows as fit a page has no second page', async () => {
    const project = await createProject(['a', 'b', 'c'].map((name) => sqlRow(name)))
    project.database.pageSize = 3

    expect(await listAll(project, project.start())).toEqual([['a', 'b', 'c']])
  })

  it.each(['bm90LWEgbmFtZSE=', '###', '', 'YQ'])(
    'takes no cursor that it did not write: %j',
    async (cursor) => {
      const project = await createProject(['a'].map((name) => sqlRow(name)))

      const answer = await read(await project.modern(project.start(), 'tools/list', { cursor }))

      if (cursor === 'YQ') expect(answer.result?.tools).toEqual([])
      else expect(answer.error).toMatchObject({ code: -32602, message: 'Invalid cursor' })
    },
  )

  it('costs one trip while warm, and two after a change', async () => {
    const project = await createProject(['a', 'b'].map((name) => sqlRow(name)))
    const app = project.start({ tools: [note('x')] })
    const trips = async () => {
      project.database.trips.length = 0
      const { result } = await read(await project.modern(app, 'tools/list'))
      expect(result?.tools?.map(({ name, description }) => [name, description])).toEqual([
        ['a', 'Row a.'],
        ['b', 'Row b.'],
        ['x', 'Tool x.'],
      ])
      return project.database.trips.length
    }

    expect(await trips()).toBe(1)
    expect(await trips()).toBe(1)
    project.database.revision = 2
    expect(await trips()).toBeLessThanOrEqual(2)
    expect(await trips()).toBe(1)
    // A row seen by nobody yet, at a revision that is held: its definition has to be fetched.
    project.database.rows.push(sqlRow('c'))
    project.database.trips.length = 0
    await project.modern(app, 'tools/list')
    expect(project.database.trips).toHaveLength(2)
  })

  it('is counted once by a limit, however many trips it takes', async () => {
    const project = await createProject([{ name: 'late' }])
    const app = project.start({
      register(server) {
        server.registerTool('late', { inputSchema: nothing }, () => textResult(''))
      },
    })

    await project.modern(app, 'tools/list')

    const attempts = project.database.trips.map(
      ({ body }) => (body['request'] as { attempt?: number }).attempt,
    )
    expect(attempts).toEqual([1, 2])
  })

  it('ends although code makes up a new name each time, and shows none it has not asked about', async () => {
    let made = 0
    const project = await createProject()
    const app = project.start({
      register(server) {
        made += 1
        server.registerTool(`made-${made}`, { inputSchema: nothing }, () => textResult(''))
      },
    })

    const { result } = await read(await project.modern(app, 'tools/list'))

    expect(result?.tools).toEqual([])
    expect(project.database.trips.length).toBeLessThanOrEqual(3)
  })

  it('shows a code tool as its definition says', async () => {
    const get = defineTool(
      {
        name: 'get',
        title: 'Get',
        description: 'Gets.',
        inputSchema: z.object({ id: z.int().describe('Which one.'), deep: z.boolean().default(false) }),
        outputSchema: z.object({ id: z.int() }),
        annotations: { readOnlyHint: true },
      },
      () => textResult(''),
    )
    const project = await createProject()

    const { result } = await read(await project.modern(project.start({ tools: [get] }), 'tools/list'))

    expect(result?.tools).toEqual([
      {
        name: 'get',
        title: 'Get',
        description: 'Gets.',
        inputSchema: expect.objectContaining({
          type: 'object',
          required: ['id'],
          properties: {
            id: expect.objectContaining({ description: 'Which one.' }) as object,
            deep: { default: false, type: 'boolean' },
          },
        }) as object,
        outputSchema: expect.objectContaining({ type: 'object', required: ['id'] }) as object,
        annotations: { readOnlyHint: true },
      },
    ])
    expect(manifest({ tools: [get] }).tools[0]).toEqual({ ...result?.tools?.[0], scopes: [] })
  })

  it('keeps nothing about a caller: the next one is asked about anew', async () => {
    const project = await createProject([sqlRow('open'), sqlRow('closed', { scopes: ['hidden'] })])
    project.database.scopesOf = (facts) => (facts['subject'] === aliceId ? ['hidden'] : [])
    const app = project.start({ tools: [note('tool', ['hidden'])] })
    const bobToken = await project.sign(bobId)
    const namesFor = async (token: string) =>
      (await read(await project.modern(app, 'tools/list', {}, { token }))).result?.tools?.map(
        ({ name }) => name,
      )

    const aliceToken = await project.sign(aliceId)
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await namesFor(aliceToken)).toEqual(['closed', 'open', 'tool'])
      expect(await namesFor(bobToken)).toEqual(['open'])
    }
  })
})

const aliceId = 'a11ce000-0000-4000-8000-000000000001'
const bobId = 'b0b00000-0000-4000-8000-000000000002'

describe('scopes', () => {
  it('decide what code registers for a caller', async () => {
    const project = await createProject()
    const app = project.start({
      register(server) {
        server.registerTool('free', { inputSchema: nothing }, () => textResult(''))
        const reading = server.withScopes(['read'])
        reading.registerTool('read', { inputSchema: nothing }, () => textResult(''))
        reading.withScopes(['write']).registerTool('write', { inputSchema: nothing }, () => textResult(''))
        // What is withheld can be told anything.
        const handle = server
          .withScopes(['none'])
          .registerTool('none', { inputSchema: nothing }, () => textResult(''))
        handle.disable()
      },
    })
    const names = async () => (await listAll(project, app)).flat()

    expect(await names()).toEqual(['free'])
    project.database.scopesOf = () => ['read']
    expect(await names()).toEqual(['free', 'read'])
    project.database.scopesOf = () => ['write']
    expect(await names()).toEqual(['free'])
    project.database.scopesOf = () => ['read', 'write']
    expect(await names()).toEqual(['free', 'read', 'write'])
  })

  it('hide a tool without a row as if it did not exist', async () => {
    const project = await createProject()
    const app = project.start({ tools: [note('write', ['write'])] })

    const answer = await read(await project.modern(app, 'tools/call', { name: 'write', arguments: {} }))

    expect(answer.error).toEqual({ code: -32602, message: 'Tool write not found' })
    await app.close()
    expect(project.database.finished).toMatchObject([{ outcome: 'refused', code: 'unknown_capability' }])
  })

  it('may come from the application instead', async () => {
    const seen: (readonly string[])[] = []
    const project = await createProject()
    project.database.scopesOf = () => ['from-database']
    const app = project.start({
      tools: [note('write', ['write'])],
      access: {
        resolveScopes(ctx) {
          seen.push(ctx.scopes)
          return ctx.user.id === aliceId ? ['write'] : []
        },
      },
    })

    const bob = await project.sign(bobId)
    const call = { name: 'write', arguments: {} }
    expect((await read(await project.modern(app, 'tools/call', call))).result).toBeDefined()
    expect((await read(await project.modern(app, 'tools/call', call, { token: bob }))).error).toBeDefined()
    expect(seen[0]).toEqual(['from-database'])
  })

  it.each([[['']], [['read', ' ']], [['\t']]])('that are blank are a mistake: %j', async (scopes) => {
    const project = await createProject()
    const app = project.start({
      register(server: SupabaseMcpServer) {
        server.withScopes(scopes).registerTool('open', { inputSchema: nothing }, () => textResult(''))
      },
    })

    expect(() => note('open', scopes)).toThrow(/scope is blank/)
    expect((await project.modern(app, 'tools/call', { name: 'open', arguments: {} })).status).toBe(500)
    expect(String(project.failures[0]?.error)).toMatch(/withScopes: a scope is blank/)
  })

  it('of nobody leave nothing out when there are none to ask for', async () => {
    const project = await createProject()
    const app = project.start({
      register: (server) => {
        server.withScopes([]).registerTool('open', { inputSchema: nothing }, () => textResult(''))
      },
    })

    expect((await listAll(project, app)).flat()).toEqual(['open'])
  })
})

describe('a definition', () => {
  it.each(['', 'with space', 'x'.repeat(65), 'größe', 'a.b'])('cannot be called %j', (name) => {
    expect(() => note(name)).toThrow(TypeError)
  })

  it('needs a schema that is one', () => {
    const define = () =>
      defineTool({ name: 'x', description: 'X.', inputSchema: {} as typeof nothing }, () => textResult(''))

    expect(define).toThrow(/defineTool x: inputSchema/)
  })
})

describe('resources and prompts', () => {
  const register = (server: SupabaseMcpServer) => {
    server.registerResource('readme', 'docs://readme', { mimeType: 'text/plain' }, (uri) => ({
      contents: [{ uri: uri.href, text: 'Read me.' }],
    }))
    server.withScopes(['read']).registerResource(
      'note',
      new ResourceTemplate('note://{id}', {
        list: () => ({ resources: [{ uri: 'note://1', name: 'One' }] }),
        complete: { id: (value) => ['1', '10', '2'].filter((id) => id.startsWith(value)) },
      }),
      {},
      (uri, { id }) => ({ contents: [{ uri: uri.href, text: `note ${String(id)}` }] }),
    )
    server.registerPrompt(
      'greet',
      {
        argsSchema: z.object({
          name: completable(z.string(), (value) => ['Ada', 'Bob'].filter((n) => n.startsWith(value))),
        }),
      },
      ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Hello ${name}` } }] }),
    )
    server.registerPrompt('broken', {}, () => {
      throw new Error('private')
    })
  }

  it('are listed, read, completed and got by whoever holds their scopes', async () => {
    const project = await createProject()
    project.database.scopesOf = () => ['read']
    const app = project.start({ register })
    const ask = async (method: string, params: Record<string, unknown> = {}) =>
      (await read(await project.modern(app, method, params))).result

    expect((await ask('resources/list'))?.['resources']).toMatchObject([
      { uri: 'docs://readme' },
      { uri: 'note://1' },
    ])
    expect((await ask('resources/templates/list'))?.['resourceTemplates']).toMatchObject([
      { uriTemplate: 'note://{id}' },
    ])
    expect((await ask('prompts/list'))?.['prompts']).toMatchObject([{ name: 'greet' }, { name: 'broken' }])
    expect((await ask('resources/read', { uri: 'docs://readme' }))?.['contents']).toMatchObject([
      { text: 'Read me.' },
    ])
    expect((await ask('resources/read', { uri: 'note://7' }))?.['contents']).toMatchObject([
      { text: 'note 7' },
    ])
    expect(
      (await ask('prompts/get', { name: 'greet', arguments: { name: 'Ada' } }))?.['messages'],
    ).toMatchObject([{ content: { text: 'Hello Ada' } }])
    expect(
      await ask('completion/complete', {
        ref: { type: 'ref/resource', uri: 'note://{id}' },
        argument: { name: 'id', value: '1' },
      }),
    ).toMatchObject({ completion: { values: ['1', '10'] } })
    expect(
      await ask('completion/complete', {
        ref: { type: 'ref/prompt', name: 'greet' },
        argument: { name: 'name', value: 'A' },
      }),
    ).toMatchObject({ completion: { values: ['Ada'] } })
    await app.close()
    expect(project.database.finished.map(({ outcome, capability }) => [outcome, capability])).toEqual([
      ['ok', 'readme'],
      ['ok', 'note'],
      ['ok', 'greet'],
    ])
  })

  it('are not there for others', async () => {
    const project = await createProject()
    const app = project.start({ register })

    const listed = await read(await project.modern(app, 'resources/list'))
    const templates = await read(await project.modern(app, 'resources/templates/list'))
    const hidden = await read(await project.modern(app, 'resources/read', { uri: 'note://7' }))
    const unknown = await read(await project.modern(app, 'resources/read', { uri: 'other://7' }))

    expect(listed.result?.['resources']).toMatchObject([{ uri: 'docs://readme' }])
    expect(templates.result?.['resourceTemplates']).toEqual([])
    expect(hidden.error?.code).toBe(-32602)
    expect(JSON.stringify(hidden.error).replaceAll('note', 'other')).toBe(JSON.stringify(unknown.error))
  })

  it('that break say so without their words', async () => {
    const project = await createProject()

    const response = await project.modern(project.start({ register }), 'prompts/get', { name: 'broken' })

    const text = await response.text()
    expect(JSON.parse(text)).toMatchObject({ error: { data: { code: 'tool_failed' } } })
    expect(text).not.toContain('private')
  })

  it('are limited like tools', async () => {
    const project = await createProject()
    const app = project.start({ register })
    await project.modern(app, 'prompts/list')
    project.database.refusal = { code: 'rate_limited', retry_after: 4 }

    const response = await project.modern(app, 'prompts/get', { name: 'greet', arguments: { name: 'Ada' } })

    expect(response.headers.get('retry-after')).toBe('4')
    expect((await read(response)).error).toMatchObject({ data: { code: 'rate_limited' } })
  })

  it('cost one trip once known, and a first read is counted by its own limit', async () => {
    const project = await createProject()
    project.database.scopesOf = () => ['read']
    const app = project.start({ register })
    const questions = async () => {
      project.database.trips.length = 0
      await project.modern(app, 'resources/read', { uri: 'note://7' })
      return project.database.trips
        .filter(({ rpc }) => rpc === 'chumbo_enter')
        .map(({ body }) => body['request'] as { operation: string; attempt: number })
        .map(({ operation, attempt }) => [operation, attempt])
    }

    const first = await questions()
    expect(first.at(-1)).toEqual(['call', 1])
    for (const [operation, attempt] of first.slice(0, -1))
      expect([operation, Number(attempt) > 1]).toEqual(['describe', true])
    expect(await questions()).toEqual([['call', 1]])
  })
})

describe('a server', () => {
  const initialize = async (project: Project, app: SupabaseMcpApp) =>
    (
      await read(
        await project.post(
          app,
          legacyMessage('initialize', {
            protocolVersion: '2025-06-18',
            capabilities: {},
            clientInfo: { name: 't', version: '0' },
          }),
        ),
      )
    ).result

  it('says who it is as its row says, else as its code does', async () => {
    const project = await createProject()
    const app = project.start({
      server: { name: 'code', version: '1.0.0', title: 'Code' },
      instructions: 'From code.',
    })

    expect(await initialize(project, app)).toMatchObject({
      serverInfo: { name: 'code', version: '1.0.0', title: 'Code' },
      instructions: 'From code.',
    })
    project.database.server = { name: 'row', version: '2.0.0', title: null, instructions: 'From the row.' }
    expect(await initialize(project, app)).toMatchObject({
      serverInfo: { name: 'row', version: '2.0.0', title: 'Code' },
      instructions: 'From the row.',
    })
  })

  it('may word its instructions for each caller', async () => {
    const project = await createProject()
    const app = project.start({ instructions: async (ctx) => `You act for ${ctx.user.id}.` })

    expect(await initialize(project, app)).toMatchObject({ instructions: `You act for ${aliceId}.` })
    const { result } = await read(await project.modern(app, 'server/discover'))
    expect(result).toMatchObject({
      instructions: `You act for ${aliceId}.`,
      supportedVersions: ['2026-07-28'],
    })
  })

  it('announces tools always, and what else code registers, and never a change', async () => {
    const project = await createProject()
    const bare = project.start()
    const full = project.start({
      register(server) {
        server.registerResource('readme', 'docs://readme', {}, (uri) => ({
          contents: [{ uri: uri.href, text: '' }],
        }))
        server.registerPrompt('greet', {}, () => ({ messages: [] }))
        server.registerTool('t', { inputSchema: nothing }, () => textResult(''))
      },
    })

    expect((await initialize(project, bare))?.['capabilities']).toEqual({ tools: { listChanged: false } })
    const capabilities = (await initialize(project, full))?.['capabilities'] as Record<
      string,
      { listChanged: boolean }
    >
    expect(Object.keys(capabilities).sort()).toEqual(['prompts', 'resources', 'tools'])
    for (const { listChanged } of Object.values(capabilities)) expect(listChanged).toBe(false)
  })

  it('asks for its own slug', async () => {
    const project = await createProject([sqlRow('a')])
    const app = project.start({ server: { name: 'x', version: '1', slug: 'billing' } })

    await project.modern(app, 'tools/list')
    await project.modern(app, 'tools/call', { name: 'a', arguments: {} })

    expect(project.database.trips.map(({ body }) => body['server'])).toEqual(['billing', 'billing'])
  })

  it('tells changes to whoever listens', async () => {
    const project = await createProject()
    const app = project.start()
    const message = modernMessage('subscriptions/listen', { notifications: { toolsListChanged: true } })

    const response = await project.post(app, message, {
      headers: { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'subscriptions/listen' },
    })

    expect(response.headers.get('content-type')).toMatch('text/event-stream')
    const reader = response.body?.getReader()
    expect(new TextDecoder().decode((await reader?.read())?.value)).toContain('acknowledged')
    await reader?.cancel()
    await app.close()
  })
})

describe('a code tool of a limited server', () => {
  it('says when to come back', async () => {
    const project = await createProject()
    project.database.refusal = { code: 'rate_limited', retry_after: 11 }

    const response = await project.modern(project.start({ tools: [note('x')] }), 'tools/call', {
      name: 'x',
      arguments: {},
    })

    expect(response.headers.get('retry-after')).toBe('11')
    expect(errorOf(await read(response))).toMatchObject({ code: 'rate_limited', retry_after: 11 })
  })
})
