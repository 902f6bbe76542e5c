// tests/cases/case.ts — what a case of the handed list is, and what it has to say for itself.
import { expect } from '../demo/checks.ts'
import type { Stage } from './stage.ts'

export { expect }
export type { Stage, Tool } from './stage.ts'

/** One acceptance case: it passes when it returns, and fails with what it throws. */
export interface Case {
  readonly id: string
  /** The outcome in plain words. */
  readonly title: string
  readonly run: (stage: Stage) => Promise<void>
}

/** A case whose subject this version does not offer; it is told and never counted as passed. */
export interface AbsentCase {
  readonly id: string
  readonly title: string
  readonly why: string
}

/** Compares as JSON; the order of an object's keys means nothing. */
export function same(actual: unknown, wanted: unknown, what: string): void {
  const [left, right] = [stable(actual), stable(wanted)]
  expect(left === right, `${what}: saw ${left}, wanted ${right}`)
}

function stable(value: unknown): string | undefined {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  )
}
