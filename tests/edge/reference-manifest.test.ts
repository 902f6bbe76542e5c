// tests/edge/reference-manifest.test.ts — the reference project's migration says of its TypeScript tools what its code says.
import { manifest } from '../../runtime/index.ts'
import { tools } from '../../supabase/functions/mcp/capabilities.ts'

const migration = new URL(
  '../../supabase/migrations/20260201000008_snippets_code_capabilities.sql',
  import.meta.url,
)

Deno.test('the registered definitions are those of the code', async () => {
  const [, json = ''] = (await Deno.readTextFile(migration)).split('$manifest$')
  const registered: unknown = JSON.parse(json).tools

  const defined = manifest({ tools }).tools

  if (JSON.stringify(registered) !== JSON.stringify(defined)) {
    throw new Error(`Write this into ${migration.pathname}:\n${JSON.stringify(defined, null, 2)}`)
  }
})
