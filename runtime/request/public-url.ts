// runtime/request/public-url.ts — the addresses a client may be told: this endpoint, its metadata, its issuer.

import { isLoopback, isReachable, normalizeUrl, type Environment } from '../environment.ts'
import { refusal } from '../errors.ts'

/** Addresses as they go out; none of them names a host inside a container network. */
export interface PublicUrls {
  /** The resource identifier: the URL a user types, without trailing slash. */
  readonly resource: string
  /** Where the RFC 9728 document of `resource` is served. */
  readonly metadata: string
  /** The authorization server to advertise. */
  readonly issuer: string
  /** Every `iss` a token may carry; more than one only where a loopback host has two spellings. */
  readonly acceptedIssuers: readonly string[]
}

/** What an application may fix in code. */
export interface PublicUrlOptions {
  readonly environment: Pick<Environment, 'projectUrl' | 'publicOrigin' | 'publicUrl' | 'functionSlug'>
  /** The public URL of this endpoint; wins over `CHUMBO_PUBLIC_URL`. */
  readonly resourceUrl?: string | URL | undefined
  /** The issuer exactly as the authorization server spells it, for custom domains and other servers. */
  readonly issuer?: string | undefined
}

/** Resolves the addresses for one request; `functionName` and `slug` come from the route. */
export type ResolvePublicUrls = (
  request: Request,
  functionName: string | undefined,
  slug?: string,
) => PublicUrls

/**
 * Checks the configured addresses once and returns the resolver for each request. What is configured wins; a request
 * header is believed only when it names a loopback host, so a foreign `Host` is never reflected.
 *
 * @throws {ChumboError} `server_misconfigured`, at once for a malformed option, and from the resolver when the project
 * is known by an internal address only and the request did not come over loopback.
 * @example
 * ```ts
 * const resolve = createPublicUrls({ environment })
 * resolve(request, 'mcp').resource // 'https://ref.supabase.co/functions/v1/mcp'
 * ```
 */
export function createPublicUrls({ environment, resourceUrl, issuer }: PublicUrlOptions): ResolvePublicUrls {
  const configured = resourceUrl === undefined ? environment.publicUrl : checkResourceUrl(resourceUrl)
  if (issuer !== undefined) checkIssuer(issuer)
  const fixedOrigin = environment.publicOrigin ?? reachable(environment.projectUrl)

  return function resolvePublicUrls(request, functionName, slug) {
    const requested = fixedOrigin === undefined ? loopbackOrigin(request) : undefined
    const origin = fixedOrigin ?? requested
    const own = configured ?? deriveResource(request, { environment, origin, functionName })
    const resource = slug === undefined ? own : `${own}/${slug}`
    const issuerBase = fixedOrigin ?? projectOriginOf(configured) ?? (requested && authSpelling(requested))
    const advertised = issuer ?? (issuerBase === undefined ? undefined : `${issuerBase}/auth/v1`)
    if (advertised === undefined) throw unknownAddress()

    return {
      resource,
      metadata: `${resource}/oauth-protected-resource`,
      issuer: advertised,
      acceptedIssuers: issuer === undefined ? spellings(advertised) : [issuer],
    }
  }
}

interface DeriveOptions {
  readonly environment: PublicUrlOptions['environment']
  readonly origin: string | undefined
  readonly functionName: string | undefined
}

function deriveResource(request: Request, { environment, origin, functionName }: DeriveOptions): string {
  const name = environment.functionSlug ?? functionName
  if (name !== undefined && origin !== undefined) return `${origin}/functions/v1/${name}`
  // Served bare, without a gateway: only a loopback request tells its own address.
  const bare = name === undefined ? loopbackOrigin(request) : undefined
  if (bare === undefined) throw unknownAddress()
  return bare
}

/** The loopback origin a request came to, as the caller spelled it; undefined when it came from anywhere else. */
function loopbackOrigin(request: Request): string | undefined {
  const url = new URL(request.url)
  const forwardedHost = firstValue(request.headers.get('x-forwarded-host'))
  const forwardedPort = firstValue(request.headers.get('x-forwarded-port'))
  const forwardedProto = firstValue(request.headers.get('x-forwarded-proto'))?.toLowerCase()
  const scheme = forwardedProto === 'http' || forwardedProto === 'https' ? `${forwardedProto}:` : url.protocol
  const hasPort = forwardedHost !== undefined && /:\d+$/.test(forwardedHost)
  const forwarded =
    forwardedPort === undefined || hasPort ? forwardedHost : `${forwardedHost}:${forwardedPort}`

  for (const host of [forwarded, request.headers.get('host'), url.host]) {
    // Anything but host and port would let a header smuggle a path or credentials into the answer.
    const candidate = host == null || !/^[\w.[\]:-]+$/.test(host) ? null : URL.parse(`${scheme}//${host}`)
    if (candidate !== null && isLoopback(candidate.hostname)) return candidate.origin
  }
  return undefined
}

function firstValue(header: string | null): string | undefined {
  return header?.split(',')[0]?.trim() || undefined
}

/** The local authorization server calls itself 127.0.0.1, also when the user typed localhost. */
function authSpelling(origin: string): string {
  return origin.replace('//localhost', '//127.0.0.1')
}

/** Local tokens carry one spelling of the loopback host and configuration may carry the other; the keys decide. */
function spellings(issuer: string): string[] {
  const other = issuer.includes('//localhost:')
    ? issuer.replace('//localhost:', '//127.0.0.1:')
    : issuer.replace('//127.0.0.1:', '//localhost:')
  return other === issuer ? [issuer] : [issuer, other]
}

/** A resource under `/functions/v1/` stands behind the project's own gateway, and so does its authorization server. */
function projectOriginOf(resource: string | undefined): string | undefined {
  return resource?.match(/^(.+)\/functions\/v1\/[^/]+$/)?.[1]
}

function reachable(url: string): string | undefined {
  return isReachable(new URL(url)) ? url : undefined
}

function checkResourceUrl(value: string | URL): string {
  const url = normalizeUrl(String(value))
  if (url === undefined || !isReachable(new URL(url))) {
    throw refusal('server_misconfigured', {
      sentence: 'resourceUrl is not the public URL of an endpoint.',
      hint: 'Set resourceUrl to an https URL, or an http URL on a loopback host, without query or fragment.',
    })
  }
  return url
}

function checkIssuer(value: string): void {
  const url = URL.parse(value)
  if (url === null || !isReachable(url) || url.search !== '' || url.hash !== '') {
    throw refusal('server_misconfigured', {
      sentence: 'issuer is not the URL of an authorization server.',
      hint: 'Set issuer to the issuer string in the metadata of the authorization server.',
    })
  }
}

function unknownAddress(): Error {
  return refusal('server_misconfigured', {
    sentence: 'The public address of this endpoint is not known.',
    hint: 'Set CHUMBO_PUBLIC_URL to the URL clients use, or SUPABASE_PUBLIC_URL to the address of the project.',
  })
}
