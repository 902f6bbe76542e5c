// cli/stack/functions/import-map.ts — one import map for all functions, from the deno.json of each.
//
// Hosted, every function runs by itself under its own map. Here they share one Deno, so entries that agree become
// global, and where two functions disagree each keeps its own entry for its own folder.

import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { CliError } from '../../cli-error.ts'

export interface FunctionImports {
  /** Folder of the function as a file URL with a trailing slash. */
  readonly folder: string
  readonly imports: Readonly<Record<string, string>>
}

export interface ImportMap {
  readonly imports: Record<string, string>
  readonly scopes: Record<string, Record<string, string>>
}

/** Reads the `imports` of the function's deno.json (or deno.jsonc without comments); none reads as empty. */
export async function readFunctionImports(entry: string): Promise<FunctionImports> {
  const folder = dirname(entry)
  const file = join(folder, 'deno.json')
  const text = await readFile(file, 'utf8').catch(() => '{}')
  let config: unknown
  try {
    config = JSON.parse(text)
  } catch (cause) {
    throw new CliError(`${file} is not valid JSON.`, { code: 'deno_json_invalid', cause })
  }
  const imports = typeof config === 'object' && config !== null && 'imports' in config ? config.imports : {}
  return { folder: `${pathToFileURL(folder).href}/`, imports: { ...(imports as Record<string, string>) } }
}

/** Joins the maps. Relative addresses are resolved against their function's folder. */
export function mergeImportMaps(functions: readonly FunctionImports[]): ImportMap {
  const imports: Record<string, string> = {}
  const scopes: Record<string, Record<string, string>> = {}
  for (const { folder, imports: own } of functions) {
    for (const [name, address] of Object.entries(own)) {
      const target = /^\.{0,2}\//.test(address) ? new URL(address, folder).href : address
      imports[name] ??= target
      if (imports[name] !== target) scopes[folder] = { ...scopes[folder], [name]: target }
    }
  }
  return { imports, scopes }
}
