// cli/stack/auth/discovery.ts — both metadata documents and the key set.

import type { JWK } from 'jose'

import { json, type StackResponse } from '../http.ts'
import { SCOPES } from './context.ts'

const CACHE = { 'cache-control': 'public, max-age=600' }

/** The one document that serves as OpenID configuration and as RFC 8414 metadata. */
export function discoveryDocument(issuer: string): Record<string, unknown> {
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    userinfo_endpoint: `${issuer}/oauth/userinfo`,
    registration_endpoint: `${issuer}/oauth/clients/register`,
    scopes_supported: [...SCOPES],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    subject_types_supported: ['public'],
    // A constant of the real service, not a statement about its key.
    id_token_signing_alg_values_supported: ['RS256', 'HS256', 'ES256'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
    code_challenge_methods_supported: ['S256', 'plain'],
    claims_supported: [
      ...['sub', 'aud', 'iss', 'exp', 'iat', 'auth_time', 'nonce', 'email', 'email_verified'],
      ...['phone_number', 'phone_number_verified', 'name', 'picture', 'preferred_username', 'updated_at'],
    ],
  }
}

/** Answers both metadata addresses. */
export function discovery(issuer: string): StackResponse {
  return json(200, discoveryDocument(issuer), CACHE)
}

/** Answers the JWKS address. */
export function keySet(key: JWK): StackResponse {
  return json(200, { keys: [key] }, CACHE)
}
