// cli/doctor/check.ts — one thing that the doctor looks at, and what it may say about it.

/** `failed` could not be looked at although it should have been; `skipped` was not meant to be, for the reason told. */
export type CheckStatus = 'ok' | 'info' | 'warning' | 'error' | 'failed' | 'skipped'

export interface Check {
  /** Stable name, printed by `--json`. */
  readonly id: string
  readonly status: CheckStatus
  /** What was found, or why it was not looked at, in one sentence. */
  readonly detail: string
  /** What to do next, when there is something. */
  readonly fix: string | null
}

/** A row of `chumbo.lint`. */
export interface Finding {
  readonly rule: string
  readonly level: 'error' | 'warning' | 'info'
  readonly server: string | null
  readonly kind: string | null
  readonly capability: string | null
  readonly object: string
  readonly detail: string
  /** Null where there is nothing to mend. */
  readonly fix: string | null
  readonly key: string
}

export interface Diagnosis {
  readonly checks: readonly Check[]
  /** The newest migration of ours in the database and in this package; null where it is not known. */
  readonly schema: { readonly found: number | null; readonly needed: number }
  readonly findings: readonly Finding[]
  /** What `chumbo.upkeep_report` says. */
  readonly upkeep: UpkeepReport | null
}

export interface UpkeepReport {
  readonly receipts: {
    readonly bytes: number
    readonly estimated_rows: number
    readonly oldest: string | null
    readonly months: number
    readonly last_month: string | null
    readonly rest_rows: number
  }
  readonly keys: { readonly bytes: number; readonly expired: number }
  readonly counters: { readonly bytes: number }
  readonly last_run: { readonly ran_at: string; readonly result: Readonly<Record<string, number>> } | null
}

/** Rules whose findings tell of something that can do more than its caller. */
export const privilegedRules: readonly string[] = [
  'definer_body',
  'calls_definer',
  'anon_definer',
  'own_definer',
]
