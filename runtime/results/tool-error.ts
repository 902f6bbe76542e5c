// runtime/results/tool-error.ts — the sentence behind each slug a tool call can fail with, and the result that carries it.

import type { CallToolResult } from '@modelcontextprotocol/server'

import { parseExact } from '../exact-json.ts'
import type { GateError } from '../gate/gate.ts'

interface ToolErrorEntry {
  readonly sentence: string
  readonly hint: string
}

/** Every slug of ours that reaches a client as a tool error. `docs/errors.md` holds one row per entry. */
export const toolErrorRegistry = {
  rate_limited: {
    sentence: 'This was called too often in a short time, so it was not run.',
    hint: 'Wait, then call it again.',
  },
  queue_timeout: {
    sentence: 'Calls that share a limit with this one took too long, so it was not run.',
    hint: 'Wait until they are done, then call it again.',
  },
  result_too_large: {
    sentence: 'The result is larger than 4 MB, so nothing was changed and nothing is returned.',
    hint: 'Ask for less in one call.',
  },
  invalid_result: {
    sentence: 'The tool returned something that is no result, so nothing was changed.',
    hint: "The application's operator has to look at it.",
  },
  reported_error: {
    sentence: 'The tool reported an error of its own, so nothing was changed.',
    hint: 'Read what it says.',
  },
  invalid_cursor: {
    sentence: 'The cursor does not belong to this list.',
    hint: 'Repeat the arguments of next_call unchanged, or call it without a cursor to begin again.',
  },
  item_too_large: {
    sentence: 'The next item does not fit into a page.',
    hint: 'Go on after it with the cursor given, or use other filters.',
  },
  collection_stuck: {
    sentence: 'The list cannot go on.',
    hint: "Ask for more items at once or use other filters; the application's operator has to look at its order.",
  },
  scope_required: {
    sentence: 'The user has not allowed this client to do that.',
    hint: 'Ask the user to have the scope granted to this client in the application.',
  },
  invalid_arguments: {
    sentence: 'The arguments do not fit this tool.',
    hint: "Compare the arguments with the tool's input schema and call it again.",
  },
  invalid_value: {
    sentence: 'A value breaks a rule of the application.',
    hint: 'Check the values against the description of the tool and call it again.',
  },
  no_rows_changed: {
    sentence: 'No row was changed: none that you may change matches.',
    hint: 'List what you can see and call it again with an id from there.',
  },
  forbidden: {
    sentence: 'You may not do this.',
    hint: 'Ask somebody who may, or try another item.',
  },
  conflict: {
    sentence: 'This conflicts with something that exists already, or needs something that does not.',
    hint: 'Look at what exists and call it again with other values.',
  },
  timeout: {
    sentence: 'This took too long and was stopped; nothing was changed.',
    hint: 'Ask for less in one call, then call it again.',
  },
  busy: {
    sentence: 'Somebody else changed the same thing at the same moment; nothing was changed.',
    hint: 'Call it again.',
  },
  idempotency_key_reused: {
    sentence: 'This idempotency key was used before with other arguments, so nothing was run.',
    hint: 'Use a new key for a new call; repeat a key only with the same arguments.',
  },
  idempotency_key_conflict: {
    sentence: 'Two different idempotency keys came with one call, or one that is not a key.',
    hint: 'Send one key of 1 to 255 characters, in _meta or in the Idempotency-Key header.',
  },
  idempotency_in_progress: {
    sentence: 'A call with this idempotency key was started before and has not reported its result.',
    hint: 'Check whether it took effect; then retry with the same key, or use a new one.',
  },
  tool_unavailable: {
    sentence: 'This tool cannot run at the moment.',
    hint: "The application's operator has to look at its registration.",
  },
  tool_failed: {
    sentence: 'The tool failed.',
    hint: "Call it again once; if it fails again, give the trace id to the application's operator.",
  },
  runner_tampered: {
    sentence: 'Tools are switched off because the function that confines them was altered.',
    hint: "The application's operator has to look at the database.",
  },
} as const satisfies Record<string, ToolErrorEntry>

/**
 * Key of `_meta` under which a tool error is given to programs:
 * `{code, message, hint, trace_id, retry_after?, scopes?, next_cursor?, next_call?}`.
 */
export const errorMetaKey = 'dev.chumbo/error'

/**
 * The result of a failed call: slug, sentence, next step and trace id. It carries no `structuredContent`, since clients
 * hold that against the tool's output schema even when the call failed.
 */
export function toolError(error: GateError, traceId: string): CallToolResult {
  const entry: ToolErrorEntry | undefined = Object.hasOwn(toolErrorRegistry, error.code)
    ? toolErrorRegistry[error.code as keyof typeof toolErrorRegistry]
    : undefined
  const message = error.message ?? entry?.sentence ?? toolErrorRegistry.tool_failed.sentence
  const hint = error.hint ?? entry?.hint ?? null
  const wait = error.retry_after == null ? '' : ` Retry in ${error.retry_after} s.`
  const scopes = error.scopes == null ? '' : ` Scope: ${error.scopes.join(', ')}.`
  const next = hint === null ? '' : `\n→ Next: ${hint}`
  return {
    isError: true,
    content: [{ type: 'text', text: `${message}${wait}${scopes}${next}\n[${error.code}, trace ${traceId}]` }],
    _meta: {
      [errorMetaKey]: {
        code: error.code,
        message,
        hint,
        trace_id: traceId,
        ...(error.retry_after == null ? {} : { retry_after: error.retry_after }),
        ...(error.scopes == null ? {} : { scopes: error.scopes }),
        ...(error.next_cursor == null ? {} : { next_cursor: error.next_cursor }),
        ...(error.next_call == null ? {} : { next_call: parseExact(error.next_call) }),
      },
    },
  }
}
