// tests/unit/cli/stack/data-dir.test.ts
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { prepareDir } from '../../../../cli/stack/data-dir.ts'

let root = ''
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'chumbo-data-'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

describe('the data folder', () => {
  it('is created, and kept when it is there already', async () => {
    const first = await prepareDir(join(root, 'data'))
    const second = await prepareDir(join(root, 'data'))

    expect([first.dir, second.dir, first.temporaryDir]).toEqual([
      join(root, 'data'),
      join(root, 'data'),
      undefined,
    ])
    expect((await stat(join(root, 'data'))).isDirectory()).toBe(true)
  })

  it.each([
    ['has no parent', () => join(root, 'missing', 'data')],
    ['lies in a file system that refuses folders', () => '/proc/chumbo'],
    ['is a file', () => join(root, 'file')],
  ])('that %s is refused with the next step', async (_case, path) => {
    await writeFile(join(root, 'file'), '')

    await expect(prepareDir(path())).rejects.toMatchObject({ code: 'data_dir_unusable', exitCode: 1 })
  })
})
