// runtime/environment.ts — parses and validates the configuration once, from a plain record of variables.

import type { SupabaseEnv } from '@supabase/server'

import { refusal, type ChumboError } from './errors.ts'
import { isRecord } from './is-record.ts'

/** Variables as a host hands them over; only `runtime/hosts/` knows where they come from. */
export type EnvironmentVariables = Readonly<Record<string, string | undefined>>

/** Everything the runtime knows about where it runs. Holds secrets: never log it or put it into a result. */
export interface Environment {
  /** Where this process reaches the project; may be an address inside a container network. */
  readonly projectUrl: string
  /** The project's origin as the world sees it, when `SUPABASE_PUBLIC_URL` says so. */
  readonly publicOrigin: string | undefined
  /** This endpoint as a user types it, when `CHUMBO_PUBLIC_URL` says so. */
  readonly publicUrl: string | undefined
  /** The slug the platform deployed this function under. */
  readonly functionSlug: string | undefined
  readonly publishableKeys: Readonly<Record<string, string>>
  readonly secretKeys: Readonly<Record<string, string>>
  /** The key set itself, where it is fetched from, or null when there is no trustworthy place to fetch it. */
  readonly jwks: NonNullable<SupabaseEnv['jwks']> | null
  /** Connection string of the direct gate. */
  readonly databaseUrl: string | undefined
  /** Key for digests that must not be reversible by whoever reads the database. */
  readonly hmacKey: string | undefined
}

/** Values an application may set in code; each wins over its variable. */
export type EnvironmentOverrides = { readonly [Key in keyof Environment]?: Environment[Key] | undefined }

/**
 * Reads the configuration. A variable that is absent or blank counts as not set; one that is set but malformed is an
 * error, because a silent default would turn a typo into an outage far away from its cause.
 *
 * @throws {ChumboError} `server_misconfigured`, naming the variable and never its content.
 * @example
 * ```ts
 * const environment = resolveEnvironment({ SUPABASE_URL: 'https://ref.supabase.co' })
 * ```
 */
export function resolveEnvironment(
  variables: EnvironmentVariables,
  overrides: EnvironmentOverrides = {},
): Environment {
  const read = (name: string): string | undefined => variables[name]?.trim() || undefined
  const projectUrl = overrides.projectUrl ?? readBaseUrl(read, 'SUPABASE_URL')
  if (projectUrl === undefined)
    throw misconfigured('SUPABASE_URL', 'is not set', 'the URL of the Supabase project')
  const publicOrigin = overrides.publicOrigin ?? readPublicUrl(read, 'SUPABASE_PUBLIC_URL')

  return {
    projectUrl,
    publicOrigin,
    publicUrl: overrides.publicUrl ?? readPublicUrl(read, 'CHUMBO_PUBLIC_URL'),
    functionSlug: overrides.functionSlug ?? readSlug(read, 'SUPABASE_FUNCTION_SLUG'),
    publishableKeys:
      overrides.publishableKeys
      ?? readKeys(read, ['SUPABASE_PUBLISHABLE_KEYS', 'SUPABASE_PUBLISHABLE_KEY', 'SUPABASE_ANON_KEY']),
    secretKeys:
      overrides.secretKeys
      ?? readKeys(read, ['SUPABASE_SECRET_KEYS', 'SUPABASE_SECRET_KEY', 'SUPABASE_SERVICE_ROLE_KEY']),
    jwks: overrides.jwks ?? readJwks(read, publicOrigin ?? projectUrl),
    databaseUrl: overrides.databaseUrl ?? readDatabaseUrl(read, 'CHUMBO_DB_URL'),
    hmacKey: overrides.hmacKey ?? readHmacKey(read, 'CHUMBO_HMAC_KEY'),
  }
}

/**
 * The same configuration in the form `@supabase/server` takes as `env`. Every part is given, since that library reads
 * the process environment by itself for each part that is absent or null.
 */
export function toSupabaseEnv({ projectUrl, publishableKeys, secretKeys, jwks }: Environment): SupabaseEnv {
  return {
    url: projectUrl,
    publishableKeys: { ...publishableKeys },
    secretKeys: { ...secretKeys },
    jwks: jwks ?? { keys: [] },
  }
}

/**
 * Whether a URL may be shown to, or trusted from, the outside: https anywhere, plain http on this machine only.
 * A container-internal address such as `http://kong:8000` is not.
 */
export function isReachable(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))
}

/** Whether a host name, as `URL.hostname` spells it, stays on this machine. */
export function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost'
    || hostname.endsWith('.localhost')
    || hostname === '[::1]'
    || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname)
  )
}

/**
 * Spells a URL the one way it is compared in: lower-case host, no trailing slash.
 * Returns undefined for anything that is not an http(s) URL or carries credentials, a query or a fragment.
 */
export function normalizeUrl(value: string): string | undefined {
  const url = URL.parse(value)
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') return undefined
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

/** Builds the error for a variable; its content is a secret often enough that it is never repeated. */
function misconfigured(name: string, problem: string, expected: string): ChumboError {
  return refusal('server_misconfigured', {
    sentence: `${name} ${problem}.`,
    hint: `Set ${name} to ${expected}.`,
  })
}

type Read = (name: string) => string | undefined

function readBaseUrl(read: Read, name: string): string | undefined {
  const value = read(name)
  if (value === undefined) return undefined
  const url = normalizeUrl(value)
  if (url === undefined)
    throw misconfigured(name, 'is not an http or https URL', 'a URL without query or fragment')
  return url
}

function readPublicUrl(read: Read, name: string): string | undefined {
  const url = readBaseUrl(read, name)
  if (url !== undefined && !isReachable(new URL(url))) {
    throw misconfigured(
      name,
      'is plain http on another machine',
      'an https URL, or an http URL on a loopback host',
    )
  }
  return url
}

function readSlug(read: Read, name: string): string | undefined {
  const value = read(name)
  if (value !== undefined && !/^[A-Za-z0-9_-]+$/.test(value)) {
    throw misconfigured(name, 'is not a function slug', 'letters, digits, underscores and hyphens')
  }
  return value
}

/** Takes the first variable that yields a key: a JSON dictionary first, then the single keys, oldest last. */
function readKeys(read: Read, [dictionary, ...singles]: [string, ...string[]]): Record<string, string> {
  const value = read(dictionary)
  if (value !== undefined) {
    const keys = parseJson(value)
    if (!isRecord(keys) || !Object.values(keys).every((key) => typeof key === 'string' && key !== '')) {
      throw misconfigured(dictionary, 'is not a dictionary of keys', 'a JSON object that maps names to keys')
    }
    // A project without new-style keys is handed an empty dictionary next to its old keys.
    if (Object.keys(keys).length > 0) return keys as Record<string, string> // every value was checked above
  }
  const single = singles.map(read).find((key) => key !== undefined)
  return single === undefined ? {} : { default: single }
}

/** Keys given inline win; else a URL, given or derived from the project. */
function readJwks(read: Read, baseUrl: string): Environment['jwks'] {
  const inline = read('SUPABASE_JWKS')
  if (inline !== undefined) {
    const parsed = parseJson(inline)
    const keys: unknown = isRecord(parsed) ? parsed['keys'] : parsed
    if (!isKeyList(keys)) {
      throw misconfigured('SUPABASE_JWKS', 'is not a JSON Web Key Set', "the JSON of the project's key set")
    }
    return { keys }
  }

  const given = read('SUPABASE_JWKS_URL')
  if (given !== undefined) {
    const url = URL.parse(given)
    if (url === null || !isReachable(url)) {
      throw misconfigured(
        'SUPABASE_JWKS_URL',
        'is not an https URL',
        'an https URL, or an http URL on a loopback host',
      )
    }
    return url
  }

  // Keys fetched over plain http from another machine could be swapped on the way, so there are none instead.
  const derived = new URL(`${baseUrl}/auth/v1/.well-known/jwks.json`)
  return isReachable(derived) ? derived : null
}

function readDatabaseUrl(read: Read, name: string): string | undefined {
  const value = read(name)
  if (value !== undefined && !isConnectionString(value)) {
    throw misconfigured(name, 'is not a Postgres connection string', 'a URL that starts with postgresql://')
  }
  return value
}

function isConnectionString(value: string): boolean {
  const url = /^postgres(?:ql)?:\/\/\S+$/.test(value) ? URL.parse(value) : null
  if (url === null) return false
  try {
    decodeURIComponent(`${url.username}${url.password}${url.pathname}`)
    return true
  } catch {
    return false
  }
}

function readHmacKey(read: Read, name: string): string | undefined {
  const value = read(name)
  if (value !== undefined && value.length < 32) {
    throw misconfigured(name, 'is too short to protect anything', 'at least 32 random characters')
  }
  return value
}

function isKeyList(value: unknown): value is { kty: string }[] {
  return Array.isArray(value) && value.every((key) => isRecord(key) && typeof key['kty'] === 'string')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
