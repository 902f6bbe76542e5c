// runtime/capabilities/cache-hint.ts — how long a client may keep an answer.

import type { ServerContext } from '@modelcontextprotocol/server'

/** The fields of a result that say so. They came with the 2026-07-28 revision; clients of earlier ones get none. */
export function cacheHint(
  ttlMs: number | null | undefined,
  { mcpReq }: ServerContext,
): { readonly ttlMs?: number; readonly cacheScope?: 'private' } {
  // What a caller is shown is theirs alone, however long it keeps.
  return ttlMs == null || mcpReq.envelope === undefined ? {} : { ttlMs, cacheScope: 'private' }
}
