import { describe, expect, it } from 'vitest'

import { sessionRevoked, tokenRefused, tokenRequired } from '../../../runtime/request/challenge.ts'

const metadataUrl = 'https://ref.supabase.co/functions/v1/mcp/oauth-protected-resource'
const challengeOf = (error: { headers: Readonly<Record<string, string>> }) =>
  error.headers['WWW-Authenticate']

describe('the challenge', () => {
  it('names no error when no token was sent', () => {
    expect(challengeOf(tokenRequired({ metadataUrl }))).toBe(`Bearer resource_metadata="${metadataUrl}"`)
    expect(challengeOf(tokenRequired({ metadataUrl, scopes: ['a', 'b'] }))).toBe(
      `Bearer scope="a b", resource_metadata="${metadataUrl}"`,
    )
    expect(challengeOf(tokenRequired())).toBe('Bearer')
  })

  it.each([
    ['a refused token', tokenRefused({ metadataUrl }), 401, 'invalid_token', 'invalid_token'],
    ['an ended session', sessionRevoked({ metadataUrl }), 401, 'session_revoked', 'invalid_token'],
  ])('names the error and the way to discovery for %s', (_label, error, status, code, oauthError) => {
    expect(error).toMatchObject({ status, code })
    expect(challengeOf(error)).toContain(`Bearer error="${oauthError}", error_description="${error.message}"`)
    expect(challengeOf(error)).toContain(`resource_metadata="${metadataUrl}"`)
  })

  it('keeps the cause for the log and out of the header', () => {
    const error = tokenRefused({ cause: new Error('secret detail') })

    expect(error.cause).toEqual(new Error('secret detail'))
    expect(challengeOf(error)).not.toContain('secret')
  })
})
