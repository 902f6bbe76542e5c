// cli/stack/data-api/caller.ts — which role a request acts as, from its API key and its token.

import { timingSafeEqual } from 'node:crypto'

import type { Tokens } from '../auth/tokens.ts'
import { bearerToken, json, type StackRequest, type StackResponse } from '../http.ts'

export interface Caller {
  readonly role: string
  /** The whole payload of the token, or just the role when there was none. */
  readonly claims: Readonly<Record<string, unknown>>
  readonly isAnonymous: boolean
}

export interface ApiKeys {
  readonly publishableKey: string
  readonly secretKey: string
}

/** A refused credential, as a response ready to send. */
export interface Refusal {
  readonly refusal: StackResponse
}

/**
 * A user's token wins over the API key; without either the caller is anon. The platform's gateway would want an
 * API key in every case; PostgREST behind it does not.
 */
export async function resolveCaller(
  request: StackRequest,
  { tokens, keys }: { readonly tokens: Tokens; readonly keys: ApiKeys },
): Promise<Caller | Refusal> {
  const apiKey = request.headers['apikey'] || request.url.searchParams.get('apikey') || undefined
  const bearer = bearerToken(request)
  const keyRole = apiKey === undefined ? 'anon' : roleOfKey(apiKey, keys)
  if (keyRole === undefined && !isJwt(apiKey)) return { refusal: invalidKey() }
  const token = bearer ?? (isJwt(apiKey) ? apiKey : undefined)
  if (token === undefined) return withRole(keyRole ?? 'anon')
  if (!isJwt(token)) {
    const role = roleOfKey(token, keys)
    return role === undefined
      ? { refusal: invalidToken('PGRST301', 'Expected 3 parts in JWT; got 1') }
      : withRole(role)
  }
  try {
    const claims = await tokens.verify(token)
    const role = typeof claims['role'] === 'string' ? claims['role'] : 'anon'
    return { role, claims: { ...claims, role }, isAnonymous: role === 'anon' }
  } catch (error) {
    return { refusal: tokenFault(error) }
  }
}

function roleOfKey(key: string, { publishableKey, secretKey }: ApiKeys): string | undefined {
  if (sameText(key, publishableKey)) return 'anon'
  return sameText(key, secretKey) ? 'service_role' : undefined
}

function withRole(role: string): Caller {
  return { role, claims: { role }, isAnonymous: role === 'anon' }
}

function isJwt(value: string | undefined): value is string {
  return value !== undefined && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(value)
}

function sameText(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)]
  return a.length === b.length && timingSafeEqual(a, b)
}

function tokenFault(error: unknown): StackResponse {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'ERR_JWT_EXPIRED') return invalidToken('PGRST303', 'JWT expired')
  if (code === 'ERR_JWT_CLAIM_VALIDATION_FAILED') return invalidToken('PGRST303', 'JWT not yet valid')
  if (code === 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED') {
    return invalidToken('PGRST301', 'JWT cryptographic operation failed')
  }
  return invalidToken('PGRST301', 'No suitable key or wrong key type')
}

function invalidToken(code: string, message: string): StackResponse {
  return json(
    401,
    { code, details: null, hint: null, message },
    { 'www-authenticate': `Bearer error="invalid_token", error_description="${message}"` },
  )
}

function invalidKey(): StackResponse {
  return json(401, {
    message: 'Invalid API key',
    hint: 'Double check your Supabase `anon` or `service_role` API key.',
  })
}
