// tests/unit/app/http.test.ts — what every request meets before a capability: paths, methods, media types, revisions.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { defineTool, textResult } from '../../../runtime/index.ts'
import {
  createProject,
  endpoint,
  errorOf,
  legacyMessage,
  modernHeaders,
  modernMessage,
  read,
  type Project,
} from './project.ts'

const echo = defineTool(
  { name: 'echo', description: 'Says it again.', inputSchema: z.object({ text: z.string().default('hi') }) },
  ({ text }) => textResult(text),
)
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

describe('a path', () => {
  it.each(['/mcp', '/mcp/', '/functions/v1/mcp', '/', '/tools'])('%s reaches the endpoint', async (path) => {
    const project = await createProject()
    const app = project.start({ tools: [echo] })

    const response = await project.modern(app, 'tools/list', {}, { url: `http://x${path}` })

    expect(response.status).toBe(200)
    expect((await read(response)).result?.tools?.map(({ name }) => name)).toEqual(['echo'])
  })

  it.each(['/mcp/unknown', '/functions/v1/mcp/x', '/.well-known/openid-configuration'])(
    '%s is not found, as JSON',
    async (path) => {
      const project = await createProject()

      const response = await project.modern(project.start(), 'tools/list', {}, { url: `http://x${path}` })

      expect(response.status).toBe(404)
      expect(response.headers.get('content-type')).toMatch(/^application\/json/)
      expect(await response.json()).toMatchObject({
        error: { code: 'not_found', trace_id: response.headers.get('chumbo-trace-id') },
      })
    },
  )

  it.each([
    '/mcp/oauth-protected-resource',
    '/oauth-protected-resource',
    '/.well-known/oauth-protected-resource/functions/v1/mcp',
  ])('%s describes the endpoint without a token', async (path) => {
    const project = await createProject()

    const response = await project.start().fetch(new Request(`http://x${path}`))

    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({
      resource: endpoint,
      authorization_servers: ['https://project.example/auth/v1'],
    })
  })

  it('has no description in bearer mode, which offers no sign-in', async () => {
    const project = await createProject()
    const app = project.start({ auth: { mode: 'bearer' } })

    expect((await app.fetch(new Request(`${endpoint}/oauth-protected-resource`))).status).toBe(404)
    expect((await project.post(app, {}, { token: null })).headers.get('www-authenticate')).toBe('Bearer')
  })
})

describe('a method', () => {
  it.each(['GET', 'DELETE', 'PUT', 'HEAD'])(
    '%s is refused at once, with and without a token',
    async (method) => {
      const project = await createProject()
      const app = project.start()

      for (const headers of [{}, { Authorization: `Bearer ${await project.sign()}` }]) {
        const response = await app.fetch(
          new Request(endpoint, { method, headers: { Accept: 'text/event-stream', ...headers } }),
        )

        expect(response.status).toBe(405)
        expect(response.headers.get('allow')).toBe('POST, OPTIONS')
      }
      expect(project.database.trips).toEqual([])
    },
  )

  it('OPTIONS is answered without a token', async () => {
    const project = await createProject()

    const response = await project.start().fetch(new Request(endpoint, { method: 'OPTIONS' }))

    expect(response.status).toBe(204)
    expect(response.headers.get('access-control-allow-methods')).toBe('POST, OPTIONS')
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
  })
})

describe('an Accept header', () => {
  it.each([
    ['application/json', 'application/json'],
    ['text/event-stream', 'text/event-stream'],
    ['application/json, text/event-stream', 'application/json'],
    ['text/event-stream, application/json', 'application/json'],
    ['*/*', 'application/json'],
    ['', 'application/json'],
  ])('%j gets %s, in either revision', async (accept, type) => {
    const project = await createProject()
    const app = project.start({ tools: [echo] })

    const modern = await project.modern(app, 'tools/list', {}, { headers: { Accept: accept } })
    const legacy = await project.post(app, legacyMessage('tools/list'), { headers: { Accept: accept } })

    for (const response of [modern, legacy]) {
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toMatch(new RegExp(`^${type}`))
      const text = await response.clone().text()
      if (type === 'text/event-stream') expect(text.match(/^data: /gm)).toHaveLength(1)
      expect((await read(response)).result?.tools).toHaveLength(1)
    }
  })

  it('that allows neither is refused before anything runs', async () => {
    const project = await createProject()

    const response = await project.modern(
      project.start(),
      'tools/list',
      {},
      { headers: { Accept: 'image/png' } },
    )

    expect(response.status).toBe(406)
    expect(await response.json()).toMatchObject({ error: { code: 'not_acceptable' } })
    expect(project.database.trips).toEqual([])
  })
})

describe('a body', () => {
  it('of another media type is refused', async () => {
    const project = await createProject()
    const app = project.start()

    const response = await project.modern(
      app,
      'tools/list',
      {},
      { headers: { 'Content-Type': 'text/plain' } },
    )
    const legacy = await project.post(app, legacyMessage('tools/list'), {
      headers: { 'Content-Type': 'text/plain' },
    })

    expect([response.status, legacy.status]).toEqual([415, 415])
    expect(project.database.trips).toEqual([])
  })

  it('larger than the limit is refused', async () => {
    const project = await createProject()
    const app = project.start({ limits: { bodyBytes: 100 } })

    const response = await project.post(app, 'x'.repeat(101))

    expect(response.status).toBe(413)
    expect(await response.json()).toMatchObject({ error: { code: 'payload_too_large' } })
  })

  it.each([
    ['no JSON', '{"jsonrpc":', -32700],
    ['no message', '7', -32600],
    ['an empty batch', '[]', -32600],
  ])('that is %s is an error of the protocol', async (_label, body, code) => {
    const project = await createProject()

    const response = await project.post(project.start(), body)

    expect(response.status).toBe(400)
    expect(await read(response)).toMatchObject({ error: { code } })
  })

  it('nested beyond the stack is refused, and the next request is answered', async () => {
    const project = await createProject([{ name: 'deep', run: () => '{}' }])
    const app = project.start()
    const nested = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const message = JSON.stringify(legacyMessage('tools/call', { name: 'deep', arguments: {} }))

    const response = await project.post(app, message.replace('{}', `{"a":${nested}}`))

    expect(errorOf(await read(response))).toMatchObject({ code: 'invalid_arguments' })
    expect((await project.post(app, message)).status).toBe(200)
  })
})

describe('a trace id', () => {
  it('is on every answer, a different one each time', async () => {
    const project = await createProject()
    const app = project.start({ tools: [echo] })
    const get = (path: string, method = 'GET') => app.fetch(new Request(`http://x${path}`, { method }))

    const responses = [
      await project.modern(app, 'tools/list'),
      await project.modern(app, 'tools/list', {}, { headers: { Accept: 'text/event-stream' } }),
      await project.modern(app, 'tools/list', {}, { token: null }),
      await project.modern(app, 'tools/list', {}, { headers: { Accept: 'image/png' } }),
      await project.post(app, 'no json'),
      await project.post(app, legacyMessage('tools/list')),
      await project.post(app, { jsonrpc: '2.0', method: 'notifications/initialized' }),
      await get('/mcp'),
      await get('/mcp/none'),
      await get('/mcp', 'OPTIONS'),
      await get('/mcp/oauth-protected-resource'),
    ]

    const ids = responses.map(({ headers }) => headers.get('chumbo-trace-id'))
    for (const id of ids) expect(id).toMatch(uuid)
    expect(new Set(ids).size).toBe(responses.length)
  })

  it('is the one that the error, the receipt and the log name', async () => {
    const project = await createProject()
    const failing = defineTool({ name: 'fail', description: 'Fails.', inputSchema: z.object({}) }, () => {
      throw new Error('no')
    })
    const app = project.start({ tools: [failing] })

    const response = await project.modern(app, 'tools/call', { name: 'fail', arguments: {} })

    const traceId = response.headers.get('chumbo-trace-id')
    expect(errorOf(await read(response))).toMatchObject({ trace_id: traceId })
    expect(project.failures.map((failure) => failure.traceId)).toEqual([traceId])
    expect(project.database.trips[0]?.body['request']).toMatchObject({ trace_id: traceId })
  })
})

describe('a modern message', () => {
  it.each([
    ['another method', { 'Mcp-Method': 'tools/list' }],
    ['another name', { 'Mcp-Name': 'other' }],
    ['another revision', { 'MCP-Protocol-Version': '2025-06-18' }],
  ])('whose headers say %s runs nothing', async (_label, headers) => {
    const ran: string[] = []
    const project = await createProject([{ name: 'write', run: () => (ran.push('sql'), '{}') }])
    const note = defineTool({ name: 'note', description: 'Notes.', inputSchema: z.object({}) }, () => {
      ran.push('code')
      return textResult('')
    })
    const app = project.start({ tools: [note] })

    for (const name of ['write', 'note']) {
      const response = await project.modern(app, 'tools/call', { name, arguments: {} }, { headers })

      expect(response.status).toBe(400)
      expect(await read(response)).toMatchObject({ error: { code: -32020 } })
    }
    expect(ran).toEqual([])
    await app.close()
    for (const receipt of project.database.finished) expect(receipt.outcome).toBe('refused')
  })

  it('without its headers, or without its envelope, runs nothing', async () => {
    const project = await createProject([{ name: 'write', run: () => '{}' }])
    const app = project.start()
    const params = { name: 'write', arguments: {} }

    const bare = await project.post(app, modernMessage('tools/call', params))
    const unwrapped = await project.post(app, legacyMessage('tools/call', params), {
      headers: modernHeaders('tools/call', params),
    })

    expect([bare.status, unwrapped.status]).toEqual([400, 400])
    expect(project.database.trips).toEqual([])
  })

  it('of an unknown method is told so', async () => {
    const project = await createProject()

    const response = await project.modern(project.start(), 'tools/destroy')

    expect(response.status).toBe(404)
    expect(await read(response)).toMatchObject({ id: 1, error: { code: -32601 } })
  })

  it('streams what a tool reports before its result', async () => {
    const project = await createProject()
    const app = project.start({
      register(server) {
        server.registerTool('count', { inputSchema: z.object({}) }, async (_args, { mcpReq }) => {
          await mcpReq.notify({
            method: 'notifications/progress',
            params: { progressToken: 'p', progress: 1, total: 2 },
          })
          return textResult('done')
        })
      },
    })
    const params = { name: 'count', arguments: {}, _meta: { progressToken: 'p' } }

    const streamed = await project.modern(app, 'tools/call', params)
    const plain = await project.modern(app, 'tools/call', params, { headers: { Accept: 'application/json' } })

    expect(streamed.headers.get('content-type')).toMatch('text/event-stream')
    expect(streamed.headers.get('chumbo-trace-id')).toMatch(uuid)
    const text = await streamed.text()
    expect(text.match(/^data: /gm)).toHaveLength(2)
    expect(text).toContain('notifications/progress')
    expect((await read(plain)).result?.content).toEqual([{ type: 'text', text: 'done' }])
    await app.close()
    expect(project.database.finished.map(({ outcome }) => outcome)).toEqual(['ok', 'ok'])
  })
})

describe('a legacy client', () => {
  it.each(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])(
    'of %s is welcomed',
    async (protocolVersion) => {
      const project = await createProject()
      const app = project.start({ server: { name: 'acme', version: '2.0.0', title: 'Acme' } })

      const response = await project.post(
        app,
        legacyMessage('initialize', {
          protocolVersion,
          capabilities: {},
          clientInfo: { name: 't', version: '0' },
        }),
      )

      expect(response.headers.get('mcp-session-id')).toBeNull()
      expect((await read(response)).result).toMatchObject({
        protocolVersion,
        capabilities: { tools: { listChanged: false } },
        serverInfo: { name: 'acme', version: '2.0.0', title: 'Acme' },
      })
    },
  )

  it('may notify and ping', async () => {
    const project = await createProject()
    const app = project.start()

    const notified = await project.post(app, { jsonrpc: '2.0', method: 'notifications/initialized' })
    const ping = await project.post(app, legacyMessage('ping', {}, 'p'))

    expect(notified.status).toBe(202)
    expect(await read(ping)).toEqual({ jsonrpc: '2.0', id: 'p', result: {} })
    expect(project.database.trips).toEqual([])
  })

  it('gets each answer of a batch, whichever it is', async () => {
    const project = await createProject([{ name: 'big', run: () => '{"n": 9007199254740993}' }])
    const app = project.start({ tools: [echo] })

    const response = await project.post(app, [
      legacyMessage('tools/call', { name: 'echo', arguments: { text: 'one' } }, 'a'),
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      legacyMessage('tools/call', { name: 'none', arguments: {} }, 0),
      legacyMessage('tools/call', { name: 'big', arguments: {} }, 9007199254740991),
    ])

    expect(response.status).toBe(200)
    const text = await response.text()
    expect(JSON.parse(text)).toMatchObject([
      { id: 'a', result: { content: [{ text: 'one' }] } },
      { id: 0, error: { code: -32602 } },
      { id: 9007199254740991, result: { content: [{ text: '{"n": 9007199254740993}' }] } },
    ])
    expect(text).not.toContain('9007199254740992')
    const admitted = project.database.trips.map(({ rpc }) => rpc).filter((rpc) => rpc !== 'chumbo_finish')
    expect(admitted).toEqual(['chumbo_enter', 'chumbo_call', 'chumbo_call'])
  })

  it('gets nothing for a batch of notifications', async () => {
    const project = await createProject()

    const response = await project.post(project.start(), [
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
    ])

    expect(response.status).toBe(202)
    expect(await response.text()).toBe('')
  })

  it('may not send a batch without end', async () => {
    const project = await createProject()
    const batch = Array.from({ length: 51 }, (_, id) => legacyMessage('ping', {}, id))

    const response = await project.post(project.start(), batch)

    expect(response.status).toBe(400)
  })

  it('may not mix revisions in a batch', async () => {
    const project = await createProject([{ name: 'write', run: () => '{}' }])
    const params = { name: 'write', arguments: {} }

    const response = await project.post(project.start(), [
      legacyMessage('tools/call', params, 1),
      modernMessage('tools/call', params, 2),
    ])

    expect(response.status).toBe(400)
    expect(project.database.trips).toEqual([])
  })
})

describe('a project behind a container address', () => {
  it('never shows that address', async () => {
    const project = await createProject([{ name: 'info', run: () => '{"ok":true}' }])
    const env = {
      SUPABASE_URL: 'http://kong:8000',
      SUPABASE_FUNCTION_SLUG: 'mcp',
      SUPABASE_PUBLISHABLE_KEYS: '{"default":"sb_publishable_x"}',
      SUPABASE_SECRET_KEYS: '{"default":"sb_secret_x"}',
      SUPABASE_JWKS: '{"keys":[]}',
    }
    const app = project.start({ env })
    const local = (path: string, init: RequestInit = {}) =>
      app.fetch(
        new Request(`http://edge-runtime:8081${path}`, {
          ...init,
          headers: { Host: '127.0.0.1:54321', ...(init.headers as Record<string, string> | undefined) },
        }),
      )
    const post = { method: 'POST', body: JSON.stringify(modernMessage('tools/list')) }

    const challenged = await local('/mcp', post)
    const metadata = await local('/mcp/oauth-protected-resource')
    const refused = await local('/mcp', { ...post, headers: { Authorization: 'Bearer a.b.c' } })

    expect(challenged.status).toBe(401)
    expect(challenged.headers.get('www-authenticate')).toContain(
      'resource_metadata="http://127.0.0.1:54321/functions/v1/mcp/oauth-protected-resource"',
    )
    expect(await metadata.clone().json()).toMatchObject({
      resource: 'http://127.0.0.1:54321/functions/v1/mcp',
      authorization_servers: ['http://127.0.0.1:54321/auth/v1'],
    })
    for (const response of [challenged, metadata, refused])
      expect(await wholeOf(response)).not.toContain('kong')
  })
})

async function wholeOf(response: Response): Promise<string> {
  return JSON.stringify([...response.headers]) + (await response.text())
}

describe('a request without a valid token', () => {
  it.each(['initialize', 'server/discover', 'tools/list', 'tools/call'])(
    '%s is challenged',
    async (method) => {
      const project: Project = await createProject()

      const response = await project.post(project.start(), legacyMessage(method), { token: null })

      expect(response.status).toBe(401)
      expect(response.headers.get('www-authenticate')).toBe(
        `Bearer resource_metadata="${endpoint}/oauth-protected-resource"`,
      )
      expect(project.database.trips).toEqual([])
    },
  )
})
