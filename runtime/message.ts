// runtime/message.ts — reads one JSON-RPC message: its method, its verified facts, its idempotency key, its arguments.

import type { Exchange } from './capabilities/exchange.ts'
import { ChumboError } from './errors.ts'
import { canonicalJson, type Digest } from './gate/digest.ts'
import type { GateError } from './gate/gate.ts'
import { requestFacts } from './gate/request-facts.ts'
import type { Identity } from './identity/principal.ts'
import { isRecord } from './is-record.ts'
import { version } from './version.ts'

/** Key of `_meta` that carries an idempotency key; the `Idempotency-Key` header does the same for clients without `_meta`. */
export const idempotencyMetaKey = 'dev.chumbo/idempotency-key'

/** What arrives with a message. */
export interface MessageSource {
  /** The slug of the server asked. */
  readonly server: string
  readonly request: Request
  readonly identity: Identity
  readonly traceId: string
  /** The message with every digit kept. */
  readonly exact: () => unknown
  readonly idempotencyHeader: string | null
  /** The tool that stood around this call. */
  readonly via?: string | undefined
}

/** What code may register through the official API is wider than what a row may be called, but not endless or unstorable. */
const possibleName = /^[^\u0000-\u001f\ud800-\udfff]{1,128}$/u

export interface MessageReader {
  readonly read: (message: unknown, source: MessageSource) => Promise<Exchange>
}

/** Builds the reader of a deployment. */
export function createMessageReader({ digest }: { readonly digest: Digest }): MessageReader {
  return {
    async read(message, { server, request, identity, traceId, exact, idempotencyHeader, via }) {
      const { method, params } = partsOf(message)
      const meta = isRecord(params['_meta']) ? params['_meta'] : {}
      const isCall = method === 'tools/call'
      const key = isCall ? readKey(meta[idempotencyMetaKey], idempotencyHeader) : {}
      const argumentsOf = (value: unknown): unknown => partsOf(value).params['arguments'] ?? {}
      const args = isCall ? attempt(() => canonicalJson(argumentsOf(exact()))) : {}
      // A name nothing could be registered under is unknown before anybody is asked, and is kept nowhere.
      const isNamed = isCall || method === 'prompts/get'
      const unstorable = isNamed
        ? findUnstorable(argumentsOf(message))
        : findUnstorable(writtenIn(method, params)) && { code: 'unknown_capability' }
      const name =
        typeof params['name'] === 'string' && possibleName.test(params['name']) ? params['name'] : ''
      const unknown: GateError | undefined =
        isNamed && name === '' ? { code: 'unknown_capability' } : undefined

      const facts = requestFacts(identity, {
        server,
        traceId,
        runtimeVersion: version,
        protocol: request.headers.get('mcp-protocol-version') ?? undefined,
        idempotencyKeyHash: key.value === undefined ? undefined : await digest('idempotency key', key.value),
        argumentDigest: args.value === undefined ? undefined : await digest('arguments', args.value),
        via,
        rejection: unknown ?? key.error ?? args.error ?? unstorable,
      })
      return {
        request,
        identity,
        traceId,
        method,
        name,
        params,
        facts,
        // A message the database refuses anyway must not fail on its way there.
        argumentsText: () => (facts['rejection'] === undefined ? JSON.stringify(argumentsOf(exact())) : '{}'),
      }
    },
  }
}

function partsOf(message: unknown): {
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
} {
  if (!isRecord(message)) return { method: '', params: {} }
  const { method, params } = message
  return { method: typeof method === 'string' ? method : '', params: isRecord(params) ? params : {} }
}

/** What a client wrote itself into a message that names nothing. */
function writtenIn(
  method: string,
  { uri, ref, argument, context }: Readonly<Record<string, unknown>>,
): unknown {
  if (method === 'resources/read') return { uri }
  return method === 'completion/complete' ? { ref, argument, context } : undefined
}

type Read = { readonly value?: string; readonly error?: GateError }

function readKey(fromMeta: unknown, fromHeader: string | null): Read {
  const sent = [fromMeta, fromHeader ?? undefined].filter((value) => value !== undefined)
  if (sent.length === 0) return {}
  const [key] = sent
  const isKey = typeof key === 'string' && key.length >= 1 && key.length <= 255
  if (!isKey || sent.some((value) => value !== key)) return { error: { code: 'idempotency_key_conflict' } }
  return { value: key }
}

function attempt(read: () => string): Read {
  try {
    return { value: read() }
  } catch (error) {
    const message = error instanceof ChumboError ? error.message : 'The arguments are nested too deeply.'
    return { error: { code: 'invalid_arguments', message } }
  }
}

/** Postgres stores neither NUL nor half of a surrogate pair; the argument is named, since no database error would. */
function findUnstorable(args: unknown): GateError | undefined {
  if (!isRecord(args)) return undefined
  for (const [name, value] of Object.entries(args)) {
    const text = attempt(() => JSON.stringify([name, value]))
    // JSON.stringify escapes exactly these two, and writes a backslash of the caller's own as two.
    const found = text.value === undefined ? null : /(?<!\\)(?:\\\\)*\\u(0000|d[89a-f])/.exec(text.value)
    if (found !== null) {
      const what = found[1] === '0000' ? 'a NUL character' : 'half of a surrogate pair'
      return {
        code: 'invalid_arguments',
        message: `The argument \`${name}\` contains ${what}, which cannot be stored.`,
      }
    }
  }
  return undefined
}
