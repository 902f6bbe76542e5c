// tests/edge/app.test.ts — the runtime under the Deno of an Edge Function, with the permissions one needs and no more.
import assert from 'node:assert/strict'

import { exportJWK, generateKeyPair, SignJWT } from 'jose'

import { createSupabaseMcp } from '../../runtime/index.ts'
import { serve } from '../../runtime/hosts/deno.ts'

const permissions: Deno.TestDefinition['permissions'] = {
  env: ['SUPABASE_*', 'CHUMBO_*', 'PG*'],
  net: ['127.0.0.1'],
  read: false,
  write: false,
  run: false,
}

interface Project {
  readonly resource: string
  sign(): Promise<string>
}

/** Sets the variables the platform sets, for a project whose database answers `respond`, and takes them back. */
async function withProject(
  respond: (request: Request) => Response | Promise<Response>,
  use: (project: Project) => Promise<void>,
): Promise<void> {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const listener = Deno.serve({ port: 0, hostname: '127.0.0.1', onListen: () => {} }, respond)
  const origin = `http://127.0.0.1:${listener.addr.port}`
  const variables = {
    SUPABASE_URL: origin,
    SUPABASE_PUBLISHABLE_KEYS: JSON.stringify({ default: 'sb_publishable_x' }),
    SUPABASE_SECRET_KEYS: JSON.stringify({ default: 'sb_secret_x' }),
    SUPABASE_JWKS: JSON.stringify({
      keys: [{ ...(await exportJWK(publicKey)), kid: 'key-1', alg: 'ES256' }],
    }),
    SUPABASE_FUNCTION_SLUG: 'mcp',
  }
  for (const [name, value] of Object.entries(variables)) Deno.env.set(name, value)

  try {
    await use({
      resource: `${origin}/functions/v1/mcp`,
      sign: () =>
        new SignJWT({ role: 'authenticated', client_id: 'client-1', session_id: crypto.randomUUID() })
          .setProtectedHeader({ alg: 'ES256', kid: 'key-1' })
          .setIssuer(`${origin}/auth/v1`)
          .setAudience('authenticated')
          .setSubject(crypto.randomUUID())
          .setIssuedAt()
          .setExpirationTime('1h')
          .sign(privateKey),
    })
  } finally {
    for (const name of Object.keys(variables)) Deno.env.delete(name)
    await listener.shutdown()
  }
}

const unreached = () => {
  throw new Error('Nothing here may reach the database.')
}

const options = { server: { name: 'edge', version: '1.0.0' }, onError: () => {} }

const listTools = (token?: string) =>
  new Request('http://edge/mcp', {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
  })

Deno.test('a request without a token is challenged to sign in', { permissions }, () =>
  withProject(unreached, async ({ resource }) => {
    const app = createSupabaseMcp(options)

    const response = await app.fetch(listTools())

    assert.equal(response.status, 401)
    assert.match(
      response.headers.get('WWW-Authenticate') ?? '',
      new RegExp(`resource_metadata="${resource}/oauth-protected-resource"`),
    )
    await response.body?.cancel()
    await app.close()
  }),
)

Deno.test('the metadata names the resource and its authorization server', { permissions }, () =>
  withProject(unreached, async ({ resource }) => {
    const app = createSupabaseMcp(options)

    const response = await app.fetch(new Request('http://edge/mcp/oauth-protected-resource'))

    assert.equal(response.status, 200)
    const document = await response.json()
    assert.equal(document.resource, resource)
    assert.deepEqual(document.authorization_servers, [resource.replace('/functions/v1/mcp', '/auth/v1')])
    await app.close()
  }),
)

Deno.test('a token of another key is refused before the database is asked', { permissions }, () =>
  withProject(unreached, async ({ sign }) => {
    const app = createSupabaseMcp(options)
    const token = await sign()
    const forged = token.replace(/\.[^.]*$/, `.${'A'.repeat(86)}`)

    const response = await app.fetch(listTools(forged))

    assert.equal(response.status, 401)
    await response.body?.cancel()
    await app.close()
  }),
)

Deno.test('a database that fails is told as an outage and not as a bad token', { permissions }, () =>
  withProject(
    () => Response.json({ code: 'PGRST000', message: 'Could not connect.' }, { status: 503 }),
    async ({ sign }) => {
      const app = createSupabaseMcp(options)

      const response = await app.fetch(listTools(await sign()))

      assert.equal(response.status, 503)
      assert.match(response.headers.get('Retry-After') ?? '', /^\d+$/)
      assert.match(await response.text(), /database_unavailable/)
      await app.close()
    },
  ),
)

Deno.test('a missing variable is named when the endpoint is built', { permissions }, () => {
  assert.throws(() => createSupabaseMcp(options), /SUPABASE_URL/)
})

Deno.test('the endpoint serves over HTTP under plain Deno', { permissions }, () =>
  withProject(unreached, async () => {
    const probe = Deno.listen({ port: 0, hostname: '127.0.0.1' })
    const { port } = probe.addr
    probe.close()

    const server = serve(createSupabaseMcp(options), { port, hostname: '127.0.0.1' })
    const response = await fetch(`http://127.0.0.1:${port}/mcp`, { method: 'DELETE' })

    assert.equal(response.status, 405)
    await response.body?.cancel()
    await server.close()
  }),
)
