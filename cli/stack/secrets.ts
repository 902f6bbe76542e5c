// cli/stack/secrets.ts — everything secret about one stack, in one file beside its data.

import { randomBytes } from 'node:crypto'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose'

import { CliError } from '../cli-error.ts'

export interface StackSecrets {
  /** Private ES256 key of the authorization server. */
  readonly signingKey: JWK & { readonly kid: string }
  readonly publishableKey: string
  readonly secretKey: string
  /** Key the runtime uses for keyed digests. */
  readonly hmacKey: string
  readonly passwords: Readonly<Record<DatabaseLogin, string>>
}

export type DatabaseLogin =
  'supabase_admin' | 'postgres' | 'authenticator' | 'supabase_auth_admin' | 'chumbo_login'

/**
 * Reads the secrets kept in `dir`, or makes them. Kept beside the data so that tokens and connection strings
 * survive a restart.
 *
 * @throws CliError `secrets_unreadable` when the file is there but damaged: new secrets would not fit the data.
 */
export async function loadSecrets(dir: string): Promise<StackSecrets> {
  const file = join(dir, 'secrets.json')
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text !== undefined) return parse(text, file)
  const secrets = await createSecrets()
  await mkdir(dir, { recursive: true })
  await writeFile(file, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 })
  await chmod(file, 0o600)
  return secrets
}

/** Makes a fresh set: an ES256 key, both API keys, one password per database login. */
export async function createSecrets(): Promise<StackSecrets> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const jwk = await exportJWK(privateKey)
  return {
    signingKey: { ...jwk, kid: await calculateJwkThumbprint(jwk), alg: 'ES256', use: 'sig' },
    publishableKey: `sb_publishable_${token()}`,
    secretKey: `sb_secret_${token()}`,
    hmacKey: randomBytes(32).toString('base64url'),
    passwords: {
      supabase_admin: token(),
      postgres: token(),
      authenticator: token(),
      supabase_auth_admin: token(),
      chumbo_login: token(),
    },
  }
}

/** The public half, as the JWKS endpoint shows it. */
export function publicJwk({ signingKey }: StackSecrets): JWK {
  const { crv, x, y, kid } = signingKey
  if (crv === undefined || x === undefined || y === undefined)
    throw new TypeError('The signing key is not an EC key.')
  return { kty: 'EC', crv, x, y, kid, alg: 'ES256', use: 'sig', key_ops: ['verify'] }
}

function token(): string {
  return randomBytes(24).toString('base64url')
}

function parse(text: string, file: string): StackSecrets {
  try {
    // We wrote the file; a member that is missing shows at the first use of it below.
    const secrets = JSON.parse(text) as StackSecrets
    if (typeof secrets.signingKey.kid === 'string' && typeof secrets.passwords.chumbo_login === 'string')
      return secrets
  } catch {
    // Told below, with the file's name.
  }
  throw new CliError(`The secrets in ${file} cannot be read, and the data beside them needs them.`, {
    code: 'secrets_unreadable',
    hint: 'remove the whole data folder, or choose another one with --data',
  })
}
