// runtime/capabilities/assemble.ts — the official server of one request: its identity, its context, what code registers.

import { McpServer } from '@modelcontextprotocol/server'

import { createContext, type SupabaseMcpContext } from '../context.ts'
import type { EnterAnswer } from '../gate/gate.ts'
import { createBoundary } from './boundary.ts'
import type { Exchange } from './exchange.ts'
import { createFacade, type Facade, type Registration } from './facade.ts'
import type { CodeOptions, ServeOptions } from './options.ts'

/** The facade with the official server under it. */
export type BuiltFacade = Facade & { readonly mcp: McpServer }

/** Builds the server, and registers on it what code offers and `admits` lets through. */
export async function assemble(
  exchange: Exchange,
  answer: EnterAnswer,
  options: ServeOptions,
  admits: (registration: Registration) => boolean,
): Promise<BuiltFacade> {
  const { code, catalog } = options
  const ctx = await buildContext(exchange, answer, options)
  const mcp = newServer(options, answer, await resolveInstructions(answer, ctx, code))
  const facade = createFacade({
    server: mcp,
    scopes: ctx.scopes,
    admits(registration) {
      catalog.learn(registration)
      return admits(registration)
    },
    wrap: createBoundary(exchange, options).wrap,
  })
  for (const { definition, handler } of code.tools) {
    const { name, scopes = [], ...config } = definition
    facade.server.withScopes(scopes).registerTool(name, config, (args: unknown) => handler(args, ctx))
  }
  await code.register?.(facade.server, ctx)
  // Registering says on its own that changes are announced; a server that lives for one request announces nothing.
  for (const kind of facade.kinds) {
    if (kind === 'tool') continue
    const capability = kind === 'prompt' ? 'prompts' : 'resources'
    mcp.server.registerCapabilities({ [capability]: { listChanged: false } })
  }
  return { ...facade, mcp }
}

async function buildContext(
  exchange: Exchange,
  answer: EnterAnswer,
  { environment, fetch, gate, code }: ServeOptions,
): Promise<SupabaseMcpContext> {
  const { request, identity, traceId } = exchange
  const build = (scopes: readonly string[]): SupabaseMcpContext =>
    createContext({ request, identity, environment, fetch, gate, scopes, traceId })
  let ctx = build(answer.scopes ?? [])
  if (code.resolveScopes !== undefined) ctx = build(await code.resolveScopes(Object.freeze(ctx)))
  if (code.extend === undefined) return Object.freeze(ctx)
  const extra: unknown = Object.freeze({ ...(await code.extend(Object.freeze(ctx))) })
  return Object.freeze(
    Object.create(ctx, { extra: { value: extra, enumerable: true } }) as SupabaseMcpContext,
  )
}

async function resolveInstructions(
  { server }: EnterAnswer,
  ctx: SupabaseMcpContext,
  { instructions }: CodeOptions,
): Promise<string | undefined> {
  if (server?.instructions != null) return server.instructions
  return typeof instructions === 'function' ? await instructions(ctx) : instructions
}

/** A server that holds nothing yet; without an answer it goes by the name the code gave. */
export function newServer(
  { serverInfo }: ServeOptions,
  answer: EnterAnswer | null,
  instructions?: string,
): McpServer {
  const { name, version, title } = answer?.server ?? {}
  return new McpServer(
    {
      ...serverInfo,
      ...(name == null ? {} : { name }),
      ...(version == null ? {} : { version }),
      ...(title == null ? {} : { title }),
    },
    {
      // Declared up front: a server built for one call still says that there are tools. Nothing is ever pushed.
      capabilities: { tools: { listChanged: false } },
      ...(instructions === undefined ? {} : { instructions }),
    },
  )
}
