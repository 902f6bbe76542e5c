// cli/stack/auth/grants.ts — what a user has granted to which client, and taking it back.

import { json, type StackRequest, type StackResponse } from '../http.ts'
import type { AuthContext } from './context.ts'
import { AuthError, validationFailed } from './errors.ts'
import { scopedClaims } from './token.ts'
import { requireUser } from './users.ts'
import { inTransaction } from '../postgres/pool.ts'

/** GET /user/oauth/grants: active grants only. */
export async function listGrants(context: AuthContext, request: StackRequest): Promise<StackResponse> {
  const { user } = await requireUser(context, request)
  const rows = await context.sql`
    select client.id, client.client_name, client.client_uri, client.logo_uri, consent.scopes, consent.granted_at
    from auth.oauth_consents as consent
    join auth.oauth_clients as client on client.id = consent.client_id
    where consent.user_id = ${user.id} and consent.revoked_at is null and client.deleted_at is null
    order by consent.granted_at desc`
  const grants = rows.map((row) => ({
    client: {
      id: String(row['id']),
      name: String(row['client_name'] ?? ''),
      uri: String(row['client_uri'] ?? ''),
      logo_uri: String(row['logo_uri'] ?? ''),
    },
    scopes: String(row['scopes']).split(' '),
    granted_at: row['granted_at'] as Date,
  }))
  return json(200, grants)
}

/**
 * DELETE /user/oauth/grants?client_id=…: ends the consent and every session of that user with that client. Access
 * tokens already issued stay valid for whoever verifies them without asking.
 */
export async function revokeGrant(context: AuthContext, request: StackRequest): Promise<StackResponse> {
  const { user } = await requireUser(context, request)
  const clientId = request.url.searchParams.get('client_id') ?? ''
  if (!/^[0-9a-f-]{36}$/i.test(clientId)) throw validationFailed('client_id query parameter is required')
  await inTransaction(context.sql, async (tx) => {
    const revoked = await tx`
      update auth.oauth_consents set revoked_at = now()
      where user_id = ${user.id} and client_id::text = lower(${clientId}) and revoked_at is null
      returning id`
    if (revoked.length === 0) {
      throw new AuthError(404, 'oauth_consent_not_found', 'No active grant found for this client')
    }
    await tx`delete from auth.sessions where user_id = ${user.id} and oauth_client_id::text = lower(${clientId})`
  })
  return { status: 204 }
}

/** GET /oauth/userinfo: claims that the session's own scopes allow. */
export async function userInfo(context: AuthContext, request: StackRequest): Promise<StackResponse> {
  const { user, sessionId } = await requireUser(context, request)
  const [session] = await context.sql`select scopes from auth.sessions where id = ${sessionId}`
  return json(200, scopedClaims(user, String(session?.['scopes'] ?? '')))
}
