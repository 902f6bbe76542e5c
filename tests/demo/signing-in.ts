// tests/demo/signing-in.ts — from a bare URL to an access token, with nothing configured in the client.
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client'

import { approve, connect, Wallet } from '../support/sign-in.ts'
import type { Cast } from './cast.ts'
import { expect, same, type Check } from './checks.ts'

export function signingIn({ stack, sql, alice, connections }: Cast): Check[] {
  const wallet = new Wallet('Demo client')
  const client = new Client(
    { name: 'demo', version: '1.0.0' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  const transport = new StreamableHTTPClientTransport(new URL(stack.mcpUrl), { authProvider: wallet })
  let metadataUrl = ''
  let callback = new URLSearchParams()

  return [
    {
      id: 'unauthenticated-401-challenge',
      title: 'A client that knows only the URL is told where to sign in',
      async run() {
        const answer = await fetch(stack.mcpUrl, {
          method: 'POST',
          headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
        })
        const challenge = answer.headers.get('www-authenticate') ?? ''
        metadataUrl = /resource_metadata="([^"]+)"/.exec(challenge)?.[1] ?? ''
        same(answer.status, 401, 'status')
        expect(metadataUrl.startsWith(`${stack.mcpUrl}/`), `the challenge was: ${challenge}`)
        return `401 with ${challenge}`
      },
    },
    {
      id: 'metadata-chain',
      title: 'The chain of documents leads to the authorization server',
      async run() {
        const resource = await readJson(metadataUrl)
        same(resource['resource'], stack.mcpUrl, 'resource')
        const [issuer] = resource['authorization_servers'] as string[]
        const { origin, pathname } = new URL(issuer ?? '')
        const server = await readJson(`${origin}/.well-known/oauth-authorization-server${pathname}`)
        same(server['issuer'], issuer, 'issuer')
        same(server['code_challenge_methods_supported'], ['S256', 'plain'], 'PKCE methods')
        return `resource ${stack.mcpUrl} → issuer ${issuer}`
      },
    },
    {
      id: 'dynamic-registration',
      title: 'The client registers itself and asks to have Alice sign in',
      async run() {
        const refusal = await client.connect(transport).catch((error: unknown) => error)
        expect(refusal instanceof UnauthorizedError, `connecting without a token gave: ${String(refusal)}`)
        const rows = await sql`select client_name from auth.oauth_clients where id = ${wallet.clientId}::uuid`
        same(
          rows.map((row) => String(row['client_name'])),
          ['Demo client'],
          'registered clients',
        )
        return `registered as ${wallet.clientId}`
      },
    },
    {
      id: 'consent-approved',
      title: 'Alice signs in and approves',
      async run() {
        expect(wallet.authorizationUrl !== undefined, 'the client asked nobody to sign in')
        callback = await approve(stack, alice, wallet.authorizationUrl)
        const rows = await sql`
          select count(*)::integer as consents from auth.oauth_consents
          where user_id = ${alice.id}::uuid and client_id = ${wallet.clientId}::uuid and revoked_at is null`
        same(rows[0]?.['consents'], 1, 'consents')
        expect(callback.get('code') !== null, 'no code came back')
        return 'one consent of Alice for this client'
      },
    },
    {
      id: 'pkce-token',
      title: 'The code becomes a token, once, and only with the verifier',
      async run() {
        await transport.finishAuth(callback)
        const claims = readClaims(wallet.accessToken)
        same([claims['sub'], claims['client_id']], [alice.id, wallet.clientId], 'claims')
        const replay = await fetch(`${stack.origin}/auth/v1/oauth/token`, {
          method: 'POST',
          body: new URLSearchParams({
            grant_type: 'authorization_code',
            code: callback.get('code') ?? '',
            client_id: wallet.clientId,
            redirect_uri: wallet.redirectUrl,
            code_verifier: wallet.codeVerifier(),
          }),
        })
        same(replay.status, 400, 'status of the replayed code')
        connections.set('alice', await connect(stack, wallet))
        return `token of ${alice.email} for this client; the code does not work twice`
      },
    },
  ]
}

async function readJson(url: string): Promise<Record<string, unknown>> {
  const answer = await fetch(url)
  same(answer.status, 200, `status of ${url}`)
  return (await answer.json()) as Record<string, unknown>
}

/** The payload, unverified: the story only looks at it. */
export function readClaims(token: string): Record<string, unknown> {
  const payload = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')
  return JSON.parse(payload) as Record<string, unknown>
}
