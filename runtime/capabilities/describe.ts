// runtime/capabilities/describe.ts — what a caller may use: rows from the gate, and the registrations of code they allow.

import { refusal, type ChumboError } from '../errors.ts'
import type { EnterAnswer, GateError, ListedKind } from '../gate/gate.ts'
import { assemble, type BuiltFacade } from './assemble.ts'
import { enter } from './enter.ts'
import type { Exchange } from './exchange.ts'
import type { CodeKind } from './facade.ts'
import type { ServeOptions } from './options.ts'

/** A description of what this caller may use, with the code part registered. */
export interface Description {
  readonly answer: EnterAnswer
  readonly facade: BuiltFacade
}

interface Question {
  readonly operation: 'list' | 'describe'
  readonly attempt: number
  readonly after?: string | undefined
  readonly known_revision?: number | undefined
}

/** The attempt from which on limits do not count a question: it belongs to a request that was counted, or will be. */
export const uncounted = 2

/** How often one request asks about names it had not asked about; code that makes up new ones each time gets no further. */
const mostRounds = 3

/** Asks the gate, registers what it allows, and asks once more about names it had not heard of. */
export async function describeAll(
  exchange: Exchange,
  kinds: readonly CodeKind[],
  options: ServeOptions,
  question: Question,
  listed?: ListedKind | null,
): Promise<Description | undefined> {
  const { catalog } = options
  for (let round = 1; ; round += 1) {
    const asked = new Set(catalog.names(kinds))
    const answer = await enter(
      exchange,
      options,
      {
        ...question,
        kind: kinds.join(','),
        code_names: [...asked],
        attempt: round === 1 ? question.attempt : uncounted,
      },
      listed,
    )
    if (answer === undefined) return undefined
    if (answer.outcome === 'refused') {
      // Anything shown instead would pass for what there is.
      exchange.httpError = refusedDescription(answer.error)
      return undefined
    }
    const news = new Set<string>()
    const facade = await assemble(exchange, answer, options, ({ kind, name }) => {
      if (!kinds.includes(kind)) return false
      if (!asked.has(name)) news.add(name)
      return answer.code?.[name] ?? (asked.has(name) && answer.server?.unregistered !== 'refuse')
    })
    catalog.markComplete()
    // A name seen for the first time may have a row that forbids it: ask once more, with that name.
    if (news.size === 0 || round === mostRounds) return { answer, facade }
  }
}

/** Sign-in, server and schema were looked at before; what is left is a limit. */
function refusedDescription(error: GateError | null | undefined): ChumboError {
  if (error?.code !== 'rate_limited') return refusal('internal_error')
  return refusal('rate_limited', error.retry_after == null ? {} : { retryAfterSeconds: error.retry_after })
}
