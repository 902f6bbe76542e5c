// runtime/gate/digest.ts — keyed digests: equal inputs compare, and whoever reads the database can guess nothing back.

import { refusal } from '../errors.ts'
import type { Environment } from '../environment.ts'

/** Makes a digest of text within a purpose; equal texts of two purposes have unrelated digests. */
export type Digest = (purpose: string, text: string) => Promise<string>

/**
 * Builds the digest of a deployment. The key is `CHUMBO_HMAC_KEY`, else derived from the secret the gate itself uses;
 * set the variable where two deployments with different secrets must agree.
 */
export function createDigest({ hmacKey, secretKeys, databaseUrl }: Environment): Digest {
  const secret = hmacKey ?? secretKeys['default'] ?? Object.values(secretKeys)[0] ?? databaseUrl
  let imported: Promise<CryptoKey> | undefined

  return async function digest(purpose, text) {
    if (secret === undefined) throw refusal('server_misconfigured', { hint: 'Set CHUMBO_HMAC_KEY.' })
    imported ??= importKey(secret)
    const bytes = await crypto.subtle.sign('HMAC', await imported, encode(`${purpose}\0${text}`))
    return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('')
  }
}

/** Hashed first, so that a key of any length has the strength of the whole of it. */
async function importKey(secret: string): Promise<CryptoKey> {
  const material = await crypto.subtle.digest('SHA-256', encode(`chumbo digest v1\0${secret}`))
  return crypto.subtle.importKey('raw', material, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
}

/** Levels of nesting in arguments. The Data API gives up not far above, with an answer that reads like an outage. */
const deepest = 200

/** Digits of one number in arguments; Postgres takes more, and no use is known. */
const longestNumber = 1_000

function unreadable(sentence: string): Error {
  return refusal('invalid_arguments', { sentence, hint: 'Send a flatter structure or a shorter number.' })
}

/** JSON with sorted keys: the same arguments in another order are the same call. */
export function canonicalJson(value: unknown, depth = 0): string {
  if (depth > deepest) throw unreadable('The arguments are nested too deeply.')
  if (Array.isArray(value)) return `[${value.map((member) => canonicalJson(member, depth + 1)).join(',')}]`
  if (typeof value === 'object' && value !== null && !('rawJSON' in value && Object.isFrozen(value))) {
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
    return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member, depth + 1)}`).join(',')}}`
  }
  const text = JSON.stringify(value)
  if (typeof value === 'object' && value !== null && text.length > longestNumber) {
    throw unreadable(`A number in the arguments has more than ${longestNumber} digits.`)
  }
  return text
}

function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}
