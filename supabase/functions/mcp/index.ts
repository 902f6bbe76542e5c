// supabase/functions/mcp/index.ts — the snippet library's MCP endpoint. Its SQL tools need no line here.
import { createSupabaseMcp } from 'chumbo'

import { register, tools } from './capabilities.ts'

const app = createSupabaseMcp({
  server: { name: 'team-snippets', version: '1.0.0', title: 'Team snippets' },
  auth: { mode: 'oauth' },
  tools,
  register,
})

export default app
