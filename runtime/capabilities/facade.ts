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

import { requireSchema, requireScopeNames, type ToolAnswer, type ToolDefinition } from './define.ts'
import { prepareArguments, type PromptAnswer, type PromptDefinition } from './define-prompt.ts'
import { isReservedName } from './reserved-names.ts'
import {
  checkResult,
  guardSchema,
  prepareSchema,
  trustSchema,
  type OutputOf,
  type ToolSchema,
} from './schema.ts'

/** The kinds of things code registers. */
export type CodeKind = 'tool' | 'resource' | 'resource_template' | 'prompt'

/** The official `McpServer`, plus scopes, and plus schemas that the official one does not take. */
export type SupabaseMcpServer = McpServer & {
  /** The same server; what is registered through it exists only for callers who hold every one of these scopes. */
  withScopes(scopes: readonly string[]): SupabaseMcpServer
  /** Also with a schema of zod 3, or a plain JSON Schema. */
  registerTool<Input extends ToolSchema>(
    name: string,
    config: Partial<
      Omit<ToolDefinition, 'name' | 'inputSchema' | 'scopes' | 'visibility' | 'pinned' | 'search'>
    > & {
      readonly inputSchema: Input
    },
    callback: (args: OutputOf<Input>) => ToolAnswer,
  ): RegisteredTool
  /** Also with a schema of zod 3, or a plain JSON Schema. */
  registerPrompt<Args extends ToolSchema>(
    name: string,
    config: Omit<PromptDefinition, 'name' | 'argsSchema' | 'complete' | 'scopes'> & {
      readonly argsSchema: Args
    },
    callback: (args: OutputOf<Args>) => PromptAnswer,
  ): RegisteredPrompt
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
  /** Adds to what a tool answered. */
  readonly compose?: (name: string, answer: Awaited<ToolAnswer>) => Promise<Awaited<ToolAnswer>>
  /** Hears of what cannot be offered. It is left out, and costs the others nothing. */
  readonly report: (error: unknown) => void
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
export function createFacade({
  server,
  scopes,
  admits,
  wrap,
  report,
  compose = async (_name, answer) => answer,
}: FacadeOptions): Facade {
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

  /** What is read here and cannot be read is left out. */
  function readable<Ready>(read: () => Ready): Ready | undefined {
    try {
      return read()
    } catch (error) {
      report(error)
      return undefined
    }
  }

  function registerTool(name: string, config: ToolConfig, callback: AnyCallback): RegisteredTool {
    const registration: Registration = { kind: 'tool', name }
    if (!admits(registration)) return withheld<RegisteredTool>()
    const schemas = readable(() => readSchemas(name, config))
    if (schemas === undefined) return withheld<RegisteredTool>()
    kinds.add('tool')
    const { inputSchema, outputSchema } = schemas
    const checked = {
      ...config,
      ...(inputSchema === undefined ? {} : { inputSchema: guardSchema(inputSchema) }),
      ...(outputSchema === undefined ? {} : { outputSchema: trustSchema(outputSchema) }),
    }
    const answer: AnyCallback = async (...parameters) => {
      const result = (await callback(...parameters)) as Awaited<ToolAnswer>
      return compose(name, outputSchema === undefined ? result : await checkResult(outputSchema, result))
    }
    const tool = official.registerTool(name, checked, wrap(registration, answer)) as RegisteredTool
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

  function registerPrompt(name: string, config: PromptConfig, callback: AnyCallback): unknown {
    const registration: Registration = { kind: 'prompt', name }
    if (!admits(registration)) return withheld()
    const { argsSchema } = config
    const ready =
      argsSchema === undefined
        ? {}
        : readable(() => ({
            argsSchema: requireSchema(`registerPrompt ${name}`, 'argsSchema', () =>
              prepareArguments(argsSchema),
            ),
          }))
    if (ready === undefined) return withheld()
    kinds.add('prompt')
    const prompt = official.registerPrompt(name, { ...config, ...ready }, wrap(registration, callback))
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

interface PromptConfig {
  readonly argsSchema?: unknown
}

interface ReadSchemas {
  readonly inputSchema: StandardSchemaWithJSON | undefined
  readonly outputSchema: StandardSchemaWithJSON | undefined
}

function readSchemas(name: string, { inputSchema, outputSchema }: ToolConfig): ReadSchemas {
  const where = `registerTool ${name}`
  if (isReservedName(name)) throw new TypeError(`${where}: the name belongs to the search of Chumbo.`)
  const read = (
    option: string,
    schema: unknown,
    side: 'input' | 'output',
  ): StandardSchemaWithJSON | undefined =>
    schema === undefined ? undefined : requireSchema(where, option, () => prepareSchema(schema, side))
  return {
    inputSchema: read('inputSchema', inputSchema, 'input'),
    outputSchema: read('outputSchema', outputSchema, 'output'),
  }
}

/** The handle of something that does not exist in this request: it can be told anything. */
function withheld<Handle>(): Handle {
  const nothing = (): void => {}
  return { enabled: false, enable: nothing, disable: nothing, update: nothing, remove: nothing } as Handle
}
