// cli/stack/functions/runner.ts — the Deno child: started with the least permissions, restarted when it crashes.

import { type ChildProcess, spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

import { CliError } from '../../cli-error.ts'
import { freePort } from '../free-port.ts'
import { findDeno } from './find-deno.ts'
import { mergeImportMaps, readFunctionImports } from './import-map.ts'

export interface FunctionRunnerOptions {
  /** Folder whose node_modules the functions resolve packages from. */
  readonly project: string
  /** Slug → entry file. */
  readonly functions: Readonly<Record<string, string>>
  readonly env: Readonly<Record<string, string>>
  /** Loopback ports a function may talk to. */
  readonly allowedPorts: readonly number[]
  /** Folder for generated files. */
  readonly workDir: string
  readonly log: (line: string) => void
  /** Told whenever the child appears or goes away. */
  readonly onChange: () => void
}

export interface FunctionRunner {
  pid(): number | null
  /** Port of a running child; starts or awaits one when needed. */
  port(): Promise<number>
  start(env?: Readonly<Record<string, string>>): Promise<void>
  /** SIGKILL, as a crash would look; the next request starts a new child. */
  kill(): Promise<void>
  stop(): Promise<void>
}

const READY = 'chumbo-functions-ready'
const START_TIMEOUT_MS = 30_000
/** Variables a function may read, besides those it is given: postgres.js looks for all of PG*. */
const READABLE = [
  'PG*',
  'SUPABASE_*',
  'CHUMBO_*',
  'SB_*',
  'DENO_DEPLOYMENT_ID',
  'NODE_ENV',
  'DEBUG',
  'NO_COLOR',
  'WS_NO_*',
]

/** Prepares the child; nothing runs before `start` or the first `port`. */
export function createFunctionRunner(options: FunctionRunnerOptions): FunctionRunner {
  let child: ChildProcess | undefined
  let starting: Promise<number> | undefined
  let extraEnv: Readonly<Record<string, string>> = {}
  let stopped = false
  let crashes = 0
  let retry: NodeJS.Timeout | undefined

  const launch = (): Promise<number> => {
    clearTimeout(retry)
    starting ??= spawnDeno({ ...options, env: { ...options.env, ...extraEnv } }).then(
      ({ process: started, port }) => {
        child = started
        const since = Date.now()
        started.once('exit', (code, signal) => {
          if (child === started) child = undefined
          starting = undefined
          options.onChange()
          if (stopped || signal === 'SIGKILL' || signal === 'SIGTERM') return
          // A child that lived a minute earns a fresh start; one that keeps dying waits longer each time.
          crashes = Date.now() - since > 60_000 ? 1 : crashes + 1
          options.log(`Functions ended (${signal ?? `exit code ${code ?? 'unknown'}`}); restarting.`)
          retry = setTimeout(() => void launch().catch(() => undefined), Math.min(100 * 2 ** crashes, 10_000))
        })
        options.onChange()
        return port
      },
      (error: unknown) => {
        starting = undefined
        throw error
      },
    )
    return starting
  }

  const end = async (signal: NodeJS.Signals) => {
    clearTimeout(retry)
    // A child that is just starting is waited for, or it would outlive us.
    await starting?.catch(() => undefined)
    const running = child
    if (running === undefined) return
    const gone = new Promise((resolve) => running.once('exit', resolve))
    running.kill(signal)
    const impatience = setTimeout(() => running.kill('SIGKILL'), 3000)
    await gone
    clearTimeout(impatience)
  }

  return {
    pid: () => child?.pid ?? null,
    port: () => (stopped ? Promise.reject(new Error('The functions were stopped.')) : launch()),
    async start(env) {
      extraEnv = env ?? extraEnv
      await end('SIGTERM')
      await launch()
    },
    kill: () => end('SIGKILL'),
    async stop() {
      stopped = true
      await end('SIGTERM')
    },
  }
}

async function spawnDeno({
  project,
  functions,
  env,
  allowedPorts,
  workDir,
  log,
}: FunctionRunnerOptions): Promise<{ process: ChildProcess; port: number }> {
  const port = await freePort()
  const imports = await Promise.all(Object.values(functions).map(readFunctionImports))
  const importMap = join(workDir, 'import-map.json')
  await writeFile(importMap, JSON.stringify(mergeImportMaps(imports), null, 2))
  // Beside this module: the source in this repository, the built file in an installed package.
  const host = fileURLToPath(
    new URL(import.meta.url.endsWith('.ts') ? 'host.ts' : 'host.js', import.meta.url),
  )
  const entries = Object.fromEntries(
    Object.entries(functions).map(([slug, file]) => [slug, pathToFileURL(file).href]),
  )
  const loopback = [port, ...allowedPorts].flatMap((one) => [`127.0.0.1:${one}`, `localhost:${one}`])
  const args = [
    'run',
    '--no-prompt',
    '--cached-only',
    '--no-lock',
    '--no-config',
    '--node-modules-dir=manual',
    `--import-map=${importMap}`,
    `--allow-net=${loopback.join(',')}`,
    `--allow-env=${[...new Set([...READABLE, ...Object.keys(env)])].join(',')}`,
    `--allow-read=${project}`,
    host,
    JSON.stringify({ port, functions: entries }),
  ]
  const child = spawn(await findDeno(), args, {
    cwd: project,
    // Nothing of our own environment: a function sees what it would see hosted.
    env: { HOME: workDir, PATH: process.env['PATH'] ?? '', DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1', ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  await untilReady(child, log)
  return { process: child, port }
}

function untilReady(child: ChildProcess, log: (line: string) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (reason: string) => {
      child.kill('SIGKILL')
      reject(new CliError(`The Edge Functions did not start: ${reason}`, { code: 'functions_failed' }))
    }
    const timer = setTimeout(() => fail('no answer within 30 seconds.'), START_TIMEOUT_MS)
    let last = ''
    const onExit = () => fail(last || 'Deno ended at once.')
    child.once('error', (error) => fail(error.message))
    child.once('exit', onExit)
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8')
      stream?.on('data', (chunk: string) => {
        for (const line of chunk.split('\n').filter((text) => text.trim() !== '')) {
          if (line === READY) {
            clearTimeout(timer)
            child.removeListener('exit', onExit)
            resolve()
          } else {
            last = line
            log(line)
          }
        }
      })
    }
  })
}
