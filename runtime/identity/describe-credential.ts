// runtime/identity/describe-credential.ts — names the kind of credential that was sent, for the log, without showing it.

/** What was sent where a user's access token belongs. */
export type CredentialKind =
  'publishable_key' | 'secret_key' | 'legacy_anon_key' | 'legacy_service_role_key' | 'jwt' | 'malformed'

/**
 * Classifies a bearer value by its prefix or by the role it claims. Nothing is verified: the answer explains a
 * refusal to the operator and decides nothing.
 *
 * @example
 * ```ts
 * describeCredential('sb_publishable_abc') // 'publishable_key'
 * ```
 */
export function describeCredential(token: string): CredentialKind {
  if (token.startsWith('sb_publishable_')) return 'publishable_key'
  if (token.startsWith('sb_secret_')) return 'secret_key'
  const payload = readPayload(token)
  if (payload === undefined) return 'malformed'
  // The keys of old projects are JWTs without a subject; a user's token with an odd role is still a user's token.
  if (!('sub' in payload)) {
    if (payload['role'] === 'anon') return 'legacy_anon_key'
    if (payload['role'] === 'service_role') return 'legacy_service_role_key'
  }
  return 'jwt'
}

function readPayload(token: string): Record<string, unknown> | undefined {
  const parts = token.split('.')
  if (parts.length !== 3) return undefined
  try {
    const payload: unknown = JSON.parse(atob((parts[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')))
    return typeof payload === 'object' && payload !== null ? (payload as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
