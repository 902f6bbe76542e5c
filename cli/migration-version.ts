// cli/migration-version.ts — names that come after every migration there is.

import { CliError } from './cli-error.ts'

/** The version after which new files are counted: the newest of those given, or a moment ago. */
export function newestVersion(present: readonly string[], now: Date): string {
  const versions = present.flatMap((name) => /^(\d+)(?:_.*\.sql)?$/.exec(name)?.[1] ?? [])
  return [stamp(new Date(now.getTime() - 1000)), ...versions].sort().at(-1) ?? stamp(now)
}

/**
 * A second later; a version that is no time of day counts up as a number of the same length.
 *
 * @throws {CliError} `no_version_left`
 */
export function nextVersion(version: string): string {
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(version) ?? []
  const time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  if (!Number.isNaN(time)) return stamp(new Date(time + 1000))
  const next = (BigInt(version) + 1n).toString().padStart(version.length, '0')
  // The Supabase CLI compares versions as text, where one more digit sorts earlier.
  if (next.length === version.length) return next
  throw new CliError(`No migration can be named to come after ${version}.`, {
    code: 'no_version_left',
    hint: 'rename that migration to the time it was written',
  })
}

function stamp(time: Date): string {
  return time.toISOString().replace(/[-:T]/g, '').slice(0, 14)
}
