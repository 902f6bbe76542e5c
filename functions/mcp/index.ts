// The MCP endpoint of this project. Tools registered in SQL appear by themselves; those written here are in capabilities.ts.
import { createSupabaseMcp } from 'chumbo'

import { tools } from './capabilities.ts'

const app = createSupabaseMcp({
  server: { name: 'my-app', version: '0.1.0' },
  auth: { mode: 'oauth' },
  tools,
})

export default app
