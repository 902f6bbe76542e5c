// cli/stack/auth/context.ts — what every part of the authorization server works with.

import type postgres from 'postgres'

import type { Tokens } from './tokens.ts'

/** A pool or a transaction of it. */
export type Db = postgres.ISql

export interface AuthContext {
  /** Pool logged in as supabase_auth_admin, the owner of the auth tables. All state is in there. */
  readonly sql: postgres.Sql
  readonly tokens: Tokens
  /** `<origin>/auth/v1`, the issuer of every token. */
  readonly issuer: string
  /** Address of the page that signs a user in and asks for consent. */
  readonly consentUrl: string
  /** Origins whose pages may call the consent API: the site's own. */
  readonly siteOrigins: readonly string[]
  /** The project's secret key: what the admin endpoints ask for. */
  readonly secretKey: string
  readonly publishableKey: string
}

/** The five scopes Supabase Auth knows; any other is refused. */
export const SCOPES = ['openid', 'profile', 'email', 'phone', 'offline_access'] as const
