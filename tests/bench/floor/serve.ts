// tests/bench/floor/serve.ts — the official pair by hand: verify the token, build the server, let the SDK answer.
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import type { AuthInfo } from '@modelcontextprotocol/server'
import { createContextClient, extractCredentials, resolveEnv, verifyCredentials } from '@supabase/server/core'
import type { SupabaseClient } from '@supabase/supabase-js'

/** Who calls, as far as the token says. */
export interface Caller {
  readonly userId: string
  readonly clientId: string
  /** A client that carries the caller's token. */
  readonly createClient: () => SupabaseClient
}

/** An Edge Function. */
export interface FloorFunction {
  readonly fetch: (request: Request) => Promise<Response>
}

/** Serves what `register` registers, to callers with a valid token. */
export function serveFloor(register: (server: McpServer, caller: Caller) => void): FloorFunction {
  // Read once: the library would otherwise parse its variables on every request.
  const { data: env, error } = resolveEnv()
  if (error !== null) throw error
  const handler = createMcpHandler(
    ({ authInfo }) => {
      const server = new McpServer({ name: 'floor', version: '1.0.0' })
      const { token, clientId, extra } = requireAuthInfo(authInfo)
      register(server, {
        userId: String(extra?.['userId']),
        clientId,
        createClient: () => createContextClient({ env, auth: { token } }),
      })
      return server
    },
    { legacy: 'reject' },
  )

  return {
    async fetch(request) {
      const { data } = await verifyCredentials(extractCredentials(request), {
        auth: 'user',
        env,
        issuer: `${env.url}/auth/v1`,
      })
      const claims = data?.jwtClaims
      if (data?.token == null || claims == null) return new Response(null, { status: 401 })
      const clientId = typeof claims['client_id'] === 'string' ? claims['client_id'] : ''
      return handler.fetch(request, {
        authInfo: { token: data.token, clientId, scopes: [], extra: { userId: claims.sub } },
      })
    },
  }
}

function requireAuthInfo(authInfo: AuthInfo | undefined): AuthInfo {
  if (authInfo === undefined) throw new Error('The caller is not known.')
  return authInfo
}
