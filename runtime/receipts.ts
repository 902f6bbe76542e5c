// runtime/receipts.ts — closes the receipts of TypeScript calls in batches, after their responses have gone out.

import type { FinishedReceipt, Gate } from './gate/gate.ts'

/** A queue of receipts to close. */
export interface ReceiptQueue {
  /** Adds one; it is sent with whatever else is waiting. */
  readonly add: (receipt: FinishedReceipt) => void
  /** Resolves when everything added so far was sent or given up. */
  readonly drain: () => Promise<void>
}

/** What the queue is made of. */
export interface ReceiptQueueOptions {
  readonly gate: Gate
  /** Keeps the host from stopping the process before the promise settles. */
  readonly background: (work: Promise<void>) => void
  readonly onError: (error: unknown) => void
}

/** How often a batch is tried, over about five minutes; a receipt that stays open after that shows as such. */
const attempts = 36

/** Milliseconds between two tries: doubling, up to this. */
const longestPause = 10_000

export function createReceiptQueue({ gate, background, onError }: ReceiptQueueOptions): ReceiptQueue {
  let waiting: FinishedReceipt[] = []
  let running: Promise<void> | undefined

  async function send(): Promise<void> {
    // One turn later, so that the response is on its way and calls that end together share a batch.
    await new Promise((resolve) => setTimeout(resolve, 0))
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      await sendBatch(batch)
    }
    running = undefined
  }

  async function sendBatch(batch: readonly FinishedReceipt[]): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await gate.finish(batch)
        return
      } catch (error) {
        if (attempt === attempts) {
          onError(error)
          return
        }
        await new Promise((resolve) => setTimeout(resolve, Math.min(100 * 2 ** attempt, longestPause)))
      }
    }
  }

  return {
    add(receipt) {
      waiting.push(receipt)
      if (running !== undefined) return
      running = send()
      background(running)
    },
    async drain() {
      await running
    },
  }
}
