// runtime/errors.ts — the one error class a caller may see, and the registry of what the request layer can say.

/** What a slug means to the caller: its HTTP status, the sentence for people, and the next step. */
export interface ErrorEntry {
  readonly status: number
  readonly sentence: string
  readonly hint: string
}

/** Every slug the request layer answers with. `docs/errors.md` holds one row per entry. */
export const errorRegistry = {
  invalid_token: {
    status: 401,
    sentence:
      'This endpoint needs the access token of a signed-in user, and no valid one came with the request.',
    hint: 'Sign in through the authorization server named in the challenge, then retry with the new access token.',
  },
  session_revoked: {
    status: 401,
    sentence: 'The session behind this access token has ended.',
    hint: 'Sign in again; a token of an ended session is refused although it has not expired.',
  },
  not_found: {
    status: 404,
    sentence: 'Nothing is served at this path.',
    hint: "Send MCP requests to the function's own URL, without anything after its name.",
  },
  method_not_allowed: {
    status: 405,
    sentence: 'This method is not served here: the server never pushes and keeps no sessions.',
    hint: 'Use a method from the Allow header; MCP messages are sent with POST.',
  },
  not_acceptable: {
    status: 406,
    sentence: 'The Accept header allows neither application/json nor text/event-stream.',
    hint: 'Send Accept: application/json, text/event-stream.',
  },
  payload_too_large: {
    status: 413,
    sentence: 'The request body is larger than this server reads.',
    hint: 'Send less data in one call, or split it over several calls.',
  },
  invalid_arguments: {
    status: 400,
    sentence: 'The arguments cannot be read as they were sent.',
    hint: "Compare the arguments with the tool's input schema and retry.",
  },
  rate_limited: {
    status: 429,
    sentence: 'Too many requests were made in a short time.',
    hint: 'Wait for the number of seconds in Retry-After, then retry.',
  },
  auth_unavailable: {
    status: 503,
    sentence:
      'Access tokens cannot be verified right now; nothing is known to be wrong with the one that was sent.',
    hint: 'Retry with the same token after the number of seconds in Retry-After.',
  },
  database_unavailable: {
    status: 503,
    sentence: 'The database cannot be reached right now.',
    hint: 'Retry after the number of seconds in Retry-After.',
  },
  schema_outdated: {
    status: 503,
    sentence: 'The database does not have the objects this version of the server needs.',
    hint: "The server's operator has to apply the pending migrations.",
  },
  timeout: {
    status: 504,
    sentence: 'The request took longer than this server allows.',
    hint: 'Ask for less in one call, then retry.',
  },
  server_misconfigured: {
    status: 500,
    sentence: 'The server is not configured to answer this request.',
    hint: "The server's operator finds the missing setting in the log.",
  },
  internal_error: {
    status: 500,
    sentence: 'The server failed to answer this request.',
    hint: "Retry once; if it fails again, give the trace id to the server's operator.",
  },
} as const satisfies Record<string, ErrorEntry>

/** A slug of {@link errorRegistry}. */
export type ErrorSlug = keyof typeof errorRegistry

/** What a {@link ChumboError} is made of beside its sentence. */
export interface ChumboErrorInit extends ErrorOptions {
  readonly code: string
  readonly status: number
  readonly hint?: string | undefined
  readonly retryAfterSeconds?: number | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/**
 * An error whose code, message and hint may be shown to a caller. The message is a sentence of ours: what a driver,
 * a library or a token said belongs in `cause`, which goes to the log and never to a response.
 *
 * @example
 * ```ts
 * throw new ChumboError('No snippet 7 is visible to you.', { code: 'snippet_not_found', status: 404 })
 * ```
 */
export class ChumboError extends Error {
  override readonly name = 'ChumboError'
  /** The stable slug. Branch on this, never on `message`. */
  readonly code: string
  /** The HTTP status this error answers with. */
  readonly status: number
  /** What the caller can do next. */
  readonly hint: string | undefined
  /** Whole seconds to wait before a retry can help. */
  readonly retryAfterSeconds: number | undefined
  /** Response headers the refusal is incomplete without, such as `WWW-Authenticate` or `Allow`. */
  readonly headers: Readonly<Record<string, string>>

  constructor(
    message: string,
    { code, status, hint, retryAfterSeconds, headers = {}, cause }: ChumboErrorInit,
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.status = status
    this.hint = hint
    this.retryAfterSeconds = retryAfterSeconds
    this.headers = headers
  }
}

/** What {@link refusal} may change about a registry entry. */
export interface RefusalOptions extends ErrorOptions {
  /** Replaces the registry's sentence where a more exact one helps. */
  readonly sentence?: string
  /** Replaces the registry's hint. */
  readonly hint?: string
  readonly retryAfterSeconds?: number
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Builds the error a slug stands for, with the registry's status, sentence and hint.
 *
 * @example
 * ```ts
 * throw refusal('rate_limited', { retryAfterSeconds: 12 })
 * ```
 */
export function refusal(
  code: ErrorSlug,
  { sentence, hint, retryAfterSeconds, headers, cause }: RefusalOptions = {},
): ChumboError {
  const entry: ErrorEntry = errorRegistry[code]
  return new ChumboError(sentence ?? entry.sentence, {
    code,
    status: entry.status,
    hint: hint ?? entry.hint,
    retryAfterSeconds,
    headers,
    cause,
  })
}
