// tests/unit/cli/install.test.ts
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { planInstall, runInstall } from '../../../cli/commands/install.ts'
import { createOutput } from '../../../cli/output.ts'

const now = new Date('2026-11-30T12:00:00Z')
let root = ''
let migrations = ''

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'chumbo-install-'))
  migrations = join(root, 'supabase', 'migrations')
  await mkdir(migrations, { recursive: true })
})
afterEach(() => rm(root, { recursive: true, force: true }))

function install(options: { dryRun?: boolean; force?: boolean } = {}) {
  const printed: string[] = []
  const sink = { write: (text: string) => printed.push(text) }
  const output = createOutput({ json: true, stdout: sink, stderr: sink })
  return runInstall({ project: root, ...options }, output).then((code) => ({
    code,
    answer: JSON.parse(printed.join('')) as { written: boolean; files: { action: string }[] },
  }))
}

describe('chumbo install', () => {
  it('copies every migration byte for byte, in order', async () => {
    const { code, answer } = await install()

    const copies = (await readdir(migrations)).sort()
    const sources = (await readdir('sql/migrations')).sort()
    expect([code, answer.written, copies.length]).toEqual([0, true, sources.length])
    expect(copies.map((name) => name.replace(/^\d{14}_chumbo_/, ''))).toEqual(sources)
    for (const [index, name] of copies.entries()) {
      const source = await readFile(join('sql/migrations', sources[index] ?? ''), 'utf8')
      expect(await readFile(join(migrations, name), 'utf8')).toBe(source)
    }
  })

  it('changes nothing the second time', async () => {
    await install()
    const before = await readdir(migrations)

    const { code, answer } = await install()

    expect([code, new Set(answer.files.map((file) => file.action))]).toEqual([0, new Set(['keep'])])
    expect(await readdir(migrations)).toEqual(before)
  })

  it('writes nothing on a dry run', async () => {
    const { answer } = await install({ dryRun: true })

    expect([answer.written, await readdir(migrations)]).toEqual([false, []])
  })

  it.each([
    ['dated next year', '20270101000000_theirs.sql'],
    ['whose name is no time', '90000000000000_theirs.sql'],
  ])('sorts behind a migration %s', async (_case, theirs) => {
    await writeFile(join(migrations, theirs), 'select 1;')

    const plan = await planInstall({ root, force: false, now })

    const names = plan.map((file) => file.path.split('/').at(-1) ?? '')
    expect(names.every((name) => BigInt(name.split('_')[0] ?? 0) > BigInt(theirs.split('_')[0] ?? 0))).toBe(
      true,
    )
    expect(
      [...names].sort((a, b) => Number(BigInt(a.split('_')[0] ?? 0) - BigInt(b.split('_')[0] ?? 0))),
    ).toEqual(names)
  })

  it('refuses when nothing can come after the newest migration', async () => {
    await writeFile(join(migrations, '99999999999999_theirs.sql'), 'select 1;')

    await expect(planInstall({ root, force: false, now })).rejects.toMatchObject({ code: 'no_version_left' })
  })

  it('keeps an edited copy, writes nothing at all, and says so', async () => {
    await install()
    const [first = ''] = (await readdir(migrations)).sort()
    await writeFile(join(migrations, first), 'select 2;')
    await rm(join(migrations, (await readdir(migrations)).sort().at(-1) ?? ''))
    const before = await readdir(migrations)

    const { code, answer } = await install()

    expect([code, answer.written]).toEqual([3, false])
    expect(answer.files.filter((file) => file.action === 'refuse')).toHaveLength(1)
    expect(await readdir(migrations)).toEqual(before)
    expect(await readFile(join(migrations, first), 'utf8')).toBe('select 2;')
  })

  it('writes over an edited copy when told to', async () => {
    await install()
    const [first = ''] = (await readdir(migrations)).sort()
    await writeFile(join(migrations, first), 'select 2;')

    const { code } = await install({ force: true })

    expect([code, await readFile(join(migrations, first), 'utf8')]).toEqual([
      0,
      await readFile('sql/migrations/0001_schema.sql', 'utf8'),
    ])
  })

  it('refuses a folder without a Supabase project', async () => {
    await rm(join(root, 'supabase'), { recursive: true })

    await expect(planInstall({ root, force: false, now })).rejects.toMatchObject({
      code: 'no_project',
      hint: 'supabase init',
    })
  })
})
