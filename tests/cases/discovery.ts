// tests/cases/discovery.ts — A: discovery, metadata and routing under /functions/v1.
import { expect, same, type Case, type Stage } from './case.ts'

const hello = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 't', version: '0' },
}

function challengeOf(headers: Headers): string {
  return headers.get('www-authenticate') ?? ''
}

async function metadataUrl({ rpc }: Stage): Promise<string> {
  const { headers } = await rpc('initialize', hello, { token: null })
  return /resource_metadata="([^"]+)"/.exec(challengeOf(headers))?.[1] ?? ''
}

async function readJson(url: string): Promise<Record<string, unknown>> {
  const response = await fetch(url)
  same(response.status, 200, `status of ${url}`)
  return (await response.json()) as Record<string, unknown>
}

export const discovery: readonly Case[] = [
  {
    id: 'D01',
    title: 'the first request without a token is told where to sign in',
    async run(stage) {
      for (const method of ['initialize', 'server/discover']) {
        const { status, headers } = await stage.rpc(method, hello, { token: null })
        same(status, 401, `status of ${method}`)
        const challenge = challengeOf(headers)
        same(challenge.match(/Bearer/g)?.length, 1, 'challenges')
        expect(
          challenge.includes(`resource_metadata="${stage.stack.mcpUrl}/`),
          `the challenge was ${challenge}`,
        )
      }
      const document = await readJson(await metadataUrl(stage))
      expect('resource' in document && 'authorization_servers' in document, JSON.stringify(document))
    },
  },
  {
    id: 'D02',
    title: 'the resource is the URL the user typed, in every spelling',
    async run(stage) {
      const { origin, mcpUrl } = stage.stack
      const url = await metadataUrl(stage)
      const path = new URL(url).pathname
      for (const spelling of [
        url,
        url.replace(mcpUrl, `${mcpUrl}/`),
        `${origin.toUpperCase().replace('HTTP', 'http')}${path}`,
      ]) {
        same((await readJson(spelling))['resource'], mcpUrl, `resource at ${spelling}`)
      }
      const { status } = await stage.rpc('tools/list', {}, { url: `${mcpUrl}/` })
      same(status, 200, 'status with a trailing slash')
    },
  },
  {
    id: 'D03',
    title: 'the advertised authorization server is the issuer, path included',
    async run(stage) {
      const document = await readJson(await metadataUrl(stage))
      const [issuer = ''] = document['authorization_servers'] as string[]
      const { origin, pathname } = new URL(issuer)
      same(issuer, `${stage.stack.origin}/auth/v1`, 'issuer')
      const server = await readJson(`${origin}/.well-known/oauth-authorization-server${pathname}`)
      same(server['issuer'], issuer, 'issuer of its own metadata')
    },
  },
  {
    id: 'D04',
    title: 'the function is found whatever it is called and whoever stripped its path',
    async run(stage) {
      const app = stage.serve({})
      for (const path of ['/mcp', '/mcp/', '/tools', '/']) {
        const { status } = await stage.rpc('tools/list', {}, { to: app, url: `http://x${path}` })
        same(status, 200, `status at ${path}`)
      }
      const { status, headers } = await stage.rpc(
        'tools/list',
        {},
        { to: app, url: 'http://x/mcp/nothing/here', token: null },
      )
      same([status, headers.get('content-type')?.split(';')[0]], [404, 'application/json'], 'an unknown path')
      const unknownServer = await stage.rpc(
        'tools/list',
        {},
        { url: `${stage.stack.mcpUrl}/nothing`, token: null },
      )
      same(unknownServer.status, 404, 'a server nobody registered')
      const metadata = await app(new Request('http://x/mcp/oauth-protected-resource'))
      same(metadata.status, 200, 'metadata at the function')
    },
  },
  {
    id: 'D05',
    title: 'an address of a container network never leaves the machine',
    async run(stage) {
      const app = stage.serve({
        env: {
          SUPABASE_URL: 'http://kong:8000',
          SUPABASE_PUBLISHABLE_KEYS: '{"default":"sb_publishable_x"}',
          SUPABASE_SECRET_KEYS: '{"default":"sb_secret_x"}',
          SUPABASE_JWKS: '{"keys":[]}',
        },
      })
      const host = '127.0.0.1:54321'
      for (const path of ['/mcp', '/mcp/oauth-protected-resource']) {
        const url = `http://${host}${path}`
        const response = await app(
          new Request(url, { method: path === '/mcp' ? 'POST' : 'GET', headers: { host } }),
        )
        const seen = `${JSON.stringify([...response.headers])} ${await response.text()}`
        expect(!seen.includes('kong'), seen)
        expect(seen.includes(host), `no address a client could reach in ${seen}`)
      }
    },
  },
]
