// tests/support/build.ts — makes dist/ anew: compiled runtime and command line, their other files beside them.
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'

import { repositoryRoot } from './repository.ts'

const dist = join(repositoryRoot, 'dist')

// A file that was renamed must not live on in the package.
rmSync(dist, { recursive: true, force: true })

const compiler = join(repositoryRoot, 'node_modules/typescript/bin/tsc')
spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], {
  cwd: repositoryRoot,
  stdio: 'inherit',
})

// The compiler rewrites imports in code and leaves them in declarations, where Deno would look for a source file.
for (const name of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
  if (!name.endsWith('.d.ts')) continue
  const file = join(dist, name)
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replace(/((?:from|import\() ?'\.{1,2}\/[^']+)\.ts'/g, "$1.js'"),
  )
}

// Code reads these through import.meta.url, so they keep their place relative to it. cli/skill ships as it is.
const skill = join(repositoryRoot, 'cli/skill')
for (const folder of ['runtime', 'cli']) {
  cpSync(join(repositoryRoot, folder), join(dist, folder), {
    recursive: true,
    filter: (source) => extname(source) !== '.ts' && source !== skill,
  })
}

const { bin } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8')) as {
  bin: Record<string, string>
}
for (const file of Object.values(bin)) chmodSync(join(repositoryRoot, file), 0o755)
