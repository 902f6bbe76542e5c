// runtime/capabilities/cursor.ts — where a list goes on.

import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'

/** Opaque to clients; it grants nothing, since every page is filtered anew. */
export function encodeCursor(place: string): string {
  return btoa(place)
}

/**
 * The place that a cursor of ours stands for.
 *
 * @throws {ProtocolError} for any other.
 */
export function decodeCursor(cursor: string): string {
  try {
    const place = atob(cursor)
    // A name, or behind the sign that no name has, the name of a template whose list was the last one.
    if (/^(?:[A-Za-z0-9_-]{1,64}|@[A-Za-z0-9_-]{0,64})$/.test(place)) return place
  } catch {
    // Not base64: refused below like any other cursor that is not ours.
  }
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Invalid cursor')
}
