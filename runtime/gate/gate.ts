// runtime/gate/gate.ts — the contract between the runtime and the database: its RPCs, one answer type each.

import { z } from 'zod'

/** The newest migration this version of the runtime calls. `tests/unit/tooling` holds it against `sql/migrations`. */
export const requiredSchema = 18

/** One verified request, as the RPCs take it; built by `request-facts.ts` only. */
export type RequestFacts = Readonly<Record<string, unknown>> & {
  /** The slug of the server asked. */
  readonly server: string
}

const gateError = z.looseObject({
  code: z.string(),
  message: z.string().nullish(),
  hint: z.string().nullish(),
  retry_after: z.number().nullish(),
  scopes: z.array(z.string()).nullish(),
  needed: z.number().nullish(),
  found: z.number().nullish(),
  /** Leads past the item that a page of a collection could not hold. */
  next_cursor: z.string().nullish(),
  /** The call that does it, as JSON text: its arguments may hold numbers that a reader would round. */
  next_call: z.string().nullish(),
})

const serverFacts = z.object({
  name: z.string().nullable(),
  version: z.string().nullable(),
  title: z.string().nullable(),
  instructions: z.string().nullable(),
  unregistered: z.enum(['serve', 'refuse']),
  catalog_mode: z.enum(['list', 'search']),
  /** How long a client may keep a list. */
  cache_seconds: z.number(),
})

const entry = z.object({
  id: z.number(),
  name: z.string(),
  kind: z.string(),
  handler: z.enum(['sql', 'table', 'static', 'typescript']),
  definition: z.looseObject({ name: z.string() }).optional(),
})

const receiptHandle = z.object({ id: z.string(), created_at: z.string() })

/** What `chumbo_servers` returns. */
export const serversAnswer = z.array(z.string())

/** What `chumbo_call` returns. */
export const callAnswer = z.object({
  outcome: z.enum(['ok', 'tool_error', 'refused', 'replayed', 'moved']),
  revision: z.number().nullish(),
  /** JSON text, so that no reader on the way rounds its numbers. */
  result: z.string().nullish(),
  /** The result is a complete one of the protocol, and not its structured content alone. */
  is_whole: z.boolean().nullish(),
  error: gateError.nullish(),
  truncated: z.boolean().nullish(),
  row_cap: z.number().nullish(),
})

/** What `chumbo_enter` returns. */
export const enterAnswer = z.object({
  outcome: z.enum(['listed', 'admitted', 'replayed', 'refused', 'wait', 'sql']),
  revision: z.number().nullish(),
  server: serverFacts.nullish(),
  scopes: z.array(z.string()).nullish(),
  entries: z.array(entry).optional(),
  next: z.string().nullish(),
  /** What the listing functions of templates named; `name` is the template's. */
  listed: z.array(z.object({ name: z.string(), definition: z.looseObject({ uri: z.string() }) })).optional(),
  /** What rows let the server announce. */
  offers: z.object({ resources: z.boolean(), prompts: z.boolean(), completions: z.boolean() }).optional(),
  /** Of the code names asked about, those with a row, and whether this caller may use them. */
  code: z.record(z.string(), z.boolean()).optional(),
  receipt: receiptHandle.nullish(),
  result: z.string().nullish(),
  error: gateError.nullish(),
})

/** What `chumbo_search` returns. */
export const searchAnswer = z.object({
  outcome: z.enum(['found', 'refused']),
  revision: z.number().nullish(),
  server: serverFacts.nullish(),
  scopes: z.array(z.string()).nullish(),
  /** Best match first. */
  entries: z.array(entry.extend({ definition: z.looseObject({ name: z.string() }) })).optional(),
  error: gateError.nullish(),
})

/** What `chumbo_read` returns; `unmatched` only where the request said that code may know the URI. */
export const readAnswer = z.object({
  outcome: z.enum(['ok', 'tool_error', 'refused', 'unmatched']),
  revision: z.number().nullish(),
  contents: z
    .array(z.looseObject({ uri: z.string(), text: z.string().optional(), blob: z.string().optional() }))
    .nullish(),
  cache_ttl_ms: z.number().nullish(),
  error: gateError.nullish(),
})

/** What `chumbo_prompt` returns. */
export const promptAnswer = z.object({
  outcome: z.enum(['ok', 'tool_error', 'refused', 'moved']),
  revision: z.number().nullish(),
  description: z.string().nullish(),
  messages: z
    .array(z.object({ role: z.enum(['user', 'assistant']), content: z.looseObject({ type: z.string() }) }))
    .nullish(),
  error: gateError.nullish(),
})

/** What `chumbo_complete` returns. */
export const completeAnswer = z.object({
  outcome: z.enum(['ok', 'tool_error', 'refused', 'unmatched']),
  revision: z.number().nullish(),
  values: z.array(z.string()).nullish(),
  total: z.number().nullish(),
  has_more: z.boolean().nullish(),
  error: gateError.nullish(),
})

export type GateError = z.infer<typeof gateError>
export type ServerFacts = z.infer<typeof serverFacts>
export type CatalogEntry = z.infer<typeof entry>
export type ReceiptHandle = z.infer<typeof receiptHandle>
export type CallAnswer = z.infer<typeof callAnswer>
export type EnterAnswer = z.infer<typeof enterAnswer>
export type SearchAnswer = z.infer<typeof searchAnswer>
export type ReadAnswer = z.infer<typeof readAnswer>
export type PromptAnswer = z.infer<typeof promptAnswer>
export type CompleteAnswer = z.infer<typeof completeAnswer>

/** The kinds that are listed beside tools. */
export type ListedKind = 'resource' | 'resource_template' | 'prompt'

/** A call of a SQL tool. */
export interface CallInput {
  readonly capability: string
  /** The arguments as JSON text; numbers keep every digit they were sent with. */
  readonly argumentsText: string
  readonly request: RequestFacts
}

/** A search of a catalog. */
export interface SearchInput {
  readonly query: string
  readonly request: RequestFacts
}

/** A prompt of SQL; the arguments as JSON text. */
export interface PromptInput {
  readonly name: string
  readonly argumentsText: string
  readonly request: RequestFacts
}

/** What is to be completed, as the client wrote it. */
export interface CompleteInput {
  readonly reference: Readonly<Record<string, unknown>>
  readonly argument: Readonly<Record<string, unknown>>
  readonly context: Readonly<Record<string, unknown>> | null
  readonly request: RequestFacts
}

/** How a TypeScript call ended. */
export interface FinishedReceipt extends ReceiptHandle {
  readonly outcome: 'ok' | 'tool_error' | 'refused'
  readonly code?: string
  readonly capability?: string
  readonly kind?: string
  readonly bytes?: number
  readonly duration_ms: number
  /** The answer as JSON text, given only when the call carried an idempotency key. */
  readonly result?: string
}

/**
 * The way to the database. `rest` and `direct` obey this contract and one test suite.
 *
 * Every method rejects with a `ChumboError`: `database_unavailable` when nobody answered, `schema_outdated` when the
 * RPC is not there, `timeout`, else `internal_error`. A refusal of the caller is an answer and not a rejection.
 */
export interface Gate {
  readonly name: 'rest' | 'direct'
  /** Admits and runs a SQL tool and leaves its receipt: one round trip. */
  readonly call: (input: CallInput) => Promise<CallAnswer>
  /** Admits what code answers: one round trip. */
  readonly enter: (request: RequestFacts) => Promise<EnterAnswer>
  /** Admits a search, ranks what the caller may use and leaves a receipt: one round trip. */
  readonly search: (input: SearchInput) => Promise<SearchAnswer>
  /** The slugs of the servers that can be asked. */
  readonly servers: () => Promise<readonly string[]>
  /** What `enter` says to describe, what rows let the server announce, and a page of a kind: one round trip. */
  readonly list: (kind: ListedKind | null, request: RequestFacts) => Promise<EnterAnswer>
  /** Admits and reads a resource of a row and leaves its receipt: one round trip. */
  readonly read: (uri: string, request: RequestFacts) => Promise<ReadAnswer>
  /** Admits and builds a prompt of a row and leaves its receipt: one round trip. */
  readonly prompt: (input: PromptInput) => Promise<PromptAnswer>
  /** Admits and completes an argument by a row: one round trip, no receipt. */
  readonly complete: (input: CompleteInput) => Promise<CompleteAnswer>
  /** Closes receipts that `enter` opened. */
  readonly finish: (receipts: readonly FinishedReceipt[]) => Promise<void>
  readonly close: () => Promise<void>
}
