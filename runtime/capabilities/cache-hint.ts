// runtime/capabilities/cache-hint.ts — how long a client may keep an answer.

import type { Exchange } from './exchange.ts'

/** The fields of a result that say so. They came with the 2026-07-28 revision; clients of earlier ones get none. */
export function cacheHint(
  ttlMs: number | null | undefined,
  { isModern }: Exchange,
): { readonly ttlMs?: number; readonly cacheScope?: 'private' } {
  // What a caller is shown is theirs alone, however long it keeps.
  return ttlMs == null || isModern !== true ? {} : { ttlMs, cacheScope: 'private' }
}
