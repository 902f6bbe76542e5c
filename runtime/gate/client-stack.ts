// runtime/gate/client-stack.ts — connections handed out last in, first out, so that a quiet gate keeps one backend warm.

import type postgres from 'postgres'

import { refusal } from '../errors.ts'

/** Clients of one connection each. */
export interface ClientStack {
  /**
   * The client that was given back last, a new one, or the next one that is given back.
   *
   * @throws {ChumboError} `database_unavailable` when none is free in time: a full house must not hold a caller for long.
   */
  readonly take: () => Promise<postgres.Sql>
  readonly give: (client: postgres.Sql) => void
  /** Takes a client whose connection died out of use: a new one connects at once, where postgres.js would pause first. */
  readonly drop: (client: postgres.Sql) => void
  readonly end: () => Promise<void>
}

/** What the stack is made of. */
export interface ClientStackOptions {
  /** Makes a client that opens one connection at most. */
  readonly create: () => postgres.Sql
  readonly max: number
  readonly waitMs: number
}

/**
 * Builds the stack. A pool of postgres.js goes round its connections in turn: with five, each call meets a backend whose
 * plans and caches were last used five calls ago, which costs about as much again as the call itself.
 */
export function createClientStack({ create, max, waitMs }: ClientStackOptions): ClientStack {
  const all: postgres.Sql[] = []
  const idle: postgres.Sql[] = []
  const waiting: ((client: postgres.Sql) => void)[] = []

  return {
    take() {
      const free = idle.pop()
      if (free !== undefined) return Promise.resolve(free)
      if (all.length < max) {
        const client = create()
        all.push(client)
        return Promise.resolve(client)
      }
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.splice(waiting.indexOf(receive), 1)
          reject(refusal('database_unavailable', { retryAfterSeconds: 1 }))
        }, waitMs)
        const receive = (client: postgres.Sql): void => {
          clearTimeout(timer)
          resolve(client)
        }
        waiting.push(receive)
      })
    },
    give(client) {
      const receive = waiting.shift()
      if (receive === undefined) idle.push(client)
      else receive(client)
    },
    drop(client) {
      all.splice(all.indexOf(client), 1)
      void client.end({ timeout: 0 }).catch(() => {})
      const receive = waiting.shift()
      if (receive === undefined) return
      const fresh = create()
      all.push(fresh)
      receive(fresh)
    },
    async end() {
      await Promise.all(all.map((client) => client.end({ timeout: 5 })))
    },
  }
}
