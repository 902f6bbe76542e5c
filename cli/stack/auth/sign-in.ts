// cli/stack/auth/sign-in.ts — first-party sessions: sign-up, password sign-in, refresh, the user, sign-out.

import { randomUUID } from 'node:crypto'

import { json, type StackRequest, type StackResponse } from '../http.ts'
import type { AuthContext } from './context.ts'
import { AuthError, validationFailed } from './errors.ts'
import { jsonBody, text } from './input.ts'
import { ACCESS_TOKEN_SECONDS, type IssuedTokens, openSession, refreshSession } from './sessions.ts'
import { findUser, requireUser, type User, userJson } from './users.ts'
import { inTransaction } from '../postgres/pool.ts'

/** POST /token?grant_type=password|refresh_token */
export async function firstPartyToken(context: AuthContext, request: StackRequest): Promise<StackResponse> {
  const grantType = request.url.searchParams.get('grant_type')
  const body = jsonBody(request)
  if (grantType === 'password') {
    const email = text(body, 'email', 255)
    const password = text(body, 'password', 1024)
    if (email === undefined || password === undefined) throw validationFailed('missing email or password')
    return json(200, sessionJson(await signInWithPassword(context, request, { email, password })))
  }
  if (grantType === 'refresh_token') {
    const refreshToken = text(body, 'refresh_token', 255)
    if (refreshToken === undefined) throw validationFailed('refresh_token required')
    return json(200, sessionJson(await refreshSession(context, { refreshToken, clientId: undefined })))
  }
  throw new AuthError(400, 'invalid_credentials', 'unsupported_grant_type')
}

/** Opens a first-party session. @throws AuthError `invalid_credentials`, the same for an unknown user. */
export async function signInWithPassword(
  context: AuthContext,
  request: StackRequest,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<IssuedTokens> {
  const [row] = await context.sql`
    select id from auth.users
    where lower(email) = lower(${email}) and deleted_at is null
      and encrypted_password = extensions.crypt(${password}, encrypted_password)`
  const user = row === undefined ? undefined : await findUser(context.sql, { id: String(row['id']) })
  if (user === undefined) throw new AuthError(400, 'invalid_credentials', 'Invalid login credentials')
  if (user.isBanned) throw new AuthError(400, 'user_banned', 'User is banned')
  return inTransaction(context.sql, (tx) => openSession(context, tx, { user, request, method: 'password' }))
}

/** POST /signup. Every address counts as confirmed: there is no mail here. */
export async function signUp(context: AuthContext, request: StackRequest): Promise<StackResponse> {
  const body = jsonBody(request)
  const email = text(body, 'email', 255)
  const password = text(body, 'password', 72)
  if (email === undefined || password === undefined) {
    throw validationFailed('Signup requires a valid email and password')
  }
  if (password.length < 6)
    throw new AuthError(422, 'weak_password', 'Password should be at least 6 characters.')
  const taken = await findUser(context.sql, { email })
  if (taken !== undefined) throw new AuthError(422, 'user_already_exists', 'User already registered')
  const tokens = await inTransaction(context.sql, async (tx) => {
    const id = randomUUID()
    const metadata = {
      ...asObject(body['data']),
      sub: id,
      email,
      email_verified: true,
      phone_verified: false,
    }
    await tx`
      insert into auth.users (id, aud, role, email, encrypted_password, email_confirmed_at, raw_app_meta_data,
                              raw_user_meta_data, created_at, updated_at)
      values (${id}, 'authenticated', 'authenticated', ${email.toLowerCase()},
              extensions.crypt(${password}, extensions.gen_salt('bf', 6)), now(),
              ${JSON.stringify({ provider: 'email', providers: ['email'] })}::text::jsonb,
              ${JSON.stringify(metadata)}::text::jsonb, now(), now())`
    const user = await findUser(tx, { id })
    if (user === undefined) throw new Error('The user just inserted is not there.')
    return openSession(context, tx, { user, request, method: 'password' })
  })
  return json(200, sessionJson(tokens))
}

/** GET /user */
export async function getUser(context: AuthContext, request: StackRequest): Promise<StackResponse> {
  const { user } = await requireUser(context, request)
  return json(200, userJson(user))
}

/** PUT /user: the password and the user's own metadata, which is merged. */
export async function updateUser(context: AuthContext, request: StackRequest): Promise<StackResponse> {
  const { user } = await requireUser(context, request)
  const body = jsonBody(request)
  const password = text(body, 'password', 72)
  const { sql } = context
  if (password !== undefined) {
    await sql`
      update auth.users set encrypted_password = extensions.crypt(${password}, extensions.gen_salt('bf', 6)),
                            updated_at = now()
      where id = ${user.id}`
  }
  await sql`
    update auth.users
    set raw_user_meta_data = coalesce(raw_user_meta_data, '{}') || ${JSON.stringify(asObject(body['data']))}::text::jsonb,
        updated_at = now()
    where id = ${user.id}`
  return json(200, userJson((await findUser(sql, { id: user.id })) ?? user))
}

/** POST /logout?scope=global|local|others */
export async function signOut(context: AuthContext, request: StackRequest): Promise<StackResponse> {
  const { user, sessionId } = await requireUser(context, request)
  const scope = request.url.searchParams.get('scope') ?? 'global'
  const { sql } = context
  if (scope === 'local') await sql`delete from auth.sessions where id = ${sessionId}`
  else if (scope === 'others')
    await sql`delete from auth.sessions where user_id = ${user.id} and id <> ${sessionId}`
  else if (scope === 'global') await sql`delete from auth.sessions where user_id = ${user.id}`
  else throw validationFailed(`Unsupported logout scope "${scope}"`)
  return { status: 204 }
}

function sessionJson({ accessToken, refreshToken, user }: IssuedTokens): Record<string, unknown> {
  return {
    access_token: accessToken,
    token_type: 'bearer',
    expires_in: ACCESS_TOKEN_SECONDS,
    expires_at: Math.floor(Date.now() / 1000) + ACCESS_TOKEN_SECONDS,
    refresh_token: refreshToken,
    user: userJson(user satisfies User),
  }
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}
