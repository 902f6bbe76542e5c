// cli/stack/auth/consent.ts — what the consent page reads and decides.

import { randomUUID } from 'node:crypto'

import { json, type StackRequest, type StackResponse } from '../http.ts'
import { errorRedirectUrl } from './authorize.ts'
import { findClient, publicClient } from './clients.ts'
import type { AuthContext, Db } from './context.ts'
import { AuthError, validationFailed } from './errors.ts'
import { jsonBody } from './input.ts'
import { requireUser, type User } from './users.ts'
import { inTransaction } from '../postgres/pool.ts'

interface Authorization {
  readonly id: string
  readonly clientId: string
  readonly userId: string | null
  readonly redirectUri: string
  readonly scope: string
  readonly state: string | undefined
  readonly status: string
}

export type ConsentDecision = 'approve' | 'deny'

/** GET /oauth/authorizations/{id} */
export async function authorizationDetails(
  context: AuthContext,
  request: StackRequest,
  authorizationId: string,
): Promise<StackResponse> {
  checkOrigin(context, request)
  const { user } = await requireUser(context, request)
  return json(200, await readAuthorization(context, user, authorizationId))
}

/** POST /oauth/authorizations/{id}/consent */
export async function decideConsent(
  context: AuthContext,
  request: StackRequest,
  authorizationId: string,
): Promise<StackResponse> {
  checkOrigin(context, request)
  const { user } = await requireUser(context, request)
  const action = jsonBody(request)['action']
  if (action !== 'approve' && action !== 'deny') throw validationFailed("action must be 'approve' or 'deny'")
  return json(200, { redirect_url: await decide(context, user, authorizationId, action) })
}

/**
 * Returns the details, binding the authorization to its first reader. When an active consent already covers every
 * asked scope it is approved at once and the answer is `{redirect_url}`.
 */
export async function readAuthorization(
  context: AuthContext,
  user: User,
  authorizationId: string,
): Promise<Record<string, unknown>> {
  return inTransaction(context.sql, async (tx) => {
    const authorization = await lockAuthorization(tx, authorizationId)
    if (authorization.userId !== null && authorization.userId !== user.id) throw notFound()
    if (authorization.status !== 'pending') throw notPending()
    await tx`update auth.oauth_authorizations set user_id = ${user.id} where id = ${authorization.id}`

    const [consent] = await tx`
      select scopes from auth.oauth_consents
      where user_id = ${user.id} and client_id = ${authorization.clientId} and revoked_at is null`
    const granted = String(consent?.['scopes'] ?? '').split(' ')
    if (consent !== undefined && authorization.scope.split(' ').every((scope) => granted.includes(scope))) {
      return { redirect_url: await approve(tx, authorization) }
    }
    const client = await findClient(tx, authorization.clientId)
    if (client === undefined) throw notFound()
    return {
      authorization_id: authorizationId,
      redirect_uri: authorization.redirectUri,
      client: publicClient(client),
      user: { id: user.id, email: user.email },
      scope: authorization.scope,
    }
  })
}

/** Records the user's decision and returns the address that carries it to the client. */
export async function decide(
  context: AuthContext,
  user: User,
  authorizationId: string,
  decision: ConsentDecision,
): Promise<string> {
  return inTransaction(context.sql, async (tx) => {
    const authorization = await lockAuthorization(tx, authorizationId)
    // Not yet read by anybody, or by somebody else: the same answer, which confirms nothing.
    if (authorization.userId !== user.id) throw notFound()
    if (authorization.status !== 'pending') throw notPending()
    if (decision === 'deny') {
      await tx`update auth.oauth_authorizations set status = 'denied' where id = ${authorization.id}`
      const { redirectUri, state } = authorization
      return errorRedirectUrl(redirectUri, 'access_denied', 'User denied the request', state)
    }
    await tx`
      insert into auth.oauth_consents (id, user_id, client_id, scopes)
      values (${randomUUID()}, ${user.id}, ${authorization.clientId}, ${authorization.scope})
      on conflict (user_id, client_id)
        do update set scopes = excluded.scopes, granted_at = now(), revoked_at = null`
    return approve(tx, authorization)
  })
}

async function approve(tx: Db, { id, redirectUri, state }: Authorization): Promise<string> {
  const code = randomUUID()
  await tx`
    update auth.oauth_authorizations
    set status = 'approved', approved_at = now(), authorization_code = ${code}
    where id = ${id}`
  const url = new URL(redirectUri)
  url.searchParams.set('code', code)
  if (state !== undefined) url.searchParams.set('state', state)
  return url.href
}

async function lockAuthorization(tx: Db, authorizationId: string): Promise<Authorization> {
  // Skipping a locked row answers a concurrent call with "not found", as the real service does.
  const [row] = await tx`
    select id, client_id, user_id, redirect_uri, scope, state, status, expires_at <= now() as is_expired
    from auth.oauth_authorizations
    where authorization_id = ${authorizationId}
    for update skip locked`
  if (row === undefined || row['is_expired'] === true) throw notFound()
  return {
    id: String(row['id']),
    clientId: String(row['client_id']),
    userId: row['user_id'] === null ? null : String(row['user_id']),
    redirectUri: String(row['redirect_uri']),
    scope: String(row['scope']),
    state: row['state'] === null ? undefined : String(row['state']),
    status: String(row['status']),
  }
}

function checkOrigin({ siteOrigins }: AuthContext, request: StackRequest): void {
  const origin = request.headers['origin']
  if (origin !== undefined && !siteOrigins.includes(origin))
    throw validationFailed('unauthorized request origin')
}

function notFound(): AuthError {
  return new AuthError(404, 'oauth_authorization_not_found', 'authorization not found')
}

function notPending(): AuthError {
  return validationFailed('authorization request cannot be processed')
}
