// The tools this project writes in TypeScript. A handler runs as its caller: ctx.supabase carries their token, so row
// security decides what it sees. `npx chumbo sync` puts it under the database's control.
import { defineTool, structuredResult } from 'chumbo'
import { z } from 'zod'

const whoAmI = defineTool(
  {
    name: 'who_am_i',
    title: 'Who am I',
    description: 'Tells which account this connection acts for. Use it when the user asks who is signed in.',
    inputSchema: z.strictObject({}),
    outputSchema: z.object({ id: z.string(), email: z.string().nullable() }),
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  async (_args, ctx) => structuredResult({ id: ctx.user.id, email: ctx.user.email ?? null }),
)

export const tools = [whoAmI]
