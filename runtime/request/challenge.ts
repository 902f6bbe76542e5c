// runtime/request/challenge.ts — the refusals that send a client to its authorization server.

import { bearerAuthChallengeResponse, OAuthError, OAuthErrorCode } from '@modelcontextprotocol/server'

import { errorRegistry, refusal, type ChumboError } from '../errors.ts'

/** What a challenge may tell beside the refusal itself. */
export interface ChallengeOptions extends ErrorOptions {
  /** Where discovery starts; absent for strategies that offer none. */
  readonly metadataUrl?: string | undefined
  /** The complete set of scopes to ask for. */
  readonly scopes?: readonly string[]
}

/**
 * 401 for a request that carried no token. RFC 6750 §3.1 wants no error code here, since nothing was wrong with
 * anything that was sent.
 */
export function tokenRequired(options: ChallengeOptions = {}): ChumboError {
  return challenge('invalid_token', { ...options, tokenSent: false })
}

/** 401 for a token that was sent and is not accepted. */
export function tokenRefused(options: ChallengeOptions = {}): ChumboError {
  return challenge('invalid_token', { ...options, tokenSent: true })
}

/** 401 for a token that verifies while the session behind it has ended. */
export function sessionRevoked(options: ChallengeOptions = {}): ChumboError {
  return challenge('session_revoked', { ...options, tokenSent: true })
}

type ChallengeSlug = 'invalid_token' | 'session_revoked'

function challenge(
  slug: ChallengeSlug,
  { metadataUrl, scopes = [], tokenSent, cause }: ChallengeOptions & { tokenSent: boolean },
): ChumboError {
  const answer = bearerAuthChallengeResponse(
    new OAuthError(OAuthErrorCode.InvalidToken, errorRegistry[slug].sentence),
    {
      requiredScopes: [...scopes],
      ...(metadataUrl === undefined ? {} : { resourceMetadataUrl: metadataUrl }),
    },
  )
  const header = answer.headers.get('www-authenticate') ?? 'Bearer'
  const headers = { 'WWW-Authenticate': tokenSent ? header : withoutError(header) }
  return refusal(slug, { headers, ...(cause === undefined ? {} : { cause }) })
}

/** Cuts the two error parameters the SDK always writes first; their quoted text may hold escaped quotes. */
function withoutError(header: string): string {
  return header.replace(/error="[^"]*", error_description="(?:[^"\\]|\\.)*"(?:, )?/, '').trim()
}
