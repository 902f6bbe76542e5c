// cli/project.ts — the Supabase project a command works on: that it is one, and what in it keeps clients out.

import { access } from 'node:fs/promises'
import { join } from 'node:path'

import { CliError } from './cli-error.ts'
import { readProjectConfig } from './stack/project-config.ts'

/** @throws {CliError} `no_project` when the folder has no `supabase/`. */
export async function requireProject(root: string): Promise<void> {
  if (await exists(join(root, 'supabase'))) return
  throw new CliError(`${root} has no supabase folder.`, { code: 'no_project', hint: 'supabase init' })
}

/** What would make the MCP endpoint useless although everything runs, each with what to do about it. */
export async function endpointWarnings(root: string): Promise<string[]> {
  if (!(await exists(join(root, 'supabase', 'functions', 'mcp', 'index.ts')))) {
    return [
      'There is no supabase/functions/mcp, so nothing answers at the MCP URL. '
        + 'Next: mkdir -p supabase/functions && cp -R node_modules/chumbo/functions/mcp supabase/functions/',
    ]
  }
  const { verifyJwt } = await readProjectConfig(root)
  if (!verifyJwt('mcp')) return []
  return [
    'supabase/config.toml lets the gateway verify tokens for the function mcp, so clients never learn where to sign in. '
      + 'Next: add the lines [functions.mcp] and verify_jwt = false',
  ]
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
