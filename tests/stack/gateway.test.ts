// tests/stack/gateway.test.ts — one port: functions as hosted, the sign-in page without JavaScript, CORS.
import { createHash, randomBytes } from 'node:crypto'

import { createClient } from '@supabase/supabase-js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { type Stack, startStack } from '../../cli/stack/index.ts'
import { REDIRECT_URI } from './support/oauth-client.ts'
import { createTestProject, type TestProject } from './support/project.ts'

let project: TestProject
let stack: Stack

beforeAll(async () => {
  project = await createTestProject()
  stack = await startStack({
    project: project.dir,
    install: 'direct',
    gate: 'direct',
    env: { CHUMBO_PROBE: 'yes' },
  })
})

afterAll(async () => {
  await stack.stop()
  await project.remove()
})

describe('a function', () => {
  it('sees its own path, the public address in the forwarded headers, and its environment', async () => {
    const response = await fetch(`${stack.origin}/functions/v1/probe/deep?q=1`, {
      method: 'POST',
      body: 'a body',
    })
    const { url, ...seen } = (await response.json()) as Record<string, unknown>

    expect(new URL(String(url))).toMatchObject({ pathname: '/probe/deep', search: '?q=1' })
    expect(seen).toEqual({
      method: 'POST',
      body: 'a body',
      marker: 'from the import map',
      slug: 'probe',
      forwarded: ['127.0.0.1', new URL(stack.origin).port, 'http'],
      env: [
        'SUPABASE_URL',
        'SUPABASE_PUBLISHABLE_KEYS',
        'SUPABASE_SECRET_KEYS',
        'SUPABASE_JWKS',
        'CHUMBO_HMAC_KEY',
        'CHUMBO_DB_URL',
        'CHUMBO_PROBE',
      ],
      file: 'NotCapable',
      outside: 'NotCapable',
    })
  })

  it.each([
    ['that does not load says so', 'broken', 503, 'BOOT_ERROR'],
    ['that does not exist is not found', 'nobody', 404, 'NOT_FOUND'],
  ])('%s', async (_case, slug, status, code) => {
    const headers = { authorization: `Bearer ${await accessToken()}` }

    const response = await fetch(`${stack.origin}/functions/v1/${slug}`, { headers })

    expect(response.status).toBe(status)
    await expect(response.json()).resolves.toMatchObject({ code })
  })

  it('wants a token unless config.toml says verify_jwt = false', async () => {
    const without = await fetch(`${stack.origin}/functions/v1/closed`)
    const forged = await fetch(`${stack.origin}/functions/v1/closed`, {
      headers: { authorization: 'Bearer a.b.c' },
    })
    const genuine = await fetch(`${stack.origin}/functions/v1/closed`, {
      headers: { authorization: `Bearer ${await accessToken()}` },
    })

    expect([without.status, forged.status, genuine.status]).toEqual([401, 401, 200])
    expect(without.headers.get('sb-error-code')).toBe('UNAUTHORIZED_NO_AUTH_HEADER')
  })

  it('is there again after it was killed, and after it crashed by itself', async () => {
    const before = stack.pids().deno
    await stack.killFunctions()
    const killed = await fetch(`${stack.origin}/functions/v1/probe`)
    await fetch(`${stack.origin}/functions/v1/probe/crash`).catch(() => undefined)
    await expect.poll(() => stack.pids().deno, { timeout: 5000 }).toBeNull()
    const crashed = await fetch(`${stack.origin}/functions/v1/probe`)

    expect([killed.status, crashed.status]).toEqual([200, 200])
    expect(stack.pids().deno).not.toBe(before)
  })

  it('gets further variables with a restart', async () => {
    await stack.restartFunctions({ CHUMBO_DB_URL: 'postgresql://elsewhere' })

    const response = await fetch(`${stack.origin}/functions/v1/probe`)

    expect(response.status).toBe(200)
  })
})

describe('the sign-in page', () => {
  it('takes a person from the authorization address to the client with two forms', async () => {
    const { consentUrl, verifier, clientId } = await startAuthorization()

    const form = await page(consentUrl)
    const signedIn = await submit(consentUrl, { action: 'sign-in', ...stack.users.alice })
    const cookie = signedIn.headers.get('set-cookie') ?? ''
    const consent = await page(consentUrl, cookie)
    const approved = await submit(consentUrl, { action: 'approve' }, cookie)

    expect(form.text).toContain('<label for="password">')
    expect(form.text).not.toContain('<script')
    expect(cookie).toMatch(/HttpOnly; SameSite=Lax/)
    expect(consent.text).toContain('&lt;b&gt;Client&lt;/b&gt;')
    expect(consent.text).toContain('127.0.0.1:33418')
    expect(consent.text).not.toContain('<b>Client')
    const redirect = new URL(approved.headers.get('location') ?? '')
    expect(redirect.origin).toBe(new URL(REDIRECT_URI).origin)
    const tokens = await fetch(`${stack.origin}/auth/v1/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: redirect.searchParams.get('code') ?? '',
        code_verifier: verifier,
        client_id: clientId,
      }),
    })
    expect(tokens.status).toBe(200)
  })

  it('carries a denial to the client', async () => {
    const { consentUrl } = await startAuthorization()
    const cookie =
      (await submit(consentUrl, { action: 'sign-in', ...stack.users.bob })).headers.get('set-cookie') ?? ''
    await page(consentUrl, cookie)

    const denied = await submit(consentUrl, { action: 'deny' }, cookie)

    expect(new URL(denied.headers.get('location') ?? '').searchParams.get('error')).toBe('access_denied')
  })

  it('says no more than that the two do not match', async () => {
    const { consentUrl } = await startAuthorization()

    const response = await submit(consentUrl, {
      action: 'sign-in',
      email: 'alice@example.test',
      password: 'no',
    })

    expect(response.status).toBe(401)
    await expect(response.text()).resolves.toContain('role="alert"')
  })

  it('refuses a form of another site, and explains an unknown request', async () => {
    const { consentUrl } = await startAuthorization()
    const cookie =
      (await submit(consentUrl, { action: 'sign-in', ...stack.users.alice })).headers.get('set-cookie') ?? ''

    const foreign = await submit(consentUrl, { action: 'approve' }, cookie, { origin: 'https://evil.test' })
    const unknown = await page(`${stack.signInUrl}?authorization_id=nothing`, cookie)

    expect(foreign.status).toBe(403)
    expect(unknown.status).toBe(404)
    expect(unknown.text).toContain('This request is unknown')
  })
})

describe('CORS', () => {
  it.each(['/auth/v1/token', '/rest/v1/rpc/whoami'])('lets a browser call %s', async (path) => {
    const preflight = await fetch(`${stack.origin}${path}`, {
      method: 'OPTIONS',
      headers: { origin: 'http://app.test', 'access-control-request-headers': 'authorization, apikey' },
    })
    const call = await fetch(`${stack.origin}${path}`, { method: 'POST', body: '{}' })

    expect(preflight.headers.get('access-control-allow-headers')).toBe('authorization, apikey')
    expect(call.headers.get('access-control-allow-origin')).toBe('*')
  })
})

// Helpers

async function accessToken(): Promise<string> {
  const client = createClient(stack.origin, stack.publishableKey, { auth: { persistSession: false } })
  const { data } = await client.auth.signInWithPassword(stack.users.alice)
  return data.session?.access_token ?? ''
}

async function startAuthorization() {
  const registered = await fetch(`${stack.origin}/auth/v1/oauth/clients/register`, {
    method: 'POST',
    body: JSON.stringify({
      client_name: '<b>Client</b>',
      redirect_uris: [REDIRECT_URI],
      token_endpoint_auth_method: 'none',
    }),
  })
  const { client_id: clientId } = (await registered.json()) as { client_id: string }
  const verifier = randomBytes(32).toString('base64url')
  const query = new URLSearchParams({
    client_id: clientId,
    redirect_uri: REDIRECT_URI,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  const response = await fetch(`${stack.origin}/auth/v1/oauth/authorize?${query.toString()}`, {
    redirect: 'manual',
  })
  return { consentUrl: response.headers.get('location') ?? '', verifier, clientId }
}

async function page(url: string, cookie = '') {
  const response = await fetch(url, { headers: { cookie } })
  return { status: response.status, text: await response.text() }
}

function submit(
  url: string,
  fields: Record<string, string>,
  cookie = '',
  headers: Record<string, string> = {},
) {
  const body = new URLSearchParams(fields)
  return fetch(url, {
    method: 'POST',
    body,
    redirect: 'manual',
    headers: { cookie, origin: stack.origin, ...headers },
  })
}
