// tests/bench/variants.ts — what is measured, each as one request that is sent again and again.
import type { HttpTarget, Target } from './load.ts'
import type { Stage } from './stage.ts'

export interface Variant {
  readonly id: string
  readonly label: string
  readonly target: Target
}

const noteOfSomebody = 'Note 1 of person-'

/** Every variant of the main table. */
export async function createVariants(stage: Stage): Promise<readonly Variant[]> {
  const tokens = stage.principals.map(({ token }) => token)
  const on = async (slug: Parameters<Stage['functionUrl']>[0]) => ({
    url: await stage.functionUrl(slug),
    tokens,
  })
  const direct = await on('direct')
  const rest = await on('rest')
  const sql = { name: 'bench_list_notes', arguments: { limit: 10 }, expected: noteOfSomebody }
  const code = { name: 'list_notes_code', arguments: { limit: 10 }, expected: noteOfSomebody }
  const ping = { name: 'ping_code', arguments: {}, expected: 'pong' }
  const byHand = { ...sql, name: 'list_notes' }

  return [
    { id: 'sql-direct', label: 'SQL tool, gate direct', target: callOf({ ...direct, ...sql }) },
    {
      id: 'sql-direct-one-person',
      label: 'SQL tool, gate direct, all clients one person',
      target: callOf({ ...direct, ...sql, tokens: tokens.slice(0, 1) }),
    },
    {
      id: 'sql-direct-gateway',
      label: 'SQL tool, gate direct, behind the stack’s gateway',
      target: callOf({ url: stage.gatewayUrl, tokens, ...sql }),
    },
    { id: 'sql-rest', label: 'SQL tool, gate rest', target: callOf({ ...rest, ...sql }) },
    {
      id: 'code-direct',
      label: 'TypeScript tool, one rpc() inside, gate direct',
      target: callOf({ ...direct, ...code }),
    },
    {
      id: 'code-rest',
      label: 'TypeScript tool, one rpc() inside, gate rest',
      target: callOf({ ...rest, ...code }),
    },
    {
      id: 'code-direct-ping',
      label: 'TypeScript tool, nothing inside, gate direct',
      target: callOf({ ...direct, ...ping }),
    },
    { id: 'list-direct', label: 'tools/list of 10, gate direct', target: listOf(direct) },
    { id: 'list-rest', label: 'tools/list of 10, gate rest', target: listOf(rest) },
    {
      id: 'floor-plain',
      label: 'By hand: official pair, no gates',
      target: callOf({ ...(await on('floor-plain')), ...byHand }),
    },
    {
      id: 'floor-gated',
      label: 'By hand: scope, limit and receipt added',
      target: callOf({ ...(await on('floor-gated')), ...byHand }),
    },
    {
      id: 'floor-mcp',
      label: 'MCP alone: verified token, no database',
      target: callOf({ ...(await on('floor-mcp')), ...ping, name: 'ping' }),
    },
    {
      id: 'floor-sql',
      label: 'Postgres alone: begin, role, call, commit',
      target: {
        kind: 'sql',
        url: stage.directUrl,
        text: 'select * from public.bench_list_notes(10)',
        subjects: stage.principals.map(({ id }) => id),
        expected: noteOfSomebody,
      },
    },
  ]
}

/** A call and a list of the server that grows. */
export async function createGrowthTargets(
  stage: Stage,
): Promise<{ readonly call: HttpTarget; readonly list: HttpTarget }> {
  const url = await stage.functionUrl('growth')
  const tokens = stage.principals.map(({ token }) => token)
  const call = { name: 'bench_list_notes', arguments: { limit: 10 }, expected: noteOfSomebody }
  return { call: callOf({ url, tokens, ...call }), list: listOf({ url, tokens }) }
}

/** A search of the server whose catalog is searched. */
export async function createSearchTarget(stage: Stage): Promise<HttpTarget> {
  return callOf({
    url: `${await stage.functionUrl('growth')}/bench-search`,
    tokens: stage.principals.map(({ token }) => token),
    name: 'search_tools',
    arguments: { query: 'update order' },
    expected: '"inputSchema"',
  })
}

interface Endpoint {
  readonly url: string
  readonly tokens: readonly string[]
}

interface ToolCall extends Endpoint {
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
  readonly expected: string
}

/** A tool call as the 2026-07-28 revision writes it. */
export function callOf({ name, arguments: args, ...rest }: ToolCall): HttpTarget {
  return post('tools/call', { ...rest, params: { name, arguments: args }, headers: { 'mcp-name': name } })
}

/** The first page of a list. */
export function listOf({ url, tokens }: Endpoint): HttpTarget {
  return post('tools/list', { url, tokens, params: {}, headers: {}, expected: '"name":"bench_list_notes"' })
}

interface Message extends Endpoint {
  readonly params: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>
  readonly expected: string
}

function post(method: string, { params, headers, ...rest }: Message): HttpTarget {
  const revision = '2026-07-28'
  const meta = {
    'io.modelcontextprotocol/protocolVersion': revision,
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  return {
    kind: 'http',
    ...rest,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': revision,
      'mcp-method': method,
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }),
  }
}
