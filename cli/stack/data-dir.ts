// cli/stack/data-dir.ts — where a stack keeps its files: a folder that was named, or a temporary one.

import { chmod, mkdir, mkdtemp, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

import { CliError } from '../cli-error.ts'

export interface DataDir {
  readonly dir: string
  /** Set when nothing is to be kept: removed at the end, and Postgres need not flush to disk. */
  readonly temporaryDir: string | undefined
}

/** Creates the folder when needed. */
export async function prepareDir(dataDir: string | undefined): Promise<DataDir> {
  if (dataDir !== undefined) {
    const dir = resolve(dataDir)
    // One level only: Node's recursive mkdir never comes back from a file system that refuses new folders, as /proc does.
    await mkdir(dir).catch(async (cause: unknown) => {
      const isThere = cause instanceof Error && 'code' in cause && cause.code === 'EEXIST'
      if (isThere && (await stat(dir)).isDirectory()) return
      throw new CliError(`The data folder ${dir} cannot be created.`, {
        code: 'data_dir_unusable',
        hint: 'choose a folder whose parent exists and can be written to',
        cause,
      })
    })
    return { dir, temporaryDir: undefined }
  }
  const dir = await mkdtemp(join(tmpdir(), 'chumbo-'))
  // Postgres may run under another account: it must be able to walk through, not to look around.
  await chmod(dir, 0o711)
  return { dir, temporaryDir: dir }
}
