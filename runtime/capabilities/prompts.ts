// runtime/capabilities/prompts.ts — a prompt that a row answers: one round trip, no SDK registration.

import type { GetPromptResult, McpServer } from '@modelcontextprotocol/server'

import type { PromptAnswer } from '../gate/gate.ts'
import { newServer } from './assemble.ts'
import { notFound } from './boundary.ts'
import type { Exchange } from './exchange.ts'
import type { ServeOptions } from './options.ts'
import { askRow, guarded, settle } from './row-answer.ts'

/** A server that answers one prompt from its row. */
export function promptServer(exchange: Exchange, name: string, options: ServeOptions): McpServer {
  const server = newServer(options, null)
  server.server.registerCapabilities({ prompts: { listChanged: false } })
  server.server.setRequestHandler('prompts/get', () =>
    guarded(exchange, async () => {
      const answer = await askRow(exchange, options, () =>
        options.gate.prompt({ name, argumentsText: exchange.argumentsText(), request: exchange.facts }),
      )
      // The row says that code answers, and there is none, or the row changed a moment ago.
      if (answer.outcome === 'moved') throw notFound('prompt', name)
      if (answer.outcome !== 'refused') options.cache.learnSql(name, 'prompt')
      return toResult(settle(answer, { kind: 'prompt', name }, { exchange, options }))
    }),
  )
  return server
}

function toResult({ description, messages }: PromptAnswer): GetPromptResult {
  return {
    ...(description == null ? {} : { description }),
    // The database lets no other message out.
    messages: (messages ?? []) as GetPromptResult['messages'],
  }
}
