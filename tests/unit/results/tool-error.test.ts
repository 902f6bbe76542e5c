// tests/unit/results/tool-error.test.ts — every failure has a slug, a sentence, a next step and a trace id.
import { describe, expect, it } from 'vitest'

import { errorMetaKey, toolError, toolErrorRegistry } from '../../../runtime/results/tool-error.ts'

const slugs = Object.keys(toolErrorRegistry)

describe('a tool error', () => {
  it.each(slugs)('%s has its words from the registry', (code) => {
    const result = toolError({ code }, 't-1')

    const error = result._meta?.[errorMetaKey] as Record<string, string>
    expect(result.isError).toBe(true)
    expect(result).not.toHaveProperty('structuredContent')
    expect(error).toEqual({ code, message: error['message'], hint: error['hint'], trace_id: 't-1' })
    for (const words of [error['message'], error['hint']]) expect(words).toMatch(/^[A-Z].*[.]$/)
    expect(result.content).toEqual([
      { type: 'text', text: `${error['message']}\n→ Next: ${error['hint']}\n[${code}, trace t-1]` },
    ])
  })

  it('of the application keeps its own words', () => {
    const result = toolError({ code: 'already_archived', message: 'It is.', hint: 'Restore it.' }, 't')

    expect(result._meta?.[errorMetaKey]).toEqual({
      code: 'already_archived',
      message: 'It is.',
      hint: 'Restore it.',
      trace_id: 't',
    })
  })

  it('without any words says that the tool failed, and no next step it does not know', () => {
    const result = toolError({ code: 'constructor' }, 't')

    expect(result._meta?.[errorMetaKey]).toMatchObject({
      code: 'constructor',
      message: toolErrorRegistry.tool_failed.sentence,
      hint: null,
    })
  })

  it('says when to retry, and which scopes are missing', () => {
    const limited = toolError({ code: 'rate_limited', retry_after: 7 }, 't')
    const scoped = toolError({ code: 'scope_required', scopes: ['a', 'b'] }, 't')

    expect(limited._meta?.[errorMetaKey]).toMatchObject({ retry_after: 7 })
    expect(JSON.stringify(limited.content)).toContain('Retry in 7 s.')
    expect(scoped._meta?.[errorMetaKey]).toMatchObject({ scopes: ['a', 'b'] })
    expect(JSON.stringify(scoped.content)).toContain('Scope: a, b.')
  })
})
