// tests/e2e/story.test.ts — the demo's story through both gates, each check a test.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { startStack, type Stack } from '../../cli/stack/index.ts'
import { createCast, type Cast } from '../demo/cast.ts'
import { runChecks, type CheckResult } from '../demo/checks.ts'
import { story } from '../demo/story.ts'
import { repositoryRoot } from '../support/repository.ts'

/** The ids `npm run demo -- --json` promises, in order. */
const ids = [
  'unauthenticated-401-challenge',
  'metadata-chain',
  'dynamic-registration',
  'consent-approved',
  'pkce-token',
  'alice-sees-only-a',
  'bob-sees-only-b',
  'resource-isolated',
  'write-into-foreign-workspace-refused',
  'concurrent-isolation',
  'legacy-client',
  'refresh-without-new-login',
  'client-revoked-before-exp',
  'invalid-token-401',
  'tool-added-by-sql-without-restart',
  'tool-disabled-takes-effect-next-call',
  'scope-grant-changes-surface',
  'rate-limit-exact-under-burst',
  'idempotent-replay',
  'receipts-agree',
  'own-receipts-only',
]

describe.each(['rest', 'direct'] as const)('the story through the %s gate', (gate) => {
  let stack: Stack | undefined
  let cast: Cast | undefined
  let results: readonly CheckResult[] = []

  beforeAll(async () => {
    stack = await startStack({ project: repositoryRoot, gate, install: 'push' })
    cast = await createCast(stack)
    results = await runChecks(story(cast), { say: () => {}, interrupted: new Promise(() => {}) })
  })
  afterAll(async () => {
    await cast?.close()
    await stack?.stop()
  })

  it('tells every check, in order', () => {
    expect(results.map((result) => result.id)).toEqual(ids)
  })

  it.each(ids)('%s', (id) => {
    const result = results.find((one) => one.id === id)

    expect(result, `no result for ${id}`).toBeDefined()
    expect(result?.ok, result?.detail).toBe(true)
  })
})
