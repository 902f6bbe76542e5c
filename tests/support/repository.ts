// tests/support/repository.ts — where the checkout is, and which files belong to it.
import { execFileSync } from 'node:child_process'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder that holds package.json, without a trailing slash. */
export const repositoryRoot = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

/** Every file that is tracked, or new and not ignored: what the next commit would hold, as paths from the root. */
export function repositoryFiles(): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], {
    cwd: repositoryRoot,
    encoding: 'utf8',
  })
  return [...new Set(listed.split('\0').filter(Boolean))].sort()
}
