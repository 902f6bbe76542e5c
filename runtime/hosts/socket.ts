// runtime/hosts/socket.ts — a connection to Postgres that sends what it is given at once; Node, Deno and Bun have it alike.

import { connect, type Socket } from 'node:net'

/** Where to connect, as postgres.js has read it from a URL. */
export interface SocketAddress {
  readonly host: readonly string[]
  readonly port: readonly number[]
  /** A Unix domain socket, instead of host and port. */
  readonly path?: string | false | undefined
}

/**
 * Opens a connection without Nagle's algorithm. With it, whatever follows the first packet of a pipelined transaction
 * waits for the acknowledgement of that packet: a second round trip, which nobody asked for.
 */
export function openSocket({ host: [host = 'localhost'], port: [port = 5432], path }: SocketAddress): Socket {
  if (typeof path === 'string') return connect({ path })
  // The host is where postgres.js looks for the name to verify a certificate against.
  return Object.assign(connect({ host, port, noDelay: true }), { host })
}
