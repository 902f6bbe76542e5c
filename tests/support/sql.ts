// tests/support/sql.ts — what an author runs after a change to sql/migrations: stamp, dump, release.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { dumpSchema } from './dump-schema.ts'
import {
  findReleaseFaults,
  projectMigrationsFolder,
  projectName,
  readMigrations,
  readReleases,
  releasedFile,
  runMigrations,
  schemaFile,
  sha256,
  stampMigration,
} from './migrations.ts'
import { repositoryRoot } from './repository.ts'
import { connectTestServer } from './test-server.ts'

/** Writes into each migration the hash it records, and refreshes the copies in the reference project. */
function stamp(): void {
  const files = readMigrations().map((file) => ({ ...file, text: stampMigration(file.text) }))
  const copies = new Map(files.map((file) => [projectName(file), file.text]))

  for (const name of readdirSync(projectMigrationsFolder)) {
    if (/^\d+_chumbo_\d{4}_/.test(name) && !copies.has(name)) rmSync(join(projectMigrationsFolder, name))
  }
  for (const { path, text } of files) writeFileSync(path, text)
  for (const [name, text] of copies) writeFileSync(join(projectMigrationsFolder, name), text)
  console.log(`Stamped and copied ${files.length} migrations.`)
}

/** Writes `sql/schema.sql` from a fresh database. */
async function dump(): Promise<void> {
  const server = await connectTestServer()
  try {
    await server.dropDatabase('dump')
    await server.createDatabase('dump')
    await runMigrations(server.url('dump', 'postgres'), readMigrations())
    writeFileSync(schemaFile, await dumpSchema(server.url('dump')))
  } finally {
    await server.stop()
  }
  console.log('Wrote sql/schema.sql.')
}

/** Adds the files that are new since the last release under the version in package.json. They are immutable from then on. */
function release(): void {
  const releases = readReleases()
  const files = readMigrations()
  const faults = findReleaseFaults(releases, files)
  if (faults.length > 0) throw new Error(faults.join('\n'))

  const { version } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8')) as {
    version: string
  }
  const fresh = files.slice(releases.flatMap((released) => released.files).length)
  if (fresh.length === 0) {
    console.log('Every migration was released before; nothing to add.')
    return
  }
  if (releases.some((released) => released.version === version))
    throw new Error(
      `Version ${version} is released; raise it in package.json before adding migrations to it.`,
    )

  const section = [
    `# ${version}`,
    ...fresh.map(({ name, text }) => `${sha256(text)}  migrations/${name}`),
    '',
  ]
  writeFileSync(releasedFile, section.join('\n'), { flag: 'a' })
  console.log(`Recorded ${fresh.length} migrations as released with ${version}.`)
}

const verbs: Readonly<Record<string, () => void | Promise<void>>> = { stamp, dump, release }
const verb = verbs[process.argv[2] ?? '']
if (verb === undefined) {
  console.error(`Usage: node tests/support/sql.ts ${Object.keys(verbs).join('|')}`)
  process.exitCode = 2
} else {
  await verb()
}
