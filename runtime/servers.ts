// runtime/servers.ts — the servers behind one function: the one of the code, and those that stand in the database beside it.

import type { Implementation } from '@modelcontextprotocol/server'

import { createCodeCatalog } from './capabilities/code-catalog.ts'
import { readDefinitions, registrationsOf } from './capabilities/definitions.ts'
import type { CodeOptions, ServeOptions } from './capabilities/options.ts'
import { createCatalogCache } from './gate/catalog-cache.ts'
import { createProtocol, type Protocol } from './protocol.ts'

/** What a server says of itself and offers from code. */
export interface ServerOfCode {
  readonly info: Implementation
  readonly code: CodeOptions
}

/** A server, ready to answer. */
export interface Server {
  readonly slug: string
  readonly info: Implementation
  readonly protocol: Protocol
}

export interface Servers {
  /** The server at the function's own path. */
  readonly main: Server
  /**
   * The server at a path of its own behind the function's. One that was registered a moment ago is found without a
   * deploy: the database is asked about a slug that is not known, at most once in {@link askAgainAfterMs}.
   *
   * @throws {ChumboError} of the gate when the database cannot be asked.
   */
  readonly find: (slug: string) => Promise<Server | undefined>
  readonly close: () => Promise<void>
}

export interface ServersOptions {
  readonly mainSlug: string
  readonly main: ServerOfCode
  /** Code of further servers, by slug. A server without any offers what its rows say. */
  readonly others: ReadonlyMap<string, ServerOfCode>
  /** What all of them share. */
  readonly shared: Pick<ServeOptions, 'environment' | 'fetch' | 'gate' | 'receipts' | 'onError'>
  readonly now?: () => number
}

/** Guessing slugs must not become questions to the database. */
const askAgainAfterMs = 5_000

export function createServers({ mainSlug, main, others, shared, now = Date.now }: ServersOptions): Servers {
  const open = new Map<string, Server>()
  let registered = new Set<string>()
  let askedAt = -Infinity
  let asking: Promise<void> | undefined

  function start(slug: string, { info, code }: ServerOfCode): Server {
    const catalog = createCodeCatalog()
    for (const registration of registrationsOf(code)) catalog.learn(registration)
    const protocol = createProtocol({
      ...shared,
      serverInfo: info,
      cache: createCatalogCache(),
      catalog,
      code,
    })
    const server = { slug, info, protocol }
    open.set(slug, server)
    return server
  }

  async function ask(): Promise<void> {
    try {
      registered = new Set(await shared.gate.servers())
      askedAt = now()
    } finally {
      asking = undefined
    }
  }

  const mainServer = start(mainSlug, main)
  return {
    main: mainServer,
    async find(slug) {
      // It has its path already, and one server under two would be two resources.
      if (slug === mainSlug) return undefined
      if (!registered.has(slug) && now() - askedAt >= askAgainAfterMs) await (asking ??= ask())
      if (!registered.has(slug)) return undefined
      return (
        open.get(slug)
        ?? start(
          slug,
          others.get(slug) ?? { info: main.info, code: { ...readDefinitions({}), resultMiddleware: [] } },
        )
      )
    },
    async close() {
      await Promise.all([...open.values()].map(({ protocol }) => protocol.close()))
    },
  }
}
