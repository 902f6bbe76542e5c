// runtime/hosts/deno.ts — serves an app under plain Deno; Edge Functions take `export default app` as it is.

import type { SupabaseMcpApp } from '../app.ts'

interface DenoServe {
  serve(
    options: { readonly port: number; readonly hostname: string },
    handler: (request: Request) => Promise<Response>,
  ): {
    shutdown(): Promise<void>
  }
}

/** Serves on a port and returns what stops it. */
export function serve(
  app: SupabaseMcpApp,
  { port = 8080, hostname = '0.0.0.0' }: { readonly port?: number; readonly hostname?: string } = {},
): { readonly close: () => Promise<void> } {
  const { Deno: deno } = globalThis as unknown as { Deno: DenoServe }
  const server = deno.serve({ port, hostname }, app.fetch)
  return {
    async close() {
      await server.shutdown()
      await app.close()
    },
  }
}
