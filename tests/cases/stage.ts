// tests/cases/stage.ts — a real stack for the cases: two people with tokens of their own, an owner with SQL, raw HTTP.
import { readFile } from 'node:fs/promises'

import postgres from 'postgres'

import { startStack, type Stack } from '../../cli/stack/index.ts'
import { createSupabaseMcp, type SupabaseMcpOptions } from '../../runtime/index.ts'
import { repositoryRoot } from '../support/repository.ts'
import { signIn, type Connection, type Person } from '../support/sign-in.ts'

/** Someone who signed in with a client, and the token that client got. */
export interface Caller extends Person {
  readonly token: string
  readonly connection: Connection
}

/** An answer as it came over the wire. */
export interface Reply {
  readonly status: number
  readonly headers: Headers
  /** The raw body, for byte comparisons. */
  readonly text: string
  /** The JSON-RPC message, out of a document or the last line of a stream. */
  readonly message: Message
}

export interface Message {
  readonly id?: unknown
  readonly result?: Result
  readonly error?: { readonly code: unknown; readonly message: string }
}

export interface Result {
  readonly tools?: readonly Tool[]
  readonly nextCursor?: string
  readonly content?: readonly { readonly type: string; readonly text?: string }[]
  readonly structuredContent?: Readonly<Record<string, unknown>>
  readonly isError?: boolean
  readonly _meta?: Readonly<Record<string, unknown>>
  readonly [key: string]: unknown
}

export interface Tool {
  readonly name: string
  readonly description?: string
  readonly inputSchema: Readonly<Record<string, unknown>>
  readonly outputSchema?: Readonly<Record<string, unknown>>
  readonly [key: string]: unknown
}

export interface Sending {
  readonly method?: string
  /** Default: Alice's. Null sends none. */
  readonly token?: string | null
  readonly headers?: Readonly<Record<string, string>>
  readonly url?: string
  readonly signal?: AbortSignal
  /** Where it goes; the stack by default. */
  readonly to?: (request: Request) => Promise<Response>
}

export interface Stage {
  readonly stack: Stack
  /** The role migrations run under. */
  readonly sql: postgres.Sql
  readonly alice: Caller
  readonly bob: Caller
  /** Sends a body as it is. */
  readonly send: (body: string, sending?: Sending) => Promise<Reply>
  /** One JSON-RPC request of a revision up to 2025-11-25. */
  readonly rpc: (method: string, params?: object, sending?: Sending) => Promise<Reply>
  readonly call: (name: string, args?: object, sending?: Sending) => Promise<Result>
  /** Every page of the list. */
  readonly tools: (sending?: Sending) => Promise<readonly Tool[]>
  /** An endpoint in this process over the same project, for what a case writes in TypeScript. */
  readonly serve: (options: Partial<SupabaseMcpOptions>) => (request: Request) => Promise<Response>
  readonly close: () => Promise<void>
}

export async function createStage(): Promise<Stage> {
  const stack = await startStack({ project: repositoryRoot, install: 'direct' })
  try {
    return await furnish(stack)
  } catch (error) {
    await stack.stop()
    throw error
  }
}

async function furnish(stack: Stack): Promise<Stage> {
  const sql = postgres(stack.databaseUrl, { max: 4, onnotice: () => {} })
  await sql.unsafe(await readFile(new URL('schema.sql', import.meta.url), 'utf8'))
  const join = async (person: Person): Promise<Caller> => {
    const connection = await signIn(stack, person, { name: `Client of ${person.email}` })
    const tokens = connection.wallet.tokens()
    if (tokens === undefined) throw new Error(`${person.email} got no token.`)
    return { ...person, token: tokens.access_token, connection }
  }
  const alice = await join(stack.users.alice)
  const bob = await join(stack.users.bob)
  const closing: (() => Promise<void>)[] = []

  const send: Stage['send'] = async (body, sending = {}) => {
    const {
      method = 'POST',
      token = alice.token,
      headers = {},
      url = stack.mcpUrl,
      signal,
      to = fetch,
    } = sending
    const response = await to(
      new Request(url, {
        method,
        headers: {
          'Content-Type': 'application/json',
          Accept: 'application/json, text/event-stream',
          ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
          ...headers,
        },
        ...(method === 'POST' ? { body } : {}),
        ...(signal === undefined ? {} : { signal }),
      }),
    )
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, message: parse(text) }
  }
  const rpc: Stage['rpc'] = (method, params = {}, sending) =>
    send(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), sending)

  return {
    stack,
    sql,
    alice,
    bob,
    send,
    rpc,
    async call(name, args = {}, sending) {
      const { message } = await rpc('tools/call', { name, arguments: args }, sending)
      return message.result ?? { isError: true, protocolError: message.error }
    },
    async tools(sending) {
      const tools: Tool[] = []
      for (let cursor: string | undefined; ;) {
        const { message } = await rpc('tools/list', cursor === undefined ? {} : { cursor }, sending)
        tools.push(...(message.result?.tools ?? []))
        cursor = message.result?.nextCursor
        if (cursor === undefined) return tools
      }
    },
    serve(options) {
      const app = createSupabaseMcp({
        server: { name: 'cases', version: '1.0.0' },
        env: {
          SUPABASE_URL: stack.origin,
          SUPABASE_FUNCTION_SLUG: 'mcp',
          SUPABASE_PUBLISHABLE_KEYS: JSON.stringify({ default: stack.publishableKey }),
          SUPABASE_SECRET_KEYS: JSON.stringify({ default: stack.secretKey }),
        },
        onEvent: () => {},
        onError: () => {},
        ...options,
      })
      closing.push(app.close)
      return app.fetch
    },
    async close() {
      for (const close of closing) await close()
      await alice.connection.close()
      await bob.connection.close()
      await sql.end({ timeout: 5 })
      await stack.stop()
    },
  }
}

function parse(text: string): Message {
  const data = [...text.matchAll(/^data: (.*)$/gm)].at(-1)?.[1] ?? text
  try {
    return JSON.parse(data) as Message
  } catch {
    return {}
  }
}
