// runtime/manifest.ts — definitions written down, for `chumbo.sync_capabilities` to make them rows.

import { toolEntry, type DefinedTool } from './capabilities/define.ts'
import { promptEntry, type DefinedPrompt } from './capabilities/define-prompt.ts'
import { isTemplate, type DefinedResource } from './capabilities/define-resource.ts'
import { requireDistinct } from './capabilities/definitions.ts'

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

/** A prompt as the manifest names it. */
export interface PromptEntry {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly inputSchema?: Readonly<Record<string, unknown>>
  readonly scopes?: readonly string[]
}

type Entry = Readonly<Record<string, unknown>> & { readonly name: string }

/** What `chumbo.sync_capabilities` takes. */
export interface Manifest {
  readonly tools: readonly Entry[]
  readonly resources: readonly (Entry | ResourceEntry)[]
  readonly prompts: readonly (Entry | PromptEntry)[]
}

/** What a manifest is written from. Entries stand for what `register` offers. */
export interface ManifestSources {
  readonly tools?: readonly DefinedTool[]
  readonly resources?: readonly (DefinedResource | ResourceEntry)[]
  readonly prompts?: readonly (DefinedPrompt | PromptEntry)[]
}

/**
 * Writes definitions as the manifest for `chumbo.sync_capabilities`, which makes them rows.
 *
 * @throws {TypeError} when two definitions of a kind have one name.
 * @example
 * ```ts
 * console.log(JSON.stringify(manifest({ tools: [archive] })))
 * ```
 */
export function manifest({ tools = [], resources = [], prompts = [] }: ManifestSources): Manifest {
  const written: Manifest = {
    tools: tools.map(describeTool),
    resources: resources.map((resource) =>
      'definition' in resource ? describeResource(resource) : resource,
    ),
    prompts: prompts.map((prompt) =>
      'definition' in prompt
        ? { ...promptEntry(prompt), scopes: [...(prompt.definition.scopes ?? [])] }
        : prompt,
    ),
  }
  requireDistinct({
    tool: written.tools.map(({ name }) => name),
    resource: written.resources.map(({ name }) => name),
    prompt: written.prompts.map(({ name }) => name),
  })
  return written
}

function describeTool(tool: DefinedTool): Entry {
  const { scopes = [], visibility, pinned, search } = tool.definition
  return {
    ...toolEntry(tool),
    scopes: [...scopes],
    ...(visibility === undefined ? {} : { visibility: [...visibility] }),
    ...(pinned === undefined ? {} : { pinned }),
    ...(search === undefined ? {} : { search }),
  }
}

function describeResource({ definition }: DefinedResource): Entry {
  const { name, title, description, mimeType, annotations, icons, _meta: meta, scopes = [] } = definition
  return {
    name,
    ...(isTemplate(definition)
      ? { uriTemplate: definition.uriTemplate }
      : { uri: definition.uri, ...(definition.size === undefined ? {} : { size: definition.size }) }),
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(icons === undefined ? {} : { icons }),
    ...(meta === undefined ? {} : { _meta: meta }),
    scopes: [...scopes],
  }
}
