// runtime/is-record.ts — the first question about JSON that somebody else wrote.

/** Whether a value is an object with keys: neither null nor an array. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
