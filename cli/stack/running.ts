// cli/stack/running.ts — where the database of a running `chumbo dev` is, so that other commands of the project find it.

import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

export interface RunningStack {
  /** The process that keeps it; when that is gone, so is the database. */
  readonly pid: number
  readonly databaseUrl: string
}

/** Notes a stack down, for this account only, where the Supabase CLI keeps what is never committed. Returns how to forget it. */
export async function noteRunningStack(project: string, stack: RunningStack): Promise<() => Promise<void>> {
  const file = noteOf(project)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(`${file}.partial`, `${JSON.stringify(stack)}\n`, { mode: 0o600 })
  await rename(`${file}.partial`, file)
  return async () => {
    const noted = await readNote(file)
    if (noted?.pid === stack.pid) await rm(file, { force: true })
  }
}

/** The stack that runs for this project now. */
export async function findRunningStack(project: string): Promise<RunningStack | undefined> {
  const noted = await readNote(noteOf(project))
  return noted !== undefined && isAlive(noted.pid) ? noted : undefined
}

function noteOf(project: string): string {
  return join(project, 'supabase', '.temp', 'chumbo-dev.json')
}

async function readNote(file: string): Promise<RunningStack | undefined> {
  try {
    // Written above; damage means that nothing is known.
    const noted = JSON.parse(await readFile(file, 'utf8')) as Partial<RunningStack> | null
    if (typeof noted?.pid !== 'number' || typeof noted.databaseUrl !== 'string') return undefined
    return { pid: noted.pid, databaseUrl: noted.databaseUrl }
  } catch {
    return undefined
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
