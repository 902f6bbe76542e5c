// cli/stack/functions/host.ts — runs inside Deno: serves every function of the project by its first path segment.
//
// Its arguments are one JSON document: {port, functions: {slug: file URL of the entry}}. It names no Deno type, so
// that Node's compiler can check it with the rest of the CLI.

/* eslint-disable no-console -- the console is this process's only line to the stack, which reads and relays it. */

interface FunctionModule {
  readonly default?: { fetch?(request: Request): Response | Promise<Response> }
}

interface DenoRuntime {
  readonly args: readonly string[]
  readonly env: { set(name: string, value: string): void }
  serve(
    options: { port: number; hostname: string; onListen(): void },
    handler: (request: Request) => Response | Promise<Response>,
  ): unknown
}

// The file is only ever started by Deno.
const { Deno: deno } = globalThis as unknown as { Deno: DenoRuntime }
const { port, functions } = JSON.parse(deno.args[0] ?? '{}') as {
  port: number
  functions: Record<string, string>
}

const modules = new Map<string, FunctionModule>()
for (const [slug, entry] of Object.entries(functions)) {
  deno.env.set('SUPABASE_FUNCTION_SLUG', slug)
  try {
    modules.set(slug, (await import(entry)) as FunctionModule)
  } catch (error) {
    // One function that does not load must not take the others along; its requests say why.
    console.error(`Function ${slug} did not load:`, error)
  }
}

deno.serve(
  { port, hostname: '127.0.0.1', onListen: () => console.log('chumbo-functions-ready') },
  (request) => {
    const slug = new URL(request.url).pathname.split('/')[1] ?? ''
    const handler = modules.get(slug)?.default
    if (handler?.fetch === undefined) {
      const known = slug in functions
      return known
        ? Response.json(
            { code: 'BOOT_ERROR', message: 'Function failed to start (please check logs)' },
            { status: 503 },
          )
        : Response.json({ code: 'NOT_FOUND', message: 'Requested function was not found' }, { status: 404 })
    }
    // Hosted, each function has an environment of its own. Here the variable is right whenever a handler reads it
    // before its first await.
    deno.env.set('SUPABASE_FUNCTION_SLUG', slug)
    return handler.fetch(request)
  },
)
