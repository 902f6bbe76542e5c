// runtime/capabilities/assemble.ts — the official server of one request: its identity, its context, what code registers.

import { McpServer } from '@modelcontextprotocol/server'

import { createContext, type SupabaseMcpContext } from '../context.ts'
import type { EnterAnswer } from '../gate/gate.ts'
import { runResultMiddleware } from '../results/middleware.ts'
import { createBoundary } from './boundary.ts'
import type { Exchange } from './exchange.ts'
import { metaOf } from './define.ts'
import { prepareArguments } from './define-prompt.ts'
import { registrationOf } from './define-resource.ts'
import { createFacade, type Facade, type Registration, type SupabaseMcpServer } from './facade.ts'
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
    compose: (name, result) =>
      runResultMiddleware(name, result, {
        middleware: code.resultMiddleware,
        context: ctx,
        onError: (error) => options.onError(error, exchange.traceId),
      }),
    report: (error) => catalog.reportOnce(error, () => options.onError(error, exchange.traceId)),
  })
  registerDefinitions(facade.server, { code, ctx })
  await code.register?.(facade.server, ctx)
  // Registering says on its own that changes are announced; a server that lives for one request announces nothing.
  for (const kind of facade.kinds) {
    if (kind === 'tool') continue
    const capability = kind === 'prompt' ? 'prompts' : 'resources'
    mcp.server.registerCapabilities({ [capability]: { listChanged: false } })
  }
  return { ...facade, mcp }
}

function registerDefinitions(
  server: SupabaseMcpServer,
  { code, ctx }: { readonly code: CodeOptions; readonly ctx: SupabaseMcpContext },
): void {
  for (const { definition, handler } of code.tools) {
    const {
      name,
      scopes = [],
      visibility: _visibility,
      pinned: _pinned,
      search: _search,
      ...config
    } = definition
    const meta = metaOf(definition)
    server
      .withScopes(scopes)
      .registerTool(name, { ...config, ...(meta === undefined ? {} : { _meta: meta }) }, (args: unknown) =>
        handler(args, ctx),
      )
  }
  for (const resource of code.resources) {
    const { name, scopes = [] } = resource.definition
    const { uri, config, read } = registrationOf(resource, ctx)
    // The official overloads part by the kind of URI; which of the two it is makes no difference here.
    server.withScopes(scopes).registerResource(name, uri as string, config, read)
  }
  for (const { definition, handler } of code.prompts) {
    const { name, scopes = [], complete, argsSchema, ...config } = definition
    const scoped = server.withScopes(scopes)
    if (argsSchema === undefined) scoped.registerPrompt(name, config as object, () => handler({}, ctx))
    else
      scoped.registerPrompt(
        name,
        { ...config, argsSchema: prepareArguments(argsSchema, { complete, ctx }) },
        (args: unknown) => handler(args, ctx),
      )
  }
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
