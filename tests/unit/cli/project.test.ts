// tests/unit/cli/project.test.ts
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { endpointWarnings, requireProject } from '../../../cli/project.ts'
import { stackPackages } from '../../../cli/stack/packages.ts'

let root = ''
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'chumbo-project-'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

async function project(config?: string): Promise<void> {
  await mkdir(join(root, 'supabase', 'functions', 'mcp'), { recursive: true })
  await writeFile(join(root, 'supabase', 'functions', 'mcp', 'index.ts'), '')
  if (config !== undefined) await writeFile(join(root, 'supabase', 'config.toml'), config)
}

describe('a folder', () => {
  it('without supabase/ is no project', async () => {
    await expect(requireProject(root)).rejects.toMatchObject({ code: 'no_project', hint: 'supabase init' })
  })

  it('with the function let through by the gateway has nothing to warn of', async () => {
    await project('[functions.mcp]\nverify_jwt = false\n')

    await expect(requireProject(root)).resolves.toBeUndefined()
    expect(await endpointWarnings(root)).toEqual([])
  })

  it.each([
    ['no config.toml', undefined],
    ['a config.toml that is silent', '[api]\nport = 54321\n'],
    ['verification switched on', '[functions.mcp]\nverify_jwt = true\n'],
  ])('with %s warns that clients cannot sign in', async (_case, config) => {
    await project(config)

    expect(await endpointWarnings(root)).toEqual([expect.stringContaining('verify_jwt = false')])
  })

  it('without the function warns that nothing answers', async () => {
    await mkdir(join(root, 'supabase'))

    expect(await endpointWarnings(root)).toEqual([expect.stringContaining('supabase/functions/mcp')])
  })
})

it('the packages of the local stack are asked for at the versions that are tested', async () => {
  const { devDependencies } = JSON.parse(await readFile('package.json', 'utf8')) as {
    devDependencies: Record<string, string>
  }
  const page = await readFile('docs/local-stack.md', 'utf8')

  for (const [name, version] of Object.entries(stackPackages)) {
    expect(version, name).toBe(devDependencies[name])
    expect(page).toContain(`${name}@${version}`)
  }
})
