// runtime/capabilities/reserved-names.ts — the names that belong to Chumbo's own tools; no other tool may carry them.

/** Finds tools in a searched catalog. */
export const searchName = 'search_tools'

/** Runs a tool that was found. */
export const proxyName = 'call_tool'

export function isReservedName(name: string): boolean {
  return name === searchName || name === proxyName
}
