// tests/unit/cli/stack/project.test.ts — what is read of a project, and what is missing on the machine.
import { describe, expect, it } from 'vitest'

import { mergeImportMaps } from '../../../../cli/stack/functions/import-map.ts'
import { assertStackPackages, stackPackages } from '../../../../cli/stack/packages.ts'
import { parseProjectConfig } from '../../../../cli/stack/project-config.ts'
import { assertDocker } from '../../../../cli/stack/supabase-cli.ts'

describe('parseProjectConfig', () => {
  it('has the platform’s defaults for an empty file', () => {
    const config = parseProjectConfig('')

    expect(config).toMatchObject({
      schemas: ['public', 'graphql_public'],
      extraSearchPath: ['public', 'extensions'],
    })
    expect(config.verifyJwt('mcp')).toBe(true)
  })

  it('reads lists over several lines and one function’s switch', () => {
    const config = parseProjectConfig(`
[api]
schemas = [
  "public",
  # "hidden",
  "api", # exposed
]
[functions.mcp]
verify_jwt = false # discovery is public
[functions.other]
enabled = true
`)

    expect(config.schemas).toEqual(['public', 'api'])
    expect([config.verifyJwt('mcp'), config.verifyJwt('other')]).toEqual([false, true])
  })
})

describe('mergeImportMaps', () => {
  it('shares what agrees, resolves what is relative, and scopes what differs', () => {
    const map = mergeImportMaps([
      {
        folder: 'file:///p/supabase/functions/a/',
        imports: { chumbo: '../../../runtime/index.ts', zod: 'npm:zod@4' },
      },
      {
        folder: 'file:///p/supabase/functions/b/',
        imports: { chumbo: '../../../runtime/index.ts', zod: 'npm:zod@3' },
      },
    ])

    expect(map).toEqual({
      imports: { chumbo: 'file:///p/runtime/index.ts', zod: 'npm:zod@4' },
      scopes: { 'file:///p/supabase/functions/b/': { zod: 'npm:zod@3' } },
    })
  })
})

describe('assertStackPackages', () => {
  it('is content when everything is there', () => {
    expect(() => assertStackPackages()).not.toThrow()
  })

  it('names the missing ones and the one command that installs them', () => {
    const resolve = (name: string) => {
      if (name.startsWith('deno') || name.startsWith('jose')) throw new Error('not found')
    }

    expect(() => assertStackPackages(resolve)).toThrow(
      expect.objectContaining({
        code: 'stack_packages_missing',
        hint: `npm install --save-dev deno@${stackPackages.deno} jose@${stackPackages.jose}`,
      }),
    )
  })
})

describe('assertDocker', () => {
  it('fails at once with the next command when no daemon answers', async () => {
    await expect(assertDocker(() => Promise.reject(new Error('no daemon')))).rejects.toMatchObject({
      code: 'docker_missing',
      exitCode: 1,
      hint: expect.stringContaining('chumbo dev --stack local') as unknown,
    })
  })

  it('is content when one does', async () => {
    await expect(assertDocker(() => Promise.resolve())).resolves.toBeUndefined()
  })
})
