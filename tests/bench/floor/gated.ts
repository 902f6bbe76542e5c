// tests/bench/floor/gated.ts — an Edge Function: the official pair with scope check, rate limit and receipt by hand.
import { createAdminClient } from '@supabase/server/core'
import { z } from 'zod'

import { serveFloor } from './serve.ts'

const inputSchema = z.strictObject({ limit: z.int().default(10) })
const admin = createAdminClient()

const refused = (text: string) => ({ content: [{ type: 'text' as const, text }], isError: true })

// eslint-disable-next-line no-restricted-syntax -- An Edge Function hands its handler over as the default export.
export default serveFloor((server, { userId, clientId, createClient }) => {
  server.registerTool('list_notes', { description: 'Lists notes.', inputSchema }, async ({ limit }) => {
    const startedAt = performance.now()
    const supabase = createClient()
    // One after the other: a call that is not allowed must not use up a slot, and one without a slot must not run.
    const allowed = await supabase.rpc('bench_has_scope', { scope: 'bench:read' }).throwOnError()
    if (allowed.data !== true) return refused('scope_required')
    const slot = await admin
      .rpc('bench_take_slot', { user_id: userId, requests: 1_000_000, window_seconds: 60 })
      .throwOnError()
    if (slot.data !== true) return refused('rate_limited')

    const answer = await supabase.rpc('bench_list_notes', { limit }).throwOnError()
    const rows = answer.data as unknown[]
    // Before the answer, or a process that ends in between would have run a call that nobody can see.
    await admin
      .rpc('bench_write_receipt', {
        user_id: userId,
        client_id: clientId,
        tool: 'list_notes',
        outcome: 'ok',
        row_count: rows.length,
        duration_ms: performance.now() - startedAt,
      })
      .throwOnError()
    const structuredContent = { rows }
    return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent }
  })
})
