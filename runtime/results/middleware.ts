// runtime/results/middleware.ts — what an application adds to the results of all its TypeScript tools.

import {
  isInputRequiredResult,
  type CallToolResult,
  type InputRequiredResult,
} from '@modelcontextprotocol/server'

import type { SupabaseMcpContext } from '../context.ts'
import { composeResultContent, withText, type ResultAdditions } from './compose.ts'

/** What a middleware sees. */
export interface ResultMiddlewareInput {
  readonly context: SupabaseMcpContext
  readonly tool: { readonly name: string }
  /** As the handler returned it, frozen; the same for every middleware. */
  readonly result: Readonly<CallToolResult>
}

/** Looks at a result that succeeded, and says what to put around it. */
export type ResultMiddleware = (
  input: ResultMiddlewareInput,
) => ResultAdditions | undefined | void | Promise<ResultAdditions | undefined | void>

/** Most functions one application may have. */
const mostMiddleware = 16

/**
 * The option as a list.
 *
 * @throws {TypeError} for what is no function.
 * @throws {RangeError} for more than sixteen.
 */
export function readResultMiddleware(
  option: ResultMiddleware | readonly ResultMiddleware[] | undefined,
): readonly ResultMiddleware[] {
  const list =
    option === undefined
      ? []
      : Array.isArray(option)
        ? (option as readonly ResultMiddleware[])
        : [option as ResultMiddleware]
  if (list.some((middleware) => typeof middleware !== 'function'))
    throw new TypeError('resultMiddleware: each has to be a function.')
  if (list.length > mostMiddleware)
    throw new RangeError(`resultMiddleware: at most ${mostMiddleware} functions, not ${list.length}.`)
  return list
}

/** What running the middleware of one call needs. */
export interface MiddlewareOptions {
  readonly middleware: readonly ResultMiddleware[]
  readonly context: SupabaseMcpContext
  readonly onError: (error: unknown) => void
}

/** Runs the middleware over what a tool answered. Whatever fails in it is reported, and the tool has still succeeded. */
export async function runResultMiddleware(
  name: string,
  answer: CallToolResult | InputRequiredResult,
  { middleware, context, onError }: MiddlewareOptions,
): Promise<CallToolResult | InputRequiredResult> {
  if (middleware.length === 0 || isInputRequiredResult(answer) || answer.isError === true) return answer
  let input: ResultMiddlewareInput
  try {
    const result = deepFreeze(structuredClone(answer))
    input = Object.freeze({ context, tool: Object.freeze({ name }), result })
  } catch (error) {
    onError(error)
    return answer
  }

  let added: Required<ResultAdditions> = { prepend: [], append: [] }
  let composed = answer
  for (const one of middleware) {
    try {
      const { prepend = [], append = [] } = readAdditions(await one(input))
      if (prepend.length === 0 && append.length === 0) continue
      // Copied, so that a block changed afterwards is not changed in the result.
      const next = structuredClone({
        prepend: [...added.prepend, ...prepend],
        append: [...added.append, ...append],
      })
      // Composed anew from the handler's own result: so all additions together keep the bounds of one.
      composed = composeResultContent(withText(answer), next)
      added = next
    } catch (error) {
      onError(error)
    }
  }
  return composed
}

function readAdditions(value: unknown): ResultAdditions {
  if (value === undefined) return {}
  if (typeof value !== 'object' || value === null)
    throw new TypeError('A result middleware returns { prepend, append } or nothing.')
  const { prepend, append, ...more } = value as ResultAdditions
  if (Object.keys(more).length > 0)
    throw new TypeError(
      'A result middleware may add content before and after a result, and change nothing else.',
    )
  for (const blocks of [prepend, append])
    if (blocks !== undefined && !Array.isArray(blocks))
      throw new TypeError('prepend and append are lists of blocks.')
  return value
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const inner of Object.values(value)) deepFreeze(inner)
  return value
}
