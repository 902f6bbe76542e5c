import { describe, expect, it } from 'vitest'

import { resolveEnvironment, type EnvironmentVariables } from '../../../runtime/environment.ts'
import { createPublicUrls, type PublicUrlOptions } from '../../../runtime/request/public-url.ts'

interface Case {
  variables: EnvironmentVariables
  url: string
  headers?: Record<string, string>
  options?: Omit<PublicUrlOptions, 'environment'>
  name?: string | undefined
}

function resolve({ variables, url, headers = {}, options = {}, ...rest }: Case) {
  const environment = resolveEnvironment(variables)
  const name = 'name' in rest ? rest.name : 'mcp'
  return createPublicUrls({ environment, ...options })(new Request(url, { headers }), name)
}

const hosted = { SUPABASE_URL: 'https://ref.supabase.co' }
const container = { SUPABASE_URL: 'http://kong:8000' }

describe('the address of this endpoint', () => {
  it.each<[label: string, given: Case, resource: string]>([
    [
      'the project, on the hosted platform',
      { variables: hosted, url: 'http://edge-runtime/mcp' },
      'https://ref.supabase.co/functions/v1/mcp',
    ],
    [
      'the name it was deployed under',
      { variables: hosted, url: 'http://x/tools', name: 'tools' },
      'https://ref.supabase.co/functions/v1/tools',
    ],
    [
      'the slug, where the platform tells it',
      { variables: { ...hosted, SUPABASE_FUNCTION_SLUG: 'tools' }, url: 'http://x/', name: undefined },
      'https://ref.supabase.co/functions/v1/tools',
    ],
    [
      'the public address of a self-hosted stack',
      { variables: { ...container, SUPABASE_PUBLIC_URL: 'https://db.example/' }, url: 'http://x/mcp' },
      'https://db.example/functions/v1/mcp',
    ],
    [
      'the configured URL, normalized',
      {
        variables: { ...hosted, CHUMBO_PUBLIC_URL: 'HTTPS://MCP.Example:443/Api/mcp/' },
        url: 'http://x/mcp',
      },
      'https://mcp.example/Api/mcp',
    ],
    [
      'the option before the variable',
      {
        variables: { ...hosted, CHUMBO_PUBLIC_URL: 'https://a.example/mcp' },
        url: 'http://x/mcp',
        options: { resourceUrl: new URL('https://b.example/mcp') },
      },
      'https://b.example/mcp',
    ],
    [
      'the loopback host of a local stack',
      { variables: container, url: 'http://edge_runtime:8081/mcp', headers: { host: '127.0.0.1:54321' } },
      'http://127.0.0.1:54321/functions/v1/mcp',
    ],
    [
      'the host as the user spelled it',
      { variables: container, url: 'http://LOCALHOST:54321/mcp' },
      'http://localhost:54321/functions/v1/mcp',
    ],
    [
      'the forwarded host and port',
      {
        variables: container,
        url: 'http://edge_runtime:8081/mcp',
        headers: { 'x-forwarded-host': '127.0.0.1', 'x-forwarded-port': '54321' },
      },
      'http://127.0.0.1:54321/functions/v1/mcp',
    ],
    [
      'the first of several forwarded hosts',
      {
        variables: container,
        url: 'http://edge_runtime:8081/mcp',
        headers: { 'x-forwarded-host': 'localhost:54321, kong:8000', 'x-forwarded-proto': 'https, http' },
      },
      'https://localhost:54321/functions/v1/mcp',
    ],
    [
      'IPv6 loopback',
      { variables: container, url: 'http://[::1]:54321/mcp' },
      'http://[::1]:54321/functions/v1/mcp',
    ],
    [
      'a bare development server',
      { variables: container, url: 'http://127.0.0.1:9000/', name: undefined },
      'http://127.0.0.1:9000',
    ],
  ])('is %s', (_label, given, resource) => {
    const urls = resolve(given)

    expect(urls.resource).toBe(resource)
    expect(urls.metadata).toBe(`${resource}/oauth-protected-resource`)
  })

  it.each([
    ['Host', { host: 'evil.example' }],
    ['X-Forwarded-Host', { 'x-forwarded-host': 'evil.example' }],
    ['a host that starts like loopback', { host: '127.0.0.1.evil.example' }],
    ['a host that ends like loopback', { host: 'evil.example#.localhost' }],
    ['credentials before the host', { host: '127.0.0.1@evil.example' }],
    ['a path behind the host', { host: 'localhost/evil' }],
    ['a forwarded scheme', { 'x-forwarded-proto': 'javascript' }],
  ])('never reflects what a caller put into %s', (_label, headers) => {
    const request = { url: 'http://127.0.0.1:54321/mcp', headers: headers as Record<string, string> }

    const inside = resolve({ variables: container, ...request })
    const outside = resolve({ variables: hosted, ...request })

    expect(inside.resource).toBe('http://127.0.0.1:54321/functions/v1/mcp')
    expect(outside.resource).toBe('https://ref.supabase.co/functions/v1/mcp')
  })

  it.each([
    ['an internal project and a foreign host', { variables: container, url: 'http://evil.example/mcp' }],
    ['an internal project and an internal host', { variables: container, url: 'http://kong:8000/mcp' }],
    ['no name and no local address', { variables: hosted, url: 'http://x/', name: undefined }],
  ])('is an error of the configuration when there is %s', (_label, given) => {
    expect(() => resolve(given)).toThrow(
      expect.objectContaining({
        code: 'server_misconfigured',
        hint: expect.stringContaining('CHUMBO_PUBLIC_URL') as string,
      }),
    )
  })

  it.each([
    'not a url',
    'ftp://mcp.example/mcp',
    'http://mcp.example/mcp',
    'https://mcp.example/mcp?x=1',
    'https://mcp.example/mcp#x',
    'https://user:secret@mcp.example/mcp',
  ])('cannot be configured as %s', (resourceUrl) => {
    expect(() => createPublicUrls({ environment: resolveEnvironment(hosted), resourceUrl })).toThrow(
      expect.objectContaining({
        code: 'server_misconfigured',
        message: expect.not.stringContaining(resourceUrl) as string,
      }),
    )
  })
})

describe('the issuer', () => {
  it.each<[label: string, given: Case, issuer: string, accepted?: string[]]>([
    ['the project', { variables: hosted, url: 'http://x/mcp' }, 'https://ref.supabase.co/auth/v1'],
    [
      'the public address before the internal one',
      { variables: { ...container, SUPABASE_PUBLIC_URL: 'https://db.example' }, url: 'http://127.0.0.1/mcp' },
      'https://db.example/auth/v1',
    ],
    [
      'the option, exactly as spelled',
      { variables: hosted, url: 'http://x/mcp', options: { issuer: 'https://login.example/' } },
      'https://login.example/',
    ],
    [
      'the option alone, also on loopback',
      { variables: hosted, url: 'http://x/mcp', options: { issuer: 'http://127.0.0.1:9999/auth/v1' } },
      'http://127.0.0.1:9999/auth/v1',
    ],
    [
      'the project, when only the endpoint lives elsewhere',
      { variables: hosted, url: 'http://x/mcp', options: { resourceUrl: 'https://app.example/api/mcp' } },
      'https://ref.supabase.co/auth/v1',
    ],
    [
      'the gateway in front of the configured endpoint',
      {
        variables: { ...container, CHUMBO_PUBLIC_URL: 'https://db.example/functions/v1/mcp' },
        url: 'http://kong:8000/mcp',
      },
      'https://db.example/auth/v1',
    ],
    [
      'the loopback address of a local stack',
      { variables: container, url: 'http://127.0.0.1:54321/mcp' },
      'http://127.0.0.1:54321/auth/v1',
      ['http://127.0.0.1:54321/auth/v1', 'http://localhost:54321/auth/v1'],
    ],
    [
      'the one spelling a local stack uses',
      { variables: container, url: 'http://localhost:54321/mcp' },
      'http://127.0.0.1:54321/auth/v1',
      ['http://127.0.0.1:54321/auth/v1', 'http://localhost:54321/auth/v1'],
    ],
    [
      'a configured loopback address as it is',
      { variables: { SUPABASE_URL: 'http://localhost:54321' }, url: 'http://x/mcp' },
      'http://localhost:54321/auth/v1',
      ['http://localhost:54321/auth/v1', 'http://127.0.0.1:54321/auth/v1'],
    ],
  ])('is %s', (_label, given, issuer, accepted = [issuer]) => {
    const urls = resolve(given)

    expect(urls.issuer).toBe(issuer)
    expect(urls.acceptedIssuers).toEqual(accepted)
  })

  it.each(['nonsense', 'http://login.example', 'https://login.example?x=1'])(
    'cannot be configured as %s',
    (issuer) => {
      expect(() => createPublicUrls({ environment: resolveEnvironment(hosted), issuer })).toThrow(
        expect.objectContaining({ code: 'server_misconfigured' }),
      )
    },
  )

  it('is never guessed from a configured endpoint outside the project gateway', () => {
    const options = { resourceUrl: 'https://app.example/api/mcp' }

    expect(() => resolve({ variables: container, url: 'http://kong:8000/mcp', options })).toThrow('not known')
  })
})

it('no address names a host inside a container network', () => {
  const headers = { host: '127.0.0.1:54321', 'x-forwarded-host': 'kong:8000' }

  const urls = resolve({ variables: container, url: 'http://kong:8000/mcp', headers })

  expect(JSON.stringify(urls)).not.toContain('kong')
})
