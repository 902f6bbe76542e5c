// tests/demo/lifecycle.ts — older clients, refreshed tokens, revoked clients, and tokens that are no good.
import { setTimeout as sleep } from 'node:timers/promises'

import { connect, passwordSession, signIn, type Connection } from '../support/sign-in.ts'
import type { Cast } from './cast.ts'
import { expect, same, type Check } from './checks.ts'
import { readClaims } from './signing-in.ts'

export function lifecycle({ stack, alice, bob, connections, call, note }: Cast): Check[] {
  const of = (name: string): Connection => {
    const connection = connections.get(name)
    expect(connection !== undefined, `${name} is not connected`)
    return connection
  }

  /** One raw call, past the client's own handling of a refusal. */
  async function rawCall(token: string): Promise<Response> {
    return fetch(stack.mcpUrl, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'list_snippets', arguments: { limit: 1 } },
      }),
    })
  }

  return [
    {
      id: 'legacy-client',
      title: 'A client of the 2025 revisions works at the same URL',
      async run() {
        const legacy = await connect(stack, of('alice').wallet, 'legacy')
        connections.set('alice-legacy', legacy)
        const { tools } = await legacy.client.listTools()
        const modern = await of('alice').client.listTools()
        same(
          tools.map((tool) => tool.name),
          modern.tools.map((tool) => tool.name),
          'tools',
        )
        same((await call(alice, legacy, 'list_workspaces')).outcome, 'ok', 'outcome of a call')
        return `${tools.length} tools, the same as for the 2026-07-28 client`
      },
    },
    {
      id: 'refresh-without-new-login',
      title: 'A token that is no longer accepted is refreshed without asking Alice',
      async run() {
        const { wallet } = of('alice')
        const before = { token: wallet.accessToken, redirects: wallet.redirects }
        const tokens = wallet.tokens()
        expect(tokens !== undefined, 'there are no tokens')
        wallet.saveTokens({ ...tokens, access_token: `${before.token.slice(0, -8)}AAAAAAAA` })
        same((await call(alice, of('alice'), 'list_workspaces')).outcome, 'ok', 'outcome after the refresh')
        same(wallet.redirects, before.redirects, 'sign-ins')
        expect(wallet.accessToken !== before.token, 'the token was not replaced')
        return 'a new token, no new sign-in'
      },
    },
    {
      id: 'client-revoked-before-exp',
      title: 'Alice cuts one client off; its unexpired token stops working at once',
      async run() {
        const other = await signIn(stack, alice, { name: 'Client to be revoked' })
        connections.set('alice-revoked', other)
        same((await call(alice, other, 'list_workspaces')).outcome, 'ok', 'outcome before')

        const token = other.wallet.accessToken
        const session = await passwordSession(stack, alice)
        const revoked = await fetch(
          `${stack.origin}/auth/v1/user/oauth/grants?client_id=${other.wallet.clientId}`,
          {
            method: 'DELETE',
            headers: { apikey: stack.publishableKey, authorization: `Bearer ${session.access_token}` },
          },
        )
        same(revoked.status, 204, 'status of the revocation')

        const revokedAt = performance.now()
        let status = 200
        while (status === 200 && performance.now() - revokedAt < 1_000) {
          const answer = await rawCall(token)
          status = answer.status
          note(alice, status === 200 ? 'ok' : 'refused')
          if (status === 200) await sleep(50)
        }
        const after = Math.round(performance.now() - revokedAt)
        same(status, 401, 'status after the revocation')
        const left = Number(readClaims(token)['exp']) - Math.floor(Date.now() / 1000)
        expect(left > 60, `the token would have expired in ${left} s anyway`)
        same((await call(alice, of('alice'), 'list_workspaces')).outcome, 'ok', "Alice's other client")
        same((await call(bob, of('bob'), 'list_workspaces')).outcome, 'ok', "Bob's client")
        return `refused after ${after} ms, ${left} s before the token expires; other clients go on`
      },
    },
    {
      id: 'invalid-token-401',
      title: 'A forged token gets a challenge and not an error',
      async run() {
        const { accessToken } = of('alice').wallet
        const tampered = `${accessToken.slice(0, -4)}${accessToken.endsWith('AAAA') ? 'BBBB' : 'AAAA'}`
        for (const token of [tampered, stack.publishableKey, 'not-a-token']) {
          const answer = await rawCall(token)
          same(answer.status, 401, 'status')
          const challenge = answer.headers.get('www-authenticate') ?? ''
          expect(
            /error="invalid_token"/.test(challenge) && /resource_metadata=/.test(challenge),
            `challenge: ${challenge}`,
          )
        }
        return 'flipped signature, project key, nonsense: 401 invalid_token each'
      },
    },
  ]
}
