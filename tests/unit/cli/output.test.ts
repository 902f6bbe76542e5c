// tests/unit/cli/output.test.ts
import { describe, expect, it } from 'vitest'

import { CliError } from '../../../cli/cli-error.ts'
import { createOutput } from '../../../cli/output.ts'

function capture(json: boolean) {
  const written = { stdout: '', stderr: '' }
  const into = (stream: keyof typeof written) => ({
    write: (text: string) => {
      written[stream] += text
    },
  })
  return { written, output: createOutput({ json, stdout: into('stdout'), stderr: into('stderr') }) }
}

describe('createOutput', () => {
  it('gives people the text and machines one document', () => {
    const people = capture(false)
    const machines = capture(true)

    people.output.answer({ a: 1 }, 'one')
    machines.output.answer({ a: 1 }, 'one')

    expect(people.written).toEqual({ stdout: 'one\n', stderr: '' })
    expect(machines.written).toEqual({ stdout: '{"a":1}\n', stderr: '' })
  })

  it('keeps remarks out of the answer', () => {
    const { written, output } = capture(true)

    output.note('working')

    expect(written).toEqual({ stdout: '', stderr: 'working\n' })
  })

  it('says what failed and what to run next', () => {
    const error = new CliError('It failed.', { code: 'it_failed', hint: 'chumbo try' })
    const people = capture(false)
    const machines = capture(true)

    people.output.failure(error)
    machines.output.failure(error)

    expect(people.written).toEqual({ stdout: '', stderr: 'chumbo: It failed.\nNext: chumbo try\n' })
    expect(JSON.parse(machines.written.stdout)).toEqual({
      error: { code: 'it_failed', message: 'It failed.', hint: 'chumbo try' },
    })
  })

  it('reports an unforeseen error without inventing a next step', () => {
    const { written, output } = capture(true)

    output.failure(new TypeError('boom'))

    expect(JSON.parse(written.stdout)).toEqual({ error: { code: 'unexpected', message: 'boom', hint: null } })
  })
})
