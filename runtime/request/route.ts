// runtime/request/route.ts — tells what a path asks for, whatever the function is called and whoever stripped a prefix.

/**
 * What a request is for. `functionName` is absent where the handler is served without a name, `slug` where the path is the
 * function's own; what carries one need not exist.
 */
export type Route =
  | {
      readonly kind: 'mcp' | 'metadata'
      readonly functionName: string | undefined
      readonly slug?: string
    }
  | { readonly kind: 'unknown' }

/** Where else than under a function's name the endpoint lives. */
export interface RouteOptions {
  /** The configured public URL; a host that is not Edge Functions may mount the handler deeper than one segment. */
  readonly resourceUrl?: string | undefined
}

/** The form that `chumbo.servers` holds slugs to. */
const slugForm = /^[a-z0-9][a-z0-9-]{0,62}$/
const metadataSegment = 'oauth-protected-resource'
const unknown: Route = { kind: 'unknown' }

/**
 * Routes by path alone. The hosted gateway strips `/functions/v1`, so the same endpoint arrives as `/mcp`, as
 * `/functions/v1/mcp` or, from a bare development server, as `/`. A trailing slash never makes a second resource.
 *
 * @example
 * ```ts
 * route(new Request('http://x/mcp')) // { kind: 'mcp', functionName: 'mcp' }
 * ```
 */
export function route(request: Request, { resourceUrl }: RouteOptions = {}): Route {
  const mount = resourceUrl === undefined ? [] : segmentsOf(resourceUrl)
  const segments = segmentsOf(request.url)
  // RFC 9728 puts the well-known part before the resource's path; what follows has to be this endpoint.
  if (segments[0] === '.well-known' && segments[1] === metadataSegment) {
    const target = routeSegments(segments.slice(2), mount)
    return target.kind === 'mcp' ? { ...target, kind: 'metadata' } : unknown
  }
  return routeSegments(segments, mount)
}

function routeSegments(segments: readonly string[], mount: readonly string[]): Route {
  if (mount.length > 0 && mount.every((segment, index) => segments[index] === segment)) {
    return routeRest(segments.slice(mount.length), mount.at(-1))
  }
  if (segments[0] === 'functions' && segments[1] === 'v1') {
    return segments.length === 2 ? unknown : routeRest(segments.slice(3), segments[2])
  }
  // A function called like the document would be unusual; a bare server asked for its document is not.
  if (segments.length === 0 || segments[0] === metadataSegment) return routeRest(segments, undefined)
  if (segments[0] === '.well-known') return unknown
  // Beside a mount below the same segment: somebody else's path, and not a function with a server behind it.
  if (mount.length > 1 && segments.length > 1 && segments[0] === mount[0]) return unknown
  return routeRest(segments.slice(1), segments[0])
}

function routeRest(rest: readonly string[], functionName: string | undefined): Route {
  const [slug] = rest
  const server = slug !== undefined && slug !== metadataSegment && slugForm.test(slug) ? { slug } : {}
  const after = 'slug' in server ? rest.slice(1) : rest
  if (after.length === 0) return { kind: 'mcp', functionName, ...server }
  const document = after[0] === '.well-known' ? after.slice(1) : after
  return document.length === 1 && document[0] === metadataSegment
    ? { kind: 'metadata', functionName, ...server }
    : unknown
}

function segmentsOf(url: string): string[] {
  return new URL(url).pathname.split('/').filter((segment) => segment !== '')
}
