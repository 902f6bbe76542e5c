// cli/exit-codes.ts — what the process tells the shell; `--help` prints the same table.

export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  difference: 3,
  interrupted: 130,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** The table under `chumbo --help`. */
export const EXIT_CODES_HELP = `
Exit codes:
  ${EXIT.done}    done
  ${EXIT.failed}    failed
  ${EXIT.usage}    wrong usage, nothing was tried
  ${EXIT.difference}    a check found a difference
  ${EXIT.interrupted}  interrupted
`
