// cli/doctor/project-checks.ts — what the doctor can tell from the folder alone, without a database or a container.

import { access } from 'node:fs/promises'
import { join } from 'node:path'

import { planInstall } from '../commands/install.ts'
import { endpointWarnings } from '../project.ts'
import type { Check } from './check.ts'

/** Looks at `supabase/` below `root`. */
export async function checkProject(root: string, now: Date): Promise<Check[]> {
  const hasProject = await access(join(root, 'supabase')).then(
    () => true,
    () => false,
  )
  if (!hasProject) {
    const skipped = {
      status: 'skipped',
      detail: `${root} has no supabase folder.`,
      fix: 'run it in your project, or pass --project <dir>',
    } as const
    return [
      { id: 'endpoint', ...skipped },
      { id: 'migration_files', ...skipped },
    ]
  }
  return [await checkEndpoint(root), await checkMigrationFiles(root, now)]
}

/** The gateway of the platform must let clients through that have no token yet: only the function can tell them where to get one. */
async function checkEndpoint(root: string): Promise<Check> {
  const [warning] = await endpointWarnings(root)
  if (warning === undefined) {
    return {
      id: 'endpoint',
      status: 'ok',
      detail: 'The function mcp is here and answers clients without a token itself.',
      fix: null,
    }
  }
  const [detail = warning, fix = null] = warning.split(' Next: ')
  return { id: 'endpoint', status: 'error', detail, fix }
}

async function checkMigrationFiles(root: string, now: Date): Promise<Check> {
  const plan = await planInstall({ root, force: false, now })
  const edited = plan.filter(({ action }) => action === 'refuse').map(({ path }) => path)
  const missing = plan.filter(({ action }) => action === 'create')
  if (edited.length > 0) {
    return {
      id: 'migration_files',
      status: 'error',
      detail: `These copies of our migrations were edited: ${edited.join(', ')}.`,
      fix: 'undo the edits, or npx chumbo install --force',
    }
  }
  if (missing.length > 0) {
    return {
      id: 'migration_files',
      status: 'warning',
      detail: `${missing.length} of ${plan.length} migrations of this package are not in supabase/migrations.`,
      fix: 'npx chumbo install',
    }
  }
  return {
    id: 'migration_files',
    status: 'ok',
    detail: `supabase/migrations has all ${plan.length} migrations of this package, unchanged.`,
    fix: null,
  }
}
