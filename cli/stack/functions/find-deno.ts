// cli/stack/functions/find-deno.ts — the Deno that npm installed.

import { access, chmod } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { arch, platform } from 'node:os'
import { dirname, join } from 'node:path'

import { CliError } from '../../cli-error.ts'

/** The executable itself rather than its launcher: a launcher's pid would not be Deno's. */
export async function findDeno(): Promise<string> {
  const missing = (cause: unknown) =>
    new CliError('Deno, which runs the Edge Functions, is not installed.', {
      code: 'deno_missing',
      hint: 'npm install --save-dev deno',
      cause,
    })
  try {
    const require = createRequire(import.meta.url)
    const launcher = require.resolve('deno/package.json')
    const libc = platform() === 'linux' ? '-glibc' : ''
    const name = `@deno/${platform()}-${arch()}${libc}`
    const binary = join(dirname(createRequire(launcher).resolve(`${name}/package.json`)), 'deno')
    await access(binary)
    await chmod(binary, 0o755).catch(() => undefined)
    return binary
  } catch (cause) {
    throw missing(cause)
  }
}
