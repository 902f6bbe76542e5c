// tests/package/package.test.ts — what `npm pack` makes can be used by somebody who has nothing but its dependencies.
import { execFile } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { migrationsFolder, readMigrations } from '../support/migrations.ts'
import { repositoryRoot } from '../support/repository.ts'
import { denoResolution } from '../support/suites.ts'

const manifest = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8')) as {
  version: string
  bin: Record<string, string>
  exports: Record<string, { types: string; default: string }>
  dependencies: Record<string, string>
}
const specifiers = Object.keys(manifest.exports).map((path) => `chumbo${path.slice(1)}`)

let consumer: string
let packed: string[]

beforeAll(async () => {
  consumer = mkdtempSync(join(tmpdir(), 'chumbo-consumer-'))
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', consumer], repositoryRoot)
  const archive = readPackReport(stdout)
  packed = archive.files

  // The package unpacked as npm would, beside links to what it declares: an undeclared import finds nothing.
  const installed = join(consumer, 'node_modules/chumbo')
  mkdirSync(installed, { recursive: true })
  await run('tar', ['-xzf', join(consumer, archive.filename), '--strip-components=1', '-C', installed])
  for (const name of Object.keys(manifest.dependencies)) {
    const link = join(consumer, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(repositoryRoot, 'node_modules', name), link)
  }
  write('package.json', JSON.stringify({ type: 'module', dependencies: { chumbo: manifest.version } }))
  write(
    'load.mjs',
    `const modules = await Promise.all(${JSON.stringify(specifiers)}.map((name) => import(name)))
console.log(JSON.stringify(modules.map((module) => Object.keys(module).sort())))
`,
  )
}, 180_000)

afterAll(() => {
  rmSync(consumer, { recursive: true, force: true })
})

function write(name: string, text: string): void {
  writeFileSync(join(consumer, name), text)
}

function run(
  program: string,
  args: readonly string[],
  cwd = consumer,
): Promise<{ stdout: string; stderr: string }> {
  const path = [join(repositoryRoot, 'node_modules/.bin'), process.env['PATH']].join(delimiter)
  return promisify(execFile)(program, args, {
    cwd,
    env: { ...process.env, PATH: path, DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1' },
    maxBuffer: 64 * 1024 * 1024,
  })
}

/** The build prints before npm does, so the report is what starts at the first line with nothing but a bracket. */
function readPackReport(stdout: string): { filename: string; files: string[] } {
  const reports = JSON.parse(stdout.slice(stdout.search(/^[[{]\s*$/m))) as unknown
  // An array of packages up to npm 11, an object by name from npm 12 on.
  const [report] = Object.values(reports as Record<string, { filename: string; files: { path: string }[] }>)
  if (report === undefined) throw new Error(`npm pack reported no package: ${stdout}`)
  return { filename: report.filename, files: report.files.map(({ path }) => path) }
}

describe('the packed package', () => {
  it('loads every export in bare Node', async () => {
    const { stdout } = await run('node', ['load.mjs'])

    const exported = JSON.parse(stdout) as string[][]
    expect(exported).toHaveLength(specifiers.length)
    for (const names of exported) expect(names.length).toBeGreaterThan(0)
    expect(exported[0]).toContain('createSupabaseMcp')
  })

  it('loads every export in Deno, with the same names', async () => {
    const inNode = await run('node', ['load.mjs'])

    const inDeno = await run('deno', [
      'run',
      ...denoResolution,
      '--no-prompt',
      '--allow-env',
      '--allow-read',
      'load.mjs',
    ])

    expect(JSON.parse(inDeno.stdout)).toEqual(JSON.parse(inNode.stdout))
  })

  it('is typed as a consumer sees it', async () => {
    write(
      'use.ts',
      specifiers.map((name, index) => `import type * as module${index} from '${name}'`).join('\n'),
    )
    write(
      'tsconfig.json',
      JSON.stringify({
        compilerOptions: {
          ...{
            strict: true,
            noEmit: true,
            module: 'nodenext',
            target: 'es2023',
            skipLibCheck: true,
            types: [],
          },
          lib: ['es2024', 'dom', 'dom.iterable'],
        },
        files: [
          'use.ts',
          ...Object.values(manifest.exports).map(({ types }) => join('node_modules/chumbo', types)),
        ],
      }),
    )

    await expect(run('tsc', ['-p', '.'])).resolves.toBeDefined()
  })

  it('types the function that a project receives with it', async () => {
    cpSync(join(consumer, 'node_modules/chumbo/functions'), join(consumer, 'supabase/functions'), {
      recursive: true,
    })
    const folder = join(consumer, 'supabase/functions/mcp')

    const check = [
      'check',
      `--config=${join(folder, 'deno.json')}`,
      ...denoResolution,
      join(folder, 'index.ts'),
    ]

    await expect(run('deno', check)).resolves.toBeDefined()
  })

  it('runs its command', async () => {
    const file = join(consumer, 'node_modules/chumbo', manifest.bin['chumbo']!)

    const { stdout } = await run(file, ['--help'])

    expect(statSync(file).mode & 0o111).toBe(0o111)
    expect(stdout).toMatch(/^Usage: chumbo/)
  })

  it('brings every migration, and of our own TypeScript only the functions a project receives', () => {
    const migrations = readMigrations().map(({ path }) => path.replace(migrationsFolder, 'sql/migrations'))

    expect(packed).toEqual(expect.arrayContaining([...migrations, 'sql/schema.sql', 'README.md', 'LICENSE']))
    const sources = packed.filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'))
    expect(sources.filter((path) => !path.startsWith('functions/'))).toEqual([])
    expect(packed.filter((path) => /^(tests|supabase|\.ci|docs)\//.test(path))).toEqual([])
  })
})
