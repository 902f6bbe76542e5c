// runtime/capabilities/facade.ts — the official registration API as an application sees it, with scopes and the gate inside.

import type { McpServer } from '@modelcontextprotocol/server'
import {
  ResourceTemplate,
  type RegisteredPrompt,
  type RegisteredResource,
  type RegisteredResourceTemplate,
  type RegisteredTool,
  type StandardSchemaWithJSON,
} from '@modelcontextprotocol/server'

import { requireScopeNames } from './define.ts'
import { isReservedName } from './reserved-names.ts'
import { checkResult, guardSchema, isStandardSchema, trustSchema } from './schema.ts'

/** The kinds of things code registers. */
export type CodeKind = 'tool' | 'resource' | 'resource_template' | 'prompt'

/** The official `McpServer`, plus scopes. */
export type SupabaseMcpServer = McpServer & {
  /** The same server; what is registered through it exists only for callers who hold every one of these scopes. */
  withScopes(scopes: readonly string[]): SupabaseMcpServer
}

/** A handler of the application, seen as what all kinds of handlers have in common. */
export type AnyCallback = (...parameters: never[]) => unknown

/** What decides about each registration. */
export interface FacadeOptions {
  readonly server: McpServer
  readonly scopes: readonly string[]
  /** Whether this registration is for this request. It hears of every one, also of those it leaves out. */
  readonly admits: (registration: Registration) => boolean
  /** Puts the boundary around a handler: errors are worded, outcomes noted. */
  readonly wrap: <Callback extends AnyCallback>(registration: Registration, callback: Callback) => Callback
}

/** One registration. */
export interface Registration {
  readonly kind: CodeKind
  readonly name: string
  /** The URI, or the template, of a resource. */
  readonly uri?: string | ResourceTemplate
}

/** The facade, and what was registered through it for this request. */
export interface Facade {
  readonly server: SupabaseMcpServer
  readonly tools: ReadonlyMap<string, RegisteredTool>
  /** By URI. */
  readonly resources: ReadonlyMap<string, RegisteredResource>
  readonly templates: ReadonlyMap<string, RegisteredResourceTemplate>
  readonly prompts: ReadonlyMap<string, RegisteredPrompt>
  readonly kinds: ReadonlySet<CodeKind>
}

/** Builds the facade of one request over one official server. */
export function createFacade({ server, scopes, admits, wrap }: FacadeOptions): Facade {
  const tools = new Map<string, RegisteredTool>()
  const resources = new Map<string, RegisteredResource>()
  const templates = new Map<string, RegisteredResourceTemplate>()
  const prompts = new Map<string, RegisteredPrompt>()
  const kinds = new Set<CodeKind>()
  // The official overloads infer the handler from the schema; both are the application's own here.
  const official = server as unknown as Record<
    'registerTool' | 'registerResource' | 'registerPrompt',
    (...parameters: unknown[]) => unknown
  >

  function registerTool(name: string, config: ToolConfig, callback: AnyCallback): RegisteredTool {
    const registration: Registration = { kind: 'tool', name }
    // The names of the search belong to it, whatever the mode is: a tool of that name could not be called.
    if (isReservedName(name) || !admits(registration)) return withheld<RegisteredTool>()
    kinds.add('tool')
    const { inputSchema, outputSchema } = config
    const guarded = {
      ...config,
      ...(isStandardSchema(inputSchema) ? { inputSchema: guardSchema(inputSchema) } : {}),
      ...(isStandardSchema(outputSchema) ? { outputSchema: trustSchema(outputSchema) } : {}),
    }
    const checked = isStandardSchema(outputSchema) ? checkedBy(outputSchema, callback) : callback
    const tool = official.registerTool(name, guarded, wrap(registration, checked)) as RegisteredTool
    tools.set(name, tool)
    return tool
  }

  function registerResource(
    name: string,
    uri: string | ResourceTemplate,
    config: object,
    callback: AnyCallback,
  ): unknown {
    const kind = typeof uri === 'string' ? 'resource' : 'resource_template'
    const registration: Registration = { kind, name, uri }
    if (!admits(registration)) return withheld()
    kinds.add(kind)
    const target = typeof uri === 'string' ? uri : wrapTemplate(registration, uri)
    const resource = official.registerResource(name, target, config, wrap(registration, callback))
    if (typeof uri === 'string') resources.set(uri, resource as RegisteredResource)
    else templates.set(name, resource as RegisteredResourceTemplate)
    return resource
  }

  function registerPrompt(name: string, config: object, callback: AnyCallback): unknown {
    const registration: Registration = { kind: 'prompt', name }
    if (!admits(registration)) return withheld()
    kinds.add('prompt')
    const prompt = official.registerPrompt(name, config, wrap(registration, callback))
    prompts.set(name, prompt as RegisteredPrompt)
    return prompt
  }

  /** Listing and completion run the application's code too. */
  function wrapTemplate(registration: Registration, template: ResourceTemplate): ResourceTemplate {
    const { uriTemplate } = template
    const complete = Object.fromEntries(
      uriTemplate.variableNames.flatMap((variable) => {
        const callback = template.completeCallback(variable)
        return callback === undefined ? [] : [[variable, wrap(registration, callback)]]
      }),
    )
    const callback = template.listCallback?.bind(template)
    const list = callback && wrap(registration, callback)
    return new ResourceTemplate(uriTemplate, { list, complete })
  }

  function scoped(required: readonly string[]): SupabaseMcpServer {
    const isHeld = required.every((scope) => scopes.includes(scope))
    const own = {
      registerTool: isHeld ? registerTool : () => withheld(),
      registerResource: isHeld ? registerResource : () => withheld(),
      registerPrompt: isHeld ? registerPrompt : () => withheld(),
      withScopes: (more: readonly string[]) => {
        requireScopeNames('withScopes', more)
        return scoped([...required, ...more])
      },
    }
    return new Proxy(server, {
      get(target, property) {
        if (Object.hasOwn(own, property)) return own[property as keyof typeof own]
        const value: unknown = Reflect.get(target, property)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    }) as SupabaseMcpServer
  }

  return { server: scoped([]), tools, resources, templates, prompts, kinds }
}

interface ToolConfig {
  readonly inputSchema?: unknown
  readonly outputSchema?: unknown
}

/** The same handler, whose result has to fit. */
function checkedBy(schema: StandardSchemaWithJSON, callback: AnyCallback): AnyCallback {
  return async (...parameters) =>
    checkResult(schema, (await callback(...parameters)) as Awaited<ReturnType<typeof checkResult>>)
}

/** The handle of something that does not exist in this request: it can be told anything. */
function withheld<Handle>(): Handle {
  const nothing = (): void => {}
  return { enabled: false, enable: nothing, disable: nothing, update: nothing, remove: nothing } as Handle
}
