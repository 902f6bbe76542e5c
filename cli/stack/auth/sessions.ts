// cli/stack/auth/sessions.ts — sessions, their refresh tokens, and the access token that names them.

import { randomBytes, randomUUID } from 'node:crypto'

import type { StackRequest } from '../http.ts'
import type { AuthContext, Db } from './context.ts'
import { AuthError, OAuthError } from './errors.ts'
import { findUser, type User } from './users.ts'
import { inTransaction } from '../postgres/pool.ts'

/** Life of an access token, the platform's default. */
export const ACCESS_TOKEN_SECONDS = 3600
/** How long a rotated refresh token is still taken, the default of config.toml. */
const REUSE_SECONDS = 10

export interface IssuedTokens {
  readonly accessToken: string
  readonly refreshToken: string
  readonly user: User
}

export interface NewSession {
  readonly user: User
  readonly request: StackRequest
  /** `password` or `oauth_provider/authorization_code`. */
  readonly method: string
  readonly clientId?: string
  readonly scopes?: string
}

/** Opens a session and issues its first pair of tokens. */
export async function openSession(
  context: AuthContext,
  tx: Db,
  { user, request, method, clientId, scopes }: NewSession,
): Promise<IssuedTokens> {
  const sessionId = randomUUID()
  const refreshToken = newRefreshToken()
  await tx`
    insert into auth.sessions (id, user_id, created_at, updated_at, aal, user_agent, oauth_client_id, scopes)
    values (${sessionId}, ${user.id}, now(), now(), 'aal1', ${request.headers['user-agent'] ?? ''},
            ${clientId ?? null}, ${scopes ?? null})`
  await tx`
    insert into auth.mfa_amr_claims (id, session_id, created_at, updated_at, authentication_method)
    values (${randomUUID()}, ${sessionId}, now(), now(), ${method})`
  await tx`
    insert into auth.refresh_tokens (instance_id, token, user_id, revoked, created_at, updated_at, session_id)
    values ('00000000-0000-0000-0000-000000000000', ${refreshToken}, ${user.id}, false, now(), now(), ${sessionId})`
  await tx`update auth.users set last_sign_in_at = now(), updated_at = now() where id = ${user.id}`
  return { accessToken: await accessToken(context, tx, sessionId, user), refreshToken, user }
}

/**
 * Exchanges a refresh token for the next one. The parent of the active token always gets the active one back, so
 * a client whose answer was lost may repeat; any other used token ends the whole family.
 *
 * @param clientId The authenticated OAuth client, or undefined for the first-party endpoint.
 */
export async function refreshSession(
  context: AuthContext,
  { refreshToken, clientId }: { readonly refreshToken: string; readonly clientId: string | undefined },
): Promise<IssuedTokens> {
  const outcome = await inTransaction(context.sql, async (tx) => {
    // Locking the session makes two refreshes of one family take turns.
    const [found] = await tx`
      select t.id, t.session_id, s.user_id, s.oauth_client_id, s.not_after < now() as is_expired
      from auth.refresh_tokens as t join auth.sessions as s on s.id = t.session_id
      where t.token = ${refreshToken}
      for update of s`
    if (found === undefined) {
      throw new AuthError(400, 'refresh_token_not_found', 'Invalid Refresh Token: Refresh Token Not Found')
    }
    if ((found['oauth_client_id'] ?? undefined) !== clientId) {
      throw new OAuthError('invalid_client', 'Refresh token was not issued to this client')
    }
    const user = await findUser(tx, { id: String(found['user_id']) })
    if (user === undefined || user.isBanned)
      throw new AuthError(400, 'user_banned', 'Invalid Refresh Token: User Banned')
    if (found['is_expired'] === true) {
      throw new AuthError(400, 'session_expired', 'Invalid Refresh Token: Session Expired')
    }
    const sessionId = String(found['session_id'])
    const next = await rotate(tx, refreshToken, sessionId, user)
    // Reported after the commit: the family must stay revoked although the caller gets an error.
    if (next === undefined) return undefined
    await tx`update auth.sessions set refreshed_at = now() at time zone 'utc', updated_at = now() where id = ${sessionId}`
    return { accessToken: await accessToken(context, tx, sessionId, user), refreshToken: next, user }
  })
  if (outcome === undefined) {
    throw new AuthError(400, 'refresh_token_already_used', 'Invalid Refresh Token: Already Used')
  }
  return outcome
}

/** The token that follows `token`, or undefined after a reuse that revoked the family. */
async function rotate(tx: Db, token: string, sessionId: string, user: User): Promise<string | undefined> {
  const [state] = await tx`
    select revoked, updated_at > now() - make_interval(secs => ${REUSE_SECONDS}) as is_recent,
           (select active.token from auth.refresh_tokens as active
            where active.session_id = ${sessionId} and active.parent = ${token} and not active.revoked
            order by active.id desc limit 1) as successor
    from auth.refresh_tokens where token = ${token}`
  if (state?.['revoked'] === true) {
    if (state['successor'] !== null) return String(state['successor'])
    if (state['is_recent'] !== true) {
      await tx`
        update auth.refresh_tokens set revoked = true, updated_at = now()
        where session_id = ${sessionId} and not revoked`
      return undefined
    }
  }
  const next = newRefreshToken()
  await tx`update auth.refresh_tokens set revoked = true, updated_at = now() where token = ${token}`
  await tx`
    insert into auth.refresh_tokens (instance_id, token, user_id, revoked, created_at, updated_at, parent, session_id)
    values ('00000000-0000-0000-0000-000000000000', ${next}, ${user.id}, false, now(), now(), ${token}, ${sessionId})`
  return next
}

async function accessToken(
  { tokens, issuer }: AuthContext,
  tx: Db,
  sessionId: string,
  user: User,
): Promise<string> {
  const [session] = await tx`
    select s.aal, s.oauth_client_id, s.scopes,
           (select json_agg(json_build_object('method', c.authentication_method,
                                              'timestamp', extract(epoch from c.updated_at)::bigint))
            from auth.mfa_amr_claims as c where c.session_id = s.id) as amr
    from auth.sessions as s where s.id = ${sessionId}`
  const clientId: unknown = session?.['oauth_client_id']
  return tokens.sign(
    {
      iss: issuer,
      sub: user.id,
      aud: user.aud,
      email: user.email,
      phone: user.phone,
      app_metadata: user.appMetadata,
      user_metadata: user.userMetadata,
      role: user.role,
      aal: session?.['aal'],
      amr: session?.['amr'],
      session_id: sessionId,
      is_anonymous: user.isAnonymous,
      ...(clientId === null ? {} : { client_id: clientId, scope: session?.['scopes'] ?? '' }),
    },
    ACCESS_TOKEN_SECONDS,
  )
}

/** Twelve lower-case alphanumerics, the form of the first generation of refresh tokens. */
function newRefreshToken(): string {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'
  return Array.from(randomBytes(12), (byte) => alphabet[byte % alphabet.length]).join('')
}
