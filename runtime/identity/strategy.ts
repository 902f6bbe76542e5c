// runtime/identity/strategy.ts — what every credential family offers, and how user claims become an identity.

import { Credential, type AuthMode, type Identity, type StrategyName } from './principal.ts'
import type { UserClaims, Verdict, VerifyOptions } from './user-token.ts'

/** One credential family. */
export interface Strategy {
  readonly name: StrategyName
  /** Whether a refusal points to the metadata document. */
  readonly hasDiscovery: boolean
  /** The identity behind a token, or why there is none. Rejects with `auth_unavailable` when nobody can tell. */
  readonly authenticate: (token: string, options: VerifyOptions) => Promise<Verdict<Identity>>
}

/** Where an identity comes from. */
export interface IdentitySource {
  readonly mode: AuthMode
  readonly strategy: StrategyName
  readonly token: string
}

/** Reads an identity out of verified claims. A claim of the wrong type counts as absent. */
export function toIdentity(claims: UserClaims, { mode, strategy, token }: IdentitySource): Identity {
  const { sub, role, exp } = claims
  const email = readText(claims.email)
  const clientId = readText(claims['client_id'])
  const sessionId = readText(claims['session_id'])
  return {
    mode,
    strategy,
    subject: sub,
    role,
    user: { id: sub, ...(email === undefined ? {} : { email }) },
    claims,
    ...(clientId === undefined ? {} : { clientId }),
    tokenScopes:
      readText(claims['scope'])
        ?.split(' ')
        .filter((scope) => scope !== '') ?? [],
    ...(sessionId === undefined ? {} : { sessionId }),
    expiresAt: exp,
    credential: new Credential(token),
  }
}

/** Supabase writes an empty string where a user has no email. */
function readText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
