import { describe, expect, it } from 'vitest'

import { describeCredential } from '../../../runtime/identity/describe-credential.ts'
import { base64 } from './authority.ts'

const jwt = (payload: object) => `${base64({ alg: 'HS256' })}.${base64(payload)}.c2ln`

describe('describeCredential', () => {
  it.each([
    ['publishable_key', 'sb_publishable_abc'],
    ['secret_key', 'sb_secret_abc'],
    ['legacy_anon_key', jwt({ role: 'anon' })],
    ['legacy_service_role_key', jwt({ role: 'service_role' })],
    ['jwt', jwt({ role: 'authenticated', sub: 'alice' })],
    ['jwt', jwt({ role: 'service_role', sub: 'alice', name: 'Zoë' })],
    ['malformed', ''],
    ['malformed', 'sb_other_abc'],
    ['malformed', 'a.b.c'],
    ['malformed', 'a.bnVsbA.c'],
    ['malformed', 'one.two'],
  ])('calls it %s: %s', (kind, token) => {
    expect(describeCredential(token)).toBe(kind)
  })
})
