// tests/demo/checks.ts — runs the checks of a story in order and tells each as it ends.

/** One check. It returns what it saw, in a sentence, and throws when it saw something else. */
export interface Check {
  readonly id: string
  /** What is about to be shown, for the narration. */
  readonly title: string
  readonly run: () => Promise<string>
}

export interface CheckResult {
  readonly id: string
  readonly ok: boolean
  readonly detail: string
  readonly ms: number
}

export interface RunOptions {
  readonly say: (line: string) => void
  /** Settles when the user wants to stop; checks not yet begun are then left out. */
  readonly interrupted: Promise<void>
}

export async function runChecks(
  checks: readonly Check[],
  { say, interrupted }: RunOptions,
): Promise<CheckResult[]> {
  const stop = new AbortController()
  void interrupted.then(() => {
    stop.abort()
  })
  const results: CheckResult[] = []
  for (const { id, title, run } of checks) {
    if (stop.signal.aborted) break
    const startedAt = performance.now()
    let outcome: Pick<CheckResult, 'ok' | 'detail'>
    try {
      outcome = { ok: true, detail: await run() }
    } catch (error) {
      outcome = { ok: false, detail: error instanceof Error ? error.message : String(error) }
    }
    const ms = Math.round(performance.now() - startedAt)
    results.push({ id, ...outcome, ms })
    say(`${outcome.ok ? '✓' : '✗'} ${title}\n    ${outcome.detail} (${id}, ${ms} ms)`)
  }
  return results
}

/** Fails the check with what was seen instead. */
export function expect(condition: boolean, seen: string): asserts condition {
  if (!condition) throw new Error(seen)
}

export function same(actual: unknown, wanted: unknown, what: string): void {
  const [left, right] = [JSON.stringify(actual), JSON.stringify(wanted)]
  expect(left === right, `${what}: saw ${left}, wanted ${right}`)
}
