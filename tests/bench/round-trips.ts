// tests/bench/round-trips.ts — how often a request waits for the database.
import type { HttpTarget, LoadGenerator } from './load.ts'
import type { Stage } from './stage.ts'
import { createVariants } from './variants.ts'

/** Database round trips of one request through the gate `direct`. */
export interface RoundTrips {
  readonly sqlCall: number
  readonly codeCall: number
  readonly list: number
}

const repeats = 10

/** Counts them with a proxy in front of Postgres. Restarts the functions. */
export async function countRoundTrips(stage: Stage, load: LoadGenerator): Promise<RoundTrips> {
  await stage.routeThroughProxy()
  const variants = await createVariants(stage)
  const targetOf = (id: string): HttpTarget => {
    const target = variants.find((variant) => variant.id === id)?.target
    if (target?.kind !== 'http') throw new Error(`No variant ${id} is a request.`)
    return target
  }
  const count = async (id: string): Promise<number> => {
    const target = targetOf(id)
    // Connecting, reading types and preparing statements happen once a connection and not once a call.
    await load.run({ target, clients: 16, count: 100 })
    await untilQuiet(stage)
    stage.proxy.reset()
    for (let i = 0; i < repeats; i += 1) {
      await load.run({ target, clients: 1, count: 1 })
      // A receipt that is closed after the answer belongs to the call before it.
      await untilQuiet(stage)
    }
    return stage.proxy.roundTrips() / repeats
  }
  return {
    sqlCall: await count('sql-direct'),
    codeCall: await count('code-direct-ping'),
    list: await count('list-direct'),
  }
}

/** Resolves when nothing has been sent for a moment. */
async function untilQuiet({ proxy }: Stage): Promise<void> {
  for (let before = -1; before !== proxy.roundTrips();) {
    before = proxy.roundTrips()
    await new Promise((resolve) => setTimeout(resolve, 60))
  }
}
