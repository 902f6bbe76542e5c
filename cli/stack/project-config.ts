// cli/stack/project-config.ts — the few settings of supabase/config.toml that change how a request is treated.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface ProjectConfig {
  /** Schemas of the Data API; the first is the default one. */
  readonly schemas: readonly string[]
  readonly extraSearchPath: readonly string[]
  /** False only where `[functions.<slug>] verify_jwt = false` says so, as on the platform. */
  readonly verifyJwt: (slug: string) => boolean
}

/** Reads the file under `project`; what it does not say keeps the platform's default. */
export async function readProjectConfig(project: string): Promise<ProjectConfig> {
  const file = join(project, 'supabase', 'config.toml')
  const text = await readFile(file, 'utf8').catch(() => '')
  return parseProjectConfig(text)
}

/** Reads sections, strings, booleans and lists of strings: all that these settings use of TOML. */
export function parseProjectConfig(text: string): ProjectConfig {
  const values = new Map<string, string>()
  let section = ''
  for (const line of joinLists(text).split('\n')) {
    const content = line.trim()
    const header = /^\[([^\]]+)\]/.exec(content)?.[1]
    if (header !== undefined) section = header.replaceAll('"', '').trim()
    const pair = /^([A-Za-z0-9_-]+)\s*=\s*(.+)$/.exec(content)
    if (pair?.[1] !== undefined && pair[2] !== undefined) values.set(`${section}.${pair[1]}`, pair[2].trim())
  }
  const list = (key: string, fallback: readonly string[]) => {
    const value = values.get(key)
    return value === undefined
      ? fallback
      : [...value.matchAll(/["']([^"']*)["']/g)].map((match) => match[1] ?? '')
  }
  return {
    schemas: list('api.schemas', ['public', 'graphql_public']),
    extraSearchPath: list('api.extra_search_path', ['public', 'extensions']),
    verifyJwt: (slug) => !/^false\b/.test(values.get(`functions.${slug}.verify_jwt`) ?? 'true'),
  }
}

/** A list may run over several lines; comments may stand between them. */
function joinLists(text: string): string {
  return text
    .split('\n')
    .map((line) => (line.trim().startsWith('#') ? '' : line))
    .join('\n')
    .replaceAll(/=\s*\[[^\]]*\]/g, (list) => list.replaceAll('\n', ' '))
}
