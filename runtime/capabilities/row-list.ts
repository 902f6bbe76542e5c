// runtime/capabilities/row-list.ts — one page of resources, templates or prompts: rows first, then what code registered.

import type {
  ListPromptsResult,
  ListResourcesResult,
  ListResourceTemplatesResult,
  McpServer,
  RegisteredPrompt,
  ServerContext,
} from '@modelcontextprotocol/server'

import type { EnterAnswer, ListedKind } from '../gate/gate.ts'
import { newServer } from './assemble.ts'
import { cacheHint } from './cache-hint.ts'
import type { CodeCatalog } from './code-catalog.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import { describeAll, type Description } from './describe.ts'
import type { Exchange } from './exchange.ts'
import type { CodeKind } from './facade.ts'
import type { ServeOptions } from './options.ts'
import { guarded } from './row-answer.ts'
import { toJsonSchema } from './schema.ts'

type Listed = Readonly<Record<string, unknown>>

/** A server that answers one list. */
export function listServer(exchange: Exchange, kind: ListedKind, options: ServeOptions): McpServer {
  const mcp = newServer(options, null)
  mcp.server.registerCapabilities(
    kind === 'prompt' ? { prompts: { listChanged: false } } : { resources: { listChanged: false } },
  )
  const serve = <Result>(cursor: string | undefined, ctx: ServerContext, key: string): Promise<Result> =>
    // Rows were checked when they were registered, and code by the SDK when it was.
    guarded(exchange, () => page(exchange, { kind, cursor, ctx, key }, options)) as Promise<Result>
  if (kind === 'prompt') {
    mcp.server.setRequestHandler('prompts/list', ({ params }, ctx) =>
      serve<ListPromptsResult>(params?.cursor, ctx, 'prompts'),
    )
  } else if (kind === 'resource') {
    mcp.server.setRequestHandler('resources/list', ({ params }, ctx) =>
      serve<ListResourcesResult>(params?.cursor, ctx, 'resources'),
    )
  } else {
    mcp.server.setRequestHandler('resources/templates/list', ({ params }, ctx) =>
      serve<ListResourceTemplatesResult>(params?.cursor, ctx, 'resourceTemplates'),
    )
  }
  return mcp
}

interface Page {
  readonly kind: ListedKind
  readonly cursor: string | undefined
  readonly ctx: ServerContext
  readonly key: string
}

async function page(
  exchange: Exchange,
  { kind, cursor, ctx, key }: Page,
  options: ServeOptions,
): Promise<Readonly<Record<string, unknown>>> {
  const after = cursor === undefined ? undefined : decodeCursor(cursor)
  const kinds: readonly CodeKind[] = kind === 'prompt' ? ['prompt'] : ['resource', 'resource_template']
  const description = await describeAll(
    exchange,
    kinds,
    options,
    { operation: 'describe', after, attempt: 1 },
    kind,
  )
  // What went wrong is on the exchange.
  if (description === undefined) return { [key]: [] }
  const { answer } = description
  const rows = rowsOf(answer, kind, options.catalog)
  const code = answer.next == null ? await codeOf(description, { kind, ctx, catalog: options.catalog }) : []
  return {
    [key]: [...rows, ...code],
    ...(answer.next == null ? {} : { nextCursor: encodeCursor(answer.next) }),
    ...cacheHint(answer.server == null ? null : answer.server.cache_seconds * 1000, exchange),
  }
}

/** The entries of rows. What code answers under its own name is left to code, or it would be here twice. */
function rowsOf(
  { entries = [], listed = [] }: EnterAnswer,
  kind: ListedKind,
  catalog: CodeCatalog,
): Listed[] {
  const rows: Listed[] = []
  for (const { name, handler, definition } of entries) {
    if (
      handler !== 'typescript'
      && definition !== undefined
      && !isOfCode(definition, { kind, name }, catalog)
    )
      rows.push(definition)
  }
  for (const { name, definition } of listed) {
    if (!isOfCode(definition, { kind: 'resource_template', name }, catalog)) rows.push(definition)
  }
  return rows
}

function isOfCode(
  { uri, uriTemplate }: Listed,
  row: { readonly kind: CodeKind; readonly name: string },
  catalog: CodeCatalog,
): boolean {
  const found =
    typeof uri === 'string'
      ? catalog.findResource(uri)
      : typeof uriTemplate === 'string'
        ? catalog.findTemplate(uriTemplate)
        : undefined
  // The row decides over the code that carries the same name.
  return found !== undefined && (found.kind !== row.kind || found.name !== row.name)
}

/** What code registered for this caller, each as the SDK would list it. */
async function codeOf(
  { facade }: Description,
  {
    kind,
    ctx,
    catalog,
  }: { readonly kind: ListedKind; readonly ctx: ServerContext; readonly catalog: CodeCatalog },
): Promise<Listed[]> {
  if (kind === 'prompt') {
    return [...facade.prompts].flatMap(([name, prompt]) =>
      prompt.enabled ? [promptEntry(name, prompt)] : [],
    )
  }
  if (kind === 'resource_template') {
    return [...facade.templates].flatMap(([name, { resourceTemplate, metadata, enabled }]) =>
      enabled ? [{ name, uriTemplate: resourceTemplate.uriTemplate.toString(), ...metadata }] : [],
    )
  }
  const byUri = new Map<string, Listed>()
  for (const [uri, { name, metadata, enabled }] of facade.resources) {
    if (enabled) byUri.set(uri, { uri, name, ...metadata })
  }
  for (const { resourceTemplate, metadata, enabled } of facade.templates.values()) {
    const listed = enabled ? await resourceTemplate.listCallback?.(ctx) : undefined
    for (const entry of listed?.resources ?? []) {
      // Once, and only what code itself would read.
      if (!byUri.has(entry.uri) && catalog.findResource(entry.uri) !== undefined)
        byUri.set(entry.uri, { ...metadata, ...entry })
    }
  }
  return [...byUri.values()]
}

function promptEntry(
  name: string,
  { title, description, argsSchema, icons, _meta }: RegisteredPrompt,
): Listed {
  return {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(argsSchema === undefined ? {} : { arguments: argumentsOf(toJsonSchema(argsSchema, 'input')) }),
    ...(icons === undefined ? {} : { icons }),
    ...(_meta === undefined ? {} : { _meta }),
  }
}

function argumentsOf(schema: Listed): Listed[] {
  const { properties = {}, required = [] } = schema as {
    readonly properties?: Readonly<Record<string, { readonly description?: string }>>
    readonly required?: readonly string[]
  }
  return Object.entries(properties).map(([name, { description }]) => ({
    name,
    ...(description === undefined ? {} : { description }),
    required: required.includes(name),
  }))
}
