// runtime/gate/rest.ts — the gate over the Data API, with the project's secret key. The default: it needs no login.

import { createAdminClient } from '@supabase/server/core'

import { toSupabaseEnv, type Environment } from '../environment.ts'
import { refusal } from '../errors.ts'
import { parseExact } from '../exact-json.ts'
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

/** What the gate over the Data API is made of. */
export interface RestGateOptions {
  readonly environment: Environment
  readonly fetch?: typeof fetch | undefined
  /** Milliseconds after which a silent Data API counts as away. Postgres itself gives up earlier, at its own timeout. */
  readonly timeoutMs?: number
}

/**
 * Opens the gate over the Data API.
 *
 * @throws {ChumboError} `server_misconfigured` without a secret key.
 */
export function createRestGate({ environment, fetch, timeoutMs = 30_000 }: RestGateOptions): Gate {
  const [keyName] = 'default' in environment.secretKeys ? ['default'] : Object.keys(environment.secretKeys)
  if (keyName === undefined) {
    throw refusal('server_misconfigured', {
      sentence: 'The gate to the database has no key.',
      hint: 'Set SUPABASE_SECRET_KEYS, or CHUMBO_DB_URL for a direct connection.',
    })
  }
  const client = createAdminClient({
    env: toSupabaseEnv(environment),
    auth: { keyName },
    ...(fetch === undefined ? {} : { supabaseOptions: { global: { fetch } } }),
  })

  async function rpc(name: string, parameters: Record<string, unknown>): Promise<unknown> {
    // Never ended by the caller's disconnect: effect, receipt and key commit together or not at all.
    const response: RpcResponse = await client
      .rpc(name, parameters)
      .retry(false)
      .abortSignal(AbortSignal.timeout(timeoutMs))
    const { data, error, status } = response
    if (error === null) return data
    const failure = toGateError({ code: error.code, status, cause: error })
    throw failure.code === 'schema_outdated' ? schemaOutdated(await installedVersion(), error) : failure
  }

  async function installedVersion(): Promise<number | null> {
    const response: RpcResponse = await client
      .rpc('chumbo_version')
      .retry(false)
      .abortSignal(AbortSignal.timeout(timeoutMs))
    const { data } = response
    return typeof data === 'number' ? data : null
  }

  return {
    name: 'rest',
    async call({ capability, argumentsText, request }) {
      const parameters = { server: request.server, capability, arguments: parseExact(argumentsText), request }
      return callAnswer.parse(await rpc('chumbo_call', parameters))
    },
    async enter(request) {
      return enterAnswer.parse(await rpc('chumbo_enter', { server: request.server, request }))
    },
    async search({ query, request }) {
      return searchAnswer.parse(await rpc('chumbo_search', { server: request.server, query, request }))
    },
    async servers() {
      return serversAnswer.parse(await rpc('chumbo_servers', {}))
    },
    async list(kind, request) {
      return enterAnswer.parse(await rpc('chumbo_list', { server: request.server, kind, request }))
    },
    async read(uri, request) {
      return readAnswer.parse(await rpc('chumbo_read', { server: request.server, uri, request }))
    },
    async prompt({ name, argumentsText, request }) {
      const parameters = { server: request.server, name, arguments: parseExact(argumentsText), request }
      return promptAnswer.parse(await rpc('chumbo_prompt', parameters))
    },
    async complete(input) {
      return completeAnswer.parse(await rpc('chumbo_complete', { server: input.request.server, ...input }))
    },
    async finish(receipts) {
      await rpc('chumbo_finish', { receipts })
    },
    async close() {},
  }
}

/** What supabase-js answers, its untyped data taken as unknown. */
interface RpcResponse {
  readonly data: unknown
  readonly error: { readonly code: string } | null
  readonly status: number
}
