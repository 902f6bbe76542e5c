// tests/unit/cli/main.test.ts — exit codes of the command line, without starting anything.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { run } from '../../../cli/main.ts'

let stdout: string

beforeEach(() => {
  stdout = ''
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    stdout += String(text)
    return true
  })
  vi.spyOn(process.stderr, 'write').mockReturnValue(true)
})

afterEach(() => {
  vi.restoreAllMocks()
})

describe('chumbo', () => {
  it('lists its exit codes under --help and ends with 0', async () => {
    const code = await run(['--help'])

    expect(code).toBe(0)
    expect(stdout).toMatch(/0\s+done[\s\S]*130\s+interrupted/)
  })

  it.each([
    ['an unknown verb', ['nope']],
    ['an unknown option', ['dev', '--nope']],
    ['a port that is none', ['dev', '--port', '70000']],
    ['a gate that does not exist', ['dev', '--gate', 'side']],
    ['no verb of capabilities', ['capabilities']],
    ['a kind there is none of', ['capabilities', 'list', '--kind', 'gadget']],
    ['a time that is none', ['capabilities', 'grant', 'a', '--expires', 'never']],
    ['a claim that is no object', ['capabilities', 'grant', 'a', '--claim', '[]']],
    ['a number below 1', ['capabilities', 'limit', 'a', '--requests', '0']],
    ['a server that is no slug', ['sync', '--server', 'A b']],
  ])('ends with 2 for %s', async (_case, args) => {
    expect(await run(args)).toBe(2)
  })
})
