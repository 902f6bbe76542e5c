// cli/stack/auth/users.ts — users, and who is behind a Bearer token.

import type postgres from 'postgres'

import { bearerToken, type StackRequest } from '../http.ts'
import type { AuthContext, Db } from './context.ts'
import { AuthError } from './errors.ts'

export interface User {
  readonly id: string
  readonly aud: string
  readonly role: string
  readonly email: string
  readonly phone: string
  readonly emailConfirmedAt: Date | null
  readonly lastSignInAt: Date | null
  readonly appMetadata: unknown
  readonly userMetadata: unknown
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly isAnonymous: boolean
  readonly isBanned: boolean
}

/** A signed-in caller: the user and the session his token belongs to. */
export interface SignedIn {
  readonly user: User
  readonly sessionId: string
}

/** Reads one user, by id or by e-mail address. */
export async function findUser(
  sql: Db,
  by: { readonly id: string } | { readonly email: string },
): Promise<User | undefined> {
  const condition = 'id' in by ? sql`id = ${by.id}` : sql`lower(email) = lower(${by.email})`
  const [row] = await sql`
    select id, aud, role, email, phone, email_confirmed_at, last_sign_in_at, raw_app_meta_data, raw_user_meta_data,
           created_at, updated_at, is_anonymous, coalesce(banned_until > now(), false) as is_banned
    from auth.users
    where ${condition} and deleted_at is null`
  return row === undefined ? undefined : toUser(row)
}

/**
 * Returns who is behind the Bearer token. As in the real service nothing looks at `client_id`: an OAuth client's
 * access token is a full user token here.
 *
 * @throws AuthError 401 without a token; 403 for a bad one, a missing user, or a session that is gone.
 */
export async function requireUser({ sql, tokens }: AuthContext, request: StackRequest): Promise<SignedIn> {
  const token = bearerToken(request)
  if (token === undefined)
    throw new AuthError(401, 'no_authorization', 'This endpoint requires a Bearer token')
  const claims = await tokens.verify(token).catch((cause: unknown) => {
    throw new AuthError(
      403,
      'bad_jwt',
      `invalid JWT: ${cause instanceof Error ? cause.message : 'unreadable'}`,
    )
  })
  if (claims.sub === undefined) throw new AuthError(403, 'bad_jwt', 'invalid claim: missing sub claim')
  const user = await findUser(sql, { id: claims.sub })
  if (user === undefined)
    throw new AuthError(403, 'user_not_found', 'User from sub claim in JWT does not exist')
  const sessionId = String(claims['session_id'])
  const [session] = await sql`select from auth.sessions where id::text = ${sessionId}`
  if (session === undefined) {
    throw new AuthError(403, 'session_not_found', 'Session from session_id claim in JWT does not exist')
  }
  return { user, sessionId }
}

/** The user as `/user` and the password sign-in show him. */
export function userJson(user: User): Record<string, unknown> {
  return {
    id: user.id,
    aud: user.aud,
    role: user.role,
    email: user.email,
    email_confirmed_at: user.emailConfirmedAt,
    phone: user.phone,
    confirmed_at: user.emailConfirmedAt,
    last_sign_in_at: user.lastSignInAt,
    app_metadata: user.appMetadata,
    user_metadata: user.userMetadata,
    identities: [],
    created_at: user.createdAt,
    updated_at: user.updatedAt,
    is_anonymous: user.isAnonymous,
  }
}

// The columns are those of our own query; their types follow from auth-schema.sql.
function toUser(row: postgres.Row): User {
  return {
    id: String(row['id']),
    aud: String(row['aud']),
    role: String(row['role']),
    email: String(row['email'] ?? ''),
    phone: String(row['phone'] ?? ''),
    emailConfirmedAt: row['email_confirmed_at'] as Date | null,
    lastSignInAt: row['last_sign_in_at'] as Date | null,
    appMetadata: row['raw_app_meta_data'] ?? {},
    userMetadata: row['raw_user_meta_data'] ?? {},
    createdAt: row['created_at'] as Date,
    updatedAt: row['updated_at'] as Date,
    isAnonymous: row['is_anonymous'] === true,
    isBanned: row['is_banned'] === true,
  }
}
