// tests/unit/gate/client-stack.test.ts
import type postgres from 'postgres'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { createClientStack } from '../../../runtime/gate/client-stack.ts'

/** Clients that only know whether they were ended. */
function stackOf(max: number) {
  const made: { ended: boolean }[] = []
  const stack = createClientStack({
    max,
    waitMs: 1_000,
    create() {
      const client = { ended: false, end: () => Promise.resolve((client.ended = true)) }
      made.push(client)
      return client as unknown as postgres.Sql
    },
  })
  return { stack, made }
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('a client', () => {
  it('that was given back last is taken first', async () => {
    const { stack, made } = stackOf(3)
    const [first, second] = [await stack.take(), await stack.take()]

    stack.give(first)
    stack.give(second)

    expect(await stack.take()).toBe(second)
    expect(made).toHaveLength(2)
  })

  it('is waited for when all are in use, in the order of asking', async () => {
    const { stack } = stackOf(1)
    const only = await stack.take()
    const order: string[] = []
    const waits = ['a', 'b'].map(async (name) => {
      const client = await stack.take()
      order.push(name)
      stack.give(client)
    })

    stack.give(only)
    await Promise.all(waits)

    expect(order).toEqual(['a', 'b'])
  })

  it('that does not come in time is an outage, and goes to the next when it comes', async () => {
    const { stack } = stackOf(1)
    const only = await stack.take()
    const late = expect(stack.take()).rejects.toMatchObject({
      code: 'database_unavailable',
      retryAfterSeconds: 1,
    })

    await vi.advanceTimersByTimeAsync(1_000)
    await late
    stack.give(only)

    expect(await stack.take()).toBe(only)
  })

  it('that died is ended and replaced, also for those who wait', async () => {
    const { stack, made } = stackOf(1)
    const dead = await stack.take()
    const waiting = stack.take()

    stack.drop(dead)

    expect(await waiting).not.toBe(dead)
    expect(made.map(({ ended }) => ended)).toEqual([true, false])
  })

  it('is ended with the stack', async () => {
    const { stack, made } = stackOf(2)
    stack.give(await stack.take())

    await stack.end()

    expect(made.map(({ ended }) => ended)).toEqual([true])
  })
})
