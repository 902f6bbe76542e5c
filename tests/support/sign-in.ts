// tests/support/sign-in.ts — the unmodified MCP client, and a person who signs in and approves for it.
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client'
import type {
  OAuthClientInformationMixed,
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  OAuthTokens,
} from '@modelcontextprotocol/client'

/** The parts of a stack that signing in needs. */
export interface SignInStack {
  readonly origin: string
  readonly mcpUrl: string
  readonly publishableKey: string
}

export interface Person {
  readonly id: string
  readonly email: string
  readonly password: string
}

/** How a client negotiates the protocol revision. */
export type Era = 'modern' | 'legacy'

/** A client signed in for one person. */
export interface Connection {
  readonly client: Client
  readonly transport: StreamableHTTPClientTransport
  readonly wallet: Wallet
  readonly close: () => Promise<void>
}

/** Keeps what an OAuth client keeps, in memory, and notes each time it had to send its user to sign in. */
export class Wallet implements OAuthClientProvider {
  readonly redirectUrl = 'http://127.0.0.1:9/callback'
  readonly #name: string
  #information: OAuthClientInformationMixed | undefined
  #tokens: OAuthTokens | undefined
  #verifier = ''
  #discovery: OAuthDiscoveryState | undefined
  authorizationUrl: URL | undefined
  /** How often the user was asked to sign in. */
  redirects = 0

  constructor(name: string) {
    this.#name = name
  }

  get clientMetadata(): OAuthClientMetadata {
    return {
      client_name: this.#name,
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    }
  }

  state(): string {
    return 'state-of-the-test'
  }
  clientInformation(): OAuthClientInformationMixed | undefined {
    return this.#information
  }
  saveClientInformation(information: OAuthClientInformationMixed): void {
    this.#information = information
  }
  tokens(): OAuthTokens | undefined {
    return this.#tokens
  }
  saveTokens(tokens: OAuthTokens): void {
    this.#tokens = tokens
  }
  redirectToAuthorization(url: URL): void {
    this.authorizationUrl = url
    this.redirects += 1
  }
  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier
  }
  codeVerifier(): string {
    return this.#verifier
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovery
  }
  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovery = state
  }

  get accessToken(): string {
    return this.#tokens?.access_token ?? ''
  }
  get clientId(): string {
    return this.#information?.client_id ?? ''
  }
}

/** What the person's browser does: signs in, reads what is asked, approves. Returns the callback's parameters. */
export async function approve(stack: SignInStack, person: Person, url: URL): Promise<URLSearchParams> {
  const consentPage = await fetch(url, { redirect: 'manual' })
  const id = new URL(consentPage.headers.get('location') ?? '', stack.origin).searchParams.get(
    'authorization_id',
  )
  if (id === null) throw new Error(`The authorization request was not accepted: ${consentPage.status}`)

  const session = await passwordSession(stack, person)
  const authorization = `${stack.origin}/auth/v1/oauth/authorizations/${id}`
  const headers = {
    apikey: stack.publishableKey,
    authorization: `Bearer ${session.access_token}`,
    'content-type': 'application/json',
  }
  const details = (await (await fetch(authorization, { headers })).json()) as { redirect_url?: string }
  if (details.redirect_url !== undefined) return new URL(details.redirect_url).searchParams

  const answer = await fetch(`${authorization}/consent`, {
    method: 'POST',
    headers,
    body: '{"action":"approve"}',
  })
  const { redirect_url: redirectUrl } = (await answer.json()) as { redirect_url?: string }
  if (redirectUrl === undefined) throw new Error(`The approval was not accepted: ${answer.status}`)
  return new URL(redirectUrl).searchParams
}

/** A session of the application itself, without any OAuth client. */
export async function passwordSession(
  stack: SignInStack,
  person: Person,
): Promise<{ readonly access_token: string }> {
  const answer = await fetch(`${stack.origin}/auth/v1/token?grant_type=password`, {
    method: 'POST',
    headers: { apikey: stack.publishableKey, 'content-type': 'application/json' },
    body: JSON.stringify({ email: person.email, password: person.password }),
  })
  if (!answer.ok) throw new Error(`${person.email} could not sign in: ${answer.status}`)
  return (await answer.json()) as { access_token: string }
}

/** Walks the whole way: 401, discovery, registration, sign-in, approval, token, connection. */
export async function signIn(
  stack: SignInStack,
  person: Person,
  { name = 'Test client', era = 'modern' }: { readonly name?: string; readonly era?: Era } = {},
): Promise<Connection> {
  const wallet = new Wallet(name)
  const first = connectWith(stack, wallet, era)
  try {
    await first.connect()
    throw new Error('The endpoint let a client in that has no token.')
  } catch (error) {
    if (!(error instanceof UnauthorizedError) || wallet.authorizationUrl === undefined) throw error
  }
  await first.transport.finishAuth(await approve(stack, person, wallet.authorizationUrl))
  return connect(stack, wallet, era)
}

/** Connects with what a wallet holds. */
export async function connect(stack: SignInStack, wallet: Wallet, era: Era = 'modern'): Promise<Connection> {
  const { client, transport, connect: open } = connectWith(stack, wallet, era)
  await open()
  return { client, transport, wallet, close: () => client.close() }
}

function connectWith(stack: SignInStack, wallet: Wallet, era: Era) {
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    era === 'modern' ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {},
  )
  const transport = new StreamableHTTPClientTransport(new URL(stack.mcpUrl), { authProvider: wallet })
  return { client, transport, connect: () => client.connect(transport) }
}
