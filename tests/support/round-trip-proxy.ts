// tests/support/round-trip-proxy.ts — stands between a client and Postgres and counts how often the client had to wait.
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A proxy in front of a server on loopback. */
export interface RoundTripProxy {
  /** Where a client connects instead of to the server. */
  readonly port: number
  /**
   * Round trips since the last reset, over all connections: each run of bytes from the client that follows an answer, or
   * that opens a connection. What a client sends without waiting for an answer is one, in however many writes it comes.
   */
  roundTrips(): number
  reset(): void
  /** Breaks every connection off and stops listening. */
  stop(): Promise<void>
}

/** Milliseconds an answer is held back; writes that do not wait for it have arrived by then. */
const distance = 20

/**
 * Starts a proxy on a free loopback port. It answers like a server far away, so that what is counted follows from what
 * the client waits for and not from how fast this machine is.
 *
 * @example
 * ```ts
 * const proxy = await startRoundTripProxy(5432)
 * await callThrough(`postgresql://login@127.0.0.1:${proxy.port}/postgres`)
 * proxy.roundTrips()
 * ```
 */
export async function startRoundTripProxy(targetPort: number): Promise<RoundTripProxy> {
  let count = 0
  const sockets = new Set<Socket>()

  const server = createServer((client) => {
    const upstream = connect(targetPort, '127.0.0.1')
    let isClientTurn = true
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.once('close', () => sockets.delete(socket))
      // One side that breaks takes the other along, as without a proxy.
      socket.on('error', () => {})
    }
    client.once('close', () => upstream.destroy())
    upstream.once('close', () => client.destroy())
    client.on('data', (bytes) => {
      if (isClientTurn) count += 1
      isClientTurn = false
      upstream.write(bytes)
    })
    upstream.on('data', (bytes) => {
      setTimeout(() => {
        isClientTurn = true
        if (client.writable) client.write(bytes)
      }, distance)
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })

  return {
    port: (server.address() as AddressInfo).port,
    roundTrips: () => count,
    reset() {
      count = 0
    },
    stop() {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
