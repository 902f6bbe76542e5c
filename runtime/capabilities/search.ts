// runtime/capabilities/search.ts — the two tools that stand for a searched catalog: their definitions, and search_tools itself.

import { ProtocolError, ProtocolErrorCode, type CallToolResult } from '@modelcontextprotocol/server'

import type { Definition } from '../gate/catalog-cache.ts'
import type { GateError, SearchAnswer } from '../gate/gate.ts'
import { toChumboError } from '../request/respond.ts'
import { toolError } from '../results/tool-error.ts'
import { assemble } from './assemble.ts'
import { notFound } from './boundary.ts'
import { httpErrorOf } from './enter.ts'
import type { Exchange } from './exchange.ts'
import type { ServeOptions } from './options.ts'
import { proxyName, searchName } from './reserved-names.ts'

/** What `tools/list` shows in place of the catalog. */
export const searchDefinitions: readonly Definition[] = Object.freeze([
  Object.freeze({
    name: searchName,
    title: 'Find tools',
    description:
      'Finds tools of this server by words. This server has more tools than it lists, so search before you answer that something cannot '
      + 'be done. Returns at most five complete tool definitions, best match first, or none when nothing matches. '
      + `Then run the one that fits with ${proxyName}. If nothing fits, search again with other words for the same thing.`,
    inputSchema: {
      type: 'object',
      properties: {
        query: {
          type: 'string',
          description:
            'What the tool should do, in a few words such as "create invoice", or its exact name. The first 1000 characters count.',
        },
      },
      required: ['query'],
      additionalProperties: false,
    },
    outputSchema: {
      type: 'object',
      properties: {
        tools: {
          type: 'array',
          description: 'The definitions, best match first.',
          items: {
            type: 'object',
            properties: {
              name: { type: 'string', description: `What ${proxyName} takes as name.` },
              description: { type: 'string' },
              inputSchema: { type: 'object', description: `What ${proxyName} takes as arguments.` },
            },
            required: ['name'],
          },
        },
      },
      required: ['tools'],
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  }),
  Object.freeze({
    name: proxyName,
    title: 'Run a found tool',
    description:
      `Runs a tool that ${searchName} found and returns its result unchanged. The arguments have to fit the inputSchema of that tool, so `
      + 'search first and do not guess.',
    inputSchema: {
      type: 'object',
      properties: {
        name: { type: 'string', description: `The name of the tool, as ${searchName} returned it.` },
        arguments: {
          type: 'object',
          description: 'The arguments of the tool, as its inputSchema describes them.',
          additionalProperties: true,
        },
      },
      required: ['name'],
      additionalProperties: false,
    },
    // What it runs may write: the strictest hints are the only true ones.
    annotations: { readOnlyHint: false, openWorldHint: true },
  }),
])

/**
 * Answers a call of one of the two. A call of the proxy that gets here could not be unwrapped; the database refuses it, as
 * it refuses both where the catalog is listed.
 */
export async function serveSearch(exchange: Exchange, options: ServeOptions): Promise<CallToolResult> {
  const { facts, name } = exchange
  const { gate, cache } = options
  const asked = name === searchName ? readQuery(exchange.params['arguments']) : { error: unreadableCall }
  const rejection = facts['rejection'] ?? asked.error
  let answer: SearchAnswer
  try {
    answer = await gate.search({
      // A query the database refuses anyway must not fail on its way there.
      query: rejection === undefined ? (asked.query ?? '') : '',
      request: { ...facts, tool: name, ...(rejection === undefined ? {} : { rejection }) },
    })
    cache.learn(answer.revision)
  } catch (error) {
    exchange.httpError = toChumboError(error)
    throw new ProtocolError(ProtocolErrorCode.InternalError, exchange.httpError.message)
  }
  if (answer.outcome === 'refused') return refuse(exchange, answer.error ?? { code: 'tool_failed' })

  const result = { tools: await runnable(exchange, answer, options) }
  return {
    content: [{ type: 'text', text: JSON.stringify(result) }],
    structuredContent: result,
  }
}

function refuse(exchange: Exchange, error: GateError): CallToolResult {
  const httpError = httpErrorOf(error)
  if (httpError !== undefined) {
    exchange.httpError = httpError
    throw new ProtocolError(ProtocolErrorCode.InternalError, httpError.message)
  }
  if (error.code === 'unknown_capability') throw notFound('tool', exchange.name)
  if (error.retry_after != null) exchange.retryAfter = error.retry_after
  return toolError(error, exchange.traceId)
}

/** The definitions, without those whose handler this program does not have: as in a list, they cannot run. */
async function runnable(
  exchange: Exchange,
  answer: SearchAnswer,
  options: ServeOptions,
): Promise<readonly Definition[]> {
  const { entries = [] } = answer
  const ofCode = new Set(entries.filter(({ handler }) => handler === 'typescript').map(({ name }) => name))
  const facade =
    ofCode.size === 0
      ? undefined
      : await assemble(
          exchange,
          { ...answer, outcome: 'listed' },
          options,
          ({ kind, name }) => kind === 'tool' && ofCode.has(name),
        )
  return entries
    .filter(({ name, handler }) => handler !== 'typescript' || facade?.tools.get(name)?.enabled === true)
    .map(({ definition }) => definition)
}

const unreadableCall: GateError = {
  code: 'invalid_arguments',
  message: `${proxyName} takes the name of a tool and, as an object, its arguments.`,
}

function readQuery(args: unknown): { readonly query?: string; readonly error?: GateError } {
  const isObject = typeof args === 'object' && args !== null
  const query: unknown = isObject && 'query' in args ? args.query : undefined
  if (typeof query === 'string' && Object.keys(args as object).length === 1) return { query }
  return { error: { code: 'invalid_arguments', message: `${searchName} takes one text, the query.` } }
}
