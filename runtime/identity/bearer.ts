// runtime/identity/bearer.ts — access tokens a user or a test brings along, without an interactive sign-in.

import { toIdentity, type Strategy } from './strategy.ts'
import type { VerifyUserToken } from './user-token.ts'

/** Settings of the `bearer` mode. */
export interface BearerOptions {
  readonly mode: 'bearer'
}

/** The strategy of the `bearer` mode: any user token of the project, and a challenge that leads nowhere. */
export function createBearerStrategy(verify: VerifyUserToken): Strategy {
  return {
    name: 'bearer',
    hasDiscovery: false,
    async authenticate(token, options) {
      const verdict = await verify(token, options)
      if (!verdict.ok) return verdict
      return { ok: true, found: toIdentity(verdict.found, { mode: 'bearer', strategy: 'bearer', token }) }
    },
  }
}
