// tests/demo/cast.ts — who takes part: Alice and Bob with their clients, the operator with SQL, and the one who counts.
import type { CallToolResult } from '@modelcontextprotocol/client'
import postgres from 'postgres'

import type { Stack } from '../../cli/stack/index.ts'
import { errorMetaKey } from '../../runtime/index.ts'
import type { Connection, Person } from '../support/sign-in.ts'

export type Outcome = 'ok' | 'tool_error' | 'refused' | 'replayed'

/** The answer to a tool call, as the story looks at it. */
export interface Answer {
  readonly outcome: Outcome
  readonly code: string | undefined
  readonly text: string
  readonly data: Readonly<Record<string, unknown>>
}

export interface Cast {
  readonly stack: Stack
  readonly alice: Person
  readonly bob: Person
  /** The operator: the role migrations run under. */
  readonly sql: postgres.Sql
  /** Connections by the name the story gives them; closed at the end. */
  readonly connections: Map<string, Connection>
  /** Calls a tool and notes the outcome for the books. */
  readonly call: (
    who: Person,
    connection: Connection,
    name: string,
    args?: object,
    options?: CallOptions,
  ) => Promise<Answer>
  /** Notes a call that was made in another way. */
  readonly note: (who: Person, outcome: Outcome) => void
  /** Calls made so far, as `person outcome` → count. */
  readonly books: ReadonlyMap<string, number>
  readonly startedAt: Date
  readonly close: () => Promise<void>
}

export interface CallOptions {
  readonly idempotencyKey?: string
  /** What the books should say where the client cannot tell: a replay looks like the first answer. */
  readonly countAs?: Outcome
}

export async function createCast(stack: Stack): Promise<Cast> {
  const sql = postgres(stack.databaseUrl, { max: 2, onnotice: () => {} })
  const [row] = await sql<{ now: Date }[]>`select clock_timestamp() as now`
  const books = new Map<string, number>()
  const connections = new Map<string, Connection>()

  function note(who: Person, outcome: Outcome): void {
    const line = `${who.id} ${outcome}`
    books.set(line, (books.get(line) ?? 0) + 1)
  }

  return {
    stack,
    alice: stack.users.alice,
    bob: stack.users.bob,
    sql,
    connections,
    books,
    note,
    startedAt: row?.now ?? new Date(),
    async call(who, { client }, name, args = {}, { idempotencyKey, countAs } = {}) {
      const meta =
        idempotencyKey === undefined ? {} : { _meta: { 'dev.chumbo/idempotency-key': idempotencyKey } }
      const answer = await client
        .callTool({ name, arguments: { ...args }, ...meta })
        .then(read)
        .catch((error: unknown): Answer => {
          const text = error instanceof Error ? error.message : String(error)
          return { outcome: 'refused', code: 'protocol_error', text, data: {} }
        })
      note(who, countAs ?? answer.outcome)
      return answer
    },
    async close() {
      for (const connection of connections.values()) await connection.close().catch(() => {})
      await sql.end({ timeout: 5 })
    },
  }
}

function read(result: CallToolResult): Answer {
  const [block] = result.content
  const error = result._meta?.[errorMetaKey] as { code?: string } | undefined
  const refused = ['rate_limited', 'scope_required', 'idempotency_key_reused']
  return {
    outcome: result.isError !== true ? 'ok' : refused.includes(error?.code ?? '') ? 'refused' : 'tool_error',
    code: error?.code,
    text: block?.type === 'text' ? block.text : '',
    data: (result.structuredContent ?? {}) as Record<string, unknown>,
  }
}
