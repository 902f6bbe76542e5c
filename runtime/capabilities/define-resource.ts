// runtime/capabilities/define-resource.ts — resources and templates, built once at module scope.

import {
  ResourceTemplate,
  UriTemplate,
  type Icon,
  type InputRequiredResult,
  type ListResourcesResult,
  type ReadResourceResult,
  type Resource,
  type ResourceMetadata,
} from '@modelcontextprotocol/server'

import type { SupabaseMcpContext } from '../context.ts'
import { requireName, requireScopeNames } from './define.ts'

interface DescribedResource {
  /** 1 to 64 letters, digits, `_` and `-`. */
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly mimeType?: string
  readonly annotations?: Resource['annotations']
  readonly icons?: readonly Icon[]
  readonly _meta?: Readonly<Record<string, unknown>>
  /** How long a client of the 2026-07-28 revision may keep what it read, and for whom. */
  readonly cacheHint?: { readonly ttlMs?: number; readonly cacheScope?: 'public' | 'private' }
  /** Application scopes a caller must hold, every one of them. */
  readonly scopes?: readonly string[]
}

/** One resource with a URI of its own. */
export interface ResourceDefinition extends DescribedResource {
  readonly uri: string
  /** Bytes, when they are known. */
  readonly size?: number
}

/** Values for one variable of a template or argument of a prompt, given what has been typed and chosen so far. */
export type Complete = (
  value: string,
  ctx: SupabaseMcpContext,
  chosen: Readonly<Record<string, string>>,
) => readonly string[] | Promise<readonly string[]>

/** Resources whose URIs follow a pattern. */
export interface ResourceTemplateDefinition extends DescribedResource {
  /** RFC 6570: `project://{id}`. */
  readonly uriTemplate: string
  /** The resources that `resources/list` shows; without it the pattern alone is shown. */
  readonly list?: (ctx: SupabaseMcpContext) => ListResourcesResult | Promise<ListResourcesResult>
  readonly complete?: Readonly<Record<string, Complete>>
}

/** The values of a template's variables in the URI that is read. */
export type TemplateVariables = Readonly<Record<string, string | string[]>>

type ReadAnswer = ReadResourceResult | InputRequiredResult | Promise<ReadResourceResult | InputRequiredResult>

/** A definition with its handler. */
export interface DefinedResource {
  readonly definition: ResourceDefinition | ResourceTemplateDefinition
  readonly handler: (uri: URL, variables: TemplateVariables, ctx: SupabaseMcpContext) => ReadAnswer
}

/**
 * Defines a resource, or with `uriTemplate` a family of them, at module scope.
 *
 * @throws {TypeError} for a name no client would take, a blank scope, a URI that is none, a variable there is not.
 * @example
 * ```ts
 * const project = defineResource(
 *   { name: 'project', uriTemplate: 'project://{id}', mimeType: 'text/markdown' },
 *   async (uri, { id }, ctx) => {
 *     const { data } = await ctx.supabase.from('projects').select('notes').eq('id', id).maybeSingle().throwOnError()
 *     if (data === null) throw new ResourceNotFoundError(uri.href)
 *     return { contents: [{ uri: uri.href, mimeType: 'text/markdown', text: String(data.notes) }] }
 *   },
 * )
 * ```
 */
export function defineResource(
  definition: ResourceDefinition,
  handler: (uri: URL, ctx: SupabaseMcpContext) => ReadAnswer,
): DefinedResource
export function defineResource(
  definition: ResourceTemplateDefinition,
  handler: (uri: URL, variables: TemplateVariables, ctx: SupabaseMcpContext) => ReadAnswer,
): DefinedResource
export function defineResource(
  definition: ResourceDefinition | ResourceTemplateDefinition,
  handler:
    | ((uri: URL, ctx: SupabaseMcpContext) => ReadAnswer)
    | ((uri: URL, variables: TemplateVariables, ctx: SupabaseMcpContext) => ReadAnswer),
): DefinedResource {
  const where = requireName('defineResource', definition.name)
  requireScopeNames(where, definition.scopes)
  if (isTemplate(definition)) {
    const names = variablesOf(where, definition.uriTemplate)
    const unknown = Object.keys(definition.complete ?? {}).find((name) => !names.includes(name))
    if (unknown !== undefined)
      throw new TypeError(
        `${where}: complete names ${unknown}, and ${definition.uriTemplate} has no such variable.`,
      )
    return Object.freeze({ definition, handler: handler as DefinedResource['handler'] })
  }
  if (!URL.canParse(definition.uri))
    throw new TypeError(`${where}: ${JSON.stringify(definition.uri)} is not a URI.`)
  const read = handler as (uri: URL, ctx: SupabaseMcpContext) => ReadAnswer
  return Object.freeze<DefinedResource>({ definition, handler: (uri, _variables, ctx) => read(uri, ctx) })
}

/** Whether a definition is a family of resources. */
export function isTemplate(
  definition: ResourceDefinition | ResourceTemplateDefinition,
): definition is ResourceTemplateDefinition {
  return 'uriTemplate' in definition
}

/** What goes into the official registration, for one caller. */
export interface ResourceRegistration {
  readonly uri: string | ResourceTemplate
  readonly config: ResourceMetadata
  readonly read: (...parameters: unknown[]) => ReadAnswer
}

/** The definition for one caller: its callbacks know who asks. */
export function registrationOf(
  { definition, handler }: DefinedResource,
  ctx: SupabaseMcpContext,
): ResourceRegistration {
  if (!isTemplate(definition)) {
    const { name: _name, uri, scopes: _scopes, ...config } = definition
    return { uri, config: config as ResourceMetadata, read: (read) => handler(read as URL, {}, ctx) }
  }
  const { name: _name, uriTemplate, scopes: _scopes, list, complete = {}, ...config } = definition
  const template = new ResourceTemplate(uriTemplate, {
    list: list && (() => list(ctx)),
    complete: Object.fromEntries(
      Object.entries(complete).map(([variable, callback]) => [
        variable,
        async (value: string, context?: { readonly arguments?: Record<string, string> }) => [
          ...(await callback(value, ctx, context?.arguments ?? {})),
        ],
      ]),
    ),
  })
  return {
    uri: template,
    config: config as ResourceMetadata,
    read: (read, variables) => handler(read as URL, variables as TemplateVariables, ctx),
  }
}

/** The pattern as the catalog of names knows it before any caller has come. */
export function uriOf({ definition }: DefinedResource): string | ResourceTemplate {
  return isTemplate(definition)
    ? new ResourceTemplate(definition.uriTemplate, { list: undefined })
    : definition.uri
}

function variablesOf(where: string, uriTemplate: string): readonly string[] {
  try {
    return new UriTemplate(uriTemplate).variableNames
  } catch (cause) {
    throw new TypeError(`${where}: ${JSON.stringify(uriTemplate)} is not a URI template.`, { cause })
  }
}
