// runtime/capabilities/definitions.ts — the definitions of an application together: no two of them stand in each other's way.

import type { DefinedTool } from './define.ts'
import type { DefinedPrompt } from './define-prompt.ts'
import { isTemplate, uriOf, type DefinedResource } from './define-resource.ts'
import type { Registration } from './facade.ts'

/** What an application defined at module scope. */
export interface Definitions {
  readonly tools: readonly DefinedTool[]
  readonly resources: readonly DefinedResource[]
  readonly prompts: readonly DefinedPrompt[]
}

/**
 * The definitions of the options.
 *
 * @throws {TypeError} naming what is defined twice.
 */
export function readDefinitions({
  tools = [],
  resources = [],
  prompts = [],
}: Partial<Definitions>): Definitions {
  const names = (defined: readonly { readonly definition: { readonly name: string } }[]): string[] =>
    defined.map(({ definition }) => definition.name)
  requireDistinct({ tool: names(tools), resource: names(resources), prompt: names(prompts) })
  requireDistinct({
    URI: resources.flatMap(({ definition }) =>
      isTemplate(definition) ? [] : [new URL(definition.uri).href],
    ),
  })
  return { tools, resources, prompts }
}

/**
 * Holds the names of each kind against each other.
 *
 * @throws {TypeError} naming what is there twice.
 */
export function requireDistinct(namesByKind: Readonly<Record<string, readonly string[]>>): void {
  for (const [kind, names] of Object.entries(namesByKind)) {
    const twice = names.find((name, place) => names.indexOf(name) !== place)
    if (twice !== undefined)
      throw new TypeError(`Two definitions have the ${kind} ${twice}; change one of them.`)
  }
}

/** The names and URIs of the definitions, known before any caller has come. */
export function registrationsOf({ tools, resources, prompts }: Definitions): readonly Registration[] {
  return [
    ...tools.map(({ definition }): Registration => ({ kind: 'tool', name: definition.name })),
    ...resources.map((resource): Registration => ({
      kind: isTemplate(resource.definition) ? 'resource_template' : 'resource',
      name: resource.definition.name,
      uri: uriOf(resource),
    })),
    ...prompts.map(({ definition }): Registration => ({ kind: 'prompt', name: definition.name })),
  ]
}
