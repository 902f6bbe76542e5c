// tests/bench/floor/mcp.ts — an Edge Function: what MCP itself costs, with a verified token and without a database.
import { z } from 'zod'

import { serveFloor } from './serve.ts'

const inputSchema = z.strictObject({})

// eslint-disable-next-line no-restricted-syntax -- An Edge Function hands its handler over as the default export.
export default serveFloor((server) => {
  server.registerTool('ping', { description: 'Answers.', inputSchema }, () => ({
    content: [{ type: 'text', text: 'pong' }],
  }))
})
