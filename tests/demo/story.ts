// tests/demo/story.ts — the checks in order; each part of the story is a file of its own.
import type { Cast } from './cast.ts'
import type { Check } from './checks.ts'
import { databaseInCharge } from './database-in-charge.ts'
import { isolation } from './isolation.ts'
import { lifecycle } from './lifecycle.ts'
import { signingIn } from './signing-in.ts'
import { whatHappened } from './what-happened.ts'

export function story(cast: Cast): Check[] {
  return [
    ...signingIn(cast),
    ...isolation(cast),
    ...lifecycle(cast),
    ...databaseInCharge(cast),
    ...whatHappened(cast),
  ]
}
