// cli/stack/postgres/connection-fault.ts — tells a lost connection from an answer of the database.

const CONNECTION_FAULTS: ReadonlySet<unknown> = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'CONNECTION_ENDED',
  'CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  // The server says it is shutting down, or starting up.
  '57P01',
  '57P02',
  '57P03',
])

/** True when the connection is gone, so that nothing may be sent on it and it must not go back to its pool. */
export function isConnectionFault(error: unknown): boolean {
  return error instanceof Error && 'code' in error && CONNECTION_FAULTS.has(error.code)
}
