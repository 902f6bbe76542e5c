// cli/sync/migration.ts — a manifest as a migration, and the migrations that hold an earlier one.

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface EarlierSync {
  /** File name below supabase/migrations. */
  readonly name: string
  readonly manifest: Readonly<Record<string, unknown>>
}

/** The text of a migration that makes the code-handled rows of a server equal to a manifest. */
export function writeMigration(manifest: unknown, server: string, source: string): string {
  const json = JSON.stringify(manifest, null, 2)
  const tag = freeTag(json)
  return `-- migrate:up
-- Written by chumbo sync: what ${source} defines, as clients see it. Change it there and run the command again.

select chumbo.sync_capabilities(${tag}
${json}
${tag}, '${server}');

-- migrate:down
`
}

/** A dollar quote that the text cannot end. */
function freeTag(text: string): string {
  for (let number = 1; ; number += 1) {
    const tag = number === 1 ? '$manifest$' : `$manifest_${number}$`
    if (!text.includes(tag)) return tag
  }
}

/** The manifest of the newest migration that syncs this server, however that migration came to be. */
export async function findEarlierSync(folder: string, server: string): Promise<EarlierSync | undefined> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.sql')).sort()
  for (const name of names.reverse()) {
    const manifest = readSyncs(await readFile(join(folder, name), 'utf8')).findLast(
      (sync) => sync.server === server,
    )?.manifest
    if (manifest !== undefined) return { name, manifest }
  }
  return undefined
}

/** Every call of chumbo.sync_capabilities in a text whose manifest is written out. */
export function readSyncs(
  text: string,
): readonly { server: string; manifest: Readonly<Record<string, unknown>> }[] {
  const call =
    /chumbo\.sync_capabilities\(\s*(?:manifest\s*=>\s*)?(?:(\$\w*\$)([^]*?)\1|'((?:[^']|'')*)')\s*(?:::\s*jsonb\s*)?(?:,\s*(?:server\s*=>\s*)?'([^']*)'\s*)?\)/gi
  const isCommentedOut = (index: number) =>
    text.slice(text.lastIndexOf('\n', index) + 1, index).includes('--')
  return [...text.matchAll(call)].flatMap(({ index, 2: dollar, 3: quoted, 4: server = 'default' }) => {
    if (isCommentedOut(index)) return []
    try {
      const manifest: unknown = JSON.parse(dollar ?? quoted?.replaceAll("''", "'") ?? '')
      // An object is all that the function takes.
      if (typeof manifest === 'object' && manifest !== null)
        return [{ server, manifest: manifest as Readonly<Record<string, unknown>> }]
    } catch {
      // A placeholder in some documentation, or a template of another tool.
    }
    return []
  })
}
