// runtime/capabilities/enter.ts — one question to the gate, and what a refusal of the whole request becomes.

import { refusal, type ChumboError } from '../errors.ts'
import type { EnterAnswer, GateError, ListedKind } from '../gate/gate.ts'
import { schemaOutdated } from '../gate/gate-error.ts'
import { toChumboError } from '../request/respond.ts'
import type { Exchange } from './exchange.ts'
import type { ServeOptions } from './options.ts'

/**
 * One round trip, with a page of `listed` where that is a kind, and with what rows announce where it is null. An answer that
 * must become an HTTP error is noted on the exchange, and nothing comes back.
 */
export async function enter(
  exchange: Exchange,
  { gate, cache }: Pick<ServeOptions, 'gate' | 'cache'>,
  question: Readonly<Record<string, unknown>>,
  listed?: ListedKind | null,
): Promise<EnterAnswer | undefined> {
  try {
    const facts = { ...exchange.facts, ...question }
    const answer = listed === undefined ? await gate.enter(facts) : await gate.list(listed, facts)
    cache.learn(answer.revision, answer.entries)
    const failed = httpErrorOf(answer.error)
    if (failed === undefined) return answer
    exchange.httpError = failed
  } catch (error) {
    exchange.httpError = toChumboError(error)
  }
  return undefined
}

/** Refusals that concern the whole request and not one capability. */
export function httpErrorOf(error: GateError | null | undefined): ChumboError | undefined {
  switch (error?.code) {
    case 'session_revoked':
      return refusal('session_revoked')
    case 'unknown_server':
      return refusal('not_found', {
        sentence: 'This server is switched off, or not registered in the database.',
        hint: "The application's operator can enable or register it.",
      })
    case 'schema_outdated':
      return schemaOutdated(error.found ?? null)
    default:
      return undefined
  }
}
