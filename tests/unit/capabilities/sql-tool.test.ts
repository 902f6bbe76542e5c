// tests/unit/capabilities/sql-tool.test.ts — a tool that Postgres runs: one trip, its answer, its refusals, its digits.
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
} from '../app/project.ts'

const call = (name: string, args: unknown = {}, meta?: Record<string, unknown>) => ({
  name,
  arguments: args,
  ...(meta === undefined ? {} : { _meta: meta }),
})

describe('a SQL tool', () => {
  it('answers in one round trip, as text and as data', async () => {
    const project = await createProject([{ name: 'list', run: () => '{"rows": [{"id": 1}]}' }])
    const app = project.start()

    const answer = await read(await project.modern(app, 'tools/call', call('list')))

    expect(answer.result).toMatchObject({
      content: [{ type: 'text', text: '{"rows": [{"id": 1}]}' }],
      structuredContent: { rows: [{ id: 1 }] },
    })
    expect(answer.result?.isError).toBeUndefined()
    expect(project.database.trips.map(({ rpc }) => rpc)).toEqual(['chumbo_call'])
  })

  it('costs one trip beside code too, from the second call on', async () => {
    const project = await createProject([{ name: 'list', run: () => '{}' }])
    const app = project.start({ register: () => {} })
    const trips = async () => {
      project.database.trips.length = 0
      await project.modern(app, 'tools/call', call('list'))
      return project.database.trips.map(({ rpc }) => rpc)
    }

    expect(await trips()).toEqual(['chumbo_enter', 'chumbo_call'])
    expect(await trips()).toEqual(['chumbo_call'])
    project.database.revision = 2
    expect(await trips()).toEqual(['chumbo_call'])
  })

  it('that moved to code is asked for again by its client, and then runs there', async () => {
    const project = await createProject([{ name: 'list', run: () => '{}' }])
    const app = project.start({
      register: (server) => {
        server.registerTool('list', { inputSchema: z.object({}) }, () => textResult('from code'))
      },
    })
    await project.modern(app, 'tools/call', call('list'))
    project.database.rows = [{ name: 'list' }]
    project.database.revision = 2

    const moved = await read(await project.modern(app, 'tools/call', call('list')))
    const again = await read(await project.modern(app, 'tools/call', call('list')))

    expect(errorOf(moved)).toMatchObject({
      code: 'tool_unavailable',
      hint: expect.stringMatching(/again/) as string,
    })
    expect(again.result?.content).toEqual([{ type: 'text', text: 'from code' }])
  })

  it('says when it was cut', async () => {
    const project = await createProject([
      {
        name: 'list',
        run: () => ({ outcome: 'ok', result: '{"rows":[],"truncated":true}', truncated: true, row_cap: 5 }),
      },
    ])

    const answer = await read(await project.modern(project.start(), 'tools/call', call('list')))

    expect(answer.result?.content?.[1]?.text).toMatch(/Cut after 5 rows/)
  })

  it('that fails tells slug, sentence, next step and trace id, and no data', async () => {
    const project = await createProject([
      {
        name: 'archive',
        run: () => ({
          outcome: 'tool_error',
          error: { code: 'already_archived', message: 'It is archived.', hint: 'Restore it first.' },
        }),
      },
    ])

    const response = await project.modern(project.start(), 'tools/call', call('archive'))

    const traceId = response.headers.get('chumbo-trace-id') ?? ''
    const answer = await read(response)
    expect(response.status).toBe(200)
    expect(answer.result).toMatchObject({ isError: true })
    expect(answer.result).not.toHaveProperty('structuredContent')
    expect(errorOf(answer)).toEqual({
      code: 'already_archived',
      message: 'It is archived.',
      hint: 'Restore it first.',
      trace_id: traceId,
    })
    expect(answer.result?.content?.[0]?.text).toBe(
      `It is archived.\n→ Next: Restore it first.\n[already_archived, trace ${traceId}]`,
    )
  })

  it.each(['session_revoked', 'unknown_server', 'schema_outdated', 'unknown_capability', 'rate_limited'])(
    'cannot speak for the gate by raising %s itself',
    async (code) => {
      const project = await createProject([
        {
          name: 'liar',
          run: () => ({ outcome: 'tool_error', error: { code, message: 'Mine.', retry_after: 5 } }),
        },
      ])

      const response = await project.modern(project.start(), 'tools/call', call('liar'))

      expect([response.status, response.headers.get('retry-after')]).toEqual([200, null])
      expect(errorOf(await read(response))).toMatchObject({ code, message: 'Mine.' })
    },
  )

  it('without a row is unknown, in the words of the protocol', async () => {
    const project = await createProject([{ name: 'secret', scopes: ['hidden'], run: () => '{}' }])
    const app = project.start()

    for (const name of ['none', 'secret', 'constructor', 'toString']) {
      const response = await project.modern(app, 'tools/call', call(name))

      expect(response.status).toBe(200)
      expect((await read(response)).error).toEqual({ code: -32602, message: `Tool ${name} not found` })
    }
  })

  it('whose scope the user may grant says which', async () => {
    const project = await createProject([{ name: 'archive', scopes: ['write', 'read'], run: () => '{}' }])
    project.database.scopesOf = () => ['read']

    const answer = await read(await project.modern(project.start(), 'tools/call', call('archive')))

    expect(errorOf(answer)).toMatchObject({ code: 'scope_required', scopes: ['write'] })
    expect(answer.result?.content?.[0]?.text).toContain('Scope: write.')
  })

  it.each(['modern', 'legacy'])('that is limited says for how long, in the %s revision', async (revision) => {
    const project = await createProject([{ name: 'list', run: () => '{}' }])
    project.database.refusal = { code: 'rate_limited', retry_after: 7 }
    const app = project.start()

    const response =
      revision === 'modern'
        ? await project.modern(app, 'tools/call', call('list'))
        : await project.post(app, legacyMessage('tools/call', call('list')))

    expect(response.headers.get('retry-after')).toBe('7')
    expect(errorOf(await read(response))).toMatchObject({ code: 'rate_limited', retry_after: 7 })
  })
})

describe('a whole request is refused', () => {
  it.each(['tools/call', 'tools/list', 'initialize'])('by a sign-in that ended: %s', async (method) => {
    const project = await createProject([{ name: 'list', run: () => '{}' }])
    project.database.refusal = { code: 'session_revoked' }

    const response = await project.post(project.start(), legacyMessage(method, initialParams(method)))

    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toMatch(`error="invalid_token"`)
    expect(response.headers.get('www-authenticate')).toContain(
      `resource_metadata="${endpoint}/oauth-protected-resource"`,
    )
    expect(await read(response)).toMatchObject({ id: 1, error: { data: { code: 'session_revoked' } } })
    expect(project.failures).toEqual([])
  })

  it.each(['tools/call', 'tools/list'])('by an older database, which is named: %s', async (method) => {
    const project = await createProject([{ name: 'list', run: () => '{}' }])
    project.database.refusal = { code: 'schema_outdated', needed: 18, found: 17 }

    const response = await project.modern(project.start(), method, call('list'))

    expect(response.status).toBe(503)
    const { error } = await read(response)
    expect(error).toMatchObject({ data: { code: 'schema_outdated' } })
    expect(error?.message).toMatch(/needs version 18 .* found version 17/)
  })

  it('by a server that does not exist', async () => {
    const project = await createProject()
    project.database.refusal = { code: 'unknown_server' }

    expect((await project.modern(project.start(), 'tools/list')).status).toBe(404)
  })

  it.each(['tools/list', 'server/discover', 'prompts/list', 'resources/list'])(
    'by a limit, instead of showing less: %s',
    async (method) => {
      const project = await createProject()
      project.database.refusal = { code: 'rate_limited', retry_after: 3 }
      const note = defineTool({ name: 'note', description: 'Notes.', inputSchema: z.object({}) }, () =>
        textResult(''),
      )

      const response = await project.modern(project.start({ tools: [note] }), method)

      expect(response.status).toBe(429)
      expect(response.headers.get('retry-after')).toBe('3')
      expect(await read(response)).toMatchObject({ error: { data: { code: 'rate_limited' } } })
    },
  )

  it.each([
    [
      'nobody answers',
      () => {
        throw new TypeError('fetch failed')
      },
    ],
    [
      'the Data API has no database',
      () => Response.json({ code: 'PGRST000', message: 'connect to db:5432' }, { status: 503 }),
    ],
    ['a proxy answers in HTML', () => new Response('<h1>Bad gateway</h1>', { status: 502 })],
  ])('while %s, as an outage and never as a bad token', async (_label, outage: () => Response) => {
    const project = await createProject([{ name: 'list', run: () => '{}' }])
    project.database.outage = outage
    const app = project.start()

    for (const response of [
      await project.modern(app, 'tools/call', call('list')),
      await project.modern(app, 'tools/list'),
      await project.post(app, legacyMessage('initialize', initialParams('initialize'))),
    ]) {
      expect(response.status).toBe(503)
      expect(response.headers.get('retry-after')).toBe('5')
      expect(response.headers.get('www-authenticate')).toBeNull()
      const text = await response.text()
      expect(text).toContain('database_unavailable')
      expect(text).not.toMatch(/5432|fetch failed|gateway/i)
    }
    expect(project.failures).toHaveLength(3)
    project.database.outage = undefined
    expect((await project.modern(app, 'tools/call', call('list'))).status).toBe(200)
  })

  it('by a key the database does not take, as a fault of the server', async () => {
    const project = await createProject()
    project.database.outage = () => Response.json({ message: 'Invalid API key sb_secret_1' }, { status: 401 })

    const response = await project.modern(project.start(), 'tools/list')

    expect(response.status).toBe(500)
    expect(response.headers.get('www-authenticate')).toBeNull()
    const text = await response.text()
    expect(text).toContain('server_misconfigured')
    expect(text).not.toContain('sb_secret_1')
  })
})

function initialParams(method: string): object {
  return method === 'initialize'
    ? { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '0' } }
    : call('list')
}

describe('a number', () => {
  it.each([
    '9007199254740993',
    '-9223372036854775808',
    '123456789012345678901234567890',
    '0.1234567890123456789012345678901',
    '1.10',
    '42',
  ])('%s goes in and comes out as it was written', async (digits) => {
    const project = await createProject([
      {
        name: 'echo',
        // As Postgres does: the argument is taken from the text, never through a double.
        run: ({ text }) => `{"result": ${/"p":([^,}]+)/.exec(text)?.[1]}, "deep": {"list": [${digits}]}}`,
      },
    ])
    const app = project.start()
    const raw = (message: unknown) => JSON.stringify(message).replace('"@"', digits)

    const modern = await project.post(app, raw(modernMessage('tools/call', call('echo', { p: '@' }))), {
      headers: modernHeaders('tools/call', call('echo')),
    })
    const legacy = await project.post(app, raw(legacyMessage('tools/call', call('echo', { p: '@' }))))

    for (const response of [modern, legacy]) {
      const text = await response.text()
      const sent = digits.replace(/^1\.10$/, '1.1')
      expect(text).toMatch(new RegExp(`\\{\\\\"result\\\\": (${digits}|${sent}),`))
      // 1.10 and 1.1 are one number; no other digit may differ.
      expect(text).toMatch(
        new RegExp(
          `"structuredContent":\\{"result":(${digits}|${sent}),"deep":\\{"list":\\[(${digits}|${sent})\\]`,
        ),
      )
    }
  })

  it('that no column can hold is refused by name', async () => {
    const project = await createProject([{ name: 'echo', run: () => '{}' }])

    const message = JSON.stringify(legacyMessage('tools/call', call('echo', { p: '@' }))).replace(
      '"@"',
      '1e100000',
    )
    const answer = await read(await project.post(project.start(), message))

    expect(errorOf(answer)).toMatchObject({
      code: 'invalid_arguments',
      message: expect.stringMatching(/number/) as string,
    })
  })
})

describe('text that Postgres cannot store', () => {
  it.each([
    ['a NUL', '{"body":"a\\u0000b"}', 'body', 'NUL'],
    ['a NUL deep inside', '{"extra":{"k":["\\u0000"]}}', 'extra', 'NUL'],
    ['a NUL in a key', '{"extra":{"\\u0000":1}}', 'extra', 'NUL'],
    ['half a pair', '{"body":"\\ud800"}', 'body', 'surrogate'],
    ['the other half', '{"a":1,"body":["\\udc00x"]}', 'body', 'surrogate'],
  ])('%s is refused, naming the argument, and leaves a receipt', async (_label, json, argument, what) => {
    const ran: string[] = []
    const project = await createProject([{ name: 'add', run: () => (ran.push('add'), '{}') }])
    const app = project.start()

    const message = JSON.stringify(legacyMessage('tools/call', call('add', '@'))).replace('"@"', json)
    const response = await project.post(app, message)

    expect(response.status).toBe(200)
    const error = errorOf(await read(response))
    expect(error).toMatchObject({ code: 'invalid_arguments' })
    expect(error?.['message']).toMatch(new RegExp(`\`${argument}\`.*${what}`))
    expect(ran).toEqual([])
    // The database was asked, so it wrote the refusal down, and nothing in the question can trip it.
    const [trip] = project.database.trips
    expect(trip?.text).not.toMatch(/\\u0000|\\ud800|\\udc00/)
    expect(
      (await read(await project.modern(app, 'tools/call', call('add', { body: 'x' })))).result,
    ).toBeDefined()
  })

  it.each(['héllo 👩‍👩‍👧 שלום \u200f', String.raw`a\u0000b`, '\\', '"\\ud800"'])('%j is fine', async (body) => {
    const project = await createProject([
      { name: 'add', run: ({ args }) => JSON.stringify({ result: args['body'] }) },
    ])

    const answer = await read(await project.modern(project.start(), 'tools/call', call('add', { body })))

    expect(answer.result?.structuredContent).toEqual({ result: body })
  })
})

describe('an idempotency key', () => {
  const factsOf = async (meta: Record<string, unknown> | undefined, header: string | undefined) => {
    const project = await createProject([{ name: 'add', run: () => '{}' }])
    const app = project.start()
    const response = await project.modern(app, 'tools/call', call('add', { n: 1 }, meta), {
      headers: header === undefined ? {} : { 'Idempotency-Key': header },
    })
    const facts = project.database.trips[0]?.body['request'] as Record<string, unknown>
    return { facts, error: errorOf(await read(response)) }
  }
  const inMeta = (key: unknown) => ({ 'dev.chumbo/idempotency-key': key })

  it('is the same from _meta and from the header, and reaches the database as a digest only', async () => {
    const fromMeta = await factsOf(inMeta('order-7'), undefined)
    const fromHeader = await factsOf(undefined, 'order-7')
    const fromBoth = await factsOf(inMeta('order-7'), 'order-7')

    const [digest] = [fromMeta, fromHeader, fromBoth].map(({ facts }) => facts['idempotency_key_hash'])
    expect(digest).toMatch(/^[0-9a-f]{64}$/)
    expect(fromHeader.facts['idempotency_key_hash']).toBe(digest)
    expect(fromBoth.facts['idempotency_key_hash']).toBe(digest)
    expect(JSON.stringify(fromMeta.facts)).not.toContain('order-7')
  })

  it('is absent when none was sent', async () => {
    expect((await factsOf(undefined, undefined)).facts).not.toHaveProperty('idempotency_key_hash')
  })

  it.each([
    ['two that differ', inMeta('one'), 'two'],
    ['one that is too long', inMeta('x'.repeat(256)), undefined],
    ['a header that is too long', undefined, 'x'.repeat(256)],
    ['an empty one', inMeta(''), undefined],
    ['a number', inMeta(7), undefined],
    ['a null', inMeta(null), undefined],
  ])('is refused when it is %s', async (_label, meta, header) => {
    expect((await factsOf(meta, header)).error).toMatchObject({ code: 'idempotency_key_conflict' })
  })

  it('of 255 characters is one', async () => {
    expect((await factsOf(inMeta('x'.repeat(255)), undefined)).error).toBeUndefined()
  })

  it('goes with a digest of the arguments that does not depend on their order', async () => {
    const project = await createProject([{ name: 'add', run: () => '{}' }])
    const app = project.start()

    for (const args of [
      { a: 1, b: [2] },
      { b: [2], a: 1 },
      { a: 1, b: [3] },
    ])
      await project.modern(app, 'tools/call', call('add', args))

    const digests = project.database.trips.map(
      ({ body }) => (body['request'] as Record<string, unknown>)['argument_digest'],
    )
    expect(digests[0]).toBe(digests[1])
    expect(digests[2]).not.toBe(digests[0])
  })
})
