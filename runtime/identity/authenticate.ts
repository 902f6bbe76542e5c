// runtime/identity/authenticate.ts — takes the one credential out of a request and asks the one strategy about it.

import type { Environment } from '../environment.ts'
import { ChumboError } from '../errors.ts'
import { tokenRefused, tokenRequired } from '../request/challenge.ts'
import type { PublicUrls } from '../request/public-url.ts'
import { createBearerStrategy, type BearerOptions } from './bearer.ts'
import { describeCredential, type CredentialKind } from './describe-credential.ts'
import { createOAuthStrategy, type OAuthOptions } from './oauth.ts'
import type { Identity } from './principal.ts'
import type { Strategy } from './strategy.ts'
import { createUserTokenVerifier } from './user-token.ts'

/** How an endpoint authenticates. */
export type AuthOptions = OAuthOptions | BearerOptions

/** What the log learns; never a token, a key or a claim. */
export type AuthenticationEvent =
  | { readonly type: 'first_party_sessions_allowed' }
  | {
      readonly type: 'credential_refused'
      readonly credential: CredentialKind | 'none'
      readonly reason: string
    }
  | { readonly type: 'auth_unavailable'; readonly reason: string }

/** What an authenticator is made of. */
export interface AuthenticatorOptions {
  readonly auth: AuthOptions
  readonly environment: Environment
  readonly log?: (event: AuthenticationEvent) => void
}

/** The addresses a challenge and the issuer check need. */
export type AuthenticationUrls = Pick<PublicUrls, 'metadata' | 'acceptedIssuers'>

/** Verifies the caller of one request. */
export interface Authenticator {
  /** The challenge of this endpoint has a metadata document to point to. */
  readonly hasDiscovery: boolean
  /**
   * The verified caller.
   *
   * @throws {ChumboError} `invalid_token` with its challenge, or `auth_unavailable` when tokens cannot be verified.
   */
  readonly authenticate: (request: Request, urls: AuthenticationUrls) => Promise<Identity>
}

/**
 * Builds the authenticator of an endpoint. Only the `Authorization` header is read: an `apikey` header, a query
 * parameter or a cookie neither adds to a request nor takes from it.
 *
 * @example
 * ```ts
 * const { authenticate } = createAuthenticator({ auth: { mode: 'oauth' }, environment })
 * const identity = await authenticate(request, resolveUrls(request, 'mcp'))
 * ```
 */
export function createAuthenticator({
  auth,
  environment,
  log = () => {},
}: AuthenticatorOptions): Authenticator {
  const strategy = createStrategy(auth, environment)
  if (auth.mode === 'oauth' && auth.allowFirstPartySessions === true)
    log({ type: 'first_party_sessions_allowed' })

  return {
    hasDiscovery: strategy.hasDiscovery,
    async authenticate(request, { metadata, acceptedIssuers }) {
      const challenge = { metadataUrl: strategy.hasDiscovery ? metadata : undefined }
      const sent = readBearer(request.headers.get('authorization'))
      if (sent.kind === 'none') {
        log({ type: 'credential_refused', credential: 'none', reason: sent.reason })
        throw tokenRequired(challenge)
      }
      if (sent.kind === 'malformed') {
        log({
          type: 'credential_refused',
          credential: 'malformed',
          reason: 'The Authorization header is malformed.',
        })
        throw tokenRefused(challenge)
      }

      const verdict = await verify(strategy, sent.token, { issuers: acceptedIssuers, log })
      if (!verdict.ok) {
        log({
          type: 'credential_refused',
          credential: describeCredential(sent.token),
          reason: verdict.reason,
        })
        throw tokenRefused(challenge)
      }
      return verdict.found
    },
  }
}

function createStrategy(auth: AuthOptions, environment: Environment): Strategy {
  const verifyUserToken = createUserTokenVerifier(environment)
  switch (auth.mode) {
    case 'oauth':
      return createOAuthStrategy(auth, verifyUserToken)
    case 'bearer':
      return createBearerStrategy(verifyUserToken)
  }
}

interface VerifyContext {
  readonly issuers: readonly string[]
  readonly log: (event: AuthenticationEvent) => void
}

/** An outage is logged here, since only the log may learn what failed. */
async function verify(
  strategy: Strategy,
  token: string,
  { issuers, log }: VerifyContext,
): ReturnType<Strategy['authenticate']> {
  try {
    return await strategy.authenticate(token, { issuers })
  } catch (error) {
    if (error instanceof ChumboError && error.code === 'auth_unavailable') {
      const { cause } = error
      log({ type: 'auth_unavailable', reason: cause instanceof Error ? cause.message : error.message })
    }
    throw error
  }
}

type Sent =
  | { readonly kind: 'none'; readonly reason: string }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'token'; readonly token: string }

/** No access token of Supabase Auth comes near this; it bounds what a stranger can have us decode. */
const longestToken = 16_384

/** Reads the header by RFC 6750. Two credentials in one header are refused rather than one of them being picked. */
function readBearer(header: string | null): Sent {
  if (header === null || header === '') return { kind: 'none', reason: 'No Authorization header was sent.' }
  const [, scheme = '', token = ''] = /^(\S+) *(.*)$/.exec(header) ?? []
  // RFC 6750 §3.1: another scheme is as if nothing had been sent.
  if (scheme.toLowerCase() !== 'bearer')
    return { kind: 'none', reason: 'The Authorization header is not a Bearer one.' }
  if (token.length > longestToken || !/^[A-Za-z0-9\-._~+/]+=*$/.test(token)) return { kind: 'malformed' }
  return { kind: 'token', token }
}
