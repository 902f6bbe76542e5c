// cli/shipped-migrations.ts — the migrations that came with this package, and the hash each records when it runs.

import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { CliError } from './cli-error.ts'

export interface ShippedMigration {
  readonly number: number
  /** For example `0001_schema.sql`. */
  readonly name: string
  /** SHA-256 of the file with this hash as zeros; the file writes it into `chumbo.installed`. */
  readonly hash: string
}

/** @throws {CliError} `broken_package` when they are missing, or one records no hash. */
export async function readShippedMigrations(): Promise<ShippedMigration[]> {
  const folder = await findMigrations()
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(folder, name), 'utf8')
      const hash = /'([0-9a-f]{64})'\) -- chumbo\.installed/.exec(text)?.[1]
      if (hash === undefined) throw brokenPackage(`${name} records no hash.`)
      return { number: Number(name.slice(0, 4)), name, hash }
    }),
  )
}

/** The folder beside this file's package: one level up in the sources, two in the built package. */
export async function findMigrations(): Promise<string> {
  for (
    let folder = dirname(fileURLToPath(import.meta.url));
    folder !== dirname(folder);
    folder = dirname(folder)
  ) {
    const candidate = join(folder, 'sql', 'migrations')
    if ((await readdir(candidate).catch(() => [])).length > 0) return candidate
  }
  throw brokenPackage('The migrations of this package are missing.')
}

function brokenPackage(message: string): CliError {
  return new CliError(message, { code: 'broken_package', hint: 'npm install chumbo' })
}
