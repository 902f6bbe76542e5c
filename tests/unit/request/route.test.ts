import { describe, expect, it } from 'vitest'

import { route } from '../../../runtime/request/route.ts'

const at = (path: string, resourceUrl?: string) => route(new Request(`http://x${path}`), { resourceUrl })

describe('route', () => {
  it.each([
    ['/mcp', 'mcp'],
    ['/mcp/', 'mcp'],
    ['/mcp?a=/oauth-protected-resource', 'mcp'],
    ['/tools', 'tools'],
    ['/my_function-2', 'my_function-2'],
    ['/functions', 'functions'],
    ['/functions/v1/mcp', 'mcp'],
    ['/functions/v1/tools/', 'tools'],
    ['/functions/v1/functions', 'functions'],
    ['/', undefined],
    ['', undefined],
    ['//', undefined],
  ])('serves MCP at %s, whatever the function is called', (path, functionName) => {
    expect(at(path)).toEqual({ kind: 'mcp', functionName })
  })

  it.each([
    ['/mcp/.well-known/oauth-protected-resource', 'mcp'],
    ['/mcp/oauth-protected-resource', 'mcp'],
    ['/mcp/oauth-protected-resource/', 'mcp'],
    ['/functions/v1/tools/oauth-protected-resource', 'tools'],
    ['/functions/v1/tools/.well-known/oauth-protected-resource', 'tools'],
    ['/oauth-protected-resource', undefined],
    ['/.well-known/oauth-protected-resource', undefined],
    ['/.well-known/oauth-protected-resource/mcp', 'mcp'],
    ['/.well-known/oauth-protected-resource/functions/v1/mcp', 'mcp'],
  ])('serves the metadata at %s', (path, functionName) => {
    expect(at(path)).toEqual({ kind: 'metadata', functionName })
  })

  it.each([
    ['/mcp/billing', { kind: 'mcp', functionName: 'mcp', slug: 'billing' }],
    ['/mcp/mcp', { kind: 'mcp', functionName: 'mcp', slug: 'mcp' }],
    ['/functions/v1/mcp/billing/', { kind: 'mcp', functionName: 'mcp', slug: 'billing' }],
    ['/mcp/billing/oauth-protected-resource', { kind: 'metadata', functionName: 'mcp', slug: 'billing' }],
    [
      '/mcp/billing/.well-known/oauth-protected-resource',
      { kind: 'metadata', functionName: 'mcp', slug: 'billing' },
    ],
    [
      '/.well-known/oauth-protected-resource/functions/v1/mcp/billing',
      { kind: 'metadata', functionName: 'mcp', slug: 'billing' },
    ],
  ])('leaves to the database whether there is a server at %s', (path, expected) => {
    expect(at(path)).toEqual(expected)
  })

  it.each([
    '/mcp/billing/more',
    '/mcp/Billing',
    '/mcp/a_b',
    '/mcp/oauth-protected-resource/more',
    '/mcp/.well-known',
    '/mcp/.well-known/openid-configuration',
    '/functions/v1',
    '/functions/v1/mcp/unknown/more',
    '/oauth-protected-resource/more',
    '/.well-known/oauth-authorization-server',
    '/.well-known/oauth-protected-resource/mcp/unknown/more',
    '/.well-known/oauth-protected-resource/mcp/oauth-protected-resource',
    '/.well-known',
  ])('knows nothing at %s', (path) => {
    expect(at(path)).toEqual({ kind: 'unknown' })
  })

  it.each([
    ['/api/mcp', { kind: 'mcp', functionName: 'mcp' }],
    ['/api/mcp/oauth-protected-resource', { kind: 'metadata', functionName: 'mcp' }],
    ['/.well-known/oauth-protected-resource/api/mcp', { kind: 'metadata', functionName: 'mcp' }],
    ['/api/mcp/unknown/more', { kind: 'unknown' }],
    ['/api/mcp/billing', { kind: 'mcp', functionName: 'mcp', slug: 'billing' }],
    ['/api/other', { kind: 'unknown' }],
    ['/mcp', { kind: 'mcp', functionName: 'mcp' }],
  ])('follows the configured resource to a deeper mount: %s', (path, expected) => {
    expect(at(path, 'https://app.example/api/mcp')).toEqual(expected)
  })
})
