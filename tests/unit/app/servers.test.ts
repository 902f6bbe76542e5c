// tests/unit/app/servers.test.ts — many servers behind one function: who is found at which path, and what it offers.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { defineTool, textResult } from '../../../runtime/index.ts'
import { createProject, endpoint, legacyMessage, read } from './project.ts'

const tool = (name: string) =>
  defineTool({ name, description: 'x', inputSchema: z.object({}) }, () => textResult(name))
const billing = `${endpoint}/billing`

describe('a server beside the one of the code', () => {
  it('is found as soon as the database has it, and answers from its own row', async () => {
    const project = await createProject([{ name: 'list_invoices', run: () => '{}' }])
    const app = project.start({ tools: [tool('of_main')] })
    project.database.slugs = ['billing']

    const answer = await read(await project.modern(app, 'tools/list', {}, { url: billing }))

    expect(answer.result?.tools?.map(({ name }) => name)).toEqual(['list_invoices'])
    expect(project.database.trips.map(({ rpc, body }) => [rpc, body['server']])).toEqual([
      ['chumbo_servers', undefined],
      ['chumbo_enter', 'billing'],
    ])
  })

  it('is looked up once, and one that is not there at most every five seconds', async () => {
    const project = await createProject()
    const app = project.start()
    project.database.slugs = ['billing']
    const asked = () => project.database.trips.filter(({ rpc }) => rpc === 'chumbo_servers').length

    for (const path of ['billing', 'billing', 'nothing', 'other']) {
      await project.modern(app, 'tools/list', {}, { url: `${endpoint}/${path}` })
    }

    expect(asked()).toBe(1)
  })

  it('has code of its own', async () => {
    const project = await createProject()
    const app = project.start({
      tools: [tool('of_main')],
      servers: { billing: { tools: [tool('of_billing')], server: { name: 'billing', version: '2.0.0' } } },
    })
    project.database.slugs = ['billing']
    const namesAt = async (url: string) =>
      (await read(await project.modern(app, 'tools/list', {}, { url }))).result?.tools?.map(
        ({ name }) => name,
      )

    expect(await namesAt(endpoint)).toEqual(['of_main'])
    expect(await namesAt(billing)).toEqual(['of_billing'])
    const hello = await read(
      await project.post(
        app,
        legacyMessage('initialize', {
          protocolVersion: '2025-06-18',
          capabilities: {},
          clientInfo: { name: 't', version: '0' },
        }),
        { url: billing },
      ),
    )
    expect(hello.result?.['serverInfo']).toMatchObject({ name: 'billing', version: '2.0.0' })
  })

  it('is a resource of its own, told in challenge and metadata', async () => {
    const project = await createProject()
    const app = project.start()
    project.database.slugs = ['billing']

    const refused = await project.modern(app, 'tools/list', {}, { url: billing, token: null })
    const url = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '')?.[1]
    const metadata = await app.fetch(new Request(url ?? ''))

    expect(refused.status).toBe(401)
    expect(url).toBe(`${billing}/oauth-protected-resource`)
    expect(await metadata.json()).toMatchObject({ resource: billing })
  })

  it.each([
    ['that nobody registered', 'nothing'],
    ['that has its path already', 'default'],
    ['below another', 'billing/more'],
  ])('%s is not found', async (_label, path) => {
    const project = await createProject()
    project.database.slugs = ['billing', 'default']

    const response = await project.modern(
      project.start(),
      'tools/list',
      {},
      { url: `${endpoint}/${path}`, token: null },
    )

    expect(response.status).toBe(404)
  })

  it('is no matter of credentials when the database is away', async () => {
    const project = await createProject()
    project.database.outage = () => new Response('', { status: 503 })

    const response = await project.modern(project.start(), 'tools/list', {}, { url: billing, token: null })

    expect(response.status).toBe(503)
  })
})

describe('a list', () => {
  it('may be kept as long as the server says, by clients that keep lists', async () => {
    const project = await createProject()
    project.database.server = { cache_seconds: 30 }
    const app = project.start()

    const modern = await read(await project.modern(app, 'tools/list'))
    const legacy = await read(await project.post(app, legacyMessage('tools/list')))

    expect(modern.result).toMatchObject({ ttlMs: 30_000, cacheScope: 'private' })
    expect(legacy.result).not.toHaveProperty('ttlMs')
  })
})
