// runtime/capabilities/define.ts — what all definitions share, and tools: built once at module scope.

import type { CallToolResult, Icon, InputRequiredResult, ToolAnnotations } from '@modelcontextprotocol/server'

import type { SupabaseMcpContext } from '../context.ts'
import { isReservedName } from './reserved-names.ts'
import { prepareSchema, toJsonSchema, type OutputOf, type ToolSchema } from './schema.ts'

/** Who is meant to use a tool: the model, the app that shows a view, or both. */
export type Visibility = 'model' | 'app'

const visibilities: readonly Visibility[] = ['model', 'app']

/** What a tool says about itself. */
export interface ToolDefinition<Input extends ToolSchema = ToolSchema> {
  /** 1 to 64 letters, digits, `_` and `-`. */
  readonly name: string
  readonly title?: string
  /** When to use it: all a model has to choose by. */
  readonly description: string
  readonly inputSchema: Input
  readonly outputSchema?: ToolSchema
  readonly annotations?: ToolAnnotations
  /** Application scopes a caller must hold, every one of them. */
  readonly scopes?: readonly string[]
  /** Default: both. A tool for the app alone is listed as such and never found by search. */
  readonly visibility?: readonly Visibility[]
  /** Listed even where the server offers its tools by search. Takes effect with the row of the tool. */
  readonly pinned?: boolean
  /** More words to be found by. Takes effect with the row of the tool. */
  readonly search?: string
  readonly icons?: readonly Icon[]
  readonly _meta?: Readonly<Record<string, unknown>>
}

/** A definition with its handler. */
export interface DefinedTool {
  readonly definition: ToolDefinition
  readonly handler: (args: unknown, ctx: SupabaseMcpContext) => ToolAnswer
}

export type ToolAnswer = CallToolResult | InputRequiredResult | Promise<CallToolResult | InputRequiredResult>

/**
 * Defines a tool at module scope. Its schemas are read once, and a call of another tool never touches them. A schema
 * may be one of zod 4 or zod 3, any Standard Schema with JSON Schema, or a plain JSON Schema.
 *
 * @throws {TypeError} for a name no client would take, a blank scope, or a schema that is none or cannot be listed.
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
export function defineTool<Input extends ToolSchema>(
  definition: ToolDefinition<Input>,
  handler: (args: OutputOf<Input>, ctx: SupabaseMcpContext) => ToolAnswer,
): DefinedTool {
  const { name, inputSchema, outputSchema, scopes, visibility = ['model'] } = definition
  const where = requireName('defineTool', name)
  if (isReservedName(name)) throw new TypeError(`${where}: the name belongs to the search of Chumbo.`)
  requireScopeNames(where, scopes)
  if (visibility.length === 0 || visibility.some((who) => !visibilities.includes(who)))
    throw new TypeError(`${where}: visibility is a list of model, app or both.`)
  requireSchema(where, 'inputSchema', () => prepareSchema(inputSchema, 'input'))
  if (outputSchema !== undefined)
    requireSchema(where, 'outputSchema', () => prepareSchema(outputSchema, 'output'))
  return Object.freeze({
    definition,
    // The schema has validated the arguments by the time the handler sees them.
    handler: handler as DefinedTool['handler'],
  })
}

/** The entry a client sees in a list. */
export function toolEntry({
  definition,
}: Pick<DefinedTool, 'definition'>): Record<string, unknown> & { name: string } {
  const { name, title, description, inputSchema, outputSchema, annotations, icons } = definition
  const meta = metaOf(definition)
  return {
    name,
    ...(title === undefined ? {} : { title }),
    description,
    inputSchema: toJsonSchema(inputSchema, 'input'),
    ...(outputSchema === undefined ? {} : { outputSchema: toJsonSchema(outputSchema, 'output') }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(icons === undefined ? {} : { icons }),
    ...(meta === undefined ? {} : { _meta: meta }),
  }
}

/** `_meta` with the mark by which hosts keep a tool of the app from the model; a row is given the same by the database. */
export function metaOf({
  visibility,
  _meta: meta,
}: Pick<ToolDefinition, 'visibility' | '_meta'>): Readonly<Record<string, unknown>> | undefined {
  if (visibility === undefined || visibility.includes('model')) return meta
  const ui = meta?.['ui']
  return { ...meta, ui: { ...(typeof ui === 'object' ? ui : {}), visibility: ['app'] } }
}

/** The name as a place for messages; what no client would take is refused. */
export function requireName(by: string, name: unknown): string {
  if (typeof name === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(name)) return `${by} ${name}`
  throw new TypeError(`${by}: ${JSON.stringify(name)} is not a name; use 1 to 64 letters, digits, _ and -.`)
}

/** A blank scope would gate nothing while looking like a gate. */
export function requireScopeNames(where: string, scopes: readonly string[] = []): void {
  if (scopes.some((scope) => scope.trim() === '')) throw new TypeError(`${where}: a scope is blank.`)
}

/** Runs what reads a schema, and names the definition when it cannot be read. */
export function requireSchema<Ready>(where: string, option: string, read: () => Ready): Ready {
  try {
    return read()
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : 'it cannot be read'
    throw new TypeError(`${where}: ${option} cannot be offered to clients: ${reason.replace(/\.$/, '')}.`, {
      cause,
    })
  }
}
