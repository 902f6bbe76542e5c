import { describe, expect, it } from 'vitest'

import { resolveEnvironment, toSupabaseEnv, type EnvironmentVariables } from '../../runtime/environment.ts'

const SUPABASE_URL = 'https://ref.supabase.co'
const key = { kty: 'EC', kid: 'key-1' }

describe('resolveEnvironment', () => {
  it('needs the project URL and nothing else', () => {
    expect(resolveEnvironment({ SUPABASE_URL, CHUMBO_DB_URL: ' ', SUPABASE_JWKS: '' })).toEqual({
      projectUrl: SUPABASE_URL,
      publicOrigin: undefined,
      publicUrl: undefined,
      functionSlug: undefined,
      publishableKeys: {},
      secretKeys: {},
      jwks: new URL('https://ref.supabase.co/auth/v1/.well-known/jwks.json'),
      databaseUrl: undefined,
      hmacKey: undefined,
    })
  })

  it('reads every variable it knows', () => {
    const environment = resolveEnvironment({
      SUPABASE_URL: 'http://kong:8000/',
      SUPABASE_PUBLIC_URL: 'https://DB.example/',
      CHUMBO_PUBLIC_URL: 'https://db.example/functions/v1/mcp/',
      SUPABASE_FUNCTION_SLUG: 'mcp',
      SUPABASE_PUBLISHABLE_KEYS: '{"default":"sb_publishable_1"}',
      SUPABASE_SECRET_KEYS: '{"default":"sb_secret_1","web":"sb_secret_2"}',
      SUPABASE_JWKS: JSON.stringify({ keys: [key] }),
      CHUMBO_DB_URL: 'postgresql://chumbo_login:p%40ss@db:5432/postgres',
      CHUMBO_HMAC_KEY: 'k'.repeat(32),
    })

    expect(environment).toEqual({
      projectUrl: 'http://kong:8000',
      publicOrigin: 'https://db.example',
      publicUrl: 'https://db.example/functions/v1/mcp',
      functionSlug: 'mcp',
      publishableKeys: { default: 'sb_publishable_1' },
      secretKeys: { default: 'sb_secret_1', web: 'sb_secret_2' },
      jwks: { keys: [key] },
      databaseUrl: 'postgresql://chumbo_login:p%40ss@db:5432/postgres',
      hmacKey: 'k'.repeat(32),
    })
  })

  it.each([
    [
      'the dictionary',
      { SUPABASE_PUBLISHABLE_KEYS: '{"a":"1"}', SUPABASE_PUBLISHABLE_KEY: '2', SUPABASE_ANON_KEY: '3' },
      { a: '1' },
    ],
    ['the single key', { SUPABASE_PUBLISHABLE_KEY: '2', SUPABASE_ANON_KEY: '3' }, { default: '2' }],
    ['the old key', { SUPABASE_ANON_KEY: '3' }, { default: '3' }],
    [
      'the old key beside an empty dictionary',
      { SUPABASE_PUBLISHABLE_KEYS: '{}', SUPABASE_ANON_KEY: '3' },
      { default: '3' },
    ],
    ['no key', {}, {}],
  ])('takes %s for the publishable key', (_label, variables: EnvironmentVariables, expected) => {
    expect(resolveEnvironment({ SUPABASE_URL, ...variables }).publishableKeys).toEqual(expected)
  })

  it.each([
    ['the dictionary', { SUPABASE_SECRET_KEYS: '{"a":"1"}', SUPABASE_SECRET_KEY: '2' }, { a: '1' }],
    ['the single key', { SUPABASE_SECRET_KEY: '2', SUPABASE_SERVICE_ROLE_KEY: '3' }, { default: '2' }],
    ['the old key', { SUPABASE_SERVICE_ROLE_KEY: '3' }, { default: '3' }],
  ])('takes %s for the secret key', (_label, variables: EnvironmentVariables, expected) => {
    expect(resolveEnvironment({ SUPABASE_URL, ...variables }).secretKeys).toEqual(expected)
  })

  it.each([
    [
      'inline',
      { SUPABASE_JWKS: JSON.stringify([key]), SUPABASE_JWKS_URL: 'https://x.example' },
      { keys: [key] },
    ],
    ['from an empty set', { SUPABASE_JWKS: '{"keys":[]}' }, { keys: [] }],
    ['from a URL', { SUPABASE_JWKS_URL: 'https://x.example/keys' }, new URL('https://x.example/keys')],
    [
      'from a loopback URL',
      { SUPABASE_JWKS_URL: 'http://localhost:1/keys' },
      new URL('http://localhost:1/keys'),
    ],
    [
      'from the public address',
      { SUPABASE_PUBLIC_URL: 'https://db.example' },
      new URL('https://db.example/auth/v1/.well-known/jwks.json'),
    ],
    ['from nowhere, when only an internal address is known', { SUPABASE_URL: 'http://kong:8000' }, null],
  ])('takes the keys %s', (_label, variables: EnvironmentVariables, expected) => {
    expect(resolveEnvironment({ SUPABASE_URL, ...variables }).jwks).toEqual(expected)
  })

  it.each([
    ['SUPABASE_URL', 'ref.supabase.co'],
    ['SUPABASE_URL', 'https://user:hunter2@ref.supabase.co'],
    ['SUPABASE_PUBLIC_URL', 'http://kong:8000'],
    ['SUPABASE_PUBLIC_URL', 'https://db.example?token=hunter2'],
    ['CHUMBO_PUBLIC_URL', 'http://192.168.1.2/functions/v1/mcp'],
    ['CHUMBO_PUBLIC_URL', 'https://db.example/mcp#x'],
    ['SUPABASE_FUNCTION_SLUG', '../mcp'],
    ['SUPABASE_PUBLISHABLE_KEYS', 'sb_publishable_1'],
    ['SUPABASE_PUBLISHABLE_KEYS', '["sb_publishable_1"]'],
    ['SUPABASE_SECRET_KEYS', '{"default":'],
    ['SUPABASE_SECRET_KEYS', '{"default":""}'],
    ['SUPABASE_SECRET_KEYS', '{"default":{"key":"sb_secret_1"}}'],
    ['SUPABASE_JWKS', '{"keys":{}}'],
    ['SUPABASE_JWKS', '{"keys":[1]}'],
    ['SUPABASE_JWKS', 'null'],
    ['SUPABASE_JWKS_URL', 'http://kong:8000/jwks.json'],
    ['SUPABASE_JWKS_URL', 'jwks.json'],
    ['CHUMBO_DB_URL', 'mysql://root:hunter2@db/postgres'],
    ['CHUMBO_DB_URL', 'host=db user=postgres'],
    ['CHUMBO_HMAC_KEY', 'hunter2'],
  ])('names a malformed %s and never its content: %s', (name, value) => {
    const attempt = () => resolveEnvironment({ SUPABASE_URL, [name]: value })

    expect(attempt).toThrow(expect.objectContaining({ code: 'server_misconfigured', status: 500 }))
    expect(attempt).toThrow(name)
    expect(attempt).not.toThrow(value)
  })

  it('names the project URL when it is missing', () => {
    expect(() => resolveEnvironment({})).toThrow('SUPABASE_URL is not set.')
  })

  it('prefers what the application sets in code, without reading the variable', () => {
    const environment = resolveEnvironment(
      { SUPABASE_URL, CHUMBO_DB_URL: 'malformed' },
      { projectUrl: 'https://other.example', databaseUrl: 'postgres://db' },
    )

    expect(environment).toMatchObject({ projectUrl: 'https://other.example', databaseUrl: 'postgres://db' })
  })
})

describe('toSupabaseEnv', () => {
  it('gives every part, so that the official library reads no variable by itself', () => {
    const env = toSupabaseEnv(resolveEnvironment({ SUPABASE_URL: 'http://kong:8000' }))

    expect(env).toEqual({ url: 'http://kong:8000', publishableKeys: {}, secretKeys: {}, jwks: { keys: [] } })
  })
})
