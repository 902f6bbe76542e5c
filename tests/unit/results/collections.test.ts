// tests/unit/results/collections.test.ts — pages of a list: as much as fits, and a way to the rest.
import { describe, expect, expectTypeOf, it, vi } from 'vitest'
import { z } from 'zod'

import {
  appendResultText,
  collectionInputSchema,
  collectionLimits,
  collectionOutputSchema,
  collectionResult,
  defineTool,
  type CollectionOptions,
  type CollectionPage,
} from '../../../runtime/index.ts'
import { createProject, read } from '../app/project.ts'

interface Row {
  readonly id: number
  readonly name: string
  readonly secret: string
}
const item = z.object({ id: z.number(), name: z.string() })
type Item = z.infer<typeof item>

const rows = (count: number, name = (index: number) => `row ${index}`): Row[] =>
  Array.from({ length: count }, (_, index) => ({ id: index + 1, name: name(index + 1), secret: 'never' }))

const page = (items: readonly Row[], more: Partial<CollectionOptions<Row, Item>> = {}) =>
  collectionResult<Row, Item>({
    items,
    limit: 3,
    project: ({ id, name }) => ({ id, name }),
    itemSchema: item,
    cursorFor: ({ id }) => String(id),
    tool: 'list_rows',
    mode: 'structured',
    ...more,
  })

const dataOf = (result: ReturnType<typeof page>) => result.structuredContent as CollectionPage<Item>
const sizeOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value)).byteLength
const textOf = (result: ReturnType<typeof page>) => (result.content[0] as { text: string } | undefined)?.text

describe('the arguments of a collection', () => {
  const own = collectionInputSchema({ defaultLimit: 2, maxLimit: 3, cursorSchema: z.string().regex(/^\d+$/) })

  it('have defaults, can be extended, and tell their types', () => {
    expect(collectionInputSchema().parse({})).toEqual({ limit: 20 })
    expect(own.parse({})).toEqual({ limit: 2 })
    const extended = own.extend({ state: z.enum(['open', 'done']) })
    expect(extended.parse({ state: 'open', limit: 3, cursor: '7' })).toEqual({
      state: 'open',
      limit: 3,
      cursor: '7',
    })
    expectTypeOf<z.infer<typeof extended>>().toEqualTypeOf<{
      limit: number
      cursor?: string | undefined
      state: 'open' | 'done'
    }>()
    expect(collectionInputSchema({ maxLimit: 5 }).parse({})).toEqual({ limit: 5 })
  })

  it.each([
    { limit: 0 },
    { limit: 4 },
    { limit: 1.5 },
    { cursor: '' },
    { cursor: 'x' },
    { cursor: '1'.repeat(2049) },
  ])('refuse %j', (args) => {
    expect(own.safeParse(args).success).toBe(false)
  })

  it.each([
    { defaultLimit: 4, maxLimit: 3 },
    { maxLimit: 101 },
    { maxLimit: 0 },
    { defaultLimit: 0 },
    { defaultLimit: 1.5 },
  ])('cannot be made with %j', (options) => {
    expect(() => collectionInputSchema(options)).toThrow(RangeError)
  })
})

describe('a page', () => {
  it('holds what the limit allows, and the exact call for the rest', () => {
    const result = page(rows(4), { arguments: { state: 'open' } })

    expect(result).toEqual({
      content: [],
      structuredContent: {
        items: [
          { id: 1, name: 'row 1' },
          { id: 2, name: 'row 2' },
          { id: 3, name: 'row 3' },
        ],
        has_more: true,
        next_cursor: '3',
        next_call: { tool: 'list_rows', arguments: { state: 'open', limit: 3, cursor: '3' } },
      },
      _meta: { 'dev.chumbo/collection': { max_bytes: 16_384 } },
    })
    expect(JSON.stringify(result)).not.toContain('never')
    expect(collectionOutputSchema(item).safeParse(result.structuredContent).success).toBe(true)
  })

  it('at the end has nothing to go on with', () => {
    expect(dataOf(page(rows(4).slice(3), { cursor: '3' }))).toEqual({
      items: [{ id: 4, name: 'row 4' }],
      has_more: false,
      next_cursor: null,
      next_call: null,
    })
  })

  it('can say that there is more beyond its window', () => {
    expect(dataOf(page(rows(2), { hasMore: true }))).toMatchObject({ has_more: true, next_cursor: '2' })
  })

  it('as text tells the items, whether there are more, and the next call', () => {
    const render = ({ items }: CollectionPage<Item>) => items.map(({ name }) => `- ${name}`).join('\n')

    const first = page(rows(4), { mode: 'text', render })
    const last = page(rows(1), { mode: 'text', render })

    expect(first.structuredContent).toBeUndefined()
    expect(textOf(first)).toBe(
      '- row 1\n- row 2\n- row 3\n\nhas_more: true, next_cursor: "3"\n'
        + '→ Next: call list_rows with {"limit":3,"cursor":"3"}',
    )
    expect(textOf(last)).toBe('- row 1\n\nEnd of results (has_more: false, next_cursor: null).')
  })

  it.each(['text', 'structured', 'hybrid'] as const)('may be empty: %s', (mode) => {
    const result = page([], { mode, render: () => '' })

    expect(result.isError).toBeUndefined()
    if (mode === 'structured') expect(result.content).toEqual([])
    else expect(textOf(result)).toContain('End of results')
    if (mode !== 'text') expect(dataOf(result)).toMatchObject({ items: [], has_more: false, next_call: null })
  })

  it('is not changed by what writes its text', () => {
    const render = (shown: CollectionPage<Item>) => (shown.items.pop(), 'text')

    expect(dataOf(page(rows(2), { mode: 'hybrid', render })).items).toHaveLength(2)
  })
})

describe('the budget of a page', () => {
  it('is counted in bytes of the whole result, and the next page begins after the last item', () => {
    const result = page(
      rows(4, (index) => `${index} ${'🦀'.repeat(200)}`),
      { maxBytes: 1600, hasMore: true },
    )

    expect(sizeOf(result)).toBeLessThanOrEqual(1600)
    expect(dataOf(result)).toMatchObject({ items: [{ id: 1 }], next_cursor: '1' })
    expect(() => appendResultText(result, 'x'.repeat(1000))).toThrow(RangeError)
  })

  it('tries the end of the list first: without a continuation it may be the smaller page', () => {
    const cursorFor = ({ id }: Row) => `${id}`.padEnd(2000, 'x')
    const all = page(rows(3), { cursorFor, maxBytes: 512 })

    expect(dataOf(all).items).toHaveLength(3)
    expect(sizeOf(all)).toBeLessThanOrEqual(512)
  })

  it.each([
    ['structured', 40, (id: number) => `row ${id}`, ({ id }: Row) => String(id)],
    ['text', 90, (id: number) => 'x'.repeat(id % 7), ({ id }: Row) => String(id)],
    ['hybrid', 60, (id: number) => '"'.repeat(id % 5), ({ id }: Row) => String(id)],
    ['text', 80, (id: number) => `row ${id}`, ({ id }: Row) => `${id}`.padEnd((id * 37) % 400, 'c')],
    ['hybrid', 80, (id: number) => `row ${id}`, ({ id }: Row) => `${id}`.padEnd((id * 53) % 300, '\\')],
  ] as const)('takes the largest page that fits: %s, %i rows', (mode, count, name, cursorFor) => {
    const render = ({ items }: CollectionPage<Item>) => items.map(({ name: shown }) => shown).join('\n')
    const options = { mode, render, cursorFor, limit: 100, hasMore: true } as const
    const all = rows(count, name)

    // What a page of each length would be, made with room for all of it.
    const mostBytes = collectionLimits.mostBytes
    const sizes = all.map((_, index) =>
      sizeOf(page(all.slice(0, index + 1), { ...options, maxBytes: mostBytes })),
    )

    for (let maxBytes = 512; maxBytes < 6000; maxBytes += 97) {
      const result = page(all, { ...options, maxBytes })
      const spared = String(mostBytes).length - String(maxBytes).length
      const largest = sizes.findLastIndex((size) => size - spared <= maxBytes)
      expect(result.isError === true).toBe(largest === -1)
      if (largest === -1) continue
      expect(sizeOf(result)).toBe(sizes[largest]! - spared)
      const words = JSON.stringify(cursorFor(all[largest]!))
      expect(JSON.stringify(result)).toContain(mode === 'text' ? JSON.stringify(words).slice(1, -1) : words)
    }
  })

  it('is found without writing every page there could be', () => {
    const render = vi.fn(({ items }: CollectionPage<Item>) => items.map(({ name }) => name).join('\n'))

    page(
      rows(101, () => 'x'.repeat(60)),
      { mode: 'text', render, limit: 100, maxBytes: 2000 },
    )

    expect(render.mock.calls.length).toBeLessThan(15)
  })
})

describe('an item that is too large for any page', () => {
  const giant = rows(3, (index) => (index === 1 ? 'x'.repeat(4000) : `row ${index}`))

  it('is told, with what to read it by and how to go on after it', () => {
    const result = page(giant, {
      maxBytes: 1000,
      arguments: { state: 'open' },
      onOversizedItem: ({ id }) => `Read it with get_row ${id}.`,
    })

    expect(result.isError).toBe(true)
    expect(textOf(result)).toBe(
      'The next item does not fit into a page.\n'
        + '→ Next: Read it with get_row 1. To go on after it, call list_rows with {"state":"open","limit":3,"cursor":"1"}.',
    )
    expect(result._meta).toEqual({
      'dev.chumbo/error': {
        code: 'item_too_large',
        next_cursor: '1',
        next_call: { tool: 'list_rows', arguments: { state: 'open', limit: 3, cursor: '1' } },
      },
    })
    const next = page(giant.slice(1), { maxBytes: 1000, cursor: '1' })
    expect(dataOf(next).items.map(({ id }) => id)).toEqual([2, 3])
  })

  it('that is the only one says so', () => {
    expect(textOf(page(giant.slice(0, 1), { maxBytes: 1000 }))).toContain('It is the last one.')
  })

  it.each([
    ['a hint beyond the budget', { onOversizedItem: () => 'x'.repeat(3000) }, 'To go on after it'],
    [
      'a cursor beyond the budget',
      { cursorFor: ({ id }: Row) => `${id}`.padEnd(2000, 'x') },
      'Use other filters',
    ],
    [
      'both',
      { onOversizedItem: () => 'x'.repeat(3000), cursorFor: ({ id }: Row) => `${id}`.padEnd(2000, 'x') },
      'Use other filters',
    ],
  ])('keeps the error itself within the budget: %s', (_label, more, words) => {
    const result = page(giant, { maxBytes: 512, ...more })

    expect(result.isError).toBe(true)
    expect(sizeOf(result)).toBeLessThanOrEqual(512)
    expect(textOf(result)).toContain(words)
  })
})

describe('a collection is refused', () => {
  const cyclic: Record<string, unknown> = {}
  cyclic['self'] = cyclic

  it.each<[string, () => unknown, typeof TypeError | typeof RangeError]>([
    ['with a limit of 0', () => page(rows(1), { limit: 0 }), RangeError],
    ['with a limit over its maximum', () => page(rows(1), { limit: 4, maxLimit: 3 }), RangeError],
    ['with too small a budget', () => page(rows(1), { maxBytes: 511 }), RangeError],
    [
      'with too large a budget',
      () => page(rows(1), { maxBytes: collectionLimits.mostBytes + 1 }),
      RangeError,
    ],
    ['that is empty and has more', () => page([], { hasMore: true }), RangeError],
    ['with 102 rows', () => page(rows(102), { limit: 100 }), RangeError],
    ['whose cursor never changes', () => page(rows(2), { cursorFor: () => 'x' }), RangeError],
    ['whose cursor is the one it was asked with', () => page(rows(2), { cursor: '1' }), RangeError],
    ['whose filters hold that cursor', () => page(rows(2), { arguments: { cursor: '2' } }), RangeError],
    ['with an empty cursor', () => page(rows(1), { cursorFor: () => '' }), TypeError],
    [
      'with a cursor of 2,049 characters',
      () => page(rows(1), { cursorFor: () => 'x'.repeat(2049) }),
      TypeError,
    ],
    ['with a cursor that is a number', () => page(rows(1), { cursorFor: () => 7 as never }), TypeError],
    ['as text that nothing writes', () => page(rows(1), { mode: 'text' }), TypeError],
    ['as text that is none', () => page(rows(1), { mode: 'text', render: () => 7 as never }), TypeError],
    ['with items of another type', () => page(rows(1), { project: () => ({ id: 'x' }) as never }), TypeError],
    ['with an undefined filter', () => page(rows(1), { arguments: { a: undefined } }), TypeError],
    ['with a filter that is NaN', () => page(rows(1), { arguments: { a: Number.NaN } }), TypeError],
    ['with filters that contain themselves', () => page(rows(1), { arguments: cyclic }), TypeError],
    [
      'with items that are not JSON',
      () => page(rows(1), { itemSchema: z.any(), project: () => new Date() as never }),
      TypeError,
    ],
  ])('%s', (_label, make, kind) => {
    expect(make).toThrow(kind)
  })
})

describe('a collection over the wire', () => {
  it.each(['text', 'structured', 'hybrid'] as const)(
    'is walked to its end, each row once: %s',
    async (mode) => {
      const all = rows(57, (index) => `row ${index} ${'é'.repeat(index % 20)}`)
      const list = defineTool(
        {
          name: 'list_rows',
          description: 'Lists rows.',
          inputSchema: collectionInputSchema({ maxLimit: 25 }).extend({ from: z.number().default(0) }),
          ...(mode === 'text' ? {} : { outputSchema: collectionOutputSchema(item) }),
        },
        ({ limit, cursor, from }) => {
          const after = Math.max(Number(cursor ?? 0), from)
          return collectionResult({
            items: all.filter(({ id }) => id > after).slice(0, limit + 1),
            limit,
            cursor,
            arguments: { from },
            maxLimit: 25,
            maxBytes: 900,
            mode,
            project: ({ id, name }) => ({ id, name }),
            itemSchema: item,
            cursorFor: ({ id }) => String(id),
            tool: 'list_rows',
            render: ({ items }) => items.map(({ id, name }) => `#${id} ${name}`).join('\n'),
          })
        },
      )
      const project = await createProject()
      const app = project.start({ tools: [list] })

      const seen: number[] = []
      let args: unknown = { from: 3 }
      for (let turn = 0; args !== undefined && turn < 60; turn += 1) {
        const response = await project.modern(app, 'tools/call', { name: 'list_rows', arguments: args })
        const { result } = await read(response)
        const words = result?.content?.map(({ text }) => text).join('') ?? ''
        const data = result?.structuredContent as CollectionPage<Item> | undefined
        expect(result?.isError).toBeUndefined()
        // The structured form goes out as it is: no text is made up that would break its budget.
        expect(words === '').toBe(mode === 'structured')
        seen.push(
          ...(data?.items.map(({ id }) => id)
            ?? [...words.matchAll(/^#(\d+)/gm)].map(([, id]) => Number(id))),
        )
        const next = /call list_rows with (.*)$/m.exec(words)?.[1]
        if (data !== undefined && mode === 'hybrid') expect(next === undefined).toBe(data.next_call === null)
        args =
          mode === 'text'
            ? next === undefined
              ? undefined
              : JSON.parse(next)
            : (data?.next_call?.arguments ?? undefined)
      }

      expect(seen).toEqual(all.filter(({ id }) => id > 3).map(({ id }) => id))
    },
  )
})
