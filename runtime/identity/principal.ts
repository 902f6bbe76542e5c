// runtime/identity/principal.ts — who is calling, as far as a verified credential says so.

/** The authentication mode an endpoint is configured with. */
export type AuthMode = 'oauth' | 'bearer'

/** The credential family that a request was verified by; one request has exactly one. */
export type StrategyName = 'oauth' | 'bearer'

/** The verified facts about a caller. Nothing a caller typed is in it unverified. */
export interface Identity {
  readonly mode: AuthMode
  readonly strategy: StrategyName
  /** The stable name of the principal; for a user token the user's id. */
  readonly subject: string
  /** The Postgres role the request runs as. */
  readonly role: 'authenticated'
  /** The user, or null where a principal is not a user. */
  readonly user: { readonly id: string; readonly email?: string } | null
  /** The token's payload. `user_metadata` in it is written by the user: never decide by it. */
  readonly claims: Readonly<Record<string, unknown>>
  /** The OAuth client the user let in; absent for a session of the application itself. */
  readonly clientId?: string
  readonly tokenScopes: readonly string[]
  readonly sessionId?: string
  /** Seconds since the epoch. */
  readonly expiresAt?: number
  readonly credential: Credential
}

/**
 * Holds a raw credential so that spreading, logging or serializing an identity cannot take it along.
 *
 * @example
 * ```ts
 * createContextClient({ auth: { token: identity.credential.reveal() } })
 * ```
 */
export class Credential {
  readonly #token: string

  constructor(token: string) {
    this.#token = token
  }

  /** The raw token. Only the code that passes it on to Supabase may ask for it. */
  reveal(): string {
    return this.#token
  }

  /** What JSON and logs get to see. */
  toJSON(): string {
    return '[credential]'
  }
}
