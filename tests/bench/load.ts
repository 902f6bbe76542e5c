// tests/bench/load.ts — hands jobs to the thread that plays the clients.
import { Worker } from 'node:worker_threads'

/** A POST that is sent again and again. */
export interface HttpTarget {
  readonly kind: 'http'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** One for each person; clients share them in turn. */
  readonly tokens: readonly string[]
  /** Part of every right answer. */
  readonly expected: string
}

/** A statement that is run again and again as a signed-in user, without anything around it. */
export interface SqlTarget {
  readonly kind: 'sql'
  /** A login that may become `authenticated`. */
  readonly url: string
  readonly text: string
  readonly subjects: readonly string[]
  readonly expected: string
}

export type Target = HttpTarget | SqlTarget

export interface Job {
  readonly target: Target
  readonly clients: number
  /** Calls of all clients together. */
  readonly count: number
}

export interface JobResult {
  /** Milliseconds, one a call. */
  readonly latencies: readonly number[]
  readonly seconds: number
  /** The beginnings of answers that were not right. */
  readonly errors: readonly string[]
}

export interface LoadGenerator {
  readonly run: (job: Job) => Promise<JobResult>
  readonly stop: () => Promise<void>
}

/** Starts the thread. */
export function startLoadGenerator(): LoadGenerator {
  const worker = new Worker(new URL('./load-worker.ts', import.meta.url))
  const waiting = new Map<number, { resolve: (result: JobResult) => void; reject: (error: Error) => void }>()
  let lastId = 0

  const giveUp = (error: Error): void => {
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }
  worker.on('message', ({ id, result }: { readonly id: number; readonly result: JobResult }) => {
    waiting.get(id)?.resolve(result)
    waiting.delete(id)
  })
  worker.on('error', (error) => giveUp(error instanceof Error ? error : new Error(String(error))))
  worker.on('exit', () => giveUp(new Error('The load generator was stopped.')))

  return {
    run(job) {
      lastId += 1
      const id = lastId
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject })
        worker.postMessage({ id, ...job })
      })
    },
    async stop() {
      await worker.terminate()
    },
  }
}
