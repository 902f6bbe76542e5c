// runtime/capabilities/options.ts — what serving is configured with, from the application and from the app object.

import type { Implementation } from '@modelcontextprotocol/server'

import type { SupabaseMcpContext } from '../context.ts'
import type { Environment } from '../environment.ts'
import type { CatalogCache } from '../gate/catalog-cache.ts'
import type { Gate } from '../gate/gate.ts'
import type { ReceiptQueue } from '../receipts.ts'
import type { CodeCatalog } from './code-catalog.ts'
import type { ResultMiddleware } from '../results/middleware.ts'
import type { DefinedTool } from './define.ts'
import type { DefinedPrompt } from './define-prompt.ts'
import type { DefinedResource } from './define-resource.ts'
import type { SupabaseMcpServer } from './facade.ts'

/** What an application offers from code. */
export interface CodeOptions {
  readonly tools: readonly DefinedTool[]
  readonly resources: readonly DefinedResource[]
  readonly prompts: readonly DefinedPrompt[]
  readonly resultMiddleware: readonly ResultMiddleware[]
  readonly register?:
    ((server: SupabaseMcpServer, ctx: SupabaseMcpContext) => void | Promise<void>) | undefined
  /** Scopes to use instead of those the database names. */
  readonly resolveScopes?:
    ((ctx: SupabaseMcpContext) => readonly string[] | Promise<readonly string[]>) | undefined
  /** What to add to the context as `ctx.extra`. */
  readonly extend?: ((ctx: SupabaseMcpContext) => object | Promise<object>) | undefined
  readonly instructions?:
    string | ((ctx: SupabaseMcpContext) => string | undefined | Promise<string | undefined>) | undefined
}

/** What serving needs; one object for the life of the app. */
export interface ServeOptions {
  readonly serverInfo: Implementation
  readonly environment: Environment
  readonly fetch?: typeof fetch | undefined
  readonly gate: Gate
  readonly cache: CatalogCache
  readonly code: CodeOptions
  readonly catalog: CodeCatalog
  readonly receipts: ReceiptQueue
  readonly onError: (error: unknown, traceId: string) => void
}
