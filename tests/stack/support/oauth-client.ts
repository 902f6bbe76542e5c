// tests/stack/support/oauth-client.ts — an MCP client's memory, and the person who approves at the sign-in page.
import type {
  OAuthClientProvider,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client'

export const REDIRECT_URI = 'http://127.0.0.1:33418/callback'

/** A provider for the official client's `auth()` that keeps everything in memory. */
export class MemoryProvider implements OAuthClientProvider {
  readonly redirectUrl = REDIRECT_URI
  readonly clientMetadata = {
    client_name: 'Test client',
    redirect_uris: [REDIRECT_URI],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
  }
  client: StoredOAuthClientInformation | undefined
  stored: StoredOAuthTokens | undefined
  authorizationUrl: URL | undefined
  #verifier = ''

  state() {
    return 'a-state'
  }
  clientInformation() {
    return this.client
  }
  saveClientInformation(client: StoredOAuthClientInformation) {
    this.client = client
  }
  tokens() {
    return this.stored
  }
  saveTokens(tokens: StoredOAuthTokens) {
    this.stored = tokens
  }
  redirectToAuthorization(url: URL) {
    this.authorizationUrl = url
  }
  saveCodeVerifier(verifier: string) {
    this.#verifier = verifier
  }
  codeVerifier() {
    return this.#verifier
  }
}

/** Follows the authorization address to the consent page and returns the id it carries. */
export async function openAuthorization(url: URL): Promise<string> {
  const response = await fetch(url, { redirect: 'manual' })
  const location = new URL(response.headers.get('location') ?? '')
  return location.searchParams.get('authorization_id') ?? ''
}
