// runtime/request/metadata.ts — the RFC 9728 document that leads a client from this endpoint to its issuer.

import { buildOAuthProtectedResourceMetadata } from '@modelcontextprotocol/server'

import { isLoopback } from '../environment.ts'
import { refusal } from '../errors.ts'
import type { PublicUrls } from './public-url.ts'

/** What the document says beside the addresses. */
export interface MetadataOptions {
  readonly urls: Pick<PublicUrls, 'resource' | 'issuer'>
  /**
   * Scopes to advertise. Leave it out unless the authorization server lists every one of them: clients ask for all
   * they are shown, and one it does not know fails the whole sign-in.
   */
  readonly scopes?: readonly string[] | undefined
  /** A name for people. */
  readonly resourceName?: string | undefined
  readonly documentationUrl?: string | undefined
}

/**
 * Answers a request for the metadata document. It is public: no token is asked for.
 *
 * @throws {ChumboError} `method_not_allowed` for anything but GET and HEAD; preflights are answered before.
 */
export function metadataResponse(request: Request, options: MetadataOptions): Response {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    throw refusal('method_not_allowed', { headers: { Allow: 'GET, HEAD, OPTIONS' } })
  }
  const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'public, max-age=300' }
  return new Response(request.method === 'HEAD' ? null : JSON.stringify(metadataDocument(options)), {
    headers,
  })
}

function metadataDocument({ urls, scopes, resourceName, documentationUrl }: MetadataOptions): object {
  const document = buildOAuthProtectedResourceMetadata({
    // The builder reads only the issuer; the endpoints complete the type and are where Supabase Auth has them.
    oauthMetadata: {
      issuer: urls.issuer,
      authorization_endpoint: `${urls.issuer}/oauth/authorize`,
      token_endpoint: `${urls.issuer}/oauth/token`,
      response_types_supported: ['code'],
    },
    resourceServerUrl: new URL(urls.resource),
    ...(scopes === undefined ? {} : { scopesSupported: [...scopes] }),
    ...(resourceName === undefined ? {} : { resourceName }),
    ...(documentationUrl === undefined ? {} : { serviceDocumentationUrl: new URL(documentationUrl) }),
    // The SDK wants https and knows two spellings of loopback; there are more.
    dangerouslyAllowInsecureIssuerUrl: isLoopback(new URL(urls.issuer).hostname),
  })
  // The identifier is compared as a string, and URL.href would put a slash behind a bare origin.
  return { ...document, resource: urls.resource, bearer_methods_supported: ['header'] }
}
