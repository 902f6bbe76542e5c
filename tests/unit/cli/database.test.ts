// tests/unit/cli/database.test.ts
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import postgres from 'postgres'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { CliError } from '../../../cli/cli-error.ts'
import { describeFailure, findDatabaseUrl, withDatabase } from '../../../cli/database.ts'
import { findRunningStack, noteRunningStack } from '../../../cli/stack/running.ts'

const flag = 'postgresql://flag:pass@db.example.test/postgres'
const variable = 'postgres://variable:pass@db.example.test/postgres'
const local = 'postgresql://postgres:pass@127.0.0.1:5/postgres'
let project = ''

beforeEach(async () => {
  project = await mkdtemp(join(tmpdir(), 'chumbo-database-'))
})
afterEach(() => rm(project, { recursive: true, force: true }))

const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error as CliError,
  )

describe('the database a command works on', () => {
  it('is the one of the flag, then of DATABASE_URL, then of the chumbo dev that runs here', async () => {
    const environment = { DATABASE_URL: variable }
    await noteRunningStack(project, { pid: process.pid, databaseUrl: local })

    expect(await findDatabaseUrl({ dbUrl: flag, project, environment })).toBe(flag)
    expect(await findDatabaseUrl({ project, environment })).toBe(variable)
    expect(await findDatabaseUrl({ project, environment: { DATABASE_URL: ' ' } })).toBe(local)
  })

  it('is asked for by the name of the flag when there is none', async () => {
    const error = await failureOf(findDatabaseUrl({ project, environment: {} }))

    expect(error).toMatchObject({ code: 'no_database', exitCode: 2 })
    expect(error?.hint).toContain('--db-url')
  })

  it.each(['nonsense', 'https://user:secret-word@example.test/', 'postgres'])(
    'is not %s, and the text is not repeated',
    async (dbUrl) => {
      const error = await failureOf(findDatabaseUrl({ dbUrl, environment: {} }))

      expect(error).toMatchObject({ code: 'invalid_database_url', exitCode: 2 })
      expect(`${error?.message} ${error?.hint}`).not.toMatch(/nonsense|secret-word|example/)
    },
  )
})

describe('the note about a running stack', () => {
  it('is readable by its owner only and gone when the stack is', async () => {
    const forget = await noteRunningStack(project, { pid: process.pid, databaseUrl: local })

    const { mode } = await stat(join(project, 'supabase/.temp/chumbo-dev.json'))
    expect([mode & 0o777, await findRunningStack(project)]).toEqual([
      0o600,
      { pid: process.pid, databaseUrl: local },
    ])

    await forget()
    expect(await findRunningStack(project)).toBeUndefined()
  })

  it('is kept by a stack that has not written it', async () => {
    const forget = await noteRunningStack(project, { pid: process.pid, databaseUrl: local })
    await noteRunningStack(project, { pid: process.ppid, databaseUrl: flag })

    await forget()

    expect(await findRunningStack(project)).toEqual({ pid: process.ppid, databaseUrl: flag })
  })

  it.each([
    ['whose process is gone', '{"pid":2147483646,"databaseUrl":"postgresql://x"}'],
    ['that is damaged', '{"pid":'],
    ['that says nothing', 'null'],
  ])('counts for nothing: one %s', async (_case, text) => {
    await mkdir(join(project, 'supabase/.temp'), { recursive: true })
    await writeFile(join(project, 'supabase/.temp/chumbo-dev.json'), text)

    expect(await findRunningStack(project)).toBeUndefined()
  })
})

describe('a failure', () => {
  it('to connect is an outage and no bad login', async () => {
    const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as { port: number }
    const dbUrl = `postgresql://u:secret-word@127.0.0.1:${port}/postgres`

    const cut = await failureOf(withDatabase({ dbUrl, reachWithinMs: 500 }, {}, async () => 1))
    await new Promise((resolve) => server.close(resolve))
    const closed = await failureOf(withDatabase({ dbUrl, reachWithinMs: 500 }, {}, async () => 1))

    for (const error of [cut, closed]) {
      expect(error).toMatchObject({ code: 'database_unreachable', exitCode: 1 })
      expect(`${error?.message} ${error?.hint}`).not.toContain('secret-word')
    }
  })

  const answer = (fields: Record<string, string>) =>
    Object.assign(new postgres.PostgresError(fields['message']), fields)

  it.each([
    ['a wrong password', { code: '28P01', message: 'no' }, 'login_refused'],
    ['a database that does not exist', { code: '3D000', message: 'no' }, 'login_refused'],
    [
      'an unknown user of the pooler',
      { code: 'XX000', message: 'Tenant or user not found' },
      'login_refused',
    ],
    ['too many connections', { code: '53300', message: 'no' }, 'database_unreachable'],
    ['a server that starts up', { code: '57P03', message: 'no' }, 'database_unreachable'],
    ['a missing privilege', { code: '42501', message: 'permission denied' }, 'not_permitted'],
    ['our own slug', { code: 'PT404', message: 'unknown_server', detail: 'No server.' }, 'unknown_server'],
    ['anything else', { code: '22012', message: 'division by zero' }, 'database_error'],
  ])('by %s has a code of its own', (_case, fields, code) => {
    expect(describeFailure(answer(fields))).toMatchObject({ name: 'CliError', code })
  })

  it('of our SQL is told in its own words, with its own next step', () => {
    const error = describeFailure(
      answer({
        code: 'PT404',
        message: 'unknown_server',
        detail: 'No server is called x.',
        hint: 'Make one.',
      }),
    )

    expect(error).toMatchObject({ message: 'No server is called x.', hint: 'Make one.' })
  })

  it('that was worded before, or is a fault of ours, passes as it is', () => {
    const worded = new CliError('x', { code: 'x' })
    const fault = new TypeError('x')

    expect([describeFailure(worded), describeFailure(fault)]).toEqual([worded, fault])
  })
})
