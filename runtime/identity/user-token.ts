// runtime/identity/user-token.ts — verifies an access token of Supabase Auth; shared by the strategies that take one.

import type { JWTClaims, SupabaseEnv } from '@supabase/server'
import { verifyCredentials } from '@supabase/server/core'

import { toSupabaseEnv, type Environment } from '../environment.ts'
import { refusal } from '../errors.ts'
import { createVerifiedTokens } from './verified-tokens.ts'

/** A verified payload, with the claims that everything after relies on. */
export type UserClaims = JWTClaims & {
  readonly sub: string
  readonly exp: number
  readonly role: 'authenticated'
}

/** What a token is held against. */
export interface VerifyOptions {
  /** Every `iss` the project's authorization server may write. */
  readonly issuers: readonly string[]
}

/** What a verification found. The reason is for the log: told to the caller, it would help whoever forges tokens. */
export type Verdict<Found> =
  { readonly ok: true; readonly found: Found } | { readonly ok: false; readonly reason: string }

/** Verifies one token. */
export type VerifyUserToken = (token: string, options: VerifyOptions) => Promise<Verdict<UserClaims>>

/**
 * Builds the verifier. Signature, key, algorithm, times and issuer are `@supabase/server`'s work; on top of it a token
 * must have an end, a subject, and the one role that a signed-in user runs as. Supabase Auth never writes the resource
 * into `aud`, so no audience is asked for.
 *
 * The verifier rejects with `auth_unavailable` when the keys cannot be had: an outage is not the caller's fault.
 */
export function createUserTokenVerifier(environment: Environment): VerifyUserToken {
  const env = toSupabaseEnv(environment)
  const verified = createVerifiedTokens()

  return async function verifyUserToken(token, { issuers }) {
    const known = verified.get(token, issuers)
    if (known !== undefined) return { ok: true, found: known }
    const verdict = await verifyAnew(token, issuers)
    if (verdict.ok) verified.add(token, issuers, verdict.found)
    return verdict
  }

  async function verifyAnew(token: string, issuers: readonly string[]): Promise<Verdict<UserClaims>> {
    // An API key is refused by its prefix, whether or not there are keys to verify tokens with.
    if (environment.jwks === null && !token.startsWith('sb_')) throw unavailable('No key set is configured.')
    const { data, error } = await verifyCredentials(
      { token, apikey: null },
      { auth: 'user', env, issuer: [...issuers] },
    )
    if (error !== null) {
      if (error.status >= 500) throw unavailable(error.code, error)
      return refused(isEmpty(env.jwks) ? 'The configured key set is empty.' : error.message)
    }
    return checkClaims(data.jwtClaims)
  }
}

function checkClaims(claims: JWTClaims | null): Verdict<UserClaims> {
  if (claims === null) return refused('The token has no claims.')
  const { sub, exp, role } = claims
  if (sub === '') return refused('The token names no user.')
  if (typeof exp !== 'number') return refused('The token never expires.')
  if (role !== 'authenticated') return refused('The role of the token is not "authenticated".')
  return { ok: true, found: { ...claims, sub, exp, role } }
}

/** The verdict on a token that is not accepted. */
export function refused(reason: string): Verdict<never> {
  return { ok: false, reason }
}

function isEmpty(jwks: SupabaseEnv['jwks']): boolean {
  return jwks !== null && 'keys' in jwks && jwks.keys.length === 0
}

/** The key set is fetched again on the next request, so a short wait is enough. */
function unavailable(reason: string, cause?: Error): Error {
  return refusal('auth_unavailable', { retryAfterSeconds: 5, cause: new Error(reason, cause && { cause }) })
}
