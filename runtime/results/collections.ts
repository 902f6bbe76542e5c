// runtime/results/collections.ts — one page of a list: as many items as fit, and how to get the rest.
//
// The query, its order, what a cursor means and every check of rights stay with the application; a cursor grants
// nothing. Here a window of rows becomes the largest page within a number of items and a number of bytes.

import type { CallToolResult } from '@modelcontextprotocol/server'
import { z } from 'zod'

import { collectionMetaKey, encodedBytes } from './compose.ts'
import { errorMetaKey, toolErrorRegistry } from './tool-error.ts'

/** Defaults and bounds of collections. */
export const collectionLimits = Object.freeze({
  defaultLimit: 20,
  maxLimit: 100,
  /** The whole result, as JSON text in UTF-8. */
  maxBytes: 16_384,
  leastBytes: 512,
  mostBytes: 1_048_576,
  /** Characters. */
  cursorLength: 2_048,
})

/** How a page of a collection is asked for. */
export interface CollectionInputOptions {
  readonly defaultLimit?: number
  readonly maxLimit?: number
  /** What a cursor of this tool looks like; its length is bounded besides. */
  readonly cursorSchema?: z.ZodType<string, string>
}

/**
 * The arguments `limit` and `cursor`; extend them with the filters of the tool.
 *
 * @throws {RangeError} for limits that contradict each other or {@link collectionLimits}.
 * @example
 * ```ts
 * const inputSchema = collectionInputSchema({ defaultLimit: 10 }).extend({ status: z.enum(['open', 'done']) })
 * ```
 */
export function collectionInputSchema({
  defaultLimit,
  maxLimit = collectionLimits.maxLimit,
  cursorSchema = z.string(),
}: CollectionInputOptions = {}): z.ZodObject<
  { limit: z.ZodDefault<z.ZodInt>; cursor: z.ZodOptional<z.ZodType<string, string>> },
  z.core.$strip
> {
  requireWhole('maxLimit', maxLimit, 1, collectionLimits.maxLimit)
  const first = defaultLimit ?? Math.min(collectionLimits.defaultLimit, maxLimit)
  requireWhole('defaultLimit', first, 1, maxLimit)
  const bounded = z.string().min(1).max(collectionLimits.cursorLength)
  return z.object({
    limit: z.int().min(1).max(maxLimit).default(first).describe(`Most items in one page, 1 to ${maxLimit}.`),
    cursor: bounded
      .pipe(cursorSchema)
      .optional()
      .describe('next_cursor of the page before; left out for the first page.'),
  })
}

/** Where a list goes on. */
export interface NextCall {
  readonly tool: string
  readonly arguments: Readonly<Record<string, unknown>>
}

/** One page. At the end of the list there is nothing to go on with. */
export interface CollectionPage<Item> {
  readonly items: Item[]
  readonly has_more: boolean
  readonly next_cursor: string | null
  readonly next_call: NextCall | null
}

/** The `outputSchema` of a tool whose pages are given as data. */
export function collectionOutputSchema<Item extends z.ZodType>(
  itemSchema: Item,
): z.ZodObject<{
  items: z.ZodArray<Item>
  has_more: z.ZodBoolean
  next_cursor: z.ZodNullable<z.ZodString>
  next_call: z.ZodNullable<
    z.ZodObject<{ tool: z.ZodString; arguments: z.ZodRecord<z.ZodString, z.ZodUnknown> }>
  >
}> {
  return z.object({
    items: z.array(itemSchema).max(collectionLimits.maxLimit),
    has_more: z.boolean(),
    next_cursor: z.string().nullable(),
    next_call: z
      .object({ tool: z.string(), arguments: z.record(z.string(), z.unknown()) })
      .nullable()
      .describe('The call that gets the next page.'),
  })
}

/** One page to be made. */
export interface CollectionOptions<Row, Item> {
  /** Rows in a total order, fetched after the cursor: `limit + 1` of them tell whether there are more. */
  readonly items: readonly Row[]
  readonly limit: number
  /** There are more rows beyond the window. Default: the window holds more than `limit`. */
  readonly hasMore?: boolean
  /** What of a row goes out. */
  readonly project: (row: Row, index: number) => NoInfer<Item>
  readonly itemSchema: z.ZodType<Item>
  /** The cursor that continues after a row; no two rows share one. */
  readonly cursorFor: (row: Row, index: number) => string
  /** Name of the tool that is called for the next page. */
  readonly tool: string
  /** Arguments that have to be repeated for the next page: filters, never secrets. */
  readonly arguments?: Readonly<Record<string, unknown>>
  /** The cursor this page was asked with; a page never leads back to it. */
  readonly cursor?: string | undefined
  readonly maxLimit?: number
  readonly maxBytes?: number
  /** Default: `text`. `structured` has no text, for clients known to read data; `hybrid` gives both. */
  readonly mode?: 'text' | 'structured' | 'hybrid'
  /** Writes a page for people and models; needed for `text` and `hybrid`. */
  readonly render?: (page: CollectionPage<Item>) => string
  /** What to do about an item that is too large for any page: another tool to read it with, for one. */
  readonly onOversizedItem?: (row: Row) => string
}

/**
 * The largest page within `limit` items and `maxBytes`. The next page begins after its last item. An item that alone is
 * too large is never left out silently: the result is then an error that says how to go on behind it.
 *
 * @throws {RangeError} for numbers out of bounds, and for cursors that do not advance.
 * @throws {TypeError} for items, arguments or renderings that are not what they have to be.
 */
export function collectionResult<Row, Item>(options: CollectionOptions<Row, Item>): CallToolResult {
  const { items, limit, maxLimit = collectionLimits.maxLimit, maxBytes = collectionLimits.maxBytes } = options
  requireWhole('maxLimit', maxLimit, 1, collectionLimits.maxLimit)
  requireWhole('limit', limit, 1, maxLimit)
  requireWhole('maxBytes', maxBytes, collectionLimits.leastBytes, collectionLimits.mostBytes)
  if (items.length > maxLimit + 1)
    throw new RangeError(`items: at most ${maxLimit + 1} rows, not ${items.length}.`)
  const { hasMore = items.length > limit } = options
  if (items.length === 0 && hasMore)
    throw new RangeError('An empty page cannot say that there are more items.')

  const cursors = readCursors(options)
  const projected = items.slice(0, limit).map((row, index) => projectRow(row, index, options))
  const build = createBuilder(options, maxBytes)
  const fits = (result: CallToolResult): boolean => encodedBytes(result) <= maxBytes

  const isAll = !hasMore && items.length <= limit
  if (isAll) {
    // Tried before any shorter page: without a continuation it may be the smaller one.
    const last = build(projected, null)
    if (fits(last)) return last
  }
  const most = isAll ? projected.length - 1 : projected.length
  const found = findLargest(most, {
    // A page never shrinks when an item is added, except for its cursor: so the shortest decides how far to look.
    mayFit: (count) => fits(build(projected.slice(0, count), shortest(cursors.slice(0, most)))),
    fits: (count) => fits(build(projected.slice(0, count), cursors[count - 1] ?? null)),
  })
  if (found > 0) return build(projected.slice(0, found), cursors[found - 1] ?? null)
  return oversized(options, {
    maxBytes,
    cursor: isAll && projected.length === 1 ? null : (cursors[0] ?? null),
  })
}

interface Fit {
  readonly mayFit: (count: number) => boolean
  readonly fits: (count: number) => boolean
}

/** The largest count that fits, 0 for none: by halving, then downwards over what only a long cursor keeps from fitting. */
function findLargest(most: number, { mayFit, fits }: Fit): number {
  let [low, high] = [0, most]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (mayFit(middle)) low = middle
    else high = middle - 1
  }
  while (low > 0 && !fits(low)) low -= 1
  return low
}

type Build<Item> = (items: readonly Item[], cursor: string | null) => CallToolResult

function createBuilder<Row, Item>(
  { tool, limit, mode = 'text', render, arguments: filters = {} }: CollectionOptions<Row, Item>,
  maxBytes: number,
): Build<Item> {
  if (mode !== 'structured' && render === undefined)
    throw new TypeError(`render: the mode ${mode} needs a function that writes a page.`)
  const kept = readJson('arguments', filters)
  return (items, cursor) => {
    const page: CollectionPage<Item> = {
      items: [...items],
      has_more: cursor !== null,
      next_cursor: cursor,
      next_call: cursor === null ? null : { tool, arguments: { ...kept, limit, cursor } },
    }
    const text = mode === 'structured' || render === undefined ? undefined : writeText(page, render)
    return {
      content: text === undefined ? [] : [{ type: 'text', text }],
      ...(mode === 'text' ? {} : { structuredContent: page }),
      _meta: { [collectionMetaKey]: { max_bytes: maxBytes } },
    }
  }
}

function writeText<Item>(page: CollectionPage<Item>, render: (page: CollectionPage<Item>) => string): string {
  // A copy: what the renderer does to it must not reach the data beside the text.
  const text: unknown = render(structuredClone(page))
  if (typeof text !== 'string') throw new TypeError('render: it has to return a text.')
  const { next_call: next, next_cursor: cursor } = page
  const end =
    next === null
      ? 'End of results (has_more: false, next_cursor: null).'
      : `has_more: true, next_cursor: ${JSON.stringify(cursor)}\n→ Next: call ${next.tool} with ${JSON.stringify(next.arguments)}`
  return text === '' ? end : `${text}\n\n${end}`
}

function readCursors<Row, Item>({
  items,
  cursorFor,
  cursor,
  arguments: filters,
}: CollectionOptions<Row, Item>): string[] {
  const asked = cursor ?? filters?.['cursor']
  const seen = new Set<unknown>(asked === undefined ? [] : [asked])
  return items.map((row, index) => {
    const next: unknown = cursorFor(row, index)
    if (typeof next !== 'string' || next === '' || next.length > collectionLimits.cursorLength)
      throw new TypeError(
        `cursorFor: row ${index} has no cursor of 1 to ${collectionLimits.cursorLength} characters.`,
      )
    if (seen.has(next))
      throw new RangeError(`cursorFor: row ${index} does not advance; its cursor was there before.`)
    seen.add(next)
    return next
  })
}

function projectRow<Row, Item>(
  row: Row,
  index: number,
  { project, itemSchema }: CollectionOptions<Row, Item>,
): Item {
  const read = itemSchema.safeParse(project(row, index))
  if (!read.success) {
    const [issue] = read.error.issues
    const path = (issue?.path ?? []).map(String).join('.')
    throw new TypeError(
      `project: row ${index} does not fit itemSchema: ${path === '' ? '' : `${path}: `}${issue?.message}`,
    )
  }
  return readJson(`project: row ${index}`, read.data)
}

/** A copy of a value that JSON carries as it is; anything else would change on its way. */
function readJson<Value>(where: string, value: Value): Value {
  const check = (inner: unknown, above: readonly unknown[]): void => {
    if (inner === null || typeof inner === 'string' || typeof inner === 'boolean') return
    if (typeof inner === 'number' && Number.isFinite(inner)) return
    if (typeof inner === 'number') throw new TypeError(`${where}: ${inner} is not JSON.`)
    if (typeof inner !== 'object')
      throw new TypeError(`${where}: a value of type ${typeof inner} is not JSON.`)
    if (above.includes(inner)) throw new TypeError(`${where}: it contains itself.`)
    const prototype: unknown = Object.getPrototypeOf(inner)
    if (!Array.isArray(inner) && prototype !== Object.prototype && prototype !== null)
      throw new TypeError(`${where}: an object of a class is not JSON.`)
    for (const part of Object.values(inner)) check(part, [...above, inner])
  }
  check(value, [])
  return structuredClone(value)
}

interface Oversized {
  readonly maxBytes: number
  readonly cursor: string | null
}

/** The error in place of a page whose first item alone is too large. The longest wording that fits is used. */
function oversized<Row, Item>(
  { items, tool, limit, arguments: filters = {}, onOversizedItem }: CollectionOptions<Row, Item>,
  { maxBytes, cursor }: Oversized,
): CallToolResult {
  const [row] = items
  const recovery = row === undefined ? undefined : onOversizedItem?.(row)
  const next = cursor === null ? undefined : { tool, arguments: { ...filters, limit, cursor } }
  const skip =
    next === undefined
      ? 'It is the last one.'
      : `To go on after it, call ${tool} with ${JSON.stringify(next.arguments)}.`
  const facts = next === undefined ? {} : { next_cursor: cursor, next_call: next }
  const wordings = [
    ...(recovery === undefined
      ? []
      : [failure(`${recovery} ${skip}`, facts), failure(`${recovery} ${skip}`)]),
    failure(skip, facts),
    failure(skip),
    ...(recovery === undefined ? [] : [failure(recovery)]),
  ]
  return (
    wordings.find((wording) => encodedBytes(wording) <= maxBytes)
    ?? failure('Use other filters that leave it out.')
  )
}

function failure(hint: string, facts: object = {}): CallToolResult {
  const { sentence } = toolErrorRegistry.item_too_large
  return {
    isError: true,
    content: [{ type: 'text', text: `${sentence}\n→ Next: ${hint}` }],
    _meta: { [errorMetaKey]: { code: 'item_too_large', ...facts } },
  }
}

function shortest(cursors: readonly string[]): string | null {
  const [first = null] = cursors.toSorted((a, b) => JSON.stringify(a).length - JSON.stringify(b).length)
  return first
}

function requireWhole(name: string, value: number, least: number, most: number): void {
  if (!Number.isInteger(value) || value < least || value > most)
    throw new RangeError(`${name}: a whole number from ${least} to ${most} is needed, not ${String(value)}.`)
}
