// tests/unit/gate/digest.test.ts — equal inputs compare, and nothing is to be read out of a digest.
import { describe, expect, it } from 'vitest'

import { resolveEnvironment } from '../../../runtime/environment.ts'
import { parseExact } from '../../../runtime/exact-json.ts'
import { canonicalJson, createDigest } from '../../../runtime/gate/digest.ts'

const digestWith = (variables: Record<string, string>) =>
  createDigest(resolveEnvironment({ SUPABASE_URL: 'https://x.example', ...variables }))
const key = 'k'.repeat(32)

describe('a digest', () => {
  it('is the same for the same text, purpose and key, and for nothing else', async () => {
    const digest = digestWith({ CHUMBO_HMAC_KEY: key })

    const one = await digest('arguments', 'text')

    expect(one).toMatch(/^[0-9a-f]{64}$/)
    expect(await digestWith({ CHUMBO_HMAC_KEY: key })('arguments', 'text')).toBe(one)
    for (const other of [
      await digest('arguments', 'texts'),
      await digest('idempotency key', 'text'),
      await digestWith({ CHUMBO_HMAC_KEY: 'l'.repeat(32) })('arguments', 'text'),
    ])
      expect(other).not.toBe(one)
  })

  it.each([
    [
      'CHUMBO_HMAC_KEY',
      { CHUMBO_HMAC_KEY: key, SUPABASE_SECRET_KEYS: '{"default":"one"}' },
      { CHUMBO_HMAC_KEY: key },
    ],
    [
      'the default secret key',
      { SUPABASE_SECRET_KEYS: '{"a":"one","default":"two"}' },
      { SUPABASE_SECRET_KEYS: '{"default":"two"}' },
    ],
    ['the only secret key', { SUPABASE_SECRET_KEYS: '{"web":"one"}' }, { SUPABASE_SECRET_KEY: 'one' }],
    [
      'the connection',
      { CHUMBO_DB_URL: 'postgres://a:b@c/d' },
      { CHUMBO_DB_URL: 'postgres://a:b@c/d', SUPABASE_ANON_KEY: 'x' },
    ],
  ])('takes its key from %s', async (_label, one: Record<string, string>, other: Record<string, string>) => {
    expect(await digestWith(one)('p', 't')).toBe(await digestWith(other)('p', 't'))
  })

  it('cannot be made without a key', async () => {
    await expect(digestWith({})('p', 't')).rejects.toMatchObject({
      code: 'server_misconfigured',
      hint: 'Set CHUMBO_HMAC_KEY.',
    })
  })
})

describe('canonical JSON', () => {
  it('does not depend on the order of members, and keeps that of elements', () => {
    expect(canonicalJson({ b: [2, { d: 1, c: null }], a: 'x' })).toBe('{"a":"x","b":[2,{"c":null,"d":1}]}')
    expect(canonicalJson([1, 2])).not.toBe(canonicalJson([2, 1]))
  })

  it('tells exact numbers apart that a double would not', () => {
    expect(canonicalJson(parseExact('{"n":9007199254740993}'))).toBe('{"n":9007199254740993}')
  })

  it('is not misled by a member that looks like an exact number', () => {
    expect(canonicalJson({ rawJSON: '1' })).toBe('{"rawJSON":"1"}')
  })
})
