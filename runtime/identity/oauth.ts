// runtime/identity/oauth.ts — access tokens that a user gave to an OAuth client.

import { toIdentity, type Strategy } from './strategy.ts'
import { refused, type VerifyUserToken } from './user-token.ts'

/** Settings of the `oauth` mode. */
export interface OAuthOptions {
  readonly mode: 'oauth'
  /**
   * Also accept the sessions of the application itself. Every page that holds such a session can then call this
   * endpoint without the user having let any client in, so it is off by default and logged when it is on.
   */
  readonly allowFirstPartySessions?: boolean
}

/**
 * The strategy of the `oauth` mode. Every session of a project verifies alike and none names the resource it is meant
 * for; the `client_id` that only the OAuth server writes is what tells a client's token from the application's own.
 */
export function createOAuthStrategy(
  { allowFirstPartySessions = false }: OAuthOptions,
  verify: VerifyUserToken,
): Strategy {
  return {
    name: 'oauth',
    hasDiscovery: true,
    async authenticate(token, options) {
      const verdict = await verify(token, options)
      if (!verdict.ok) return verdict
      const identity = toIdentity(verdict.found, { mode: 'oauth', strategy: 'oauth', token })
      if (identity.clientId === undefined && !allowFirstPartySessions) {
        return refused('The token is a session of the application, not the token of an OAuth client.')
      }
      return { ok: true, found: identity }
    },
  }
}
