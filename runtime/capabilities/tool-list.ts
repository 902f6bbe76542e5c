// runtime/capabilities/tool-list.ts — one page of tools: rows from the database, then code that has no row.

import type { ListToolsResult, RegisteredTool } from '@modelcontextprotocol/server'

import type { CatalogCache, Definition } from '../gate/catalog-cache.ts'
import { cacheHint } from './cache-hint.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import type { Exchange } from './exchange.ts'
import { toJsonSchema } from './schema.ts'
import { searchDefinitions } from './search.ts'
import type { Description } from './describe.ts'

/** What a list is made from. */
export interface ToolListOptions {
  readonly cache: CatalogCache
  readonly exchange: Exchange
  readonly list: (
    after: string | undefined,
    knownRevision: number | undefined,
    attempt: number,
  ) => Promise<Description | undefined>
}

/** Answers `tools/list`. Pages end, hold no name twice, and equal what the caller can call. */
export async function serveToolList(
  cursor: string | undefined,
  { cache, exchange, list }: ToolListOptions,
): Promise<ListToolsResult> {
  const place = cursor === undefined ? undefined : decodeCursor(cursor)
  // Rows come first, then code without a row; behind the rows, they are asked for only to be filtered by.
  const afterCode = place?.startsWith('+') === true ? place.slice(1) : undefined
  const after = afterCode === undefined ? place : undefined
  let description = await list(after, cache.revision(), 1)
  // The cache may hold another page of this revision than the one asked for.
  if (description?.answer.entries?.some((entry) => cache.definition(entry) === undefined) === true) {
    description = await list(after, undefined, 2)
  }
  if (description === undefined) return { tools: [] }
  const { answer, facade } = description

  const isSearched = answer.server?.catalog_mode === 'search'
  const tools: Definition[] = isSearched && place === undefined ? [...searchDefinitions] : []
  for (const entry of (afterCode === undefined ? answer.entries : undefined) ?? []) {
    const definition = cache.definition(entry)
    // A row whose handler this program does not have cannot run, so it is not offered.
    if (
      definition !== undefined
      && (entry.handler !== 'typescript' || facade.tools.get(entry.name)?.enabled === true)
    ) {
      tools.push(definition)
    }
  }
  let next = afterCode === undefined && answer.next != null ? answer.next : undefined
  // What has no row is in no index either: where the catalog is searched, `chumbo sync` makes code findable.
  if (next === undefined && !isSearched) {
    const withoutRow = [...facade.tools]
      .filter(([name, tool]) => tool.enabled && answer.code?.[name] === undefined && name > (afterCode ?? ''))
      .map(([name, tool]) => describeTool(name, tool))
      .sort(byName)
    const page = withinPage(withoutRow)
    tools.push(...page)
    if (page.length < withoutRow.length) next = `+${page.at(-1)?.name}`
  }
  return {
    // Rows were checked when they were registered, and code when it was converted.
    tools: tools as unknown as ListToolsResult['tools'],
    ...(next === undefined ? {} : { nextCursor: encodeCursor(next) }),
    // How long a change may go unnoticed by a client that keeps lists.
    ...cacheHint(answer.server == null ? null : answer.server.cache_seconds * 1_000, exchange),
  }
}

/** Most characters of tools without a row in one page. One alone has at most two schemas of 64 KiB and its words. */
const longestPage = 1_048_576

/** The tools of one page, at least one. */
function withinPage(tools: readonly Definition[]): readonly Definition[] {
  let length = 0
  const end = tools.findIndex((tool, index) => {
    length += JSON.stringify(tool).length
    return index > 0 && length > longestPage
  })
  return end === -1 ? tools : tools.slice(0, end)
}

function describeTool(name: string, tool: RegisteredTool): Definition {
  const { title, description, inputSchema, outputSchema, annotations, icons, _meta } = tool
  return {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    inputSchema:
      inputSchema === undefined ? { type: 'object', properties: {} } : toJsonSchema(inputSchema, 'input'),
    ...(outputSchema === undefined ? {} : { outputSchema: toJsonSchema(outputSchema, 'output') }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(icons === undefined ? {} : { icons }),
    ...(_meta === undefined ? {} : { _meta }),
  }
}

function byName(a: Definition, b: Definition): number {
  return a.name < b.name ? -1 : 1
}
