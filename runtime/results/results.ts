// runtime/results/results.ts — the results a handler returns, each in one call.

import type { CallToolResult, ResourceLink } from '@modelcontextprotocol/server'

/** One block of text. */
export function textResult(text: string): CallToolResult {
  return { content: [{ type: 'text', text }] }
}

/**
 * Data for the model to read as data. Declare an `outputSchema` with it. Clients that read text only get the same value
 * as JSON when the result leaves. Older clients take an object and nothing else, so prefer one over a list.
 */
export function structuredResult(value: unknown): CallToolResult {
  return { content: [], structuredContent: ownCopy(value) }
}

/** Data together with a text written for people and models. */
export function renderResult<Value>(value: Value, render: (value: Value) => string): CallToolResult {
  return { content: [{ type: 'text', text: render(value) }], structuredContent: ownCopy(value) }
}

/** A text that points to a resource. */
export function resourceResult(text: string, link: Omit<ResourceLink, 'type'>): CallToolResult {
  return {
    content: [
      { type: 'text', text },
      { type: 'resource_link', ...link },
    ],
  }
}

/** A failure the model should read, with what to do next. */
export function errorResult(message: string, nextStep?: string): CallToolResult {
  const text = nextStep === undefined ? message : `${message}\n→ Next: ${nextStep}`
  return { content: [{ type: 'text', text }], isError: true }
}

/** What the handler changes afterwards is not in the result. */
function ownCopy(value: unknown): unknown {
  if (Array.isArray(value)) return [...(value as unknown[])]
  return typeof value === 'object' && value !== null ? { ...value } : value
}
