// tests/support/tap.ts — runs a pgTAP file over one connection and reads its verdicts, without psql or pg_prove.
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'

import postgres from 'postgres'

export interface TapTest {
  readonly ok: boolean
  readonly title: string
  /** What pgTAP said about it: the `#` lines that followed. */
  readonly diagnostics: readonly string[]
}

export interface TapReport {
  readonly tests: readonly TapTest[]
  /** What is wrong with the file as a whole: an SQL error, a plan that was not kept, a bail out, no test at all. */
  readonly faults: readonly string[]
}

export interface TapOptions {
  /** Connection string of a superuser, to a database where `installPgtap` has run. */
  readonly url: string
  readonly file: string
}

/** Runs one file and reports every test. Never rejects over what the file does: an SQL error is a fault of the report. */
export async function runTapFile({ url, file }: TapOptions): Promise<TapReport> {
  const script = expandIncludes(file)
  const lines: string[] = []
  const sql = postgres(url, {
    max: 1,
    onnotice: () => {},
    connection: {
      search_path: 'tap, public, extensions',
      statement_timeout: 60_000,
      client_min_messages: 'warning',
    },
  })

  try {
    // Row by row, so that the verdicts before an error are kept.
    await sql
      .unsafe(script.text)
      .simple()
      .forEach((row: Record<string, unknown>) => {
        for (const cell of Object.values(row)) if (typeof cell === 'string') lines.push(...cell.split('\n'))
      })
  } catch (error) {
    const { tests, faults } = readTap(lines)
    // An error ends the script, so the plan cannot have been kept: naming both would tell one thing twice.
    return {
      tests,
      faults: [describeError(error, script), ...faults.filter((fault) => fault.startsWith('Bail'))],
    }
  } finally {
    await sql.end({ timeout: 5 })
  }
  return readTap(lines)
}

/** Reads TAP as pgTAP writes it. A failing test counts as failed whatever directive it carries. */
export function readTap(lines: readonly string[]): TapReport {
  const tests: { ok: boolean; title: string; diagnostics: string[] }[] = []
  const faults: string[] = []
  let planned: number | undefined

  for (const line of lines) {
    const plan = /^1\.\.(\d+)/.exec(line)
    const test = /^(not )?ok (\d+)(?: - (.*))?$/.exec(line)
    if (plan) planned = Number(plan[1])
    else if (test) {
      if (Number(test[2]) !== tests.length + 1)
        faults.push(`Test ${test[2]} came as number ${tests.length + 1}.`)
      tests.push({ ok: test[1] === undefined, title: test[3] ?? `test ${test[2]}`, diagnostics: [] })
    } else if (line.startsWith('Bail out!')) faults.push(line)
    else if (line.startsWith('#')) tests.at(-1)?.diagnostics.push(line)
  }

  if (tests.length === 0) faults.push('The file ran no test.')
  else if (planned === undefined) faults.push('The file has no plan.')
  else if (planned !== tests.length) faults.push(`The file planned ${planned} tests and ran ${tests.length}.`)
  return { tests, faults }
}

/** Loads pgTAP into schema `tap`, callable by every role, so that a test may go on after it has become somebody. */
export async function installPgtap(url: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {}, connection: { search_path: 'tap' } })
  try {
    await sql.unsafe('create schema tap; grant usage on schema tap to public;').simple()
    await sql.unsafe(readPgtapScript()).simple()
  } finally {
    await sql.end({ timeout: 5 })
  }
}

/** A test file with its `\ir` lines replaced by what they name, and where each line came from. */
export interface TapScript {
  readonly text: string
  /** For each line of `text`: file and line number. */
  readonly origins: readonly { readonly file: string; readonly line: number }[]
}

/**
 * Resolves psql's `\ir`, relative to the including file; psql's other commands have no meaning here.
 * @throws on any other backslash command at the start of a line.
 */
export function expandIncludes(file: string): TapScript {
  const text: string[] = []
  const origins: { file: string; line: number }[] = []

  for (const [index, line] of readFileSync(file, 'utf8').split('\n').entries()) {
    const include = /^\\ir\s+(\S+)\s*$/.exec(line)
    if (include?.[1] !== undefined) {
      const included = expandIncludes(join(dirname(file), include[1]))
      text.push(included.text)
      origins.push(...included.origins)
    } else if (line.startsWith('\\')) {
      throw new Error(`${file}:${index + 1}: only \\ir is supported, found ${line}`)
    } else {
      text.push(line)
      origins.push({ file, line: index + 1 })
    }
  }
  return { text: text.join('\n'), origins }
}

function describeError(error: unknown, script: TapScript): string {
  if (!(error instanceof postgres.PostgresError))
    return error instanceof Error ? error.message : String(error)
  const { message, code, detail, hint, where } = error
  // Postgres counts characters from the start of everything it was sent, and says nothing for an error of the run time.
  const position = Number(error.position)
  const line = Number.isNaN(position) ? undefined : script.text.slice(0, position).split('\n').length
  const origin = line === undefined ? undefined : script.origins[line - 1]
  const place = origin === undefined ? '' : `${origin.file}:${origin.line}: `
  const rest = [detail, hint, where].filter(Boolean)
  return [`${place}${message} (SQLSTATE ${code})`, ...rest].join('\n  ')
}

/** pgTAP's SQL, out of the archive its npm package carries. It is plain SQL, so no server needs its extension files. */
function readPgtapScript(): string {
  const archive = new URL('pgtap.tar.gz', import.meta.resolve('@electric-sql/pglite-pgtap'))
  const files = readTar(gunzipSync(readFileSync(archive)))
  const folder = 'share/postgresql/extension/'
  const version = /default_version\s*=\s*'([^']+)'/.exec(files.get(`${folder}pgtap.control`) ?? '')?.[1]
  const script = files.get(`${folder}pgtap--${version}.sql`)
  if (script === undefined) throw new Error('The pgTAP archive holds no script of its default version.')
  // psql would refuse to run an extension script by hand; that guard is its first lines.
  return script.replace(/^\\.*$/gm, '')
}

/** Reads an uncompressed tar: 512-byte headers, each followed by its file, padded to 512 bytes. */
function readTar(archive: Buffer): Map<string, string> {
  const files = new Map<string, string>()
  const field = (header: Buffer, start: number, length: number) =>
    header.toString('utf8', start, start + length).split('\0', 1)[0] ?? ''

  for (let offset = 0; offset + 512 <= archive.length;) {
    const header = archive.subarray(offset, offset + 512)
    const name = field(header, 0, 100).replace(/^\.\//, '')
    if (name === '') break
    const size = parseInt(field(header, 124, 12).trim(), 8)
    files.set(name, archive.toString('utf8', offset + 512, offset + 512 + size))
    offset += 512 + Math.ceil(size / 512) * 512
  }
  return files
}
