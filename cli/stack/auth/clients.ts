// cli/stack/auth/clients.ts — dynamic registration (RFC 7591) and the lookup of registered clients.

import { createHash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'

import { json, type StackRequest, type StackResponse } from '../http.ts'
import type { AuthContext, Db } from './context.ts'
import { validationFailed } from './errors.ts'
import { jsonBody, text } from './input.ts'

export type AuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post'

export interface OAuthClient {
  readonly id: string
  readonly secretHash: string | null
  readonly redirectUris: readonly string[]
  readonly grantTypes: readonly string[]
  readonly name: string | null
  readonly uri: string | null
  readonly logoUri: string | null
  readonly authMethod: AuthMethod
}

const GRANT_TYPES = ['authorization_code', 'refresh_token']
const AUTH_METHODS: readonly string[] = ['none', 'client_secret_basic', 'client_secret_post']
const REFUSED_SCHEMES = ['javascript:', 'data:', 'file:', 'vbscript:', 'about:', 'blob:']
const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** POST /oauth/clients/register. Members we do not know are ignored, as the real service does. */
export async function registerClient({ sql }: AuthContext, request: StackRequest): Promise<StackResponse> {
  const body = jsonBody(request)
  const redirectUris = readRedirectUris(body['redirect_uris'])
  const grantTypes = readGrantTypes(body['grant_types'])
  const { type, method } = readClientKind(body)
  const name = text(body, 'client_name', 1024)
  const uri = readUrl(body, 'client_uri')
  const logoUri = readUrl(body, 'logo_uri')
  const id = randomUUID()
  const secret = type === 'confidential' ? randomBytes(32).toString('base64url') : undefined

  const [row] = await sql`
    insert into auth.oauth_clients (
      id, client_secret_hash, registration_type, redirect_uris, grant_types,
      client_name, client_uri, logo_uri, client_type, token_endpoint_auth_method
    ) values (
      ${id}, ${secret === undefined ? null : sha256(secret)}, 'dynamic', ${redirectUris.join(',')}, ${grantTypes.join(',')},
      ${name ?? null}, ${uri ?? null}, ${logoUri ?? null}, ${type}, ${method}
    ) returning created_at, updated_at`

  return json(201, {
    client_id: id,
    ...(secret === undefined ? {} : { client_secret: secret }),
    client_type: type,
    redirect_uris: redirectUris,
    token_endpoint_auth_method: method,
    grant_types: grantTypes,
    response_types: ['code'],
    ...(name === undefined ? {} : { client_name: name }),
    ...(uri === undefined ? {} : { client_uri: uri }),
    ...(logoUri === undefined ? {} : { logo_uri: logoUri }),
    registration_type: 'dynamic',
    created_at: row?.['created_at'] as Date,
    updated_at: row?.['updated_at'] as Date,
  })
}

/** Returns a client that was not deleted. */
export async function findClient(sql: Db, id: string): Promise<OAuthClient | undefined> {
  if (!UUID.test(id)) return undefined
  const [row] = await sql`select * from auth.oauth_clients where id = ${id} and deleted_at is null`
  if (row === undefined) return undefined
  return {
    id: String(row['id']),
    secretHash: row['client_secret_hash'] === null ? null : String(row['client_secret_hash']),
    redirectUris: String(row['redirect_uris']).split(','),
    grantTypes: String(row['grant_types']).split(','),
    name: nullable(row['client_name']),
    uri: nullable(row['client_uri']),
    logoUri: nullable(row['logo_uri']),
    // A check constraint of the table keeps the column to these three.
    authMethod: String(row['token_endpoint_auth_method']) as AuthMethod,
  }
}

/** Compares a presented secret in constant time. */
export function secretMatches(client: OAuthClient, secret: string): boolean {
  if (client.secretHash === null) return false
  return timingSafeEqual(Buffer.from(sha256(secret), 'hex'), Buffer.from(client.secretHash, 'hex'))
}

/** The client as the consent page and the grants list show it. */
export function publicClient({ id, name, uri, logoUri }: OAuthClient): Record<string, string> {
  return { id, name: name ?? '', uri: uri ?? '', logo_uri: logoUri ?? '' }
}

/** What is wrong with a redirect address, or undefined. Exported for its test. */
export function redirectUriFault(value: string): string | undefined {
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (value.length > 2048) return 'redirect_uri is longer than 2048 characters'
  if (url === undefined || !/^[a-z][a-z0-9+.-]*:\/\/[^/]/i.test(value))
    return 'redirect_uri must have a scheme and a host'
  if (value.includes('#')) return 'redirect_uri must not have a fragment'
  if (REFUSED_SCHEMES.includes(url.protocol)) return `redirect_uri scheme ${url.protocol} is not allowed`
  if (url.protocol === 'http:' && !LOOPBACK.includes(url.hostname)) {
    return 'redirect_uri must use https, except on localhost'
  }
  return undefined
}

function readRedirectUris(value: unknown): readonly string[] {
  if (!Array.isArray(value) || value.length === 0) throw validationFailed('400: redirect_uris is required')
  if (value.length > 10) throw validationFailed('400: redirect_uris may hold at most 10 entries')
  return value.map((uri: unknown) => {
    const fault = typeof uri === 'string' ? redirectUriFault(uri) : 'redirect_uris must be strings'
    if (fault !== undefined) throw validationFailed(`400: ${fault}`)
    return String(uri)
  })
}

function readGrantTypes(value: unknown): readonly string[] {
  if (value === undefined || value === null) return GRANT_TYPES
  if (
    !Array.isArray(value)
    || value.some((type: unknown) => typeof type !== 'string' || !GRANT_TYPES.includes(type))
  ) {
    throw validationFailed('400: grant_types must be a subset of authorization_code and refresh_token')
  }
  return value.length === 0 ? GRANT_TYPES : value.map(String)
}

function readClientKind(body: Readonly<Record<string, unknown>>): {
  type: 'public' | 'confidential'
  method: AuthMethod
} {
  const method = text(body, 'token_endpoint_auth_method', 64)
  const declared = text(body, 'client_type', 64)
  if (method !== undefined && !AUTH_METHODS.includes(method)) {
    throw validationFailed(
      '400: token_endpoint_auth_method must be none, client_secret_basic or client_secret_post',
    )
  }
  if (declared !== undefined && declared !== 'public' && declared !== 'confidential') {
    throw validationFailed('400: client_type must be public or confidential')
  }
  const type = declared ?? (method === 'none' ? 'public' : 'confidential')
  const effective = method ?? (type === 'public' ? 'none' : 'client_secret_basic')
  if ((type === 'public') !== (effective === 'none')) {
    throw validationFailed(
      `400: client_type ${type} does not agree with token_endpoint_auth_method ${effective}`,
    )
  }
  // Narrowed by the list above.
  return { type, method: effective as AuthMethod }
}

function readUrl(body: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = text(body, name, 2048)
  if (value !== undefined && !URL.canParse(value)) throw validationFailed(`400: ${name} must be a valid URL`)
  return value
}

function sha256(value: string): string {
  return createHash('sha256').update(value).digest('hex')
}

function nullable(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
