// tests/unit/capabilities/odd-handlers.test.ts — handlers and callers at their worst: every call is answered and written down.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { inputRequired } from '@modelcontextprotocol/server'

import type { textResult } from '../../../runtime/index.ts'
import { defineTool } from '../../../runtime/index.ts'
import { createProject, errorOf, legacyMessage, read } from '../app/project.ts'

const tool = (name: string, run: () => unknown) =>
  defineTool(
    { name, description: 'A tool.', inputSchema: z.object({}) },
    run as () => ReturnType<typeof textResult>,
  )

describe('a handler that', () => {
  it.each([
    ['returns a number', () => 42],
    ['returns content that is no list', () => ({ content: 'x' })],
    ['returns a block of no known type', () => ({ content: [{ type: 'nope' }] })],
    [
      'throws a value that throws when it is read',
      () => {
        // eslint-disable-next-line @typescript-eslint/only-throw-error -- applications do
        throw {
          get code() {
            throw new Error('password=hunter2')
          },
        }
      },
    ],
    [
      'throws a proxy',
      () => {
        // eslint-disable-next-line @typescript-eslint/only-throw-error -- applications do
        throw new Proxy(
          {},
          {
            getPrototypeOf() {
              throw new Error('password=hunter2')
            },
          },
        )
      },
    ],
  ])('%s fails in our words, with its receipt', async (_case, run) => {
    const project = await createProject()
    const app = project.start({ tools: [tool('odd', run)] })

    const response = await project.modern(app, 'tools/call', { name: 'odd', arguments: {} })
    const text = await response.clone().text()
    await app.close()

    expect(errorOf(await read(response))).toMatchObject({ code: 'tool_failed' })
    expect(text).not.toContain('hunter2')
    expect(project.database.finished).toMatchObject([{ outcome: 'tool_error', code: 'tool_failed' }])
  })

  it.each([
    ['resources/read', { uri: 'odd://x' }],
    ['prompts/get', { name: 'odd' }],
  ])('returns nothing to %s is answered all the same', async (method, params) => {
    const project = await createProject()
    const app = project.start({
      register(server) {
        server.registerResource('odd', 'odd://x', {}, () => null as never)
        server.registerPrompt('odd', {}, () => null as never)
      },
    })

    const response = await project.post(app, legacyMessage(method, params))
    await app.close()

    expect(await read(response)).toMatchObject({ error: { data: { code: 'tool_failed' } } })
    expect(project.database.finished).toMatchObject([{ outcome: 'tool_error' }])
  })

  it('asks for input leaves its idempotency key free for the next round', async () => {
    const project = await createProject()
    const ask = () =>
      inputRequired({
        inputRequests: {
          ok: inputRequired.elicit({ message: 'Sure?', requestedSchema: z.object({ ok: z.boolean() }) }),
        },
      })
    const app = project.start({ tools: [tool('ask', ask)] })

    await project.modern(app, 'tools/call', {
      name: 'ask',
      arguments: {},
      _meta: { 'dev.chumbo/idempotency-key': 'k' },
    })
    await app.close()

    expect(project.database.finished).toMatchObject([{ outcome: 'refused', code: 'input_required' }])
  })
})

describe('a caller who', () => {
  it.each([
    ['a NUL', 'a\u0000b'],
    ['half a surrogate pair', 'a\ud800b'],
    ['12,000 characters', 'a'.repeat(12_000)],
    ['nothing', ''],
  ])('names a tool with %s is told that it is unknown', async (_case, name) => {
    const project = await createProject([{ name: 'list', run: () => '{}' }])

    const response = await project.post(project.start(), legacyMessage('tools/call', { name, arguments: {} }))

    expect([response.status, (await read(response)).error?.code]).toEqual([200, -32602])
    for (const { body } of project.database.trips) expect(JSON.stringify(body)).not.toContain(name || 'never')
  })

  it.each([
    ['a number of 2,000 digits', `{"v":${'9'.repeat(2_000)}}`],
    ['a fraction of 2,000 digits', `{"v":0.${'0'.repeat(1_999)}1}`],
    ['300 levels of nesting', `{"v":${'['.repeat(300)}${']'.repeat(300)}}`],
  ])('sends %s is refused, and nothing of it reaches the database', async (_case, text) => {
    const project = await createProject([{ name: 'list', run: () => '{}' }])
    const message = JSON.stringify(legacyMessage('tools/call', { name: 'list', arguments: {} }))

    const response = await project.post(project.start(), message.replace('{}', text))

    expect(errorOf(await read(response))).toMatchObject({ code: 'invalid_arguments' })
    for (const { body } of project.database.trips) expect(JSON.stringify(body).length).toBeLessThan(2_000)
  })

  it('sends a batch hears of what ran, although a later message failed', async () => {
    const project = await createProject([{ name: 'add', run: () => '{"id":"1"}' }])
    const app = project.start({
      register(server) {
        server.registerResource('odd', 'odd://x', {}, () => {
          throw new Error('no')
        })
      },
      context: {
        extend() {
          throw new Error('broken')
        },
      },
    })
    project.database.rows = [{ name: 'add', run: () => '{"id":"1"}' }]

    const response = await project.post(app, [
      legacyMessage('tools/call', { name: 'add', arguments: {} }, 1),
      legacyMessage('resources/list', {}, 2),
    ])

    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject([
      { id: 1, result: { structuredContent: { id: '1' } } },
      { id: 2, error: { data: { code: 'internal_error' } } },
    ])
  })
})
