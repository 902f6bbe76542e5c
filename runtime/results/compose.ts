// runtime/results/compose.ts — content before and after a result that stays as it is.

import { isSpecType, type CallToolResult, type ContentBlock } from '@modelcontextprotocol/server'

/** Blocks to put around a result. */
export interface ResultAdditions {
  readonly prepend?: readonly ContentBlock[]
  readonly append?: readonly ContentBlock[]
}

/** What may be added to one result. */
export const compositionLimits = Object.freeze({
  blocks: 16,
  /** All blocks together, as JSON text in UTF-8. */
  bytes: 65_536,
})

/** Key of `_meta` under which a collection says how large the whole result may be: `{max_bytes}`. */
export const collectionMetaKey = 'dev.chumbo/collection'

/**
 * The result with blocks before and after its content. Order, `structuredContent`, `_meta` and every other field stay.
 * With nothing to add it is the same object.
 *
 * @throws {TypeError} for what is no content block, or cannot be sent.
 * @throws {RangeError} beyond {@link compositionLimits}, or beyond the budget of a collection.
 */
export function composeResultContent(
  result: CallToolResult,
  { prepend = [], append = [] }: ResultAdditions,
): CallToolResult {
  const added = [...prepend, ...append]
  if (added.length === 0) return result
  if (added.length > compositionLimits.blocks)
    throw new RangeError(
      `At most ${compositionLimits.blocks} blocks may be added to a result, not ${added.length}.`,
    )
  for (const block of added) requireBlock(block)
  const bytes = encodedBytes(added)
  if (bytes > compositionLimits.bytes)
    throw new RangeError(
      `What is added to a result has ${bytes} bytes; ${compositionLimits.bytes} is the most.`,
    )

  const composed = { ...result, content: [...prepend, ...contentOf(result), ...append] }
  const budget = budgetOf(result)
  if (budget !== undefined) {
    const whole = encodedBytes(composed)
    if (whole > budget) throw new RangeError(`The page would have ${whole} bytes; its budget is ${budget}.`)
  }
  return composed
}

/** The result with a text after its content. */
export function appendResultText(result: CallToolResult, text: string): CallToolResult {
  return composeResultContent(result, { append: [{ type: 'text', text }] })
}

/** The result with a text before its content. */
export function prependResultText(result: CallToolResult, text: string): CallToolResult {
  return composeResultContent(result, { prepend: [{ type: 'text', text }] })
}

/** The budget a collection carries; nothing else has one. */
export function budgetOf(result: CallToolResult): number | undefined {
  const mark = result._meta?.[collectionMetaKey] as { readonly max_bytes?: unknown } | undefined
  return typeof mark?.max_bytes === 'number' ? mark.max_bytes : undefined
}

/** Bytes of a value as JSON text. */
export function encodedBytes(value: unknown): number {
  const text: unknown = JSON.stringify(value)
  return typeof text === 'string' ? new TextEncoder().encode(text).byteLength : 0
}

/**
 * The result with its data as text as well: clients that read text only would see nothing of it. A collection says
 * itself in which forms it is given.
 */
export function withText(result: CallToolResult): CallToolResult {
  const content = contentOf(result)
  if (result.structuredContent === undefined || content.length > 0 || budgetOf(result) !== undefined)
    return result
  return { ...result, content: [{ type: 'text', text: JSON.stringify(result.structuredContent) }] }
}

/** A handler in plain JavaScript may leave the content out. */
function contentOf({ content = [] }: Partial<CallToolResult>): readonly ContentBlock[] {
  return content
}

function requireBlock(block: unknown): void {
  let text: unknown
  try {
    text = JSON.stringify(block)
  } catch (cause) {
    throw new TypeError('A block that is added to a result cannot be written as JSON.', { cause })
  }
  if (typeof text !== 'string' || !isSpecType.ContentBlock(block))
    throw new TypeError('What is added to a result has to be content blocks of the protocol.')
}
