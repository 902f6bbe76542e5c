// cli/cli-error.ts — the one error a command may end with: what failed, why, and the command to run next.

import { EXIT, type ExitCode } from './exit-codes.ts'

export interface CliErrorInit extends ErrorOptions {
  readonly code: string
  readonly hint?: string | undefined
  readonly exitCode?: ExitCode
}

export class CliError extends Error {
  override readonly name = 'CliError'
  /** Stable slug, printed by `--json`. */
  readonly code: string
  /** The next command to run, when there is one. */
  readonly hint: string | undefined
  readonly exitCode: ExitCode

  constructor(message: string, { code, hint, exitCode = EXIT.failed, cause }: CliErrorInit) {
    super(message, { cause })
    this.code = code
    this.hint = hint
    this.exitCode = exitCode
  }
}
