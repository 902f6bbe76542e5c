import { describe, expect, it } from 'vitest'

import { ChumboError, errorRegistry, refusal, type ErrorSlug } from '../../runtime/errors.ts'

const slugs = Object.keys(errorRegistry) as ErrorSlug[]

describe('refusal', () => {
  it.each(slugs)('speaks for %s in whole sentences', (slug) => {
    const error = refusal(slug)

    expect(slug).toMatch(/^[a-z]+(_[a-z]+)*$/)
    expect(error).toBeInstanceOf(ChumboError)
    expect(error).toMatchObject({
      code: slug,
      status: errorRegistry[slug].status,
      name: 'ChumboError',
      headers: {},
    })
    expect(error.status).toBeGreaterThanOrEqual(400)
    for (const sentence of [error.message, error.hint]) expect(sentence).toMatch(/^[A-Z].*[.]$/)
    expect('cause' in error).toBe(false)
  })

  it('lets a caller be more exact and keeps the cause', () => {
    const cause = new Error('inside')

    const error = refusal('rate_limited', {
      sentence: 'Slow down.',
      hint: 'Wait.',
      retryAfterSeconds: 3,
      cause,
    })

    expect(error).toMatchObject({ message: 'Slow down.', hint: 'Wait.', retryAfterSeconds: 3, cause })
  })
})
