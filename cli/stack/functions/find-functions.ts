// cli/stack/functions/find-functions.ts — the Edge Functions a project has.

import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Slug → entry file, for every supabase/functions/<slug>/index.ts. */
export async function findFunctions(project: string): Promise<Record<string, string>> {
  const folder = join(project, 'supabase', 'functions')
  const names = await readdir(folder).catch(() => [])
  const found: Record<string, string> = {}
  // A leading underscore marks shared code, as for the Supabase CLI.
  for (const name of names.filter((one) => !one.startsWith('_') && !one.startsWith('.'))) {
    const entry = join(folder, name, 'index.ts')
    const exists = await stat(entry).then(
      () => true,
      () => false,
    )
    if (exists) found[name] = entry
  }
  return found
}
