import { inspect } from 'node:util'

import { generateKeyPair, SignJWT } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'

import { resolveEnvironment } from '../../../runtime/environment.ts'
import {
  createAuthenticator,
  type AuthenticationEvent,
  type AuthOptions,
} from '../../../runtime/identity/authenticate.ts'
import {
  alice,
  base64,
  claimsOf,
  createAuthority,
  environmentWith,
  issuer,
  metadata,
  requestWith,
  serveKeySet,
  tamper,
  urls,
  type Authority,
} from './authority.ts'

let authority: Authority
beforeAll(async () => {
  authority = await createAuthority()
})

const oauth: AuthOptions = { mode: 'oauth' }
const bearer: AuthOptions = { mode: 'bearer' }

/** Authenticates one bearer token against an inline key set and collects what was logged. */
async function attempt(
  token: string,
  auth: AuthOptions = oauth,
  environment = environmentWith(authority.jwks),
) {
  const events: AuthenticationEvent[] = []
  const { authenticate } = createAuthenticator({ auth, environment, log: (event) => events.push(event) })
  const outcome = await authenticate(requestWith({ authorization: `Bearer ${token}` }), urls).then(
    (identity) => ({ identity, error: undefined }),
    (error: unknown) => ({ identity: undefined, error }),
  )
  return { ...outcome, events }
}

const refused = { code: 'invalid_token', status: 401 }
const seconds = () => Math.floor(Date.now() / 1000)

/** Tokens no mode accepts, each wrong in one way. */
const forgeries: [label: string, forge: () => Promise<string> | string][] = [
  [
    'alg none',
    async () => tamper(await authority.sign(), { header: { alg: 'none', kid: 'key-1' }, signature: '' }),
  ],
  [
    'alg none with the old signature',
    async () => tamper(await authority.sign(), { header: { alg: 'None', kid: 'key-1' } }),
  ],
  ['HS256 with the public key as the secret', () => signShared(authority.publicKeyPem)],
  ['HS256 with the key set entry as the secret', () => signShared(JSON.stringify(authority.jwks.keys[0]))],
  [
    'a shared secret and no key id',
    () => signShared('super-secret-jwt-token-with-at-least-32-characters', {}),
  ],
  ['another key under the real key id', async () => (await createAuthority()).sign()],
  ['an unknown key id', () => authority.sign({}, { kid: 'key-2' })],
  ['no key id', async () => tamper(await authority.sign(), { header: { alg: 'ES256' } })],
  ['a key brought along in the header', () => signWithEmbeddedKey()],
  [
    'another curve under the real key id',
    async () => tamper(await authority.sign(), { header: { alg: 'ES384', kid: 'key-1' } }),
  ],
  [
    'RS256 under the real key id',
    async () => tamper(await authority.sign(), { header: { alg: 'RS256', kid: 'key-1' } }),
  ],
  [
    'a critical header nobody knows',
    async () => tamper(await authority.sign(), { header: { alg: 'ES256', kid: 'key-1', crit: ['x'], x: 1 } }),
  ],
  [
    'an algorithm that is not text',
    async () => tamper(await authority.sign(), { header: { alg: 7, kid: 'key-1' } }),
  ],
  [
    'a key id that is not text',
    async () => tamper(await authority.sign(), { header: { alg: 'ES256', kid: { a: 1 } } }),
  ],
  ['a flipped signature byte', async () => flipSignature(await authority.sign())],
  ['no signature', async () => tamper(await authority.sign(), { signature: '' })],
  [
    'a payload from another token',
    async () => tamper(await authority.sign(), { payload: claimsOf({ sub: 'bob' }) }),
  ],
  ['the issuer of another project', () => authority.sign({ iss: 'https://other.example/auth/v1' })],
  ['the issuer with a trailing slash', () => authority.sign({ iss: `${issuer}/` })],
  ['no issuer', () => authority.sign({ iss: undefined })],
  ['an expiry in the past', () => authority.sign({ exp: seconds() - 1 })],
  ['no expiry', () => authority.sign({ exp: undefined })],
  ['an expiry that is text', () => authority.sign({ exp: '9999999999' })],
  ['a start in the future', () => authority.sign({ nbf: seconds() + 600 })],
  ['no subject', () => authority.sign({ sub: undefined })],
  ['an empty subject', () => authority.sign({ sub: '' })],
  ['a subject that is not text', () => authority.sign({ sub: 7 })],
  ['the service role', () => authority.sign({ role: 'service_role' })],
  ['the anonymous role', () => authority.sign({ role: 'anon' })],
  ['a role of the application', () => authority.sign({ role: 'postgres' })],
  ['no role', () => authority.sign({ role: undefined })],
  ['a role that is a list', () => authority.sign({ role: ['authenticated'] })],
  ['two parts only', async () => (await authority.sign()).split('.').slice(0, 2).join('.')],
  ['a payload that is not JSON', async () => (await authority.sign()).replace(/\.[^.]+\./, '.bm90IGpzb24.')],
  ['plain text', () => 'hello'],
  ['a very long value', () => 'a'.repeat(20_000)],
]

function signShared(secret: string, header: object = { kid: 'key-1' }): Promise<string> {
  return new SignJWT(claimsOf({}))
    .setProtectedHeader({ alg: 'HS256', ...header })
    .sign(new TextEncoder().encode(secret))
}

async function signWithEmbeddedKey(): Promise<string> {
  const own = await createAuthority()
  const { privateKey } = await generateKeyPair('ES256')
  return new SignJWT(claimsOf({}))
    .setProtectedHeader({ alg: 'ES256', kid: 'key-1', jwk: own.jwks.keys[0] ?? {} })
    .sign(privateKey)
}

function flipSignature(token: string): string {
  const [header, payload, signature = ''] = token.split('.')
  const bytes = Buffer.from(signature, 'base64url')
  bytes[0] = (bytes[0] ?? 0) ^ 1
  return [header, payload, bytes.toString('base64url')].join('.')
}

describe('a token that is not the right one', () => {
  it.each(forgeries)('is refused with 401 in oauth mode: %s', async (_label, forge) => {
    const { error } = await attempt(await forge())

    expect(error).toMatchObject(refused)
  })

  it.each(forgeries)('is refused with 401 in bearer mode: %s', async (_label, forge) => {
    const { error } = await attempt(await forge(), bearer)

    expect(error).toMatchObject(refused)
  })

  it('is refused with 401 also when the keys are fetched, never taken for an outage', async () => {
    const { environment, close } = await serveKeySet(200, JSON.stringify(authority.jwks))

    const outcomes = await Promise.all(
      forgeries.map(
        async ([label, forge]) => [label, (await attempt(await forge(), oauth, environment)).error] as const,
      ),
    )
    const genuine = await attempt(await authority.sign(), oauth, environment)
    await close()

    expect(genuine.identity).toMatchObject({ subject: alice })
    for (const [label, error] of outcomes) expect(error, label).toMatchObject(refused)
  })

  it.each(forgeries)('is not repeated in the log: %s', async (_label, forge) => {
    const token = await forge()

    const { events, error } = await attempt(token)

    expect(events).toHaveLength(1)
    expect(JSON.stringify(events)).not.toContain(token)
    expect(inspect({ ...(error as Error), message: (error as Error).message })).not.toContain(token)
  })

  it('is refused while the key set is empty, and the log says so', async () => {
    const { error, events } = await attempt(await authority.sign(), oauth, environmentWith({ keys: [] }))

    expect(error).toMatchObject(refused)
    expect(events).toEqual([
      { type: 'credential_refused', credential: 'jwt', reason: 'The configured key set is empty.' },
    ])
  })
})

describe('the token of an OAuth client', () => {
  it('names its user, client, session and scopes', async () => {
    const { identity, events } = await attempt(await authority.sign())

    expect(identity).toMatchObject({
      mode: 'oauth',
      strategy: 'oauth',
      subject: alice,
      role: 'authenticated',
      user: { id: alice, email: 'alice@example.test' },
      clientId: 'client-1',
      sessionId: 'session-1',
      tokenScopes: ['openid', 'email'],
    })
    expect(identity?.expiresAt).toBeGreaterThan(seconds())
    expect(identity?.claims).toMatchObject({ aud: 'authenticated' })
    expect(events).toEqual([])
  })

  it.each([
    ['no scope', { scope: undefined }, { tokenScopes: [] }],
    ['scopes of the wrong type', { scope: ['email'] }, { tokenScopes: [] }],
    ['an empty email', { email: '' }, { user: { id: alice } }],
    ['claims called like ours', { ok: false, refused: 'yes', reason: 'no' }, { subject: alice }],
    [
      'claims that a user edits',
      { user_metadata: { role: 'service_role', client_id: 'x' } },
      { clientId: 'client-1' },
    ],
  ])('is accepted with %s', async (_label, claims, expected) => {
    const { identity } = await attempt(await authority.sign(claims))

    expect(identity).toMatchObject(expected)
  })

  it('is kept where no log, spread or serialization finds it', async () => {
    const token = await authority.sign()

    const { identity } = await attempt(token)

    const shown = [
      inspect(identity, { depth: 9, showHidden: true }),
      JSON.stringify(identity),
      JSON.stringify({ ...identity?.credential }),
    ]
    expect(shown.join()).not.toContain(token)
    expect(identity?.credential.reveal()).toBe(token)
  })
})

describe('a session of the application itself', () => {
  it.each([
    ['no client', { client_id: undefined }],
    ['an empty client', { client_id: '' }],
    ['a client that is not text', { client_id: 7 }],
  ])('is refused in oauth mode: %s', async (_label, claims) => {
    const { error, events } = await attempt(await authority.sign(claims))

    expect(error).toMatchObject(refused)
    expect(events).toEqual([
      {
        type: 'credential_refused',
        credential: 'jwt',
        reason: 'The token is a session of the application, not the token of an OAuth client.',
      },
    ])
  })

  it('is accepted in oauth mode when allowed, and the log says so once', async () => {
    const events: AuthenticationEvent[] = []
    const { authenticate } = createAuthenticator({
      auth: { mode: 'oauth', allowFirstPartySessions: true },
      environment: environmentWith(authority.jwks),
      log: (event) => events.push(event),
    })
    const request = requestWith({ authorization: `Bearer ${await authority.sign({ client_id: undefined })}` })

    const identities = [await authenticate(request, urls), await authenticate(request, urls)]

    expect(identities).toMatchObject([{ subject: alice }, { subject: alice }])
    expect(identities[0]).not.toHaveProperty('clientId')
    expect(events).toEqual([{ type: 'first_party_sessions_allowed' }])
  })

  it('is accepted in bearer mode', async () => {
    const { identity } = await attempt(await authority.sign({ client_id: undefined }), bearer)

    expect(identity).toMatchObject({ mode: 'bearer', strategy: 'bearer', subject: alice })
  })
})

describe('a project key', () => {
  const legacy = (role: string) =>
    `${base64({ alg: 'HS256', typ: 'JWT' })}.${base64({ iss: 'supabase', ref: 'x', role, exp: seconds() + 60 })}.c2lnbmF0dXJl`
  const keys: [kind: string, key: string][] = [
    ['publishable_key', 'sb_publishable_0123456789'],
    ['secret_key', 'sb_secret_0123456789'],
    ['legacy_anon_key', legacy('anon')],
    ['legacy_service_role_key', legacy('service_role')],
  ]

  it.each(keys)('sent as the bearer is refused with 401 and named in the log: %s', async (kind, key) => {
    const { error, events } = await attempt(key)

    expect(error).toMatchObject(refused)
    expect(events).toMatchObject([{ type: 'credential_refused', credential: kind }])
    expect(JSON.stringify(events)).not.toContain(key)
  })

  it.each(keys)('in the apikey header changes nothing about a user token: %s', async (_kind, key) => {
    const { authenticate } = createAuthenticator({
      auth: oauth,
      environment: environmentWith(authority.jwks),
    })

    const identity = await authenticate(
      requestWith({ authorization: `Bearer ${await authority.sign()}`, apikey: key }),
      urls,
    )

    expect(identity).toMatchObject({ subject: alice, role: 'authenticated' })
  })

  it.each(keys)('in the apikey header alone is no user: %s', async (_kind, key) => {
    const { authenticate } = createAuthenticator({
      auth: oauth,
      environment: environmentWith(authority.jwks),
    })

    await expect(authenticate(requestWith({ apikey: key }), urls)).rejects.toMatchObject(refused)
  })

  it('is refused even while there are no keys to verify tokens with', async () => {
    const environment = resolveEnvironment({ SUPABASE_URL: 'http://kong:8000' })

    const { error } = await attempt('sb_publishable_0123456789', oauth, environment)

    expect(error).toMatchObject(refused)
  })
})

describe('the Authorization header', () => {
  it.each(['Bearer ', 'bearer ', 'BEARER ', 'Bearer   '])('may spell its scheme %j', async (scheme) => {
    const { authenticate } = createAuthenticator({
      auth: oauth,
      environment: environmentWith(authority.jwks),
    })

    const identity = await authenticate(
      requestWith({ authorization: `${scheme}${await authority.sign()}` }),
      urls,
    )

    expect(identity.subject).toBe(alice)
  })

  it.each([
    ['two tokens', (token: string) => `Bearer ${token}, Bearer ${token}`],
    ['two tokens in one', (token: string) => `Bearer ${token} ${token}`],
    ['quotes around the token', (token: string) => `Bearer "${token}"`],
    ['no token', () => 'Bearer'],
    ['the scheme twice', (token: string) => `Bearer Bearer ${token}`],
    ['more than any token needs', () => `Bearer ${'a'.repeat(20_000)}`],
  ])('is refused before anything is verified when it holds %s', async (_label, header) => {
    // Without keys a verification would end in 503.
    const environment = resolveEnvironment({ SUPABASE_URL: 'http://kong:8000' })
    const { authenticate } = createAuthenticator({ auth: oauth, environment })

    const attempted = authenticate(requestWith({ authorization: header(await authority.sign()) }), urls)

    await expect(attempted).rejects.toMatchObject({
      ...refused,
      headers: { 'WWW-Authenticate': expect.stringContaining('error="invalid_token"') as string },
    })
  })

  it.each([
    ['no header', {}],
    ['another scheme', { authorization: 'Basic YTpi' }],
    ['a token without scheme', { authorization: 'eyJhbGciOiJFUzI1NiJ9.e30.x' }],
    ['a cookie', { cookie: 'sb-access-token=eyJhbGciOiJFUzI1NiJ9.e30.x' }],
  ])('is challenged without an error code when nothing usable was sent: %s', async (_label, headers) => {
    const { authenticate } = createAuthenticator({
      auth: oauth,
      environment: environmentWith(authority.jwks),
    })

    const attempted = authenticate(requestWith(headers), urls)

    await expect(attempted).rejects.toMatchObject({
      ...refused,
      headers: { 'WWW-Authenticate': `Bearer resource_metadata="${metadata}"` },
    })
  })

  it('is challenged without discovery in bearer mode', async () => {
    const { authenticate, hasDiscovery } = createAuthenticator({
      auth: bearer,
      environment: environmentWith(authority.jwks),
    })

    await expect(authenticate(requestWith({}), urls)).rejects.toMatchObject({
      headers: { 'WWW-Authenticate': 'Bearer' },
    })
    expect(hasDiscovery).toBe(false)
  })
})

describe('an outage of the key set', () => {
  const unavailable = { code: 'auth_unavailable', status: 503, retryAfterSeconds: 5 }

  it.each([
    ['an error', 500, '{}'],
    ['a page', 200, '<html>'],
    ['something else', 200, '{"hello":"world"}'],
    ['nothing found', 404, ''],
  ])('is told as 503, not as a bad token: the server answers with %s', async (_label, status, body) => {
    const { environment, close } = await serveKeySet(status, body)

    const { error, events } = await attempt(await authority.sign(), oauth, environment)
    await close()

    expect(error).toMatchObject(unavailable)
    expect(events).toEqual([{ type: 'auth_unavailable', reason: 'JWKS_FETCH_FAILED' }])
  })

  it('is told as 503 when nothing listens', async () => {
    const { environment, close } = await serveKeySet(200, '')
    await close()

    const { error } = await attempt(await authority.sign(), oauth, environment)

    expect(error).toMatchObject(unavailable)
  })

  it('is told as 503 when no key set is configured, and the log says so', async () => {
    const environment = resolveEnvironment({ SUPABASE_URL: 'http://kong:8000' })

    const { error, events } = await attempt(await authority.sign(), oauth, environment)

    expect(error).toMatchObject(unavailable)
    expect(events).toEqual([{ type: 'auth_unavailable', reason: 'No key set is configured.' }])
  })

  it('still challenges a request without a token', async () => {
    const environment = resolveEnvironment({ SUPABASE_URL: 'http://kong:8000' })
    const { authenticate } = createAuthenticator({ auth: oauth, environment })

    await expect(authenticate(requestWith({}), urls)).rejects.toMatchObject(refused)
  })
})

it('a shared secret that was configured on purpose verifies its own tokens and no others', async () => {
  const secret = 'a-local-secret-of-at-least-32-characters'
  const k = Buffer.from(secret).toString('base64url')
  const environment = environmentWith({ keys: [{ kty: 'oct', k, kid: 'key-1', alg: 'HS256' }] })

  const right = await attempt(await signShared(secret), oauth, environment)
  const wrong = await attempt(await signShared(`${secret}!`), oauth, environment)

  expect(right.identity).toMatchObject({ subject: alice })
  expect(wrong.error).toMatchObject(refused)
})
