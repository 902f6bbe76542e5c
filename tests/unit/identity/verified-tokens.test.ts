// tests/unit/identity/verified-tokens.test.ts — a token that verified once is remembered, and for nothing but itself.
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'

import { createUserTokenVerifier } from '../../../runtime/identity/user-token.ts'
import { createAuthority, environmentWith, issuer, tamper, type Authority } from './authority.ts'

let authority: Authority
beforeAll(async () => {
  authority = await createAuthority()
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const issuers = [issuer]

describe('a token that verified', () => {
  it('is not verified again', async () => {
    const verify = createUserTokenVerifier(environmentWith(authority.jwks))
    const token = await authority.sign()
    const checks = vi.spyOn(crypto.subtle, 'verify')

    const first = await verify(token, { issuers })
    const afterFirst = checks.mock.calls.length
    const second = await verify(token, { issuers })

    expect([first.ok, second.ok]).toEqual([true, true])
    expect(afterFirst).toBeGreaterThan(0)
    expect(checks.mock.calls.length).toBe(afterFirst)
  })

  it('is refused once it has expired', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const verify = createUserTokenVerifier(environmentWith(authority.jwks))
    const token = await authority.sign({ exp: Math.floor(Date.now() / 1000) + 30 })
    expect(await verify(token, { issuers })).toMatchObject({ ok: true })

    vi.setSystemTime(Date.now() + 31_000)

    expect(await verify(token, { issuers })).toMatchObject({ ok: false })
  })

  it('is verified anew after a minute', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const verify = createUserTokenVerifier(environmentWith(authority.jwks))
    const token = await authority.sign()
    const checks = vi.spyOn(crypto.subtle, 'verify')
    await verify(token, { issuers })
    const before = checks.mock.calls.length

    vi.setSystemTime(Date.now() + 60_001)
    await verify(token, { issuers })

    expect(checks.mock.calls.length).toBeGreaterThan(before)
  })

  it('vouches for no other token and no other issuer', async () => {
    const verify = createUserTokenVerifier(environmentWith(authority.jwks))
    const token = await authority.sign()
    await verify(token, { issuers })

    const forged = tamper(token, { payload: { sub: 'somebody else' } })
    expect(await verify(forged, { issuers })).toMatchObject({ ok: false })
    expect(await verify(token, { issuers: ['https://other.example/auth/v1'] })).toMatchObject({ ok: false })
  })

  it('shares claims that nobody can write to', async () => {
    const verify = createUserTokenVerifier(environmentWith(authority.jwks))
    const token = await authority.sign({ app_metadata: { roles: ['reader'] } })
    await verify(token, { issuers })

    const verdict = await verify(token, { issuers })

    if (!verdict.ok) throw new Error(verdict.reason)
    const claims = verdict.found as unknown as { role: string; app_metadata: { roles: string[] } }
    expect(() => (claims.role = 'service_role')).toThrow(TypeError)
    expect(() => claims.app_metadata.roles.push('owner')).toThrow(TypeError)
  })
})

it('a refused token is not remembered', async () => {
  const verify = createUserTokenVerifier(environmentWith(authority.jwks))
  const forged = tamper(await authority.sign(), { payload: { sub: 'somebody else' } })
  const checks = vi.spyOn(crypto.subtle, 'verify')

  await verify(forged, { issuers })
  const afterFirst = checks.mock.calls.length
  await verify(forged, { issuers })

  expect(checks.mock.calls.length).toBe(afterFirst * 2)
})
