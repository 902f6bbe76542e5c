// tests/unit/cli/stack/auth.test.ts — the pure checks of the authorization server.
import { createHash } from 'node:crypto'

import { describe, expect, it } from 'vitest'

import { requestFault } from '../../../../cli/stack/auth/authorize.ts'
import { redirectUriFault } from '../../../../cli/stack/auth/clients.ts'
import { verifierMatches } from '../../../../cli/stack/auth/token.ts'
import { createTokens } from '../../../../cli/stack/auth/tokens.ts'
import { createSecrets, publicJwk } from '../../../../cli/stack/secrets.ts'

const CHALLENGE = 'c'.repeat(43)

describe('redirectUriFault', () => {
  it.each([
    'https://app.test/callback',
    'http://localhost:3000/cb',
    'http://127.0.0.1:1/cb',
    'http://[::1]:1/cb',
    'cursor://anysphere.cursor-mcp/oauth/callback',
  ])('takes %s', (uri) => {
    expect(redirectUriFault(uri)).toBeUndefined()
  })

  it.each([
    ['plain http elsewhere', 'http://app.test/callback'],
    ['a fragment', 'https://app.test/callback#x'],
    ['an empty fragment', 'https://app.test/callback#'],
    ['a script', 'javascript://app.test/%0aalert(1)'],
    ['a file', 'file://host/etc/passwd'],
    ['no host', 'com.example:/callback'],
    ['no scheme', '/callback'],
    ['too long an address', `https://app.test/${'x'.repeat(2048)}`],
  ])('refuses %s', (_case, uri) => {
    expect(redirectUriFault(uri)).toBeTypeOf('string')
  })
})

describe('requestFault', () => {
  const query = (fields: Record<string, string>) =>
    new URLSearchParams({ code_challenge: CHALLENGE, code_challenge_method: 'S256', ...fields })

  it.each([
    {},
    { scope: 'openid email' },
    { code_challenge_method: 'plain' },
    { resource: 'https://app.test/mcp' },
  ])('takes %j', (fields) => {
    expect(requestFault(query(fields))).toBeUndefined()
  })

  it.each([
    ['a scope of the application', { scope: 'email notes:read' }],
    ['a challenge that is too short', { code_challenge: 'c'.repeat(42) }],
    ['a challenge with other characters', { code_challenge: `${'c'.repeat(43)}!` }],
    ['another challenge method', { code_challenge_method: 'S512' }],
    ['another response type', { response_type: 'token' }],
    ['a resource with a fragment', { resource: 'https://app.test/mcp#x' }],
    ['a resource with a query', { resource: 'https://app.test/mcp?x' }],
    ['a relative resource', { resource: '/mcp' }],
  ])('refuses %s', (_case, fields) => {
    expect(requestFault(query(fields))).toBeTypeOf('string')
  })
})

describe('verifierMatches', () => {
  const verifier = 'v'.repeat(43)
  const challenge = createHash('sha256').update(verifier).digest('base64url')

  it.each([
    ['the verifier of the challenge', verifier, challenge, 's256', true],
    ['another verifier', 'w'.repeat(43), challenge, 's256', false],
    ['the challenge itself', challenge, challenge, 's256', false],
    ['a plain verifier', verifier, verifier, 'plain', true],
    ['an empty one', '', '', 'plain', false],
    ['one that is too short', 'v'.repeat(42), 'v'.repeat(42), 'plain', false],
  ])('judges %s', (_case, given, stored, method, expected) => {
    expect(verifierMatches(given, stored, method)).toBe(expected)
  })
})

describe('tokens', () => {
  it('are verified until they expire, remembered or not', async () => {
    let now = 1_700_000_000_000
    const tokens = await createTokens(await createSecrets(), { clock: () => now })
    const token = await tokens.sign({ sub: 'alice' }, 60)

    await expect(tokens.verify(token)).resolves.toMatchObject({ sub: 'alice' })
    now += 30_000
    await expect(tokens.verify(token)).resolves.toMatchObject({ sub: 'alice' })
    now += 31_000
    await expect(tokens.verify(token)).rejects.toMatchObject({ code: 'ERR_JWT_EXPIRED' })
  })

  it('of another stack are refused', async () => {
    const [ours, theirs] = await Promise.all([createSecrets(), createSecrets()])
    const token = await (await createTokens(theirs)).sign({ sub: 'alice' }, 60)

    await expect((await createTokens(ours)).verify(token)).rejects.toThrow('No suitable key')
  })

  it('are published with a key that lacks its private half', async () => {
    const secrets = await createSecrets()

    expect(secrets.signingKey.d).toBeTypeOf('string')
    expect(publicJwk(secrets)).not.toHaveProperty('d')
  })
})
