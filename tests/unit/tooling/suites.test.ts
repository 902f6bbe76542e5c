import { describe, expect, it } from 'vitest'

import { countJunit, countVitest, settle } from '../../support/suites.ts'

describe('countVitest', () => {
  it('counts tests, and a file that could not be loaded as one failure', () => {
    const report = JSON.stringify({
      testResults: [
        {
          status: 'failed',
          assertionResults: [{ status: 'passed' }, { status: 'failed' }, { status: 'skipped' }],
        },
        { status: 'failed', assertionResults: [] },
        { status: 'passed', assertionResults: [{ status: 'passed' }, { status: 'todo' }] },
      ],
    })

    expect(countVitest(report)).toEqual({ passed: 2, failed: 2, skipped: 2 })
  })
})

describe('countJunit', () => {
  it('adds errors to failures and takes skipped tests out of the passed ones', () => {
    const report = `<?xml version="1.0"?>
      <testsuites name="deno test" tests="6" failures="1" errors="1" time="0.1">
        <testsuite name="a" tests="6" disabled="0" errors="1" failures="1"><testcase name="x"><skipped/></testcase></testsuite>
      </testsuites>`

    expect(countJunit(report)).toEqual({ passed: 3, failed: 2, skipped: 1 })
  })
})

describe('settle', () => {
  it.each([
    ['all passed', 0, { passed: 2, failed: 0, skipped: 0 }, 0],
    ['one failed', 1, { passed: 2, failed: 1, skipped: 0 }, 1],
    ['the runner failed though every test passed', 1, { passed: 2, failed: 0, skipped: 0 }, 1],
    ['nothing ran', 0, { passed: 0, failed: 0, skipped: 0 }, 1],
    ['everything was skipped', 0, { passed: 0, failed: 0, skipped: 3 }, 1],
  ])('when %s', (_case, code, counts, failed) => {
    expect(settle(code, counts).failed).toBe(failed)
  })
})
