// runtime/gate/direct.ts — the gate over a Postgres connection: the whole transaction leaves in one write.

import postgres from 'postgres'

import { ChumboError, refusal } from '../errors.ts'
import { openSocket } from '../hosts/socket.ts'
import { createClientStack } from './client-stack.ts'
import {
  callAnswer,
  completeAnswer,
  enterAnswer,
  promptAnswer,
  readAnswer,
  searchAnswer,
  serversAnswer,
  type Gate,
} from './gate.ts'
import { schemaOutdated, toGateError } from './gate-error.ts'

/** What the gate over a connection is made of. */
export interface DirectGateOptions {
  /** `postgres://` URL of a login that is a member of anon, authenticated and chumbo_runtime, and of nothing else. */
  readonly url: string
  /** Connections at most. Every isolate has its own, and the smallest database takes 60. */
  readonly max?: number
  readonly statementTimeoutMs?: number
}

/** A direct gate also lets handlers query as their caller. */
export interface DirectGate extends Gate {
  readonly name: 'direct'
  /** Runs one statement in a transaction of its own, with the caller's role and claims. */
  readonly queryAs: (
    caller: CallerSettings,
    strings: TemplateStringsArray,
    values: readonly unknown[],
  ) => Promise<readonly Record<string, unknown>[]>
}

/** Who a statement of a handler runs as. */
export interface CallerSettings {
  readonly role: string
  readonly claims: Readonly<Record<string, unknown>>
}

/** An option that the README of postgres.js describes and its types leave out. */
const transport = { socket: openSocket }

/** Opens the gate over a connection; nothing connects before the first call. */
export function createDirectGate({
  url,
  max = 5,
  statementTimeoutMs = 8_000,
}: DirectGateOptions): DirectGate {
  const open = (): postgres.Sql =>
    postgres(url, {
      max: 1,
      // Transaction poolers hand every transaction another backend, where a prepared statement does not exist.
      prepare: new URL(url).port !== '6543',
      // Left on although no array is read: without it, postgres 3.4.9 never hands out a reserved connection it has just opened.
      fetch_types: true,
      connect_timeout: 5,
      ...transport,
      idle_timeout: 60,
      onnotice: () => {},
      connection: { application_name: 'chumbo' },
    })
  const clients = createClientStack({ create: open, max, waitMs: statementTimeoutMs })

  // Everything a call relies on is set anew, transaction-locally, before anything else: what an earlier call left on a
  // pooled connection never matters. The role comes first, for it decides what the rest may do.
  const opening = (role: string): string =>
    `reset all; begin isolation level read committed read write; set local role ${role}; `
    + `set local statement_timeout = ${statementTimeoutMs}; set local search_path = ''`

  /** A connection, or an outage: a port that never answers must not hold a caller for long. */
  async function reserveInTime(client: postgres.Sql): Promise<postgres.ReservedSql> {
    const reserving = client.reserve()
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        reject(refusal('database_unavailable', { retryAfterSeconds: 1 }))
      }, statementTimeoutMs)
    })
    try {
      return await Promise.race([reserving, late])
    } catch (error) {
      // One that still comes is for the next caller.
      reserving.then(
        (connection) => {
          connection.release()
        },
        () => {},
      )
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  /** Sends opening, statement and commit together, so the server answers all three in one round trip. */
  async function transact<Row>(
    role: string,
    statement: (connection: postgres.ReservedSql) => readonly Promise<unknown>[],
  ): Promise<Row[]> {
    const client = await clients.take()
    try {
      const rows = await transactOver<Row>(await reserveInTime(client), role, statement)
      clients.give(client)
      return rows
    } catch (error) {
      if (isOfStatement(codeOf(error))) clients.give(client)
      else clients.drop(client)
      throw error
    }
  }

  async function transactOver<Row>(
    connection: postgres.ReservedSql,
    role: string,
    statement: (connection: postgres.ReservedSql) => readonly Promise<unknown>[],
  ): Promise<Row[]> {
    const sent = [
      connection.unsafe(opening(role)).simple(),
      ...statement(connection),
      connection.unsafe('commit').simple(),
    ].map(async (query) => await query)
    // Heard below, in order; without a listener of its own each of the others would end the process.
    for (const query of sent) query.catch(() => {})
    let isAlive = true
    try {
      // One by one: when the connection dies, postgres 3.4.9 never settles a statement it had not sent yet.
      const results: unknown[] = []
      for (const query of sent) results.push(await query)
      return results.at(-2) as Row[]
    } catch (error) {
      isAlive = isOfStatement(codeOf(error))
      throw error
    } finally {
      // A dead connection has left the pool by itself; released, it would be handed to the next call.
      if (isAlive) connection.release()
    }
  }

  async function rpc(statement: (connection: postgres.ReservedSql) => Promise<unknown>): Promise<unknown> {
    try {
      const [row] = await transact<{ answer: string }>('chumbo_runtime', (connection) => [
        statement(connection),
      ])
      return row === undefined ? null : JSON.parse(row.answer)
    } catch (error) {
      const failure = toFailure(error)
      throw failure.code === 'schema_outdated' ? schemaOutdated(await installedVersion(), error) : failure
    }
  }

  async function installedVersion(): Promise<number | null> {
    const rows = await transact<{ version: number }>('chumbo_runtime', (connection) => [
      connection`select public.chumbo_version() as version`,
    ]).catch(() => [])
    return rows[0]?.version ?? null
  }

  return {
    name: 'direct',
    async call({ capability, argumentsText, request }) {
      const facts = JSON.stringify(request)
      const answer = await rpc(
        (connection) => connection`
          select public.chumbo_call(${request.server}, ${capability}, ${argumentsText}::text::jsonb, ${facts}::text::jsonb)::text as answer`,
      )
      return callAnswer.parse(answer)
    },
    async enter(request) {
      const facts = JSON.stringify(request)
      const answer = await rpc(
        (connection) =>
          connection`select public.chumbo_enter(${request.server}, ${facts}::text::jsonb)::text as answer`,
      )
      return enterAnswer.parse(answer)
    },
    async search({ query, request }) {
      const facts = JSON.stringify(request)
      const answer = await rpc(
        (connection) =>
          connection`select public.chumbo_search(${request.server}, ${query}, ${facts}::text::jsonb)::text as answer`,
      )
      return searchAnswer.parse(answer)
    },
    async servers() {
      return serversAnswer.parse(
        await rpc((connection) => connection`select public.chumbo_servers()::text as answer`),
      )
    },
    async list(kind, request) {
      const facts = JSON.stringify(request)
      const answer = await rpc(
        (connection) =>
          connection`select public.chumbo_list(${request.server}, ${kind}::text, ${facts}::text::jsonb)::text as answer`,
      )
      return enterAnswer.parse(answer)
    },
    async read(uri, request) {
      const facts = JSON.stringify(request)
      const answer = await rpc(
        (connection) =>
          connection`select public.chumbo_read(${request.server}, ${uri}, ${facts}::text::jsonb)::text as answer`,
      )
      return readAnswer.parse(answer)
    },
    async prompt({ name, argumentsText, request }) {
      const facts = JSON.stringify(request)
      const answer = await rpc(
        (connection) => connection`
          select public.chumbo_prompt(${request.server}, ${name}, ${argumentsText}::text::jsonb, ${facts}::text::jsonb)::text as answer`,
      )
      return promptAnswer.parse(answer)
    },
    async complete({ reference, argument, context, request }) {
      const [about, typed, others, facts] = [reference, argument, context, request].map((part) =>
        JSON.stringify(part),
      )
      const answer = await rpc(
        (connection) => connection`
          select public.chumbo_complete(
            ${request.server}, ${about ?? null}::text::jsonb, ${typed ?? null}::text::jsonb, ${others ?? null}::text::jsonb, ${facts ?? null}::text::jsonb
          )::text as answer`,
      )
      return completeAnswer.parse(answer)
    },
    async finish(receipts) {
      const list = JSON.stringify(receipts)
      await rpc((connection) => connection`select public.chumbo_finish(${list}::text::jsonb)::text as answer`)
    },
    async queryAs({ role, claims }, strings, values) {
      const text = JSON.stringify(claims)
      try {
        return await transact(role === 'authenticated' ? 'authenticated' : 'anon', (connection) => [
          connection`select set_config('request.jwt.claims', ${text}, true)`,
          connection(strings, ...(values as postgres.ParameterOrFragment<never>[])),
        ])
      } catch (error) {
        // What Postgres says of a statement is its author's to read; a database that is away is no fault of a statement.
        const failure = toFailure(error)
        throw failure.code === 'database_unavailable' ? failure : error
      }
    },
    async close() {
      await clients.end()
    },
  }
}

function toFailure(error: unknown): ChumboError {
  return error instanceof ChumboError ? error : toGateError({ code: codeOf(error), cause: error })
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/**
 * Whether a code speaks of a statement and not of its connection: five characters of the server, while the driver's own
 * codes are words. A server that ends a connection says so with one of class 57P, and then closes it.
 */
function isOfStatement(code: string): boolean {
  return /^[0-9A-Z]{5}$/.test(code) && code !== 'EPIPE' && !/^(08|57P)/.test(code)
}
