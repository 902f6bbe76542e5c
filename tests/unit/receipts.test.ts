// tests/unit/receipts.test.ts — receipts of code calls go out together, after the answer, and are not given up at once.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import type { FinishedReceipt, Gate } from '../../runtime/gate/gate.ts'
import { createReceiptQueue } from '../../runtime/receipts.ts'

const receipt = (id: string): FinishedReceipt => ({
  id,
  created_at: '2026-01-01T00:00:00Z',
  outcome: 'ok',
  duration_ms: 1,
})

/** A gate that only finishes, as `finish` says. */
function queueOver(finish: (receipts: readonly FinishedReceipt[]) => Promise<void>) {
  const errors: unknown[] = []
  const background: Promise<void>[] = []
  const queue = createReceiptQueue({
    gate: { finish } as Gate,
    background: (work) => background.push(work),
    onError: (error) => errors.push(error),
  })
  return { queue, errors, background }
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('a receipt', () => {
  it('shares its trip with those of the same moment', async () => {
    const batches: string[][] = []
    const { queue, background } = queueOver(
      async (receipts) => void batches.push(receipts.map(({ id }) => id)),
    )

    for (const id of ['a', 'b', 'c']) queue.add(receipt(id))
    expect(batches).toEqual([])
    await vi.runAllTimersAsync()
    queue.add(receipt('d'))
    await vi.runAllTimersAsync()

    expect(batches).toEqual([['a', 'b', 'c'], ['d']])
    // The host is told of each run, so that it keeps the process until it has ended.
    expect(background).toHaveLength(2)
    await Promise.all(background)
  })

  it('that comes while others are sent goes with the next batch', async () => {
    const batches: string[][] = []
    const { queue } = queueOver(async (receipts) => {
      batches.push(receipts.map(({ id }) => id))
      if (batches.length === 1) queue.add(receipt('late'))
    })

    queue.add(receipt('a'))
    await vi.runAllTimersAsync()

    expect(batches).toEqual([['a'], ['late']])
  })

  it('is tried again while the database is away', async () => {
    let attempts = 0
    const { queue, errors } = queueOver(async () => {
      attempts += 1
      if (attempts < 3) throw new Error('away')
    })

    queue.add(receipt('a'))
    await vi.runAllTimersAsync()

    expect(attempts).toBe(3)
    expect(errors).toEqual([])
  })

  it('is given up after some minutes, which is reported, and the next goes out', async () => {
    const failure = new Error('away')
    let isAway = true
    const sent: string[] = []
    const { queue, errors } = queueOver(async (receipts) => {
      if (isAway) throw failure
      sent.push(...receipts.map(({ id }) => id))
    })

    queue.add(receipt('lost'))
    await vi.runAllTimersAsync()
    isAway = false
    queue.add(receipt('next'))
    await vi.runAllTimersAsync()

    expect(errors).toEqual([failure])
    expect(sent).toEqual(['next'])
  })

  it('is waited for by whoever drains', async () => {
    const sent: string[] = []
    const { queue } = queueOver(async (receipts) => {
      await new Promise((resolve) => setTimeout(resolve, 50))
      sent.push(...receipts.map(({ id }) => id))
    })
    await queue.drain()

    queue.add(receipt('a'))
    const drained = queue.drain().then(() => sent.length)
    await vi.runAllTimersAsync()

    expect(await drained).toBe(1)
  })
})
