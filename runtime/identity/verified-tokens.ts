// runtime/identity/verified-tokens.ts — remembers for a minute which exact tokens verified.

import type { UserClaims } from './user-token.ts'

/** Milliseconds a verified token is taken at its word; far below the ten minutes a fetched key set is kept for. */
const trustedFor = 60_000

/** Tokens remembered at most; the oldest go first. */
const remembered = 1_000

/** The tokens that verified lately, by their exact text. */
export interface VerifiedTokens {
  readonly get: (token: string, issuers: readonly string[]) => UserClaims | undefined
  readonly add: (token: string, issuers: readonly string[], claims: UserClaims) => void
}

/**
 * Remembers which exact tokens verified, since checking an ES256 signature costs more than the rest of authentication.
 * A token is refused the moment it expires, and whether its session still lives is asked of the database on every call;
 * so nothing is accepted here that a fresh verification would not accept, but a key withdrawn less than a minute ago.
 */
export function createVerifiedTokens(): VerifiedTokens {
  const entries = new Map<string, { readonly claims: UserClaims; readonly until: number }>()
  const keyOf = (token: string, issuers: readonly string[]): string => [token, ...issuers].join(' ')

  return {
    get(token, issuers) {
      const entry = entries.get(keyOf(token, issuers))
      return entry !== undefined && Date.now() < entry.until ? entry.claims : undefined
    },
    add(token, issuers, claims) {
      const now = Date.now()
      const key = keyOf(token, issuers)
      // Deleted first: a map keeps the order of insertion, and the oldest has to stand in front.
      entries.delete(key)
      // Shared by every request that brings this token, so no handler may write to it.
      entries.set(key, { claims: deepFreeze(claims), until: Math.min(now + trustedFor, claims.exp * 1000) })
      for (const oldest of entries.keys()) {
        if (entries.size <= remembered) break
        entries.delete(oldest)
      }
    },
  }
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const member of Object.values(value)) deepFreeze(member)
  }
  return value
}
