// cli/stack/auth/token.ts — POST /oauth/token: the code once, the refresh token in turn.

import { createHash, timingSafeEqual } from 'node:crypto'

import type postgres from 'postgres'

import { json, type StackRequest, type StackResponse } from '../http.ts'
import { findClient, type OAuthClient, secretMatches } from './clients.ts'
import type { AuthContext } from './context.ts'
import { AuthError, OAuthError } from './errors.ts'
import { type Fields, formOrJson, isJson, text } from './input.ts'
import { ACCESS_TOKEN_SECONDS, type IssuedTokens, openSession, refreshSession } from './sessions.ts'
import { findUser, type User } from './users.ts'
import { inTransaction } from '../postgres/pool.ts'

const NO_STORE = { 'cache-control': 'no-store', pragma: 'no-cache' }

/** Exchanges a code or a refresh token. Never answers 401, and never names the scope: neither does Supabase. */
export async function oauthToken(context: AuthContext, request: StackRequest): Promise<StackResponse> {
  const fields = formOrJson(request)
  const client = await authenticateClient(context, request, fields)
  const grantType = text(fields, 'grant_type', 64)
  if (grantType === undefined) throw new OAuthError('invalid_request', 'grant_type is required')
  if (!client.grantTypes.includes(grantType)) {
    throw new OAuthError('unsupported_grant_type', `grant type ${grantType} is not supported for this client`)
  }
  if (grantType === 'refresh_token') {
    const refreshToken = text(fields, 'refresh_token', 255)
    if (refreshToken === undefined) throw new OAuthError('invalid_request', 'refresh_token is required')
    return json(
      200,
      tokenJson(await refreshSession(context, { refreshToken, clientId: client.id })),
      NO_STORE,
    )
  }
  return json(200, await exchangeCode(context, request, fields, client), NO_STORE)
}

/** Checks a verifier against the stored challenge, in constant time. Exported for its test. */
export function verifierMatches(verifier: string, challenge: string, method: string): boolean {
  if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return false
  const derived = method === 's256' ? createHash('sha256').update(verifier).digest('base64url') : verifier
  const [left, right] = [Buffer.from(derived), Buffer.from(challenge)]
  return left.length === right.length && timingSafeEqual(left, right)
}

async function authenticateClient(
  context: AuthContext,
  request: StackRequest,
  fields: Fields,
): Promise<OAuthClient> {
  const basic = basicCredentials(request.headers['authorization'])
  const bodySecret = text(fields, 'client_secret', 1024)
  const id = basic?.id ?? text(fields, 'client_id', 64)
  const client = id === undefined ? undefined : await findClient(context.sql, id)
  if (client === undefined) throw new AuthError(400, 'invalid_credentials', 'invalid client credentials')
  const used =
    basic !== undefined ? 'client_secret_basic' : bodySecret !== undefined ? 'client_secret_post' : 'none'
  if (used !== client.authMethod) {
    throw new AuthError(
      400,
      'invalid_credentials',
      `client is registered for '${client.authMethod}' but used '${used}'`,
    )
  }
  const secret = basic?.secret ?? bodySecret
  if (secret !== undefined && !secretMatches(client, secret)) {
    throw new AuthError(400, 'invalid_credentials', 'invalid client credentials')
  }
  return client
}

async function exchangeCode(
  context: AuthContext,
  request: StackRequest,
  fields: Fields,
  client: OAuthClient,
): Promise<Record<string, unknown>> {
  const code = text(fields, 'code', 255)
  if (code === undefined) throw new OAuthError('invalid_request', 'code is required')
  return inTransaction(context.sql, async (tx) => {
    // Deleting is the claim: of two exchanges of one code only the first finds the row.
    const [row] = await tx`
      delete from auth.oauth_authorizations
      where authorization_code = ${code} and client_id = ${client.id} and expires_at > now()
      returning user_id, redirect_uri, scope, resource, code_challenge, code_challenge_method, nonce`
    if (row === undefined) throw new OAuthError('invalid_grant', 'Invalid authorization code')
    checkBinding(row, request, fields)
    const user = await findUser(tx, { id: String(row['user_id']) })
    if (user === undefined) throw new OAuthError('invalid_grant', 'Invalid authorization code')
    if (user.isBanned) throw new OAuthError('access_denied', 'User is banned')
    const scopes = String(row['scope'])
    const tokens = await openSession(context, tx, {
      user,
      request,
      method: 'oauth_provider/authorization_code',
      clientId: client.id,
      scopes,
    })
    const nonce = row['nonce'] === null ? undefined : String(row['nonce'])
    if (!scopes.split(' ').includes('openid')) return tokenJson(tokens)
    return { ...tokenJson(tokens), id_token: await idToken(context, { user, client, scopes, nonce }) }
  })
}

function checkBinding(row: postgres.Row, request: StackRequest, fields: Fields): void {
  const redirectUri = text(fields, 'redirect_uri', 2048)
  if (redirectUri !== undefined && redirectUri !== row['redirect_uri']) {
    throw new OAuthError('invalid_grant', 'redirect_uri does not match the authorization request')
  }
  // The real form parser drops the member, so only a JSON body is held to it.
  const resource = isJson(request) ? text(fields, 'resource', 2048) : undefined
  if (resource !== undefined && resource !== row['resource']) {
    throw new OAuthError('invalid_grant', 'resource does not match the authorization request')
  }
  const verifier = text(fields, 'code_verifier', 1024) ?? ''
  if (!verifierMatches(verifier, String(row['code_challenge']), String(row['code_challenge_method']))) {
    throw new OAuthError('invalid_grant', 'PKCE verification failed')
  }
}

function idToken(
  { tokens, issuer }: AuthContext,
  {
    user,
    client,
    scopes,
    nonce,
  }: { user: User; client: OAuthClient; scopes: string; nonce: string | undefined },
): Promise<string> {
  return tokens.sign(
    {
      iss: issuer,
      aud: client.id,
      auth_time: Math.floor(Date.now() / 1000),
      ...(nonce === undefined ? {} : { nonce }),
      ...scopedClaims(user, scopes),
    },
    ACCESS_TOKEN_SECONDS,
  )
}

/** Claims about the user that `scopes` allow; shared by the ID token and userinfo. */
export function scopedClaims(user: User, scopes: string): Record<string, unknown> {
  const granted = new Set(scopes.split(' '))
  return {
    sub: user.id,
    ...(granted.has('email') ? { email: user.email, email_verified: user.emailConfirmedAt !== null } : {}),
    ...(granted.has('phone') ? { phone_number: user.phone, phone_number_verified: false } : {}),
    ...(granted.has('profile')
      ? { user_metadata: user.userMetadata, updated_at: Math.floor(user.updatedAt.getTime() / 1000) }
      : {}),
  }
}

function tokenJson({ accessToken, refreshToken }: IssuedTokens): Record<string, unknown> {
  return {
    access_token: accessToken,
    token_type: 'bearer',
    expires_in: ACCESS_TOKEN_SECONDS,
    refresh_token: refreshToken,
  }
}

function basicCredentials(header: string | undefined): { id: string; secret: string } | undefined {
  const encoded = /^basic\s+(\S+)$/i.exec(header ?? '')?.[1]
  if (encoded === undefined) return undefined
  const plain = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = plain.indexOf(':')
  if (colon < 0) throw new AuthError(400, 'invalid_credentials', 'invalid client credentials')
  return { id: decodeURIComponent(plain.slice(0, colon)), secret: decodeURIComponent(plain.slice(colon + 1)) }
}
