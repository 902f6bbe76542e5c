// runtime/index.ts — the library on one screen.
//
//   createSupabaseMcp   the endpoint: { fetch, close, notify }
//   defineTool          a tool at module scope; manifest() turns definitions into rows
//   textResult …        what a handler returns
//   ChumboError         what a handler throws when the caller should read why
//
// SQL tools need none of this: `select chumbo.register_tool('app.list_projects')` offers one.

export { createSupabaseMcp, type ChumboEvent, type SupabaseMcpApp, type SupabaseMcpOptions } from './app.ts'
export {
  defineTool,
  manifest,
  type DefinedTool,
  type Manifest,
  type ResourceEntry,
  type ToolDefinition,
} from './capabilities/define.ts'
export type { SupabaseMcpServer } from './capabilities/facade.ts'
export type { CallerSql, SupabaseMcpContext } from './context.ts'
export { ChumboError, type ChumboErrorInit } from './errors.ts'
export type { AuthOptions } from './identity/authenticate.ts'
export { errorResult, renderResult, resourceResult, structuredResult, textResult } from './results/results.ts'
export { errorMetaKey, toolError } from './results/tool-error.ts'
export { idempotencyMetaKey } from './message.ts'
export { version } from './version.ts'
