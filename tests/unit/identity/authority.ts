// tests/unit/identity/authority.ts — an authorization server's key and the tokens it signs, real and forged.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { exportJWK, exportSPKI, generateKeyPair, SignJWT, type JWK, type JWTPayload } from 'jose'

import { resolveEnvironment, type Environment } from '../../../runtime/environment.ts'

export const issuer = 'https://project.example/auth/v1'
export const metadata = 'https://project.example/functions/v1/mcp/oauth-protected-resource'
export const urls = { metadata, acceptedIssuers: [issuer] }
export const alice = '11111111-1111-4111-8111-111111111111'

export interface Authority {
  readonly jwks: { readonly keys: JWK[] }
  readonly publicKeyPem: string
  /** A token with Alice's claims; a claim set to undefined is left out. */
  sign(claims?: Record<string, unknown>, header?: { alg?: string; kid?: string }): Promise<string>
}

export async function createAuthority(): Promise<Authority> {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'key-1', alg: 'ES256', use: 'sig' }] }
  return {
    jwks,
    publicKeyPem: await exportSPKI(publicKey),
    sign: (claims = {}, header = {}) =>
      new SignJWT(claimsOf(claims))
        .setProtectedHeader({ alg: 'ES256', kid: 'key-1', ...header })
        .sign(privateKey),
  }
}

/** The claims Supabase Auth writes into the token of an OAuth client. */
export function claimsOf(changes: Record<string, unknown>): JWTPayload {
  const now = Math.floor(Date.now() / 1000)
  const claims = {
    iss: issuer,
    sub: alice,
    aud: 'authenticated',
    exp: now + 3600,
    iat: now,
    role: 'authenticated',
    email: 'alice@example.test',
    client_id: 'client-1',
    scope: 'openid email',
    session_id: 'session-1',
    ...changes,
  }
  return JSON.parse(JSON.stringify(claims)) as JWTPayload // drops what is undefined
}

/** Swaps parts of a token without signing it again. */
export function tamper(
  token: string,
  { header, payload, signature }: { header?: object; payload?: object; signature?: string },
) {
  const [oldHeader, oldPayload, oldSignature] = token.split('.')
  return [
    header ? base64(header) : oldHeader,
    payload ? base64(payload) : oldPayload,
    signature ?? oldSignature,
  ].join('.')
}

export function base64(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

export function environmentWith(jwks: unknown): Environment {
  return resolveEnvironment({ SUPABASE_URL: 'https://project.example', SUPABASE_JWKS: JSON.stringify(jwks) })
}

/** Serves one answer on a free loopback port, as the key set URL of an environment. */
export async function serveKeySet(status: number, body: string) {
  const server = createServer((_request, response) => response.writeHead(status).end(body))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // listening on TCP, so it is not a path
  return {
    environment: resolveEnvironment({
      SUPABASE_URL: 'https://project.example',
      SUPABASE_JWKS_URL: `http://127.0.0.1:${port}/jwks.json`,
    }),
    close: () => new Promise((resolve) => server.close(resolve)),
  }
}

export function requestWith(headers: Record<string, string>): Request {
  return new Request('https://project.example/mcp', { method: 'POST', headers })
}
