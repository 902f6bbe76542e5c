// cli/stack/free-port.ts — asks the system for a loopback port nobody uses.

import { createServer } from 'node:net'

/** Returns a port that was free a moment ago; the caller must take it soon and cope with losing the race. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      // A TCP server always answers with an object; the string form belongs to pipes.
      const port = typeof address === 'object' && address !== null ? address.port : 0
      probe.close(() => resolve(port))
    })
  })
}
