// cli/stack/gateway.ts — one port for everything, with the paths of the hosted gateway.

import { randomUUID } from 'node:crypto'
import {
  createServer,
  type IncomingMessage,
  request as httpRequest,
  type Server,
  type ServerResponse,
} from 'node:http'

import { CliError } from '../cli-error.ts'
import type { Tokens } from './auth/tokens.ts'
import {
  BodyTooLargeError,
  json,
  readRequest,
  type StackHandler,
  type StackRequest,
  type StackResponse,
  writeResponse,
} from './http.ts'
import { isConnectionFault } from './postgres/connection-fault.ts'

export interface GatewayServices {
  readonly auth: StackHandler
  readonly rest: StackHandler
  readonly signIn: StackHandler
  readonly tokens: Tokens
  /** Port of the running functions; starts them when they are down. */
  readonly functionsPort: () => Promise<number>
  readonly verifyJwt: (slug: string) => boolean
  readonly log: (line: string) => void
}

export interface Gateway {
  readonly origin: string
  /** Answers 503 until the services are there. */
  attach(services: GatewayServices): void
  close(): Promise<void>
}

const CORS = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET,HEAD,PUT,PATCH,POST,DELETE,OPTIONS,TRACE,CONNECT',
  'access-control-expose-headers': 'Link, Content-Range, Content-Location, WWW-Authenticate, Mcp-Session-Id',
  'access-control-max-age': '3600',
}

/** Takes the port at once, so that the origin is known before anything that has to name it is started. */
export async function openGateway({ port = 0 }: { readonly port?: number | undefined }): Promise<Gateway> {
  let services: GatewayServices | undefined
  const server = createServer((incoming, outgoing) => {
    void serve(incoming, outgoing, origin, services)
  })
  // Keeps a browser's or a client's idle connection from holding the shutdown up.
  server.keepAliveTimeout = 30_000
  await listen(server, port)
  const address = server.address()
  const origin = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : port}`

  return {
    origin,
    attach(ready) {
      services = ready
    },
    close() {
      return new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
    },
  }
}

async function serve(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  origin: string,
  services: GatewayServices | undefined,
): Promise<void> {
  try {
    const path = (incoming.url ?? '/').split('?')[0] ?? '/'
    if (services === undefined) {
      writeResponse(outgoing, json(503, { message: 'The local stack is starting.' }, { 'retry-after': '1' }))
    } else if (path.startsWith('/functions/v1/')) {
      await proxyFunction(incoming, outgoing, services)
    } else {
      const request = await readRequest(incoming, origin)
      const response = await route(request, services)
      const withCors = path.startsWith('/sign-in')
        ? response
        : { ...response, headers: { ...CORS, ...response.headers } }
      writeResponse(outgoing, withCors)
    }
  } catch (error) {
    fail(incoming, outgoing, error, services)
  }
}

async function route(request: StackRequest, services: GatewayServices): Promise<StackResponse> {
  const { pathname } = request.url
  if (pathname === '/sign-in') return services.signIn(request)
  if (request.method === 'OPTIONS') return preflight(request)
  if (pathname.startsWith('/auth/v1/')) return services.auth(stripped(request, '/auth/v1'))
  if (pathname.startsWith('/rest/v1/')) return services.rest(stripped(request, '/rest/v1'))
  // RFC 8414 inserts the well-known part before the issuer's path; OpenID appends it, which the line above serves.
  const metadata = /^\/\.well-known\/(oauth-authorization-server|openid-configuration)(?:\/auth\/v1)?$/.exec(
    pathname,
  )?.[1]
  if (metadata !== undefined) return services.auth(withPath(request, `/.well-known/${metadata}`))
  if (pathname === '/') return { status: 303, headers: { location: '/sign-in' } }
  return json(404, { message: 'no Route matched with those values' })
}

function preflight(request: StackRequest): StackResponse {
  const asked = request.headers['access-control-request-headers']
  return { status: 200, headers: asked === undefined ? {} : { 'access-control-allow-headers': asked } }
}

function stripped(request: StackRequest, prefix: string): StackRequest {
  return withPath(request, request.url.pathname.slice(prefix.length))
}

function withPath(request: StackRequest, pathname: string): StackRequest {
  const url = new URL(request.url)
  url.pathname = pathname
  return { ...request, url }
}

/** Streams both ways: an MCP answer may be an event stream that stays open. */
async function proxyFunction(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { functionsPort, verifyJwt, tokens }: GatewayServices,
): Promise<void> {
  const path = (incoming.url ?? '').slice('/functions/v1'.length)
  const slug = /^\/([^/?]+)/.exec(path)?.[1] ?? ''
  if (incoming.method !== 'OPTIONS' && verifyJwt(slug)) {
    const refusal = await jwtRefusal(incoming, tokens)
    if (refusal !== undefined) {
      incoming.resume()
      writeResponse(outgoing, refusal)
      return
    }
  }
  const host = incoming.headers.host ?? '127.0.0.1'
  const headers = {
    ...incoming.headers,
    // The function sees its own address here, and the public one in the forwarded headers, as hosted.
    'x-forwarded-host': host.split(':')[0],
    'x-forwarded-port': host.split(':')[1] ?? '80',
    'x-forwarded-proto': 'http',
    'x-forwarded-for': incoming.socket.remoteAddress ?? '127.0.0.1',
    'sb-request-id': randomUUID(),
  }
  const port = await functionsPort()
  await new Promise<void>((resolve, reject) => {
    const upstream = httpRequest(
      { host: '127.0.0.1', port, path, method: incoming.method ?? 'GET', headers },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.statusMessage, answer.headers)
        answer.pipe(outgoing)
        // A function that dies half-way breaks the answer off; ending it properly would look complete.
        answer.once('error', () => outgoing.destroy())
        answer.once('close', resolve)
      },
    )
    upstream.once('error', reject)
    // The caller went away: the function must learn it, so that it can stop working.
    outgoing.once('close', () => upstream.destroy())
    incoming.pipe(upstream)
  })
}

/** What `verify_jwt = true`, the platform's default, does before the function is even started. */
async function jwtRefusal(incoming: IncomingMessage, tokens: Tokens): Promise<StackResponse | undefined> {
  const token = /^bearer\s+(\S+)$/i.exec(incoming.headers.authorization ?? '')?.[1]
  const refuse = (code: string, message: string) =>
    json(401, { code, message, msg: message }, { ...CORS, 'sb-error-code': code })
  if (token === undefined) return refuse('UNAUTHORIZED_NO_AUTH_HEADER', 'Missing authorization header')
  return tokens.verify(token).then(
    () => undefined,
    () => refuse('UNAUTHORIZED_ASYMMETRIC_JWT', 'Invalid JWT'),
  )
}

function fail(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  error: unknown,
  services: GatewayServices | undefined,
): void {
  incoming.resume()
  if (outgoing.headersSent) {
    outgoing.destroy()
    return
  }
  if (error instanceof BodyTooLargeError) {
    writeResponse(outgoing, json(413, { message: error.message }, CORS))
    return
  }
  const message = error instanceof Error ? error.message : String(error)
  services?.log(`${incoming.method ?? ''} ${(incoming.url ?? '').split('?')[0] ?? ''}: ${message}`)
  // The part behind the gateway is down or broke off; the caller may repeat later.
  const isOutage = isConnectionFault(error)
  writeResponse(
    outgoing,
    json(
      isOutage ? 503 : 500,
      {
        code: isOutage ? 'unavailable' : 'unexpected_failure',
        message: isOutage
          ? 'A part of the local stack is not available.'
          : 'Unexpected failure, please check the output of the stack.',
      },
      { ...CORS, ...(isOutage ? { 'retry-after': '1' } : {}) },
    ),
  )
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: Error & { readonly code?: string }) => {
      if (cause.code !== 'EADDRINUSE') return reject(cause)
      const message = `Port ${port} is in use by another program.`
      return reject(new CliError(message, { code: 'port_taken', hint: 'chumbo dev --port <another>', cause }))
    })
    server.listen(port, '127.0.0.1', () => {
      server.removeAllListeners('error')
      resolve()
    })
  })
}
