// runtime/index.ts — the library on one screen.
//
//   createSupabaseMcp   the endpoint: { fetch, close, notify }
//   defineTool …        a tool, resource or prompt at module scope; manifest() turns definitions into rows
//   textResult …        what a handler returns; collectionResult a page of a list
//   ChumboError         what a handler throws when the caller should read why
//
// SQL tools need none of this: `select chumbo.register_tool('app.list_projects')` offers one.

export { createSupabaseMcp, type ChumboEvent, type SupabaseMcpApp, type SupabaseMcpOptions } from './app.ts'
export { defineTool, type DefinedTool, type ToolDefinition, type Visibility } from './capabilities/define.ts'
export { definePrompt, type DefinedPrompt, type PromptDefinition } from './capabilities/define-prompt.ts'
export {
  defineResource,
  type Complete,
  type DefinedResource,
  type ResourceDefinition,
  type ResourceTemplateDefinition,
  type TemplateVariables,
} from './capabilities/define-resource.ts'
export type { SupabaseMcpServer } from './capabilities/facade.ts'
export type { OutputOf, PlainSchema, ToolSchema } from './capabilities/schema.ts'
export type { CallerSql, SupabaseMcpContext } from './context.ts'
export { ChumboError, type ChumboErrorInit } from './errors.ts'
export type { AuthOptions } from './identity/authenticate.ts'
export {
  manifest,
  type Manifest,
  type ManifestSources,
  type PromptEntry,
  type ResourceEntry,
} from './manifest.ts'
export {
  collectionInputSchema,
  collectionLimits,
  collectionOutputSchema,
  collectionResult,
  type CollectionInputOptions,
  type CollectionOptions,
  type CollectionPage,
  type NextCall,
} from './results/collections.ts'
export {
  appendResultText,
  composeResultContent,
  compositionLimits,
  prependResultText,
  type ResultAdditions,
} from './results/compose.ts'
export type { ResultMiddleware, ResultMiddlewareInput } from './results/middleware.ts'
export { errorResult, renderResult, resourceResult, structuredResult, textResult } from './results/results.ts'
export { errorMetaKey, toolError } from './results/tool-error.ts'
export { idempotencyMetaKey } from './message.ts'
export { version } from './version.ts'
