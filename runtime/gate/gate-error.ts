// runtime/gate/gate-error.ts — what a failed round trip means, whichever gate it went through.

import { refusal, type ChumboError } from '../errors.ts'
import { requiredSchema } from './gate.ts'

/** What a driver or the Data API says about a failure. */
export interface DatabaseFailure {
  /** SQLSTATE, PostgREST code or driver code; empty when no answer came. */
  readonly code: string
  /** HTTP status of the Data API; absent on a direct connection. */
  readonly status?: number | undefined
  readonly cause: unknown
}

/** Seconds after which a database that was away is worth asking again. */
const retryAfterSeconds = 5

/**
 * Classifies by code, never by text. SQLSTATE classes are those of the Postgres manual, appendix A; PGRST codes those of
 * PostgREST's error reference.
 */
export function toGateError({ code, status, cause }: DatabaseFailure): ChumboError {
  if (code === 'PGRST202' || code === '42883' || code === '3F000') return schemaOutdated(null, cause)
  if (code === '57014' || code === '57P05') return refusal('timeout', { cause })
  if (isOutage(code, status)) return refusal('database_unavailable', { retryAfterSeconds, cause })
  if (/^(28|42501|42704|3D000)/.test(code) || status === 401 || status === 403) {
    return refusal('server_misconfigured', {
      sentence: 'The server may not use its database.',
      hint: "The server's operator has to check the secret key or the login of CHUMBO_DB_URL.",
      cause,
    })
  }
  return refusal('internal_error', { cause })
}

/** The refusal of a database that is older than this runtime; `found` is null when nothing is installed. */
export function schemaOutdated(found: number | null, cause?: unknown): ChumboError {
  return refusal('schema_outdated', {
    sentence: `This server needs version ${requiredSchema} of the Chumbo schema and found ${found === null ? 'an older one' : `version ${found}`}.`,
    ...(cause === undefined ? {} : { cause }),
  })
}

/** 08 connection, 53 resources, 57P administrator; PGRST000 to 003 say the same of the Data API. */
function isOutage(code: string, status: number | undefined): boolean {
  if (/^(08|53|57P)/.test(code) || /^PGRST00[0-3]$/.test(code)) return true
  if (/^(CONNECT|CONNECTION|ECONN|ENOTFOUND|ETIMEDOUT|EPIPE|EAI_)/.test(code)) return true
  // No SQLSTATE: whatever answered was not the database.
  return code === '' || (status !== undefined && status >= 500 && !/^[0-9A-Z]{5}$/.test(code))
}
