// tests/unit/results/middleware.test.ts — what an application adds to results of its tools, over the wire.
import { inputRequired } from '@modelcontextprotocol/server'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import {
  ChumboError,
  collectionResult,
  defineTool,
  errorResult,
  renderResult,
  structuredResult,
  textResult,
  type ResultMiddleware,
  type ResultMiddlewareInput,
} from '../../../runtime/index.ts'
import { bob, createProject, errorOf, read, type Row } from '../app/project.ts'

const text = (words: string) => ({ type: 'text' as const, text: words })

const tool = (name: string, run: () => unknown) =>
  defineTool(
    { name, description: 'A tool.', inputSchema: z.object({}) },
    run as () => ReturnType<typeof textResult>,
  )

async function callWith(
  resultMiddleware: ResultMiddleware | ResultMiddleware[],
  run: () => unknown,
  rows: Row[] = [],
) {
  const project = await createProject(rows)
  const app = project.start({ tools: [tool('note', run)], resultMiddleware })
  const answer = await read(await project.modern(app, 'tools/call', { name: 'note', arguments: {} }))
  return { project, answer, failures: project.failures.map(({ error }) => error as Error) }
}

describe('result middleware', () => {
  it('adds in order, around what the handler returned', async () => {
    const seen: ResultMiddlewareInput[] = []
    const add =
      (name: string): ResultMiddleware =>
      (input) => {
        seen.push(input)
        return { prepend: [text(`before ${name}`)], append: [text(`after ${name}`)] }
      }

    const { answer } = await callWith([add('1'), add('2')], () => ({
      ...renderResult({ a: 1 }, () => 'authored'),
      _meta: { 'acme/x': 1 },
    }))

    expect(answer.result?.content?.map((block) => block.text)).toEqual([
      'before 1',
      'before 2',
      'authored',
      'after 1',
      'after 2',
    ])
    expect(answer.result).toMatchObject({ structuredContent: { a: 1 }, _meta: { 'acme/x': 1 } })
    expect(seen[0]?.result).toBe(seen[1]?.result)
    expect(seen[1]?.result.content).toEqual([text('authored')])
    expect(seen[0]?.tool).toEqual({ name: 'note' })
    expect(seen[0]?.context.user.email).toBe('alice@example.test')
  })

  it('cannot change what the handler returned', async () => {
    const { answer, failures } = await callWith(
      ({ result }) => {
        ;(result.structuredContent as { a: number }).a = 2
      },
      () => structuredResult({ a: 1 }),
    )

    expect(answer.result?.structuredContent).toEqual({ a: 1 })
    expect(failures[0]).toBeInstanceOf(TypeError)
  })

  it('leaves data its text form for clients that read text only', async () => {
    const { answer } = await callWith(
      () => ({ append: [text('Ask for more.')] }),
      () => structuredResult({ a: 1 }),
    )

    expect(answer.result?.content).toEqual([text('{"a":1}'), text('Ask for more.')])
  })

  it.each([
    ['an error', () => errorResult('No.')],
    [
      'a refusal',
      () => {
        throw new ChumboError('No.', { code: 'no_way', status: 409 })
      },
    ],
    [
      'a fault',
      () => {
        throw new Error('boom')
      },
    ],
    ['a question to the user', () => inputRequired({ requestState: 'later' })],
  ])('does not run for %s', async (_label, run) => {
    const ran: string[] = []

    const { answer } = await callWith(() => void ran.push('ran'), run)

    expect(ran).toEqual([])
    expect(answer.result?.isError === true || answer.result?.['resultType'] === 'input_required').toBe(true)
  })

  it('does not run for a SQL tool', async () => {
    const ran: string[] = []

    const { answer } = await callWith(
      () => void ran.push('ran'),
      () => textResult(''),
      [{ name: 'note', run: () => '{"from":"sql"}' }],
    )

    expect(answer.result?.structuredContent).toEqual({ from: 'sql' })
    expect(ran).toEqual([])
  })

  const sixteen: ResultMiddleware = () => ({ append: Array.from({ length: 16 }, () => text('x')) })

  it.each<[string, ResultMiddleware, RegExp]>([
    [
      'throws',
      () => {
        throw new Error('boom')
      },
      /boom/,
    ],
    ['rejects', () => Promise.reject(new Error('boom')), /boom/],
    ['adds more than all together may', sixteen, /At most 16 blocks/],
    ['adds what is no block', () => ({ append: [{ type: 'telepathy' } as never] }), /content blocks/],
    [
      'adds what cannot be sent',
      () => ({ append: [{ type: 'text', text: 'x', _meta: { f: () => 1 } } as never] }),
      /clone/,
    ],
    ['wants to replace the result', () => ({ content: [] }) as never, /change nothing else/],
    ['returns a text', () => 'more' as never, /returns \{ prepend, append \} or nothing/],
    ['gives no list', () => ({ append: text('x') }) as never, /lists of blocks/],
  ])('that %s is reported and left out; the others count', async (_label, middleware, message) => {
    const { project, answer, failures } = await callWith(
      [() => ({ append: [text('first')] }), middleware, async () => ({ append: [text('last')] })],
      () => textResult('authored'),
    )

    expect(answer.result?.content?.map((block) => block.text)).toEqual(['authored', 'first', 'last'])
    expect(answer.result?.isError).toBeUndefined()
    expect(failures).toHaveLength(1)
    expect(failures[0]?.message).toMatch(message)
    expect(project.failures[0]?.traceId).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('is left out where a result cannot be copied, and the result goes out', async () => {
    const { answer, failures } = await callWith(
      () => ({ append: [text('x')] }),
      () => ({
        ...textResult('authored'),
        _meta: { 'acme/f': () => 1 },
      }),
    )

    expect(answer.result?.content).toEqual([text('authored')])
    expect(failures).toHaveLength(1)
  })

  it('keeps within the budget of a page, over all that is added', async () => {
    const page = () =>
      collectionResult({
        items: [{ id: 'a' }],
        limit: 5,
        project: ({ id }) => ({ id }),
        itemSchema: z.object({ id: z.string() }),
        cursorFor: ({ id }) => id,
        tool: 'note',
        maxBytes: 512,
        render: () => 'a page',
      })
    const add: ResultMiddleware = () => ({ append: [text('x'.repeat(200))] })

    const { answer, failures } = await callWith([add, add, () => ({ append: [text('short')] })], page)

    expect(answer.result?.content?.map((block) => block.text.slice(0, 6))).toEqual([
      'a page',
      'xxxxxx',
      'short',
    ])
    expect(failures.map(({ message }) => message)).toEqual([expect.stringMatching(/its budget is 512/)])
  })

  it('runs for tools that register offers, scoped ones too', async () => {
    const project = await createProject()
    project.database.scopesOf = () => ['write']
    const app = project.start({
      register: (server) =>
        void server.withScopes(['write']).registerTool('note', {}, () => textResult('authored')),
      resultMiddleware: [({ tool: { name } }) => ({ append: [text(name)] })],
    })

    const answer = await read(await project.modern(app, 'tools/call', { name: 'note', arguments: {} }))

    expect(answer.result?.content).toEqual([text('authored'), text('note')])
  })

  it('sees the caller of its own call, however many there are', async () => {
    const project = await createProject()
    const app = project.start({
      tools: [
        tool('note', async () => (await new Promise((resolve) => setTimeout(resolve, 2)), textResult(''))),
      ],
      resultMiddleware: async ({ context }) => {
        await new Promise((resolve) => setTimeout(resolve, 2))
        return { append: [text(context.user.id)] }
      },
    })
    const callers = [undefined, bob, undefined, bob, bob]

    const answers = await Promise.all(
      callers.map(async (caller) => {
        const sending = caller === undefined ? {} : { token: await project.sign(caller) }
        return read(await project.modern(app, 'tools/call', { name: 'note', arguments: {} }, sending))
      }),
    )

    for (const [index, answer] of answers.entries())
      expect(answer.result?.content?.[1]?.text === bob).toBe(callers[index] === bob)
  })

  it('is at most sixteen functions, and nothing but functions', async () => {
    const project = await createProject()

    expect(() =>
      project.start({ resultMiddleware: Array.from({ length: 17 }, () => () => undefined) }),
    ).toThrow(RangeError)
    expect(() => project.start({ resultMiddleware: ['x' as never] })).toThrow(TypeError)
    expect(() => project.start({ resultMiddleware: {} as never })).toThrow(TypeError)
  })

  it('whose report fails changes nothing', async () => {
    const project = await createProject()
    const app = project.start({
      tools: [tool('note', () => textResult('authored'))],
      resultMiddleware: () => {
        throw new Error('boom')
      },
      onError: () => Promise.reject(new Error('again')) as never,
    })

    const answer = await read(await project.modern(app, 'tools/call', { name: 'note', arguments: {} }))

    expect(answer.result?.content).toEqual([text('authored')])
    expect(errorOf(answer)).toBeUndefined()
  })
})
