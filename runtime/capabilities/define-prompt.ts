// runtime/capabilities/define-prompt.ts — prompts, built once at module scope.

import {
  completable,
  type GetPromptResult,
  type Icon,
  type InputRequiredResult,
  type StandardSchemaWithJSON,
} from '@modelcontextprotocol/server'

import type { SupabaseMcpContext } from '../context.ts'
import { requireName, requireSchema, requireScopeNames } from './define.ts'
import type { Complete } from './define-resource.ts'
import { prepareSchema, toJsonSchema, type OutputOf, type ToolSchema } from './schema.ts'

/** What a prompt says about itself. */
export interface PromptDefinition<Args extends ToolSchema = ToolSchema> {
  /** 1 to 64 letters, digits, `_` and `-`. */
  readonly name: string
  readonly title?: string
  readonly description?: string
  /** Arguments arrive as text, whatever they mean. */
  readonly argsSchema?: Args
  /** Values to offer for an argument. */
  readonly complete?: Readonly<Record<string, Complete>>
  readonly icons?: readonly Icon[]
  readonly _meta?: Readonly<Record<string, unknown>>
  /** Application scopes a caller must hold, every one of them. */
  readonly scopes?: readonly string[]
}

/** A definition with its handler. */
export interface DefinedPrompt {
  readonly definition: PromptDefinition
  readonly handler: (args: unknown, ctx: SupabaseMcpContext) => PromptAnswer
}

export type PromptAnswer =
  GetPromptResult | InputRequiredResult | Promise<GetPromptResult | InputRequiredResult>

/**
 * Defines a prompt at module scope.
 *
 * @throws {TypeError} for a name no client would take, a blank scope, a schema that is none, an argument there is not.
 * @example
 * ```ts
 * const plan = definePrompt(
 *   { name: 'plan_project', description: 'Plans the next steps.', argsSchema: z.object({ name: z.string() }) },
 *   ({ name }) => ({
 *     messages: [{ role: 'user', content: { type: 'text', text: `Plan the next steps of ${name}.` } }],
 *   }),
 * )
 * ```
 */
export function definePrompt<Args extends ToolSchema>(
  definition: PromptDefinition<Args>,
  handler: (args: OutputOf<Args>, ctx: SupabaseMcpContext) => PromptAnswer,
): DefinedPrompt {
  const { name, argsSchema, complete = {}, scopes } = definition
  const where = requireName('definePrompt', name)
  requireScopeNames(where, scopes)
  const properties =
    argsSchema === undefined
      ? {}
      : requireSchema(where, 'argsSchema', () => toJsonSchema(argsSchema, 'input')['properties'])
  const unknown = Object.keys(complete).find((argument) => !Object.hasOwn(properties as object, argument))
  if (unknown !== undefined)
    throw new TypeError(`${where}: complete names ${unknown}, and there is no such argument.`)
  return Object.freeze({
    definition,
    // The schema has validated the arguments by the time the handler sees them.
    handler: handler as DefinedPrompt['handler'],
  })
}

/** The entry a manifest holds. */
export function promptEntry({ definition }: DefinedPrompt): Record<string, unknown> & { name: string } {
  const { name, title, description, argsSchema, icons, _meta: meta } = definition
  return {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(argsSchema === undefined ? {} : { inputSchema: toJsonSchema(argsSchema, 'input') }),
    ...(icons === undefined ? {} : { icons }),
    ...(meta === undefined ? {} : { _meta: meta }),
  }
}

/** What the official server completes an argument by: a schema whose `shape` holds completable schemas. */
export type CompletableSchema = StandardSchemaWithJSON & {
  readonly shape?: Readonly<Record<string, unknown>>
}

/**
 * The schema of a prompt's arguments, ready for the official server. What the application marked `completable` itself
 * stays so; `complete` adds to it for one caller.
 */
export function prepareArguments(
  argsSchema: unknown,
  {
    complete = {},
    ctx,
  }: {
    readonly complete?: Readonly<Record<string, Complete>> | undefined
    readonly ctx?: SupabaseMcpContext
  } = {},
): CompletableSchema {
  const ready = prepareSchema(argsSchema, 'input')
  const shape = { ...shapeOf(argsSchema) }
  for (const [argument, callback] of Object.entries(complete)) {
    if (ctx === undefined) continue
    shape[argument] = completable({ '~standard': { ...ready['~standard'] } }, async (value, context) => [
      ...(await callback(String(value), ctx, context?.arguments ?? {})),
    ])
  }
  return { '~standard': ready['~standard'], shape }
}

function shapeOf(schema: unknown): Readonly<Record<string, unknown>> {
  const { shape } = schema as { readonly shape?: unknown }
  return typeof shape === 'object' && shape !== null ? (shape as Record<string, unknown>) : {}
}
