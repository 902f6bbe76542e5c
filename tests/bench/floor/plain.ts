// tests/bench/floor/plain.ts — an Edge Function: the official pair calling the function, with no gate but the token.
import { z } from 'zod'

import { serveFloor } from './serve.ts'

const inputSchema = z.strictObject({ limit: z.int().default(10) })

// eslint-disable-next-line no-restricted-syntax -- An Edge Function hands its handler over as the default export.
export default serveFloor((server, { createClient }) => {
  server.registerTool('list_notes', { description: 'Lists notes.', inputSchema }, async ({ limit }) => {
    const supabase = createClient()
    const answer = await supabase.rpc('bench_list_notes', { limit }).throwOnError()
    const structuredContent = { rows: answer.data as unknown }
    return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent }
  })
})
