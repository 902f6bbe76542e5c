// cli/stack/data-dir.ts — where a stack keeps its files: a folder that was named, or a temporary one.

import { chmod, mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

export interface DataDir {
  readonly dir: string
  /** Set when nothing is to be kept: removed at the end, and Postgres need not flush to disk. */
  readonly temporaryDir: string | undefined
}

/** Creates the folder when needed. */
export async function prepareDir(dataDir: string | undefined): Promise<DataDir> {
  if (dataDir !== undefined) {
    const dir = resolve(dataDir)
    await mkdir(dir, { recursive: true })
    return { dir, temporaryDir: undefined }
  }
  const dir = await mkdtemp(join(tmpdir(), 'chumbo-'))
  // Postgres may run under another account: it must be able to walk through, not to look around.
  await chmod(dir, 0o711)
  return { dir, temporaryDir: dir }
}
