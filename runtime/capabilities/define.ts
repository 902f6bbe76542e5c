// runtime/capabilities/define.ts — definitions built once at module scope, and the manifest that registers them.

import type {
  CallToolResult,
  InputRequiredResult,
  StandardSchemaWithJSON,
  ToolAnnotations,
} from '@modelcontextprotocol/server'

import type { SupabaseMcpContext } from '../context.ts'
import { isStandardSchema, toJsonSchema } from './schema.ts'

/** What a tool says about itself. */
export interface ToolDefinition<Input extends StandardSchemaWithJSON = StandardSchemaWithJSON> {
  /** 1 to 64 letters, digits, `_` and `-`. */
  readonly name: string
  readonly title?: string
  /** When to use it: all a model has to choose by. */
  readonly description: string
  readonly inputSchema: Input
  readonly outputSchema?: StandardSchemaWithJSON
  readonly annotations?: ToolAnnotations
  /** Application scopes a caller must hold, every one of them. */
  readonly scopes?: readonly string[]
}

/** A definition with its handler. */
export interface DefinedTool {
  readonly definition: ToolDefinition
  readonly handler: (args: unknown, ctx: SupabaseMcpContext) => ToolAnswer
}

export type ToolAnswer = CallToolResult | InputRequiredResult | Promise<CallToolResult | InputRequiredResult>

/**
 * Defines a tool at module scope. Its schema is converted once, and a call of another tool never touches it.
 *
 * @throws {TypeError} for a name no client would take, a blank scope, or a schema that is not a schema.
 * @example
 * ```ts
 * const archive = defineTool(
 *   { name: 'archive_project', description: 'Archives a project.', inputSchema: z.object({ id: z.uuid() }) },
 *   async ({ id }, ctx) => {
 *     await ctx.supabase.from('projects').update({ archived: true }).eq('id', id).throwOnError()
 *     return textResult('Archived.')
 *   },
 * )
 * ```
 */
export function defineTool<Input extends StandardSchemaWithJSON>(
  definition: ToolDefinition<Input>,
  handler: (args: StandardSchemaWithJSON.InferOutput<Input>, ctx: SupabaseMcpContext) => ToolAnswer,
): DefinedTool {
  const { name, inputSchema, scopes = [] } = definition
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    throw new TypeError(
      `defineTool: ${JSON.stringify(name)} is not a tool name; use 1 to 64 letters, digits, _ and -.`,
    )
  }
  requireScopeNames(`defineTool ${name}`, scopes)
  if (!isStandardSchema(inputSchema)) {
    throw new TypeError(
      `defineTool ${name}: inputSchema is not a Standard Schema with JSON Schema; zod 4 is one.`,
    )
  }
  return Object.freeze({
    definition,
    // The schema has validated the arguments by the time the handler sees them.
    handler,
  })
}

/** A blank scope would gate nothing while looking like a gate. */
export function requireScopeNames(where: string, scopes: readonly string[]): void {
  if (scopes.some((scope) => scope.trim() === '')) throw new TypeError(`${where}: a scope is blank.`)
}

/** The entry a client sees in a list. */
export function toolEntry({
  definition,
}: Pick<DefinedTool, 'definition'>): Record<string, unknown> & { name: string } {
  const { name, title, description, inputSchema, outputSchema, annotations } = definition
  return {
    name,
    ...(title === undefined ? {} : { title }),
    description,
    inputSchema: toJsonSchema(inputSchema, 'input'),
    ...(outputSchema === undefined ? {} : { outputSchema: toJsonSchema(outputSchema, 'output') }),
    ...(annotations === undefined ? {} : { annotations }),
  }
}

/** A resource or template as the manifest names it. */
export interface ResourceEntry {
  readonly name: string
  readonly uri?: string
  readonly uriTemplate?: string
  readonly title?: string
  readonly description?: string
  readonly mimeType?: string
  readonly scopes?: readonly string[]
}

/** What `chumbo.sync_capabilities` takes. */
export interface Manifest {
  readonly tools: readonly Record<string, unknown>[]
  readonly resources: readonly ResourceEntry[]
}

/**
 * Writes definitions as the manifest for `chumbo.sync_capabilities`, which makes them rows.
 *
 * @example
 * ```ts
 * console.log(JSON.stringify(manifest({ tools: [archive] })))
 * ```
 */
export function manifest({
  tools = [],
  resources = [],
}: {
  readonly tools?: readonly DefinedTool[]
  readonly resources?: readonly ResourceEntry[]
}): Manifest {
  return {
    tools: tools.map((tool) => ({ ...toolEntry(tool), scopes: [...(tool.definition.scopes ?? [])] })),
    resources,
  }
}
