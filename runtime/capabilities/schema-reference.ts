// runtime/capabilities/schema-reference.ts — where a reference inside a schema leads.

import type { JsonSchema } from './schema-merge.ts'

/**
 * The schema a reference names: a pointer into the same document, an anchor, or an `$id` in it.
 *
 * @throws {TypeError} when it leads nowhere, and for another document, which is never fetched.
 */
export function resolveReference(root: JsonSchema, reference: string): unknown {
  const found = reference.startsWith('#')
    ? resolveFragment(root, reference.slice(1))
    : findNamed(root, ['$id'], reference)
  if (found === undefined) throw new TypeError(`its reference ${JSON.stringify(reference)} leads nowhere`)
  return found
}

function resolveFragment(root: JsonSchema, fragment: string): unknown {
  if (fragment === '') return root
  if (!fragment.startsWith('/')) return findNamed(root, ['$anchor', '$dynamicAnchor'], fragment)
  let found: unknown = root
  for (const part of fragment.slice(1).split('/')) {
    const key = decode(part).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined
    found = (found as Record<string, unknown>)[key]
  }
  return found
}

function findNamed(root: JsonSchema, keywords: readonly string[], name: string): unknown {
  const waiting: unknown[] = [root]
  const seen = new Set<unknown>()
  while (waiting.length > 0) {
    const node = waiting.pop()
    if (typeof node !== 'object' || node === null || seen.has(node)) continue
    seen.add(node)
    if (keywords.some((keyword) => (node as Record<string, unknown>)[keyword] === name)) return node
    waiting.push(...(Object.values(node) as unknown[]))
  }
  return undefined
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
