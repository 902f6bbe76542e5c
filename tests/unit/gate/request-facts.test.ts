// tests/unit/gate/request-facts.test.ts — the database is told what was verified, and nothing else.
import { describe, expect, it } from 'vitest'

import { requiredSchema } from '../../../runtime/gate/gate.ts'
import { requestFacts } from '../../../runtime/gate/request-facts.ts'
import { toIdentity } from '../../../runtime/identity/strategy.ts'
import type { UserClaims } from '../../../runtime/identity/user-token.ts'

const id = (digit: string) => `${digit.repeat(8)}-0000-4000-8000-000000000000`
const identityOf = (claims: Record<string, unknown>) =>
  toIdentity(
    {
      sub: id('a'),
      role: 'authenticated',
      exp: 2,
      client_id: id('c'),
      session_id: id('5'),
      ...claims,
    } as unknown as UserClaims,
    { mode: 'oauth', strategy: 'oauth', token: 'the.raw.token' },
  )
const message = { server: 'acme', traceId: 'trace', runtimeVersion: '0.1.0' }

describe('the facts of a request', () => {
  it('are the caller, the client, the session and the claims', () => {
    expect(
      requestFacts(identityOf({ scope: 'openid email' }), { ...message, protocol: '2026-07-28' }),
    ).toMatchObject({
      server: 'acme',
      requires: requiredSchema,
      subject: id('a'),
      user_id: id('a'),
      client_id: id('c'),
      session_id: id('5'),
      role: 'authenticated',
      token_scopes: ['openid', 'email'],
      strategy: 'oauth',
      mode: 'oauth',
      trace_id: 'trace',
      runtime: '0.1.0',
      protocol: '2026-07-28',
    })
  })

  it('never hold the token', () => {
    expect(JSON.stringify(requestFacts(identityOf({}), message))).not.toContain('raw')
  })

  it.each([
    ['subject', { sub: 'nobody' }],
    ['client', { client_id: 'cursor' }],
    ['session', { session_id: "'; drop table users" }],
  ])('of an id that Supabase never writes are those of an ended session: %s', (_label, claims) => {
    const facts = requestFacts(identityOf(claims), message)

    expect(facts['rejection']).toEqual({ code: 'session_revoked' })
    for (const name of ['user_id', 'client_id', 'session_id']) expect(facts).not.toHaveProperty(name)
  })

  it('carry what was wrong with the message', () => {
    const rejection = { code: 'invalid_arguments', message: 'x' }

    expect(requestFacts(identityOf({}), { ...message, rejection })['rejection']).toEqual(rejection)
  })
})
