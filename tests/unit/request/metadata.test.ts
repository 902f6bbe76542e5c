import { describe, expect, it } from 'vitest'

import { metadataResponse } from '../../../runtime/request/metadata.ts'

const urls = {
  resource: 'https://ref.supabase.co/functions/v1/mcp',
  issuer: 'https://ref.supabase.co/auth/v1',
}
const ask = (method = 'GET') => new Request(`${urls.resource}/oauth-protected-resource`, { method })

describe('metadataResponse', () => {
  it('leads from the endpoint to its issuer and advertises no scope by itself', async () => {
    const response = metadataResponse(ask(), { urls })

    expect(response.headers.get('content-type')).toBe('application/json')
    expect(response.headers.get('cache-control')).toBe('public, max-age=300')
    expect(await response.json()).toEqual({
      resource: urls.resource,
      authorization_servers: [urls.issuer],
      bearer_methods_supported: ['header'],
    })
  })

  it('tells what was configured beside the addresses', async () => {
    const response = metadataResponse(ask(), {
      urls,
      scopes: ['email'],
      resourceName: 'Snippets',
      documentationUrl: 'https://app.example/docs',
    })

    expect(await response.json()).toMatchObject({
      scopes_supported: ['email'],
      resource_name: 'Snippets',
      resource_documentation: 'https://app.example/docs',
    })
  })

  it.each([
    'http://127.0.0.1:54321/functions/v1/mcp',
    'http://[::1]:54321/functions/v1/mcp',
    'http://127.0.0.1:9000',
    'https://login.example/',
  ])('repeats %s letter by letter', async (address) => {
    const response = metadataResponse(ask(), { urls: { resource: address, issuer: address } })

    expect(await response.json()).toMatchObject({ resource: address, authorization_servers: [address] })
  })

  it('answers HEAD without a body', async () => {
    const response = metadataResponse(ask('HEAD'), { urls })

    expect(response.status).toBe(200)
    expect(await response.text()).toBe('')
  })

  it.each(['POST', 'PUT', 'DELETE'])('refuses %s and names what it allows', (method) => {
    expect(() => metadataResponse(ask(method), { urls })).toThrow(
      expect.objectContaining({ code: 'method_not_allowed', headers: { Allow: 'GET, HEAD, OPTIONS' } }),
    )
  })

  it('refuses to advertise an issuer over plain http', () => {
    expect(() => metadataResponse(ask(), { urls: { ...urls, issuer: 'http://kong:8000/auth/v1' } })).toThrow(
      'HTTPS',
    )
  })
})
