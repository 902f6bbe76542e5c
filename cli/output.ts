// cli/output.ts — the only module that prints. stdout carries the answer, stderr everything else.

import { CliError } from './cli-error.ts'

export interface OutputOptions {
  readonly json: boolean
  readonly stdout?: { write(text: string): unknown }
  readonly stderr?: { write(text: string): unknown }
}

export interface Output {
  readonly json: boolean
  /** The answer: `data` as one JSON document under `--json`, `text` for people otherwise. */
  answer(data: unknown, text: string): void
  /** Progress and remarks, on stderr. */
  note(line: string): void
  /** A failure, with its next step. Anything that is not a CliError is reported as `unexpected`. */
  failure(error: unknown): void
}

/** Creates the output of one command run. */
export function createOutput({
  json,
  stdout = process.stdout,
  stderr = process.stderr,
}: OutputOptions): Output {
  return {
    json,
    answer(data, text) {
      stdout.write(json ? `${JSON.stringify(data)}\n` : `${text}\n`)
    },
    note(line) {
      stderr.write(`${line}\n`)
    },
    failure(error) {
      const { code, message, hint } = describe(error)
      if (json) stdout.write(`${JSON.stringify({ error: { code, message, hint: hint ?? null } })}\n`)
      else stderr.write(`chumbo: ${message}\n${hint === undefined ? '' : `Next: ${hint}\n`}`)
    },
  }
}

function describe(error: unknown): { code: string; message: string; hint: string | undefined } {
  if (error instanceof CliError) return { code: error.code, message: error.message, hint: error.hint }
  return {
    code: 'unexpected',
    message: error instanceof Error ? error.message : String(error),
    hint: undefined,
  }
}
