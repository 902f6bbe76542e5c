// tests/bench/chumbo/app.ts — the endpoint under measurement; its entries differ in the gate and the server row only.
import { z } from 'zod'

import { createSupabaseMcp, defineTool, structuredResult, textResult } from '../../../runtime/index.ts'
import type { SupabaseMcpApp } from '../../../runtime/index.ts'

const listNotes = defineTool(
  {
    name: 'list_notes_code',
    description: 'Lists the first notes of the caller, through supabase-js.',
    inputSchema: z.strictObject({ limit: z.int().default(10) }),
    annotations: { readOnlyHint: true },
    scopes: ['bench:read'],
  },
  async ({ limit }, ctx) => {
    const answer = await ctx.supabase.rpc('bench_list_notes', { limit }).throwOnError()
    return structuredResult({ rows: answer.data as unknown })
  },
)

const ping = defineTool(
  {
    name: 'ping_code',
    description: 'Answers without asking the database anything.',
    inputSchema: z.strictObject({}),
    annotations: { readOnlyHint: true },
    scopes: ['bench:read'],
  },
  () => textResult('pong'),
)

/** Builds the endpoint over one gate. */
export function createBenchApp(gate: 'direct' | 'rest', slug = 'bench'): SupabaseMcpApp {
  return createSupabaseMcp({
    server: { name: slug, version: '1.0.0', slug },
    auth: { mode: 'oauth' },
    gate,
    tools: slug === 'bench' ? [listNotes, ping] : [],
  })
}
