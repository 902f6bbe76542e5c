import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { extname, join } from 'node:path'

import { describe, expect, it } from 'vitest'

import { errorRegistry } from '../../../runtime/errors.ts'
import { toolErrorRegistry } from '../../../runtime/results/tool-error.ts'
import { projectMigrationsFolder, projectName, readMigrations } from '../../support/migrations.ts'
import { repositoryFiles, repositoryRoot } from '../../support/repository.ts'

const read = (path: string) => readFileSync(join(repositoryRoot, path), 'utf8')

const BINARY = new Set(['.png', '.jpg', '.jpeg', '.ico', '.gz', '.woff2'])
// A file that was deleted but not yet committed is still listed.
const files = repositoryFiles().filter((path) => existsSync(join(repositoryRoot, path)))
const textFiles = files.filter((path) => !BINARY.has(extname(path)))

interface Manifest {
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
  optionalDependencies?: Record<string, string>
}

interface LockedPackage {
  version?: string
  resolved?: string
  integrity?: string
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

interface Lockfile {
  packages: Record<string, LockedPackage>
}

describe('the repository', () => {
  it('has only the agreed names at its top level', () => {
    const topLevel = [...new Set(files.map((path) => path.split('/', 1)[0]))]

    const folders = ['.ci', '.github', 'cli', 'docs', 'functions', 'runtime', 'sql', 'supabase', 'tests']
    const documents = ['CHANGELOG.md', 'LICENSE', 'README.md']
    const settings = [
      ...['.gitignore', '.npmrc', '.prettierignore', '.prettierrc.json', '.squawk.toml', 'eslint.config.js'],
      ...['package-lock.json', 'package.json', 'tsconfig.build.json', 'tsconfig.json', 'vitest.config.ts'],
    ]
    expect(topLevel.filter((name) => ![...folders, ...documents, ...settings].includes(name!))).toEqual([])
  })

  it('names no folder of the machine it was written on, and no package mirror', () => {
    // Written in parts, so that this file does not find itself.
    const folders = [
      ['/wo', 'rk/'],
      ['/ho', 'me/[a-z]'],
      ['/Us', 'ers/[a-z]'],
      ['https?://\\S*', '\\b(registry|artifactory|nexus|mirror)\\b'],
    ]
    const pattern = new RegExp(folders.map((parts) => parts.join('')).join('|'))

    const lines = textFiles.flatMap((path) =>
      read(path)
        .split('\n')
        .filter((line) => pattern.test(line))
        .map((line) => `${path}: ${line.trim()}`),
    )

    expect(lines).toEqual([])
  })

  it('ends every text file with one line break, and no line with blanks', () => {
    const untidy = textFiles.filter((path) => {
      const text = read(path)
      // Markdown and generated SQL may need what is at the end of a line.
      const blanks = path !== 'sql/schema.sql' && !path.endsWith('.md') && /[ \t]$/m.test(text)
      return text !== '' && (!text.endsWith('\n') || text.endsWith('\n\n') || text.includes('\r') || blanks)
    })

    expect(untidy).toEqual([])
  })
})

describe('package.json', () => {
  const manifest = JSON.parse(read('package.json')) as Manifest
  const lockfile = JSON.parse(read('package-lock.json')) as Lockfile
  const packages = Object.entries(lockfile.packages).filter(([path]) => path !== '')

  it('pins every dependency exactly', () => {
    const { dependencies, devDependencies, optionalDependencies } = manifest
    const ranges = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies }).filter(
      // An alias, for a second version of a package, is pinned like any other.
      ([, version]) => !/^(npm:[\w@/.-]+@)?\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(version),
    )

    expect(ranges).toEqual([])
  })

  it('has a lockfile that agrees with it and hashes every package', () => {
    for (const [name, version] of Object.entries({ ...manifest.dependencies, ...manifest.devDependencies }))
      expect(lockfile.packages[`node_modules/${name}`]?.version, name).toBe(version.replace(/^npm:.*@/, ''))
    expect(packages.filter(([, { integrity }]) => integrity === undefined).map(([path]) => path)).toEqual([])
  })

  it('has a lockfile that holds the packages of every platform, without which npm ci refuses it', () => {
    const missing = Object.entries(lockfile.packages).flatMap(
      ([path, { dependencies, optionalDependencies }]) =>
        Object.keys({ ...dependencies, ...optionalDependencies })
          .filter(
            (name) =>
              !foldersAbove(path).some((folder) => `${folder}node_modules/${name}` in lockfile.packages),
          )
          .map((name) => `${path} needs ${name}`),
    )

    expect(missing).toEqual([])
  })

  it('has a lockfile that names no registry, so that it serves behind any mirror', () => {
    expect(packages.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([])
  })
})

describe('SQL', () => {
  const migrations = readMigrations()

  it('reaches the reference project as copies, byte for byte', () => {
    const copies = readdirSync(projectMigrationsFolder).filter((name) => /^\d+_chumbo_\d{4}_/.test(name))

    expect(copies.sort()).toEqual(migrations.map(projectName))
    for (const migration of migrations)
      expect(
        read(`supabase/migrations/${projectName(migration)}`),
        `${migration.name}: npm run sql:stamp`,
      ).toBe(migration.text)
  })

  it('is written in lower case', () => {
    // No linter here knows this rule: squawk has none, and a formatter would rewrite the bodies of functions.
    const keywords =
      /\b(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|GRANT|REVOKE|FROM|WHERE|RETURNS|BEGIN|END|DECLARE|TABLE|FUNCTION|NOT NULL|UUID|TEXT|JSONB|BIGINT|TIMESTAMPTZ)\b/
    const sources = files.filter((path) =>
      /^(sql\/migrations|supabase|cli|tests)\/.*\.(sql|psql)$/.test(path),
    )

    const shouting = sources.flatMap((path) =>
      withoutCommentsAndStrings(read(path))
        .split('\n')
        .filter((line) => keywords.test(line))
        .map((line) => `${path}: ${line.trim()}`),
    )

    expect(shouting).toEqual([])
  })
})

describe('docs/errors.md', () => {
  const path = 'docs/errors.md'
  // One row per slug: | `slug` | … |
  const page = files.includes(path) ? read(path) : ''
  const documented = [...page.matchAll(/^\| `([a-z_]+)` +\|/gm)].map(([, slug]) => slug!)
  const slugsIn = (folder: RegExp, pattern: RegExp) =>
    files
      .filter((file) => folder.test(file))
      .flatMap((file) => [...read(file).matchAll(pattern)].map(([, slug]) => slug!))
  const used = new Set([
    ...Object.keys(errorRegistry),
    ...Object.keys(toolErrorRegistry),
    // What SQL raises, and what it answers; what handlers' boundaries note; what a command ends with.
    ...slugsIn(/^sql\/migrations\//, /errcode\s*=\s*'PT\d{3}',\s*message\s*=\s*'([a-z_]+)'/g),
    ...slugsIn(/^sql\/migrations\//, /'code', '([a-z_]+)'/g),
    ...slugsIn(/^runtime\/(capabilities|message|app)\b/, /\bcode: (?:[^'\n]* )?'([a-z_]+)'/g),
    ...slugsIn(/^cli\//, /new CliError\([^]*?\bcode: '([a-z_]+)'/g),
    ...slugsIn(/^cli\/output\.ts$/, /\bcode: '([a-z_]+)'/g),
  ])

  it('has each slug once', () => {
    expect(documented.length).toBeGreaterThan(0)
    expect(documented.filter((slug, index) => documented.indexOf(slug) !== index)).toEqual([])
  })

  it('has a row for everything that SQL, runtime and command line answer with', () => {
    expect([...used].filter((slug) => !documented.includes(slug)).sort()).toEqual([])
  })

  it('has no row for what the code no longer says', () => {
    expect(documented.filter((slug) => !used.has(slug))).toEqual([])
  })
})

/** Where Node looks for what the package at `path` imports: below itself, then below each package that holds it. */
function foldersAbove(path: string): string[] {
  if (path === '') return ['']
  return [`${path}/`, ...foldersAbove(path.slice(0, path.lastIndexOf('node_modules/')).replace(/\/$/, ''))]
}

function withoutCommentsAndStrings(sql: string): string {
  return sql.replace(/--.*$/gm, '').replace(/'(?:[^']|'')*'/g, "''")
}
