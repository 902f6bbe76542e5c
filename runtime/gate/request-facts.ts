// runtime/gate/request-facts.ts — the verified facts of a request, in the form the RPCs take. The only place that builds them.

import type { Identity } from '../identity/principal.ts'
import { requiredSchema, type GateError, type RequestFacts } from './gate.ts'

/** What a request brings beside its caller. */
export interface MessageFacts {
  /** The slug of the server asked. */
  readonly server: string
  readonly traceId: string
  readonly runtimeVersion: string
  readonly protocol?: string | undefined
  readonly idempotencyKeyHash?: string | undefined
  readonly argumentDigest?: string | undefined
  /** The tool through which the capability was called, when it was not called by its own name. */
  readonly via?: string | undefined
  /** What the runtime itself found wrong; the database refuses the request with it and leaves a receipt. */
  readonly rejection?: GateError | undefined
}

/** Supabase ids; anything else in a token would be refused by the database as malformed and read as an outage. */
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Builds the facts. Nothing in them comes from an argument, a header or `_meta` without having been verified. */
export function requestFacts(identity: Identity, message: MessageFacts): RequestFacts {
  const { subject, user, clientId, sessionId, role, claims, tokenScopes, strategy, mode } = identity
  const ids = [user?.id, clientId, sessionId].filter((id) => id !== undefined)
  const rejection = ids.every((id) => uuid.test(id)) ? message.rejection : { code: 'session_revoked' }
  return {
    server: message.server,
    requires: requiredSchema,
    subject,
    ...(rejection?.code === 'session_revoked'
      ? {}
      : { user_id: user?.id, client_id: clientId, session_id: sessionId }),
    role,
    claims,
    token_scopes: tokenScopes,
    strategy,
    mode,
    trace_id: message.traceId,
    runtime: message.runtimeVersion,
    protocol: message.protocol,
    idempotency_key_hash: message.idempotencyKeyHash,
    argument_digest: message.argumentDigest,
    via: message.via,
    rejection,
  }
}
