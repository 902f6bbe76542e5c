// tests/support/migrations.ts — the migration files that ship: their order, their hashes, their copies, how to run them.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import postgres from 'postgres'

import { repositoryRoot } from './repository.ts'

export interface MigrationFile {
  readonly number: number
  /** For example `0001_schema.sql`. */
  readonly name: string
  readonly path: string
  readonly text: string
}

export const migrationsFolder = join(repositoryRoot, 'sql/migrations')
export const projectMigrationsFolder = join(repositoryRoot, 'supabase/migrations')
export const schemaFile = join(repositoryRoot, 'sql/schema.sql')
export const releasedFile = join(repositoryRoot, 'sql/released.sha256')

/**
 * Reads `sql/migrations` in order.
 * @throws when a name is malformed or a number is missing or taken twice.
 */
export function readMigrations(): MigrationFile[] {
  return sqlFiles(migrationsFolder).map((name, index) => {
    const number = Number(/^(\d{4})_[a-z][a-z0-9_]*\.sql$/.exec(name)?.[1])
    if (number !== index + 1) throw new Error(`${name} should be a migration with number ${index + 1}.`)
    const path = join(migrationsFolder, name)
    return { number, name, path, text: readFileSync(path, 'utf8') }
  })
}

/** Reads the migrations of the reference project: copies of ours, then its own. */
export function readProjectMigrations(): { name: string; text: string }[] {
  return sqlFiles(projectMigrationsFolder).map((name) => ({
    name,
    text: readFileSync(join(projectMigrationsFolder, name), 'utf8'),
  }))
}

/** What a project calls its copy of one of our files: a timestamp as the Supabase CLI wants it, older than the project's own. */
export function projectName({ number, name }: Pick<MigrationFile, 'number' | 'name'>): string {
  return `20260101${String(number).padStart(6, '0')}_chumbo_${name}`
}

/** The line with which a migration records itself, and in it the hash. */
const stampLine = /^.*chumbo\.installed.*$/gm
const hashLiteral = /'[0-9a-f]{64}'/

/** SHA-256 of a migration with its own hash written as zeros, since a text cannot contain its own hash. */
export function migrationHash(text: string): string {
  return sha256(writeHash(text, '0'.repeat(64)))
}

/**
 * Fills in the hash.
 * @throws when the text does not record exactly one.
 */
export function stampMigration(text: string): string {
  return writeHash(text, migrationHash(text))
}

function writeHash(text: string, hash: string): string {
  let written = 0
  const result = text.replace(stampLine, (line) =>
    line.replace(hashLiteral, () => {
      written += 1
      return `'${hash}'`
    }),
  )
  if (written !== 1)
    throw new Error(`A migration records one hash in chumbo.installed; this one records ${written}.`)
  return result
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

export interface Release {
  readonly version: string
  readonly files: readonly { readonly name: string; readonly hash: string }[]
}

/**
 * Reads `released.sha256`: under `# <version>` the lines `sha256sum` prints for the files that came with it.
 * @throws on any other line.
 */
export function parseReleases(text: string): Release[] {
  const releases: { version: string; files: { name: string; hash: string }[] }[] = []
  for (const line of text.split('\n').filter((line) => line !== '')) {
    const version = /^# (\d+\.\d+\.\d+\S*)$/.exec(line)?.[1]
    const file = /^([0-9a-f]{64}) {2}migrations\/(\S+\.sql)$/.exec(line)
    if (version !== undefined) releases.push({ version, files: [] })
    else if (file?.[1] !== undefined && file[2] !== undefined && releases.length > 0)
      releases.at(-1)?.files.push({ name: file[2], hash: file[1] })
    else throw new Error(`released.sha256 holds a line that is neither a version nor a hash: ${line}`)
  }
  return releases
}

export function readReleases(): Release[] {
  return parseReleases(existsSync(releasedFile) ? readFileSync(releasedFile, 'utf8') : '')
}

/**
 * Says how the files at hand depart from what was released: edited, renamed, removed, or put in between.
 * An empty answer means that every released file stands as it was, before all new ones.
 */
export function findReleaseFaults(
  releases: readonly Release[],
  files: readonly Pick<MigrationFile, 'name' | 'text'>[],
): string[] {
  return releases
    .flatMap((release) => release.files)
    .flatMap((released, index) => {
      const file = files[index]
      if (file?.name !== released.name)
        return [
          `${released.name} was released as number ${index + 1}; ${file?.name ?? 'nothing'} stands there now.`,
        ]
      if (sha256(file.text) !== released.hash) return [`${released.name} was released and has changed since.`]
      return []
    })
}

/** Runs files in order as a deploy tool does: one connection, one implicit transaction per file. */
export async function runMigrations(
  url: string,
  files: readonly { readonly name: string; readonly text: string }[],
): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    for (const { name, text } of files) {
      await sql
        .unsafe(text)
        .simple()
        .catch((cause: unknown) => {
          throw new Error(`${name}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
        })
    }
  } finally {
    await sql.end({ timeout: 5 })
  }
}

function sqlFiles(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
}
