// cli/stack/auth/authorize.ts — GET /oauth/authorize: checks the request, stores it, sends the browser to consent.

import { randomBytes, randomUUID } from 'node:crypto'

import type { StackRequest, StackResponse } from '../http.ts'
import { findClient } from './clients.ts'
import { type AuthContext, SCOPES } from './context.ts'
import { AuthError, validationFailed } from './errors.ts'

/** Life of an authorization and of its code, counted from here. */
const AUTHORIZATION_TTL = '10 minutes'
const DEFAULT_SCOPE = 'email'

/**
 * Stores a pending authorization. Until client and redirect address are known to belong together the answer is
 * JSON; from then on every fault goes to the client by redirect.
 */
export async function authorize(context: AuthContext, request: StackRequest): Promise<StackResponse> {
  const query = request.url.searchParams
  const clientId = query.get('client_id')
  const redirectUri = query.get('redirect_uri')
  if (clientId === null || clientId === '') throw validationFailed('client_id is required')
  if (redirectUri === null || redirectUri === '') throw validationFailed('redirect_uri is required')
  const client = await findClient(context.sql, clientId)
  if (client === undefined) throw new AuthError(400, 'oauth_client_not_found', 'OAuth client not found')
  // By exact string, port included: Supabase knows no wildcard for loopback ports.
  if (!client.redirectUris.includes(redirectUri)) throw validationFailed('invalid redirect_uri')

  const state = query.get('state') ?? undefined
  const fault = requestFault(query)
  if (fault !== undefined) return redirectWithError(redirectUri, 'invalid_request', fault, state)

  const authorizationId = randomAlphanumerics(32)
  await context.sql`
    insert into auth.oauth_authorizations (
      id, authorization_id, client_id, redirect_uri, scope, state, resource,
      code_challenge, code_challenge_method, nonce, expires_at
    ) values (
      ${randomUUID()}, ${authorizationId}, ${client.id}, ${redirectUri}, ${normalScope(query)}, ${state ?? null},
      ${query.get('resource')}, ${query.get('code_challenge')},
      ${query.get('code_challenge_method')?.toLowerCase() ?? null}, ${query.get('nonce')},
      now() + ${AUTHORIZATION_TTL}::interval
    )`
  const consent = new URL(context.consentUrl)
  consent.searchParams.set('authorization_id', authorizationId)
  return { status: 302, headers: { location: consent.href } }
}

/** The address that carries an error back to the client. */
export function errorRedirectUrl(
  redirectUri: string,
  error: string,
  description: string,
  state?: string,
): string {
  const url = new URL(redirectUri)
  url.searchParams.set('error', error)
  url.searchParams.set('error_description', description)
  if (state !== undefined) url.searchParams.set('state', state)
  return url.href
}

/** What is wrong with the parameters, or undefined. Exported for its test. */
export function requestFault(query: URLSearchParams): string | undefined {
  const responseType = query.get('response_type') ?? 'code'
  if (responseType !== 'code') return 'only response_type=code is supported'
  if ((query.get('state') ?? '').length > 4096) return 'state is too long'
  const unsupported = scopes(query).find((scope) => !(SCOPES as readonly string[]).includes(scope))
  if (unsupported !== undefined) return `unsupported scope: ${unsupported}`
  return challengeFault(query) ?? resourceFault(query.get('resource'))
}

function challengeFault(query: URLSearchParams): string | undefined {
  const challenge = query.get('code_challenge') ?? ''
  const method = query.get('code_challenge_method')?.toLowerCase() ?? ''
  if (challenge === '' || method === '')
    return 'PKCE flow requires both code_challenge and code_challenge_method'
  if (method !== 's256' && method !== 'plain') return 'code_challenge_method must be S256 or plain'
  if (challenge.length < 43 || challenge.length > 128)
    return 'code challenge has to be between 43 and 128 characters'
  return /^[A-Za-z0-9._~-]+$/.test(challenge) ? undefined : 'code challenge has unsupported characters'
}

function resourceFault(resource: string | null): string | undefined {
  if (resource === null) return undefined
  if (resource.length > 2048) return 'resource is too long'
  if (!URL.canParse(resource)) return 'resource must be an absolute URI'
  // Read from the text: URL drops an empty fragment.
  if (resource.includes('#')) return 'resource must not have a fragment'
  return resource.includes('?') ? 'resource must not have a query' : undefined
}

function scopes(query: URLSearchParams): readonly string[] {
  const asked = (query.get('scope') ?? '').split(/\s+/).filter((scope) => scope !== '')
  return asked.length === 0 ? [DEFAULT_SCOPE] : [...new Set(asked)]
}

function normalScope(query: URLSearchParams): string {
  return scopes(query).join(' ')
}

function redirectWithError(
  redirectUri: string,
  error: string,
  description: string,
  state?: string,
): StackResponse {
  return { status: 302, headers: { location: errorRedirectUrl(redirectUri, error, description, state) } }
}

function randomAlphanumerics(length: number): string {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'
  return Array.from(randomBytes(length), (byte) => alphabet[byte % alphabet.length]).join('')
}
