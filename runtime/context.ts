// runtime/context.ts — what a handler gets: the caller, and a database that answers as the caller.

import { createContextClient } from '@supabase/server/core'
import type { SupabaseClient } from '@supabase/supabase-js'

import { toSupabaseEnv, type Environment } from './environment.ts'
import type { DirectGate } from './gate/direct.ts'
import type { Gate } from './gate/gate.ts'
import type { Identity } from './identity/principal.ts'

/** A query as the caller: a tagged template, one transaction a statement. */
export type CallerSql = (
  strings: TemplateStringsArray,
  ...values: unknown[]
) => Promise<readonly Record<string, unknown>[]>

/** Made anew for each request and frozen. Nothing in it reaches the secret key or the raw credential. */
export interface SupabaseMcpContext {
  /** The request without its credential and without its body. */
  readonly request: Request
  /** Carries the caller's token: every row-security policy applies. */
  readonly supabase: SupabaseClient
  /** Present on the direct gate only. */
  readonly sql?: CallerSql
  readonly user: { readonly id: string; readonly email?: string }
  readonly jwtClaims: Readonly<Record<string, unknown>>
  readonly principal: {
    readonly subject: string
    readonly clientId?: string
    readonly authentication: { readonly mode: string; readonly strategy: string }
  }
  readonly clientId?: string
  /** The application scopes the caller holds now. */
  readonly scopes: readonly string[]
  hasScope(scope: string): boolean
  /** Whether the caller holds every one of them. */
  hasScopes(scopes: readonly string[]): boolean
  readonly traceId: string
  /** What `context.extend` added. */
  readonly extra: Readonly<Record<string, unknown>>
}

/** What a context is made of. */
export interface ContextOptions {
  readonly request: Request
  readonly identity: Identity
  readonly environment: Environment
  readonly fetch?: typeof fetch | undefined
  readonly gate: Gate
  readonly scopes: readonly string[]
  readonly traceId: string
}

/** Builds the context of one request. The client is created when a handler first asks for it. */
export function createContext({
  request,
  identity,
  environment,
  fetch: send = fetch,
  gate,
  scopes,
  traceId,
}: ContextOptions): SupabaseMcpContext {
  const { user, subject, clientId, claims, mode, strategy, role } = identity
  let supabase: SupabaseClient | undefined
  return {
    request,
    get supabase() {
      return (supabase ??= createCallerClient({ environment, identity, send }))
    },
    ...(isDirect(gate)
      ? {
          sql: (strings: TemplateStringsArray, ...values: unknown[]) =>
            gate.queryAs({ role, claims }, strings, values),
        }
      : {}),
    user: user ?? { id: subject },
    jwtClaims: claims,
    principal: Object.freeze({
      subject,
      ...(clientId === undefined ? {} : { clientId }),
      authentication: Object.freeze({ mode, strategy }),
    }),
    ...(clientId === undefined ? {} : { clientId }),
    scopes: Object.freeze([...scopes]),
    hasScope: (scope) => scopes.includes(scope),
    hasScopes: (wanted) => wanted.every((scope) => scopes.includes(scope)),
    traceId,
    extra: Object.freeze({}),
  }
}

interface CallerClientOptions {
  readonly environment: Environment
  readonly identity: Identity
  readonly send: typeof fetch
}

/**
 * The client of the caller. The token is added to each request on its way out, so that no property of the client holds
 * it: a handler that logs its client logs no credential. It goes to the project and to nowhere else, since the client
 * lends its fetch to whoever asks.
 */
function createCallerClient({ environment, identity, send }: CallerClientOptions): SupabaseClient {
  const { origin } = new URL(environment.projectUrl)
  const asCaller: typeof fetch = (input, init) => {
    const request = new Request(input, init)
    if (new URL(request.url).origin === origin)
      request.headers.set('Authorization', `Bearer ${identity.credential.reveal()}`)
    return send(request)
  }
  return createContextClient({
    env: toSupabaseEnv(environment),
    supabaseOptions: { global: { fetch: asCaller } },
  })
}

function isDirect(gate: Gate): gate is DirectGate {
  return gate.name === 'direct'
}
