// cli/stack/auth/server.ts — an authorization server with the endpoints, claims and error shapes of Supabase Auth.
//
// One request passes: route here → the endpoint's file (clients, authorize, consent, token, grants, sign-in) →
// sessions.ts, the only place that issues tokens. All state is in the auth.* tables.

import type { JWK } from 'jose'

import { json, type StackHandler, type StackRequest, type StackResponse } from '../http.ts'
import { authorize } from './authorize.ts'
import { registerClient } from './clients.ts'
import { authorizationDetails, decideConsent } from './consent.ts'
import type { AuthContext } from './context.ts'
import { discovery, keySet } from './discovery.ts'
import { errorResponse } from './errors.ts'
import { listGrants, revokeGrant, userInfo } from './grants.ts'
import { firstPartyToken, getUser, signOut, signUp, updateUser } from './sign-in.ts'
import { oauthToken } from './token.ts'

type Endpoint = (
  context: AuthContext,
  request: StackRequest,
  id: string,
) => Promise<StackResponse> | StackResponse

/** Creates the handler of everything under `/auth/v1`; it sees paths without that prefix. */
export function createAuthServer(context: AuthContext, key: JWK): StackHandler {
  const endpoints: readonly (readonly [method: string, path: RegExp, endpoint: Endpoint])[] = [
    [
      'GET',
      /^\/\.well-known\/(?:openid-configuration|oauth-authorization-server)$/,
      () => discovery(context.issuer),
    ],
    ['GET', /^\/\.well-known\/jwks\.json$/, () => keySet(key)],
    ['GET', /^\/health$/, () => json(200, { name: 'GoTrue', version: 'chumbo', description: 'local stack' })],
    ['POST', /^\/oauth\/clients\/register$/, registerClient],
    ['GET', /^\/oauth\/authorize$/, authorize],
    ['GET', /^\/oauth\/authorizations\/([^/]+)$/, authorizationDetails],
    ['POST', /^\/oauth\/authorizations\/([^/]+)\/consent$/, decideConsent],
    ['POST', /^\/oauth\/token$/, oauthToken],
    ['GET', /^\/oauth\/userinfo$/, userInfo],
    ['GET', /^\/user\/oauth\/grants$/, listGrants],
    ['DELETE', /^\/user\/oauth\/grants$/, revokeGrant],
    ['POST', /^\/token$/, firstPartyToken],
    ['POST', /^\/signup$/, signUp],
    ['GET', /^\/user$/, getUser],
    ['PUT', /^\/user$/, updateUser],
    ['POST', /^\/logout$/, signOut],
  ]

  return async (request) => {
    const path = request.url.pathname
    const known = endpoints.filter(([, pattern]) => pattern.test(path))
    if (known.length === 0)
      return json(404, { code: 404, error_code: 'not_found', msg: '404 page not found' })
    const match = known.find(([method]) => method === request.method)
    if (match === undefined) {
      return json(405, { code: 405, error_code: 'method_not_allowed', msg: '405 method not allowed' })
    }
    const [, pattern, endpoint] = match
    try {
      return await endpoint(context, request, pattern.exec(path)?.[1] ?? '')
    } catch (error) {
      return errorResponse(error, request)
    }
  }
}
