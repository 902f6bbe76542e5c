// cli/load-manifest.ts — the manifest of the definitions a module exports, read where that module will run.

import { spawn } from 'node:child_process'
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative, resolve, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

import type { Manifest } from '../runtime/manifest.ts'
import { CliError } from './cli-error.ts'
import { findDeno } from './stack/functions/find-deno.ts'
import { mergeImportMaps, readFunctionImports } from './stack/functions/import-map.ts'

export interface LoadOptions {
  /** Folder that holds supabase/. */
  readonly root: string
  /** The module; by default `supabase/functions/<function>/capabilities.ts`. */
  readonly from?: string | undefined
  readonly function?: string | undefined
  /** Where it will run; by default Deno for what is below supabase/functions, else Node. */
  readonly runtime?: 'deno' | 'node' | undefined
  readonly limitMs?: number
}

export interface LoadedManifest {
  /** The module, below the project where it is in there. */
  readonly source: string
  readonly manifest: Manifest
}

/**
 * Loads the module in a process of its own, without network and without our environment, and writes down what its exports
 * `tools`, `resources` and `prompts` define.
 *
 * @throws {CliError} `no_definitions`, `definitions_failed`, `deno_missing`.
 */
export async function loadManifest({
  root,
  from,
  function: slug = 'mcp',
  runtime,
  limitMs = 30_000,
}: LoadOptions): Promise<LoadedManifest> {
  const functions = join(root, 'supabase', 'functions')
  const file = from === undefined ? join(functions, slug, 'capabilities.ts') : resolve(from)
  const source = file.startsWith(root + sep) ? relative(root, file) : file
  await access(file).catch((cause: unknown) => {
    throw new CliError(`There is no ${source}.`, {
      code: 'no_definitions',
      hint: 'name the module that exports your definitions with --from',
      cause,
    })
  })
  const where = runtime ?? (file.startsWith(functions + sep) ? 'deno' : 'node')
  const output = await (where === 'deno' ? runInDeno(root, file, limitMs) : runInNode(root, file, limitMs))
  const { names, manifest } = readAnswer(source, output)
  if (names.length === 0) {
    throw new CliError(`${source} exports no tools, resources or prompts.`, {
      code: 'no_definitions',
      hint: 'add a line such as: export const tools = [archive]',
    })
  }
  requireStorable(source, manifest)
  return { source, manifest }
}

interface Output {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Beside this module: the source in this repository, the built file in an installed package. */
function hostFile(): string {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  return fileURLToPath(new URL(`stack/functions/manifest-host.${extension}`, import.meta.url))
}

/** With the import map and the packages the function has on the local stack. */
async function runInDeno(root: string, file: string, limitMs: number): Promise<Output> {
  const workDir = await mkdtemp(join(tmpdir(), 'chumbo-manifest-'))
  try {
    const importMap = join(workDir, 'import-map.json')
    await writeFile(importMap, JSON.stringify(mergeImportMaps([await readFunctionImports(file)])))
    const args = [
      'run',
      '--no-prompt',
      '--cached-only',
      '--no-lock',
      '--no-config',
      '--node-modules-dir=manual',
    ]
    const permissions = [`--import-map=${importMap}`, '--allow-env', '--allow-read']
    return await run(await findDeno(), [...args, ...permissions, hostFile(), pathToFileURL(file).href], {
      cwd: root,
      home: workDir,
      limitMs,
    })
  } finally {
    await rm(workDir, { recursive: true, force: true })
  }
}

function runInNode(root: string, file: string, limitMs: number): Promise<Output> {
  const args = ['--disable-warning=ExperimentalWarning', hostFile(), pathToFileURL(file).href]
  return run(process.execPath, args, { cwd: root, home: tmpdir(), limitMs })
}

async function run(
  program: string,
  args: readonly string[],
  { cwd, home, limitMs }: { readonly cwd: string; readonly home: string; readonly limitMs: number },
): Promise<Output> {
  const child = spawn(program, args, {
    cwd,
    // Nothing of our own environment: definitions are the same whoever writes them down.
    env: { HOME: home, PATH: process.env['PATH'] ?? '', DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), limitMs)
  const texts = [child.stdout, child.stderr].map((stream) => {
    const chunks: string[] = []
    stream.setEncoding('utf8').on('data', (chunk: string) => chunks.push(chunk))
    return chunks
  })
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', resolve)
    })
    const [stdout = '', stderr = ''] = texts.map((chunks) => chunks.join(''))
    return { code, stdout, stderr }
  } finally {
    clearTimeout(timer)
  }
}

function readAnswer(source: string, { code, stdout, stderr }: Output) {
  const line = stdout.trimEnd().split('\n').at(-1) ?? ''
  if (code === 0 && line.startsWith('{')) {
    // Written by the host a moment ago.
    return JSON.parse(line) as { names: readonly string[]; manifest: Manifest }
  }
  const reason = code === null ? 'it took too long' : reasonIn(stderr)
  throw new CliError(`${source} could not be loaded: ${reason}`, {
    code: 'definitions_failed',
    hint: 'load only definitions in this module: no server, no request, no variable it cannot do without',
  })
}

/** The line that says what went wrong, without the stack below it. */
function reasonIn(stderr: string): string {
  const lines = stderr.split('\n').map((line) => line.trim())
  const told = lines.find((line) => /^(error: )?(Uncaught )?(\(in promise\) )?\w*Error\b/.test(line))
  return (told ?? lines.find((line) => line !== '') ?? 'no reason was given').replace(/^error: /, '')
}

/** Postgres stores every text but these two kinds, and says so only when the migration runs. */
function requireStorable(source: string, manifest: Manifest): void {
  const entries = Object.values(manifest).flat() as readonly { readonly name: string }[]
  const odd = entries.find((entry) => !isStorable(entry))
  if (odd === undefined) return
  throw new CliError(`${source}: a text of ${odd.name} holds a NUL character or half of a surrogate pair.`, {
    code: 'unstorable_text',
    hint: 'remove that character from the definition',
  })
}

function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0')
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([key, member]) => isStorable(key) && isStorable(member))
}
