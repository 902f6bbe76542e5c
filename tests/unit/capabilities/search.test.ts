import { beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'

import { defineTool, textResult, type SupabaseMcpApp } from '../../../runtime/index.ts'
import { createProject, errorOf, legacyMessage, read, type Answer, type Project } from '../app/project.ts'

const echo = defineTool(
  {
    name: 'in_code',
    description: 'Answers in code.',
    inputSchema: z.object({ region: z.string().meta({ 'x-mcp-header': 'Region' }).optional() }),
    outputSchema: z.object({ said: z.string() }),
  },
  ({ region = 'none' }) => ({
    content: [{ type: 'text', text: 'In words.' }],
    structuredContent: { said: region },
    _meta: { 'example/kept': [1] },
  }),
)
const failing = defineTool({ name: 'failing', description: 'Fails.', inputSchema: z.object({}) }, () => {
  throw Object.assign(new Error(), { code: 'PT409', message: 'already_done', details: 'It is done.' })
})

let project: Project
let app: SupabaseMcpApp

beforeEach(async () => {
  project = await createProject([
    { name: 'add_note', run: ({ args }) => JSON.stringify({ args }) },
    { name: 'for_app', run: () => '{"ok":true}', isAppOnly: true, isPinned: true },
    { name: 'hidden', run: () => '{}', scopes: ['hidden'] },
    { name: 'in_code' },
    { name: 'not_in_code' },
  ])
  project.database.server = { catalog_mode: 'search' }
  app = project.start({ tools: [echo, failing] })
})

const eras = [
  [
    '2026-07-28',
    (name: string, args?: unknown) => project.modern(app, 'tools/call', { name, arguments: args }),
  ],
  [
    '2025-11-25',
    (name: string, args?: unknown) =>
      project.post(app, legacyMessage('tools/call', { name, arguments: args })),
  ],
] as const

async function list(): Promise<readonly string[]> {
  const { result } = await read(await project.modern(app, 'tools/list'))
  return result?.tools?.map(({ name }) => name) ?? []
}

describe('the list of a searched catalog', () => {
  it('is the two tools and what is pinned', async () => {
    expect(await list()).toEqual(['search_tools', 'call_tool', 'for_app'])
  })

  it('shows the two once, however many pages there are', async () => {
    project.database.pageSize = 1
    project.database.rows.push({ name: 'pinned', run: () => '{}', isPinned: true })

    const first = await read(await project.modern(app, 'tools/list'))
    const second = await read(await project.modern(app, 'tools/list', { cursor: first.result?.nextCursor }))

    expect(first.result?.tools?.map(({ name }) => name)).toEqual(['search_tools', 'call_tool', 'for_app'])
    expect(second.result?.tools?.map(({ name }) => name)).toEqual(['pinned'])
  })

  it('describes both with closed schemas', async () => {
    const { result } = await read(await project.modern(app, 'tools/list'))

    for (const tool of result?.tools?.slice(0, 2) ?? []) {
      expect(tool['inputSchema']).toMatchObject({ type: 'object', additionalProperties: false })
      expect(String(tool['description']).length).toBeGreaterThan(80)
    }
  })

  it('is the catalog again when the mode is list', async () => {
    project.database.server = {}

    expect(await list()).toEqual(['add_note', 'for_app', 'in_code', 'failing'])
  })
})

describe.each(eras)('search_tools in the %s revision', (_era, call) => {
  it('returns complete definitions as structure and as text, in one round trip', async () => {
    const { result } = await read(await call('search_tools', { query: 'note' }))

    const found = {
      tools: [{ name: 'add_note', description: 'Row add_note.', inputSchema: { type: 'object' } }],
    }
    expect(result?.structuredContent).toEqual(found)
    expect(result?.content).toEqual([{ type: 'text', text: JSON.stringify(found) }])
    expect(project.database.trips.map(({ rpc }) => rpc)).toEqual(['chumbo_search'])
  })

  it('leaves out a row of code that this program does not have', async () => {
    const { result } = await read(await call('search_tools', { query: 'in_code' }))

    expect(
      (result?.structuredContent as { tools: { name: string }[] }).tools.map(({ name }) => name),
    ).toEqual(['in_code'])
  })

  it('returns an empty list for nothing', async () => {
    const { result } = await read(await call('search_tools', { query: 'zebra' }))

    expect(result?.structuredContent).toEqual({ tools: [] })
    expect(result?.isError).toBeUndefined()
  })

  it.each([
    ['nothing', undefined],
    ['no query', {}],
    ['a number', { query: 7 }],
    ['two things', { query: 'x', limit: 9 }],
    ['NUL', { query: 'a\0b' }],
    ['half a letter', { query: 'a\ud800b' }],
  ])('refuses %s, and the database hears of it', async (_case, args) => {
    const answer = await read(await call('search_tools', args))

    expect(errorOf(answer)).toMatchObject({ code: 'invalid_arguments' })
    expect(project.database.trips.map(({ rpc }) => rpc)).toEqual(['chumbo_search'])
    expect(project.database.trips[0]?.text).not.toContain('u0000')
  })

  it('says when to come back', async () => {
    project.database.refusal = { code: 'rate_limited', retry_after: 12 }

    const response = await call('search_tools', { query: 'x' })

    expect(response.headers.get('retry-after')).toBe('12')
    expect(errorOf(await read(response))).toMatchObject({ code: 'rate_limited', retry_after: 12 })
  })

  it('is no answer when the sign-in has ended', async () => {
    project.database.refusal = { code: 'session_revoked' }

    expect((await call('search_tools', { query: 'x' })).status).toBe(401)
  })

  it('is no answer while the database is away', async () => {
    project.database.outage = () => new Response('', { status: 503 })

    expect((await call('search_tools', { query: 'x' })).status).toBe(503)
  })
})

describe.each(eras)('call_tool in the %s revision', (_era, call) => {
  it('runs a SQL tool as a call of its own name, numbers and all', async () => {
    const proxied = await read(await call('call_tool', { name: 'add_note', arguments: { text: 'a' } }))
    const direct = await read(await call('add_note', { text: 'a' }))

    expect(proxied).toEqual(direct)
    const [first, second] = project.database.trips.map(
      ({ body }) => body as { capability: string; request: Record<string, unknown> },
    )
    expect(first?.capability).toBe('add_note')
    expect(first?.request['via']).toBe('call_tool')
    expect(second?.request['via']).toBeUndefined()
    expect(first?.request['argument_digest']).toBe(second?.request['argument_digest'])
  })

  it('runs a tool of code, whose result arrives unchanged', async () => {
    const { result } = await read(await call('call_tool', { name: 'in_code', arguments: {} }))

    expect(result).toMatchObject({
      content: [{ type: 'text', text: 'In words.' }],
      structuredContent: { said: 'none' },
      _meta: { 'example/kept': [1] },
    })
  })

  it('asks for no header that only the description of the tool could have told of', async () => {
    const { result } = await read(await call('call_tool', { name: 'in_code', arguments: { region: 'eu' } }))

    expect(result?.structuredContent).toEqual({ said: 'eu' })
  })

  it('hands failures on', async () => {
    expect(errorOf(await read(await call('call_tool', { name: 'failing' })))).toMatchObject({
      code: 'already_done',
    })
  })

  it.each(['for_app', 'hidden', 'absent', 'search_tools', 'call_tool', '', 'with\u0000nul'])(
    'knows no tool %j',
    async (name) => {
      const { error } = await read(
        await call('call_tool', { name, arguments: { query: 'note', name: 'add_note' } }),
      )

      expect(error).toMatchObject({ code: -32602 })
      expect(error?.message).toMatch(/not found$/)
      expect(project.database.trips.some(({ rpc }) => rpc === 'chumbo_search')).toBe(false)
    },
  )

  it.each([
    ['nothing', undefined],
    ['no name', { arguments: {} }],
    ['arguments that are no object', { name: 'add_note', arguments: 7 }],
    ['more than that', { name: 'add_note', args: {} }],
  ])('refuses %s, and the database hears of it', async (_case, args) => {
    const answer = await read(await call('call_tool', args))

    expect(errorOf(answer)).toMatchObject({
      code: 'invalid_arguments',
      message: expect.stringContaining('call_tool') as string,
    })
    expect(project.database.trips[0]?.body['request']).toMatchObject({
      tool: 'call_tool',
      rejection: { code: 'invalid_arguments' },
    })
  })
})

describe.each(eras)('where the catalog is listed, in the %s revision', (_era, call) => {
  it.each([
    ['search_tools', { query: 'note' }],
    ['search_tools', {}],
    ['call_tool', {}],
  ])('there is no %s: %j', async (name, args) => {
    project.database.server = {}

    const { error } = await read(await call(name, args))

    expect(error).toMatchObject({ code: -32602, message: `Tool ${name} not found` })
  })

  it('nothing can be called through call_tool', async () => {
    project.database.server = {}

    const { error } = await read(await call('call_tool', { name: 'add_note' }))

    expect(error).toMatchObject({ code: -32602, message: 'Tool add_note not found' })
  })
})

describe('headers of the 2026-07-28 revision', () => {
  it.each([
    ['another name', { 'Mcp-Name': 'add_note' }],
    ['another method', { 'Mcp-Method': 'tools/list' }],
  ])('that lie about call_tool are refused: %s', async (_case, headers) => {
    const response = await project.modern(
      app,
      'tools/call',
      { name: 'call_tool', arguments: { name: 'add_note' } },
      { headers },
    )

    expect(response.status).toBe(400)
    expect((await read(response)).error).toMatchObject({ code: -32020 })
    expect(project.database.trips).toEqual([])
  })
})

describe('code under a reserved name', () => {
  it('is neither listed nor called', async () => {
    const ran: string[] = []
    app = project.start({
      register(server) {
        server.registerTool('search_tools', { description: 'Mine.' }, () => {
          ran.push('search_tools')
          return textResult('mine')
        })
      },
    })
    project.database.server = {}

    expect(await list()).not.toContain('search_tools')
    const { error } = await read(
      await project.modern(app, 'tools/call', { name: 'search_tools', arguments: {} }),
    )
    expect(error).toMatchObject({ code: -32602 })
    expect(ran).toEqual([])
  })
})

it('a batch unwraps each of its calls', async () => {
  const response = await project.post(app, [
    legacyMessage(
      'tools/call',
      { name: 'call_tool', arguments: { name: 'add_note', arguments: { n: 1 } } },
      1,
    ),
    legacyMessage('tools/call', { name: 'search_tools', arguments: { query: 'note' } }, 2),
  ])

  const answers = (await response.json()) as Answer[]
  expect(answers[0]?.result?.structuredContent).toMatchObject({ args: { n: 1 } })
  expect(answers[1]?.result?.structuredContent).toMatchObject({ tools: [{ name: 'add_note' }] })
})
