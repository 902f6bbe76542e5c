// runtime/proxied-call.ts — takes a call out of call_tool, so that everything behind sees the call it stands for.

import { proxyName } from './capabilities/reserved-names.ts'
import { parseExact } from './exact-json.ts'
import { isRecord } from './is-record.ts'

/** A message on its way in. */
export interface Incoming {
  readonly message: unknown
  /** The request as the SDK will see it; its headers belong to nobody else. */
  readonly request: Request
  /** The message with every digit kept. */
  readonly exact: () => unknown
}

/** The same, and whether it came through the proxy. */
export type Unwrapped = Incoming & { readonly via?: typeof proxyName }

/** How the 2026-07-28 revision may write the proxy's name in a header. */
const spellings: readonly (string | null)[] = [null, proxyName, `=?base64?${btoa(proxyName)}?=`]

/**
 * Turns `call_tool(name, arguments)` into `name(arguments)`: message, header and exact form alike. One layer only, so a
 * proxied proxy is a tool that does not exist. What is no proper call of `call_tool` stays as it is and is refused later:
 * by the SDK when the header does not agree with the body, else by the database.
 */
export function unwrapCall(incoming: Incoming): Unwrapped {
  const { message, request, exact } = incoming
  const inner = unwrap(message)
  if (inner === undefined || !spellings.includes(request.headers.get('mcp-name'))) return incoming
  // The header spoke of the proxy, truthfully; from here on it speaks of the tool.
  if (request.headers.has('mcp-name')) request.headers.set('mcp-name', encodeName(inner.name))
  return { message: inner.message, request, exact: () => unwrap(exact())?.message, via: proxyName }
}

function unwrap(message: unknown): { readonly name: string; readonly message: unknown } | undefined {
  if (!isRecord(message) || message['method'] !== 'tools/call' || !isRecord(message['params']))
    return undefined
  const { params } = message
  if (params['name'] !== proxyName || !isRecord(params['arguments'])) return undefined
  const { name, arguments: given = {}, ...rest } = params['arguments']
  const args = readArguments(given)
  if (typeof name !== 'string' || args === undefined || Object.keys(rest).length > 0) return undefined
  return { name, message: { ...message, params: { ...params, name, arguments: args } } }
}

/** Some clients write a nested object as text; no tool takes a text for all of its arguments, so it can only mean that. */
function readArguments(given: unknown): Readonly<Record<string, unknown>> | undefined {
  if (isRecord(given)) return given
  if (typeof given !== 'string') return undefined
  try {
    const args = parseExact(given)
    return isRecord(args) ? args : undefined
  } catch {
    return undefined
  }
}

/** As the revision writes what is not plain ASCII. */
function encodeName(name: string): string {
  if (/^[\x21-\x7e]+$/.test(name) && !name.startsWith('=?base64?')) return name
  const bytes = new TextEncoder().encode(name)
  return `=?base64?${btoa(String.fromCharCode(...bytes))}?=`
}
