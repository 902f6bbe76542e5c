// runtime/capabilities/cursor.ts — where a list goes on.

import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'

/** Opaque to clients; it grants nothing, since every page is filtered anew. */
export function encodeCursor(place: string): string {
  // Code may carry names beyond what btoa takes.
  return btoa(encodeURIComponent(place))
}

/**
 * The place that a cursor of ours stands for.
 *
 * @throws {ProtocolError} for any other.
 */
export function decodeCursor(cursor: string): string {
  try {
    const place = decodeURIComponent(atob(cursor))
    // The name of a row; behind @ that of a template whose list was the last one, behind + that of code without a row.
    if (/^(?:@?[A-Za-z0-9_-]{1,64}|@|\+[^\u0000-\u001f]{1,128})$/u.test(place)) return place
  } catch {
    // Not base64, or not UTF-8: refused below like any other cursor that is not ours.
  }
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Invalid cursor')
}
