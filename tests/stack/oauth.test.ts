// tests/stack/oauth.test.ts — the authorization server, walked by the unmodified clients that people use.
import { createHash, randomBytes } from 'node:crypto'

import { auth } from '@modelcontextprotocol/client'
import { createClient } from '@supabase/supabase-js'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { type Stack, startStack } from '../../cli/stack/index.ts'
import { MemoryProvider, openAuthorization, REDIRECT_URI } from './support/oauth-client.ts'
import { createTestProject, type TestProject } from './support/project.ts'

let project: TestProject
let stack: Stack
let admin: postgres.Sql

beforeAll(async () => {
  project = await createTestProject()
  stack = await startStack({ project: project.dir, install: 'direct' })
  admin = postgres(stack.adminUrl, { max: 2, onnotice: () => undefined })
})

afterAll(async () => {
  await admin.end({ timeout: 1 })
  await stack.stop()
  await project.remove()
})

describe('an MCP client', () => {
  it('gets from the resource to tokens, and refreshes them without a new login', async () => {
    const provider = new MemoryProvider()
    const serverUrl = `${stack.origin}/functions/v1/probe`
    const resourceMetadataUrl = new URL(`${serverUrl}/oauth-protected-resource`)

    const first = await auth(provider, { serverUrl, resourceMetadataUrl })
    const redirect = await approve(await signIn('alice'), provider.authorizationUrl)
    const code = redirect.searchParams.get('code') ?? ''
    const second = await auth(provider, {
      serverUrl,
      resourceMetadataUrl,
      authorizationCode: code,
    })
    const before = provider.stored
    const third = await auth(provider, { serverUrl, resourceMetadataUrl })

    expect([first, second, third]).toEqual(['REDIRECT', 'AUTHORIZED', 'AUTHORIZED'])
    expect(redirect.searchParams.get('state')).toBe('a-state')
    expect(provider.stored?.refresh_token).not.toBe(before?.refresh_token)
    expect(decodeJwt(provider.stored?.access_token ?? '')).toMatchObject({
      iss: `${stack.origin}/auth/v1`,
      sub: stack.users.alice.id,
      aud: 'authenticated',
      role: 'authenticated',
      email: 'alice@example.test',
      aal: 'aal1',
      is_anonymous: false,
      client_id: provider.client?.client_id,
    })
  })

  it('is sent to a new login when its refresh token is unknown, because the error is not an OAuth error', async () => {
    const provider = new MemoryProvider()
    const serverUrl = `${stack.origin}/functions/v1/probe`
    const resourceMetadataUrl = new URL(`${serverUrl}/oauth-protected-resource`)
    await auth(provider, { serverUrl, resourceMetadataUrl })
    provider.stored = { access_token: 'x', token_type: 'bearer', refresh_token: 'unknown12345' }

    await expect(auth(provider, { serverUrl, resourceMetadataUrl })).resolves.toBe('REDIRECT')
  })
})

describe('tokens', () => {
  it('carry session, client and scope, and are signed with a key the JWKS shows', async () => {
    const { tokens, clientId } = await grant('alice', { scope: 'openid email' })
    const jwks = await getJson(`${stack.origin}/auth/v1/.well-known/jwks.json`)

    const claims = decodeJwt(tokens.access_token)
    const [session] =
      await admin`select user_id, oauth_client_id, scopes from auth.sessions where id = ${String(claims['session_id'])}`
    expect(session).toEqual({
      user_id: stack.users.alice.id,
      oauth_client_id: clientId,
      scopes: 'openid email',
    })
    expect(claims).toMatchObject({
      client_id: clientId,
      scope: 'openid email',
      amr: [{ method: 'oauth_provider/authorization_code' }],
    })
    expect(decodeProtectedHeader(tokens.access_token)).toMatchObject({
      alg: 'ES256',
      typ: 'JWT',
      kid: (jwks['keys'] as { kid: string }[])[0]?.kid,
    })
    expect(decodeJwt(tokens.id_token ?? '')).toMatchObject({ aud: clientId, sub: stack.users.alice.id })
    expect(tokens).not.toHaveProperty('scope')
    expect(JSON.stringify(jwks)).not.toContain('"d"')
  })

  it('are issued for a code once', async () => {
    const pending = await authorization('alice')

    const answers = await Promise.all([exchange(pending), exchange(pending), exchange(pending)])

    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400])
    expect(answers.find(({ status }) => status === 400)?.body).toMatchObject({ error: 'invalid_grant' })
  })

  it('are refused for a code that is older than its authorization may be', async () => {
    const pending = await authorization('alice')
    await admin`update auth.oauth_authorizations set expires_at = now() where authorization_code = ${pending.code}`

    const { status, body } = await exchange(pending)

    expect(status).toBe(400)
    expect(body).toMatchObject({ error: 'invalid_grant' })
  })

  it.each([
    ['a wrong verifier', { code_verifier: 'x'.repeat(43) }],
    ['another redirect address', { redirect_uri: 'http://127.0.0.1:1/other' }],
    ['an unknown code', { code: 'c0ffee00-0000-4000-8000-000000000000' }],
  ])('are refused for %s', async (_case, change) => {
    const pending = await authorization('alice')

    const { status, body } = await exchange(pending, change)

    expect(status).toBe(400)
    expect(body).toMatchObject({ error: 'invalid_grant' })
  })

  it('are refused for a resource that differs, in a JSON body only', async () => {
    const form = await exchange(await authorization('alice'), { resource: 'https://other.test/mcp' })
    const asJson = await exchange(
      await authorization('alice'),
      { resource: 'https://other.test/mcp' },
      'json',
    )

    expect(form.status).toBe(200)
    expect(asJson.body).toMatchObject({ error: 'invalid_grant' })
  })

  it('are refused with Supabase’s own shape for an unknown client, never with 401', async () => {
    const pending = await authorization('alice')

    const { status, body } = await exchange(pending, { client_id: 'c0ffee00-0000-4000-8000-000000000000' })

    expect(status).toBe(400)
    expect(body).toMatchObject({ code: 400, error_code: 'invalid_credentials' })
  })
})

describe('refreshing', () => {
  it('gives the parent of the active token the active one back', async () => {
    const { tokens, clientId } = await grant('alice')

    const next = await refresh(clientId, tokens.refresh_token)
    const again = await refresh(clientId, tokens.refresh_token)

    expect(next.body['refresh_token']).not.toBe(tokens.refresh_token)
    expect(again.body['refresh_token']).toBe(next.body['refresh_token'])
  })

  it('ends the family when an older token comes back later', async () => {
    const { tokens, clientId } = await grant('alice')
    const second = await refresh(clientId, tokens.refresh_token)
    const third = await refresh(clientId, String(second.body['refresh_token']))
    const laterBy = (token: unknown) =>
      admin`update auth.refresh_tokens set updated_at = now() - interval '1 minute' where token = ${String(token)}`
    await laterBy(tokens.refresh_token)

    const reuse = await refresh(clientId, tokens.refresh_token)
    await laterBy(third.body['refresh_token'])
    const afterwards = await refresh(clientId, String(third.body['refresh_token']))

    expect(reuse).toMatchObject({ status: 400, body: { error_code: 'refresh_token_already_used' } })
    expect(afterwards.status).toBe(400)
  })

  it('is refused to another client', async () => {
    const { tokens } = await grant('alice')
    const other = await register()

    const { status, body } = await refresh(other, tokens.refresh_token)

    expect(status).toBe(400)
    expect(body).toMatchObject({ error: 'invalid_client' })
  })

  it('speaks the newer error shape when the client names the API version', async () => {
    const clientId = await register()

    const { body } = await refresh(clientId, 'unknown12345', { 'x-supabase-api-version': '2024-01-01' })

    expect(body).toEqual({
      code: 'refresh_token_not_found',
      message: 'Invalid Refresh Token: Refresh Token Not Found',
    })
  })
})

describe('registration', () => {
  it.each([
    ['a public client for method none', { token_endpoint_auth_method: 'none' }, 'public', false],
    ['a confidential client by default', {}, 'confidential', true],
  ])('makes %s', async (_case, fields, type, hasSecret) => {
    const response = await post('/auth/v1/oauth/clients/register', {
      redirect_uris: [REDIRECT_URI],
      scope: 'x',
      ...fields,
    })

    expect(response.status).toBe(201)
    expect(response.body).toMatchObject({
      client_type: type,
      registration_type: 'dynamic',
      response_types: ['code'],
    })
    expect('client_secret' in response.body).toBe(hasSecret)
    expect(response.body['client_id']).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('holds a confidential client to its method and its secret', async () => {
    const { body } = await post('/auth/v1/oauth/clients/register', { redirect_uris: [REDIRECT_URI] })
    const id = String(body['client_id'])
    const basic = (secret: string) => ({
      authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
    })

    const right = await refresh(id, 'unknown12345', basic(String(body['client_secret'])))
    const wrong = await refresh(id, 'unknown12345', basic('no'))
    const none = await refresh(id, 'unknown12345')

    expect(right.body).toMatchObject({ error_code: 'refresh_token_not_found' })
    expect(wrong.body).toMatchObject({ error_code: 'invalid_credentials' })
    expect(none.body).toMatchObject({ error_code: 'invalid_credentials' })
  })
})

describe('authorizing', () => {
  it.each([
    ['a scope outside of the five', { scope: 'mcp:tools' }, 'unsupported scope: mcp:tools'],
    [
      'no PKCE challenge',
      { code_challenge: '' },
      'PKCE flow requires both code_challenge and code_challenge_method',
    ],
  ])('sends %s back to the client', async (_case, change, description) => {
    const response = await fetch(await authorizeUrl(await register(), change), { redirect: 'manual' })

    const location = new URL(response.headers.get('location') ?? '')
    expect(location.origin + location.pathname).toBe(REDIRECT_URI)
    expect(Object.fromEntries(location.searchParams)).toEqual({
      error: 'invalid_request',
      error_description: description,
      state: 's',
    })
  })

  it.each([
    ['an unknown client', { client_id: 'c0ffee00-0000-4000-8000-000000000000' }, 'oauth_client_not_found'],
    [
      'a redirect address on another port',
      { redirect_uri: 'http://127.0.0.1:33419/callback' },
      'validation_failed',
    ],
  ])('answers %s without redirecting', async (_case, change, code) => {
    const response = await fetch(await authorizeUrl(await register(), change), { redirect: 'manual' })

    expect(response.status).toBe(400)
    await expect(response.json()).resolves.toMatchObject({ error_code: code })
  })
})

describe('consent through supabase-js', () => {
  it('shows the client and binds the request to its first reader', async () => {
    const alice = await signIn('alice')
    const bob = await signIn('bob')
    const id = await openAuthorization(await authorizeUrl(await register()))

    const unread = await bob.auth.oauth.approveAuthorization(id, { skipBrowserRedirect: true })
    const details = await alice.auth.oauth.getAuthorizationDetails(id)
    const strangers = await bob.auth.oauth.getAuthorizationDetails(id)

    expect(unread.error).toMatchObject({ status: 404, code: 'oauth_authorization_not_found' })
    expect(details.data).toMatchObject({
      authorization_id: id,
      redirect_uri: REDIRECT_URI,
      client: { name: 'Test client' },
      user: { email: 'alice@example.test' },
      scope: 'email',
    })
    expect(strangers.error).toMatchObject({ status: 404 })
  })

  it('tells the client that the user denied, and cannot be turned round afterwards', async () => {
    const alice = await signIn('alice')
    const id = await openAuthorization(await authorizeUrl(await register()))
    await alice.auth.oauth.getAuthorizationDetails(id)

    const denied = await alice.auth.oauth.denyAuthorization(id, { skipBrowserRedirect: true })
    const approved = await alice.auth.oauth.approveAuthorization(id, { skipBrowserRedirect: true })

    expect(new URL(denied.data?.redirect_url ?? '').searchParams.get('error')).toBe('access_denied')
    expect(approved.error).toMatchObject({ status: 400, code: 'validation_failed' })
  })

  it('approves by itself what was approved before', async () => {
    const clientId = await register()
    await authorization('bob', { clientId })
    const bob = await signIn('bob')

    const { data } = await bob.auth.oauth.getAuthorizationDetails(
      await openAuthorization(await authorizeUrl(clientId)),
    )

    expect(new URL((data as { redirect_url: string }).redirect_url).searchParams.get('code')).toBeTruthy()
  })

  it('is refused to a page of another site', async () => {
    const alice = await signIn('alice')
    const { data } = await alice.auth.getSession()
    const id = await openAuthorization(await authorizeUrl(await register()))

    const response = await fetch(`${stack.origin}/auth/v1/oauth/authorizations/${id}`, {
      headers: { authorization: `Bearer ${data.session?.access_token ?? ''}`, origin: 'https://evil.test' },
    })

    expect(response.status).toBe(400)
  })

  it('expires ten minutes after the request', async () => {
    const alice = await signIn('alice')
    const id = await openAuthorization(await authorizeUrl(await register()))
    const [row] =
      await admin`select extract(epoch from expires_at - created_at)::int as seconds from auth.oauth_authorizations where authorization_id = ${id}`
    await admin`update auth.oauth_authorizations set expires_at = now() where authorization_id = ${id}`

    const { error } = await alice.auth.oauth.getAuthorizationDetails(id)

    expect(row?.['seconds']).toBe(600)
    expect(error).toMatchObject({ status: 404 })
  })
})

describe('revoking a grant', () => {
  it('lists it no more, ends its sessions and refresh tokens, and leaves other clients alone', async () => {
    const kept = await grant('alice')
    const { tokens, clientId } = await grant('alice')
    const alice = await signIn('alice')
    const before = await alice.auth.oauth.listGrants()

    const revoked = await alice.auth.oauth.revokeGrant({ clientId })
    const again = await alice.auth.oauth.revokeGrant({ clientId })
    const after = await alice.auth.oauth.listGrants()
    const refreshed = await refresh(clientId, tokens.refresh_token)
    const user = await fetch(`${stack.origin}/auth/v1/user`, {
      headers: { authorization: `Bearer ${tokens.access_token}` },
    })

    expect(before.data?.map(({ client }) => client.id)).toContain(clientId)
    expect(revoked.error).toBeNull()
    expect(again.error).toMatchObject({ status: 404, code: 'oauth_consent_not_found' })
    expect(after.data?.map(({ client }) => client.id)).not.toContain(clientId)
    expect(refreshed.status).toBe(400)
    expect(user.status).toBe(403)
    await expect(user.json()).resolves.toMatchObject({ error_code: 'session_not_found' })
    expect((await refresh(kept.clientId, kept.tokens.refresh_token)).status).toBe(200)
  })

  it('does not reach whoever verifies the token without asking: the Data API still takes it', async () => {
    const { tokens, clientId } = await grant('alice')
    const alice = await signIn('alice')
    await alice.auth.oauth.revokeGrant({ clientId })

    const response = await fetch(`${stack.origin}/rest/v1/rpc/whoami`, {
      headers: { apikey: stack.publishableKey, authorization: `Bearer ${tokens.access_token}` },
    })

    await expect(response.json()).resolves.toMatchObject({ user: 'authenticated', uid: stack.users.alice.id })
  })
})

describe('first-party sign-in', () => {
  it('answers a wrong password and an unknown address alike', async () => {
    const client = anonymous()

    const wrong = await client.auth.signInWithPassword({ email: 'alice@example.test', password: 'nope' })
    const unknown = await client.auth.signInWithPassword({ email: 'nobody@example.test', password: 'nope' })

    expect(wrong.error).toMatchObject({ status: 400, code: 'invalid_credentials' })
    expect(unknown.error?.message).toBe(wrong.error?.message)
  })

  it('issues tokens without client_id, refreshes them, and ends them at sign-out', async () => {
    const bob = await signIn('bob')
    const { data } = await bob.auth.refreshSession()
    const token = data.session?.access_token ?? ''

    await bob.auth.signOut({ scope: 'local' })
    const user = await fetch(`${stack.origin}/auth/v1/user`, {
      headers: { authorization: `Bearer ${token}` },
    })

    expect(decodeJwt(token)).not.toHaveProperty('client_id')
    expect(user.status).toBe(403)
  })

  it('signs a new person up once', async () => {
    const carol = { email: 'carol@example.test', password: 'carol-password' }

    const first = await anonymous().auth.signUp(carol)
    const second = await anonymous().auth.signUp(carol)

    expect(first.data.session?.access_token).toBeTruthy()
    expect(second.error).toMatchObject({ status: 422, code: 'user_already_exists' })
  })
})

describe('metadata', () => {
  it.each([
    '/.well-known/oauth-authorization-server/auth/v1',
    '/.well-known/openid-configuration/auth/v1',
    '/auth/v1/.well-known/openid-configuration',
    '/auth/v1/.well-known/oauth-authorization-server',
  ])('is served at %s', async (path) => {
    const response = await fetch(`${stack.origin}${path}`)

    expect(response.headers.get('cache-control')).toBe('public, max-age=600')
    const document = (await response.json()) as Record<string, unknown>
    expect(document).toMatchObject({
      issuer: `${stack.origin}/auth/v1`,
      registration_endpoint: `${stack.origin}/auth/v1/oauth/clients/register`,
    })
    expect(document).not.toHaveProperty('revocation_endpoint')
  })
})

// Helpers

type Client = ReturnType<typeof createClient>

type TokenSet = { access_token: string; refresh_token: string; id_token?: string }

function anonymous(): Client {
  return createClient(stack.origin, stack.publishableKey, {
    auth: { persistSession: false, autoRefreshToken: false },
  })
}

async function signIn(person: 'alice' | 'bob'): Promise<Client> {
  const client = anonymous()
  const { error } = await client.auth.signInWithPassword(stack.users[person])
  if (error) throw error
  return client
}

async function approve(person: Client, url: URL | undefined): Promise<URL> {
  const id = await openAuthorization(url ?? new URL('about:blank'))
  const { data } = await person.auth.oauth.getAuthorizationDetails(id)
  if (data !== null && 'redirect_url' in data) return new URL(data.redirect_url)
  const approved = await person.auth.oauth.approveAuthorization(id, { skipBrowserRedirect: true })
  return new URL(approved.data?.redirect_url ?? '')
}

async function register(): Promise<string> {
  const { body } = await post('/auth/v1/oauth/clients/register', {
    client_name: 'Test client',
    redirect_uris: [REDIRECT_URI],
    token_endpoint_auth_method: 'none',
  })
  return String(body['client_id'])
}

const VERIFIER = randomBytes(32).toString('base64url')

async function authorizeUrl(clientId: string, change: Record<string, string> = {}): Promise<URL> {
  const url = new URL(`${stack.origin}/auth/v1/oauth/authorize`)
  const query = {
    client_id: clientId,
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    state: 's',
    resource: stack.mcpUrl,
    code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
    code_challenge_method: 'S256',
    ...change,
  }
  url.search = new URLSearchParams(query).toString()
  return Promise.resolve(url)
}

interface Pending {
  readonly clientId: string
  readonly code: string
}

async function authorization(
  person: 'alice' | 'bob',
  { clientId, scope = 'email' }: { clientId?: string; scope?: string } = {},
): Promise<Pending> {
  const id = clientId ?? (await register())
  const redirect = await approve(await signIn(person), await authorizeUrl(id, { scope }))
  return { clientId: id, code: redirect.searchParams.get('code') ?? '' }
}

function exchange(
  { clientId, code }: Pending,
  change: Record<string, string> = {},
  kind: 'form' | 'json' = 'form',
) {
  const fields = {
    grant_type: 'authorization_code',
    client_id: clientId,
    code,
    redirect_uri: REDIRECT_URI,
    code_verifier: VERIFIER,
    ...change,
  }
  return kind === 'json' ? post('/auth/v1/oauth/token', fields) : postForm('/auth/v1/oauth/token', fields)
}

async function grant(
  person: 'alice' | 'bob',
  options: { scope?: string } = {},
): Promise<{ tokens: TokenSet; clientId: string }> {
  const pending = await authorization(person, options)
  const { body } = await exchange(pending)
  return { tokens: body as unknown as TokenSet, clientId: pending.clientId }
}

function refresh(clientId: string, token: string, headers: Record<string, string> = {}) {
  const identity = 'authorization' in headers ? {} : { client_id: clientId }
  return postForm(
    '/auth/v1/oauth/token',
    { grant_type: 'refresh_token', refresh_token: token, ...identity },
    headers,
  )
}

async function postForm(path: string, fields: Record<string, string>, headers: Record<string, string> = {}) {
  const response = await fetch(`${stack.origin}${path}`, {
    method: 'POST',
    body: new URLSearchParams(fields),
    headers,
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

async function post(path: string, body: unknown) {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${stack.origin}${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers,
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

async function getJson(url: string): Promise<Record<string, unknown>> {
  return (await fetch(url)).json() as Promise<Record<string, unknown>>
}
