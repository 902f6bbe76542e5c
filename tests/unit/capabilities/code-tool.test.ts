// tests/unit/capabilities/code-tool.test.ts — a tool in TypeScript: admitted, built alone, run, worded, written down.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import {
  ChumboError,
  defineTool,
  renderResult,
  structuredResult,
  textResult,
} from '../../../runtime/index.ts'
import { createProject, errorOf, legacyMessage, read, until, type Project, type Row } from '../app/project.ts'

const nothing = z.object({})

/** A tool that does what it is told by the test. */
const tool = (name: string, run: () => unknown, more: object = {}) =>
  defineTool(
    { name, description: 'A tool.', inputSchema: nothing, ...more },
    run as () => ReturnType<typeof textResult>,
  )

const call = (name: string, args: unknown = {}) => ({ name, arguments: args })

async function callOnce(definition: ReturnType<typeof defineTool>, args: unknown = {}, rows: Row[] = []) {
  const project = await createProject(rows)
  const app = project.start({ tools: [definition] })
  const response = await project.modern(app, 'tools/call', call(definition.definition.name, args))
  const text = await response.clone().text()
  await app.close()
  return { project, response, text, answer: await read(response), receipt: project.database.finished[0] }
}

describe('a code tool', () => {
  it('without a row is served, in one trip before and one after', async () => {
    const { project, answer, receipt } = await callOnce(tool('note', () => textResult('noted')))

    expect(answer.result?.content).toEqual([{ type: 'text', text: 'noted' }])
    expect(project.database.trips.map(({ rpc }) => rpc)).toEqual(['chumbo_enter', 'chumbo_finish'])
    expect(receipt).toMatchObject({ outcome: 'ok', capability: 'note', bytes: expect.any(Number) as number })
    expect(receipt?.duration_ms).toBeGreaterThanOrEqual(0)
    expect(receipt).not.toHaveProperty('result')
  })

  it('with a row obeys it', async () => {
    const ran: string[] = []
    const note = tool('note', () => (ran.push('note'), textResult('')))

    const hidden = await callOnce(note, {}, [{ name: 'note', scopes: ['hidden'] }])
    const missing = await callOnce(note, {}, [{ name: 'note', scopes: ['write'] }])
    const disabled = await callOnce(note, {}, [{ name: 'note', isDisabled: true }])

    for (const { answer } of [hidden, disabled]) expect(answer.error?.message).toBe('Tool note not found')
    expect(errorOf(missing.answer)).toMatchObject({ code: 'scope_required', scopes: ['write'] })
    expect(ran).toEqual([])
    expect((await callOnce(note, {}, [{ name: 'note' }])).answer.result?.isError).toBeUndefined()
    expect(ran).toEqual(['note'])
  })

  it('without a row is refused where the server says so', async () => {
    const project = await createProject([{ name: 'known' }])
    project.database.server = { unregistered: 'refuse' }
    const app = project.start({
      tools: [tool('known', () => textResult('')), tool('new', () => textResult(''))],
    })

    const listed = await read(await project.modern(app, 'tools/list'))
    const called = await read(await project.modern(app, 'tools/call', call('new')))

    expect(listed.result?.tools?.map(({ name }) => name)).toEqual(['known'])
    expect(called.error?.message).toBe('Tool new not found')
    expect((await read(await project.modern(app, 'tools/call', call('known')))).result).toBeDefined()
  })

  it('whose row the database runs as SQL is never run in code', async () => {
    const ran: string[] = []
    const { answer } = await callOnce(
      tool('both', () => (ran.push('code'), textResult(''))),
      {},
      [{ name: 'both', run: () => '{"from":"sql"}' }],
    )

    expect(answer.result?.structuredContent).toEqual({ from: 'sql' })
    expect(ran).toEqual([])
  })

  it('is the only one built for its call', async () => {
    const built: string[] = []
    const project = await createProject()
    const app = project.start({
      register(server) {
        for (const name of ['one', 'two', 'three']) {
          // A schema built for this request tells, by being read, that the official server took the tool in.
          const schema = z.object({})
          const watched = new Proxy(schema, {
            get(target, property) {
              if (property === '~standard') built.push(name)
              return Reflect.get(target, property) as unknown
            },
          })
          server.registerTool(name, { inputSchema: watched }, () => textResult(name))
        }
      },
    })

    const answer = await read(await project.modern(app, 'tools/call', call('two')))

    expect(answer.result?.content).toEqual([{ type: 'text', text: 'two' }])
    expect(new Set(built)).toEqual(new Set(['two']))
  })

  it('that nobody registered is refused, and its receipt says so', async () => {
    const project = await createProject([{ name: 'gone' }])
    const app = project.start({ register: () => {} })

    const answer = await read(await project.modern(app, 'tools/call', call('gone')))

    expect(answer.error).toEqual({ code: -32602, message: 'Tool gone not found' })
    await app.close()
    expect(project.database.finished).toMatchObject([{ outcome: 'refused', code: 'unknown_capability' }])
  })
})

describe('arguments', () => {
  const greet = defineTool(
    {
      name: 'greet',
      description: 'Greets.',
      inputSchema: z.object({ name: z.string().min(2), times: z.int().default(2) }),
    },
    ({ name, times }) => textResult(`${name} ${times}`),
  )

  it('get the defaults of the schema', async () => {
    const { answer } = await callOnce(greet, { name: 'Ada', extra: 1 })

    expect(answer.result?.content).toEqual([{ type: 'text', text: 'Ada 2' }])
  })

  it.each([
    ['missing', {}, 'name'],
    ['of another type', { name: 7 }, 'name'],
    ['too short', { name: 'A' }, 'name'],
    ['wrong in the second', { name: 'Ada', times: 'x' }, 'times'],
  ])('that are %s are refused in our four parts', async (_label, args, argument) => {
    const { answer, receipt, response } = await callOnce(greet, args)

    expect(errorOf(answer)).toEqual({
      code: 'invalid_arguments',
      message: expect.stringContaining(`\`${argument}\``) as string,
      hint: expect.any(String) as string,
      trace_id: response.headers.get('chumbo-trace-id'),
    })
    expect(receipt).toMatchObject({ outcome: 'refused', code: 'invalid_arguments' })
  })

  it('that are no object are refused by the protocol, and the receipt is closed', async () => {
    const { answer, receipt } = await callOnce(greet, 'Ada')

    expect(answer.error?.code).toBe(-32602)
    expect(receipt).toMatchObject({ outcome: 'refused', code: 'invalid_request' })
  })

  it('whose schema breaks are a failed call, and its words stay inside', async () => {
    const breaking = defineTool(
      {
        name: 'check',
        description: 'Checks.',
        inputSchema: z.object({
          id: z.string().refine(() => {
            throw new Error('relation "users" is missing')
          }),
        }),
      },
      () => textResult(''),
    )

    const { answer, text, receipt, project } = await callOnce(breaking, { id: 'x' })

    expect(errorOf(answer)).toMatchObject({ code: 'tool_failed' })
    expect(text).not.toContain('users')
    expect(receipt).toMatchObject({ outcome: 'tool_error', code: 'tool_failed' })
    expect(project.failures).toHaveLength(1)
  })
})

describe('a result', () => {
  const outputSchema = z.object({ id: z.int(), note: z.string().nullable() })

  it('with data gets a text for clients that read nothing else', async () => {
    const { answer } = await callOnce(tool('get', () => structuredResult({ id: 1 })))

    expect(answer.result).toMatchObject({
      structuredContent: { id: 1 },
      content: [{ type: 'text', text: '{"id":1}' }],
    })
  })

  it('keeps a text of its own', async () => {
    const { answer } = await callOnce(tool('get', () => renderResult({ id: 1 }, ({ id }) => `Number ${id}`)))

    expect(answer.result?.content).toEqual([{ type: 'text', text: 'Number 1' }])
  })

  it('that fits its schema leaves without what the schema does not name', async () => {
    const { answer, receipt } = await callOnce(
      tool('get', () => structuredResult({ id: 1, note: null, internal: 'x' }), { outputSchema }),
    )

    expect(answer.result?.structuredContent).toEqual({ id: 1, note: null })
    expect(answer.result?.content).toEqual([{ type: 'text', text: '{"id":1,"note":null}' }])
    expect(receipt).toMatchObject({ outcome: 'ok' })
  })

  it.each([
    ['does not fit', () => structuredResult({ id: 'secret-value' })],
    ['has no data', () => textResult('nothing')],
  ])('that %s is a failed call, told to the operator', async (_label, run) => {
    const { answer, text, receipt, project } = await callOnce(tool('get', run, { outputSchema }))

    expect(errorOf(answer)).toMatchObject({ code: 'tool_failed' })
    expect(text).not.toMatch(/secret-value|schema/i)
    expect(receipt).toMatchObject({ outcome: 'tool_error', code: 'tool_failed' })
    expect(String(project.failures[0]?.error)).toMatch(/outputSchema/)
  })

  it('that is an error of the handler is not held against the schema', async () => {
    const failed = { isError: true, content: [{ type: 'text', text: 'Nothing there.' }] }
    const { answer, receipt } = await callOnce(tool('get', () => failed, { outputSchema }))

    expect(answer.result).toMatchObject(failed)
    expect(receipt).toMatchObject({ outcome: 'tool_error', code: 'tool_failed' })
  })

  it('is the same in the older revision', async () => {
    const project = await createProject()
    const app = project.start({
      tools: [tool('get', () => structuredResult({ id: 1, note: 'n', x: 1 }), { outputSchema })],
    })

    const answer = await read(await project.post(app, legacyMessage('tools/call', call('get'))))

    expect(answer.result).toEqual({
      structuredContent: { id: 1, note: 'n' },
      content: [{ type: 'text', text: '{"id":1,"note":"n"}' }],
    })
  })
})

describe('a thrown error', () => {
  const throwing = (thrown: unknown) =>
    callOnce(
      tool('fail', () => {
        throw thrown
      }),
    )

  it.each([
    ['an Error', new Error('select * from private.users failed at 10.0.0.1')],
    [
      'a driver error',
      Object.assign(new Error('duplicate key value violates "users_email_key"'), {
        code: 'XX000',
        detail: 'Key (email)=(a@b.c)',
      }),
    ],
    [
      'an error with a statement',
      Object.assign(new Error('private'), { query: 'select 1', parameters: ['a@b.c'] }),
    ],
    ['a string', 'private text'],
    ['nothing', undefined],
    [
      'an application code with a sentence for a slug',
      { code: 'PT409', message: 'private text, not a slug' },
    ],
  ])('%s says only that the tool failed', async (_label, thrown) => {
    const { answer, text, receipt, project } = await throwing(thrown)

    expect(errorOf(answer)).toMatchObject({ code: 'tool_failed', hint: expect.any(String) as string })
    expect(text).not.toMatch(/private|select|users|10\.0\.0\.1|a@b\.c|\.ts|at async/)
    expect(receipt).toMatchObject({ outcome: 'tool_error', code: 'tool_failed' })
    expect(project.failures.map(({ error }) => error)).toEqual([thrown])
  })

  it.each([
    ['42501', 'forbidden'],
    ['23505', 'conflict'],
    ['23503', 'conflict'],
    ['22P02', 'invalid_value'],
    ['23514', 'invalid_value'],
    ['57014', 'timeout'],
    ['40001', 'busy'],
    ['P0001', 'tool_failed'],
  ])('of SQLSTATE %s says %s, in our words', async (code, slug) => {
    const { answer, text } = await throwing({ code, message: 'private', details: 'private', hint: 'private' })

    expect(errorOf(answer)).toMatchObject({ code: slug })
    expect(text).not.toContain('private')
  })

  it('of the application passes as it was raised', async () => {
    const { answer, receipt } = await throwing({
      code: 'PT404',
      message: 'bookmark_not_found',
      details: 'No bookmark 7 is visible to you.',
      hint: 'List your bookmarks.',
    })

    expect(errorOf(answer)).toMatchObject({
      code: 'bookmark_not_found',
      message: 'No bookmark 7 is visible to you.',
      hint: 'List your bookmarks.',
    })
    expect(receipt).toMatchObject({ outcome: 'tool_error', code: 'bookmark_not_found' })
  })

  it('of ours passes as it was written, and its cause does not', async () => {
    const { answer, text, project } = await throwing(
      new ChumboError('It is taken.', {
        code: 'taken',
        status: 409,
        hint: 'Pick another.',
        cause: new Error('private'),
      }),
    )

    expect(errorOf(answer)).toMatchObject({ code: 'taken', message: 'It is taken.', hint: 'Pick another.' })
    expect(text).not.toContain('private')
    expect(project.failures).toEqual([])
  })

  it('that came through the Data API passes with its slug', async () => {
    const project = await createProject()
    project.serve = () =>
      Response.json(
        { code: 'PT409', message: 'already_archived', details: 'It is archived.', hint: 'Restore it.' },
        { status: 409 },
      )
    const archive = defineTool(
      { name: 'archive', description: 'Archives.', inputSchema: nothing },
      async (_args, ctx) => {
        await ctx.supabase.rpc('archive').throwOnError()
        return textResult('')
      },
    )

    const answer = await read(
      await project.modern(project.start({ tools: [archive] }), 'tools/call', call('archive')),
    )

    expect(errorOf(answer)).toMatchObject({
      code: 'already_archived',
      message: 'It is archived.',
      hint: 'Restore it.',
    })
  })
})

describe('a call that takes its time', () => {
  const slow = () => {
    let open = (): void => {}
    const opened = new Promise<void>((resolve) => (open = resolve))
    return { open, opened }
  }

  it('keeps its receipt open while it streams, and closes it with its end', async () => {
    const { open, opened } = slow()
    const project = await createProject()
    const app = project.start({
      register(server) {
        server.registerTool('count', { inputSchema: nothing }, async (_args, { mcpReq }) => {
          await mcpReq.notify({
            method: 'notifications/progress',
            params: { progressToken: 'p', progress: 1 },
          })
          await opened
          return textResult('done')
        })
      },
    })

    const response = await project.modern(app, 'tools/call', {
      ...call('count'),
      _meta: { progressToken: 'p' },
    })
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(project.database.finished).toEqual([])
    open()

    expect((await read(response)).result?.content).toEqual([{ type: 'text', text: 'done' }])
    await until(() => project.database.finished.length > 0)
    expect(project.database.finished).toMatchObject([{ outcome: 'ok' }])
  })

  it.each(['modern', 'legacy'])(
    'ends and is written down although its caller has gone: %s',
    async (revision) => {
      const { open, opened } = slow()
      let isRunning = false
      const project = await createProject()
      const app = project.start({
        tools: [
          tool('write', async () => {
            isRunning = true
            await opened
            return textResult('written')
          }),
        ],
      })
      const controller = new AbortController()
      const sending = { signal: controller.signal, headers: { 'Idempotency-Key': 'k' } }

      const answered = (
        revision === 'modern'
          ? project.modern(app, 'tools/call', call('write'), sending)
          : project.post(app, legacyMessage('tools/call', call('write')), sending)
      ).catch((error: unknown) => error)
      await until(() => isRunning)
      controller.abort()
      await new Promise((resolve) => setTimeout(resolve, 20))
      expect(project.database.finished).toEqual([])
      open()
      await until(() => project.database.finished.length > 0)

      expect(project.database.finished).toMatchObject([
        { outcome: 'ok', result: expect.stringContaining('written') as string },
      ])
      await Promise.race([answered, new Promise((resolve) => setTimeout(resolve, 100))])
    },
  )
})

describe('a repeated call', () => {
  const keyed = { headers: { 'Idempotency-Key': 'order-7' } }

  it('has its answer kept when it carries a key', async () => {
    const project = await createProject()
    const app = project.start({ tools: [tool('order', () => textResult('ordered'))] })

    await project.modern(app, 'tools/call', call('order'), keyed)
    await app.close()

    expect(JSON.parse(project.database.finished[0]?.result ?? '')).toEqual({
      content: [{ type: 'text', text: 'ordered' }],
    })
  })

  it('gets the kept answer and does not run', async () => {
    const ran: string[] = []
    const project = await replaying({
      outcome: 'replayed',
      result: '{"content":[{"type":"text","text":"ordered"}]}',
    })
    const app = project.start({ tools: [tool('order', () => (ran.push('order'), textResult('')))] })

    const answer = await read(await project.modern(app, 'tools/call', call('order'), keyed))

    expect(answer.result?.content).toEqual([{ type: 'text', text: 'ordered' }])
    expect(ran).toEqual([])
  })

  it('waits for the first and then gets its answer', async () => {
    let asked = 0
    const project = await createProject()
    project.database.outage = ({ body }) => {
      asked += 1
      const facts = body['request'] as Record<string, unknown>
      expect(facts['attempt']).toBe(asked)
      expect(facts['may_wait']).toBe(true)
      return Response.json(
        asked < 3
          ? { outcome: 'wait' }
          : { outcome: 'replayed', result: '{"content":[{"type":"text","text":"ordered"}]}' },
      )
    }
    const app = project.start({ tools: [tool('order', () => textResult('again'))] })

    const answer = await read(await project.modern(app, 'tools/call', call('order'), keyed))

    expect(answer.result?.content).toEqual([{ type: 'text', text: 'ordered' }])
    expect(asked).toBe(3)
  })

  it.each(['idempotency_key_reused', 'idempotency_in_progress'])('is refused as %s', async (code) => {
    const project = await replaying({ outcome: 'refused', error: { code } })
    const app = project.start({ tools: [tool('order', () => textResult(''))] })

    expect(errorOf(await read(await project.modern(app, 'tools/call', call('order'), keyed)))).toMatchObject({
      code,
    })
  })
})

async function replaying(answer: object): Promise<Project> {
  const project = await createProject()
  project.database.outage = () => Response.json(answer)
  return project
}

describe('what the application adds', () => {
  it.each(['register', 'resolveScopes', 'extend', 'instructions'])(
    'may break, and the answer says so in either revision: %s',
    async (part) => {
      const broken = () => {
        throw new Error('private detail')
      }
      const project = await createProject()
      const app = project.start({
        tools: [tool('note', () => textResult(''))],
        ...(part === 'register' ? { register: broken } : {}),
        ...(part === 'resolveScopes' ? { access: { resolveScopes: broken } } : {}),
        ...(part === 'extend' ? { context: { extend: broken } } : {}),
        ...(part === 'instructions' ? { instructions: broken } : {}),
      })

      const responses = [
        await project.modern(app, 'tools/call', call('note')),
        await project.post(app, legacyMessage('tools/call', call('note'))),
        await project.modern(app, 'tools/list'),
      ]

      for (const response of responses) {
        const traceId = response.headers.get('chumbo-trace-id')
        expect(response.status).toBe(500)
        const text = await response.text()
        expect(JSON.parse(text)).toMatchObject({
          id: 1,
          error: { data: { code: 'internal_error', trace_id: traceId } },
        })
        expect(text).not.toContain('private')
      }
      await app.close()
      // Admitted twice, run never: a key that came along is free again.
      expect(project.database.finished.map(({ outcome }) => outcome)).toEqual(['refused', 'refused'])
      expect(project.failures).toHaveLength(3)
    },
  )

  it('may refuse with words of its own', async () => {
    const project = await createProject()
    const app = project.start({
      access: {
        resolveScopes() {
          throw new ChumboError('The billing system is away.', {
            code: 'billing_away',
            status: 503,
            retryAfterSeconds: 9,
          })
        },
      },
    })

    const response = await project.modern(app, 'tools/list')

    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('9')
    expect(await read(response)).toMatchObject({ error: { data: { code: 'billing_away' } } })
  })
})
