// tests/property/signatures.test.ts — signatures and values at random, through a real Postgres: what is listed, what comes
// back, what is refused. CHUMBO_SEED repeats one run; CHUMBO_SIGNATURES makes it longer.
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { findSchemaFaults } from '../support/accepted-schema.ts'
import { readMigrations, runMigrations } from '../support/migrations.ts'
import { connectTestServer, type TestServer } from '../support/test-server.ts'
import { createRandom, type Random } from './random.ts'
import { createTypeMaker } from './types.ts'
import { anyText, type Json, type SqlType } from './values.ts'

const firstSeed = Number(process.env['CHUMBO_SEED'] ?? 20_260_131)
const signatures = Number(process.env['CHUMBO_SIGNATURES'] ?? 60)
const callsEach = 6

const database = `property_${process.pid}`
let server: TestServer
let sql: postgres.Sql

beforeAll(async () => {
  server = await connectTestServer()
  await server.createDatabase(database)
  await runMigrations(server.url(database, 'postgres'), readMigrations())
  sql = postgres(server.url(database), { max: 1, onnotice: () => {} })
  await sql
    .unsafe(
      `create schema demo;
       create schema "Odd ""schema"" %s";
       create extension if not exists citext with schema extensions;
       grant usage on schema demo, "Odd ""schema"" %s" to authenticated;
       create sequence demo.ran;
       grant usage on sequence demo.ran to authenticated;`,
    )
    .simple()
})

afterAll(async () => {
  await sql.end()
  await server.dropDatabase(database)
  await server.stop()
})

interface Parameter {
  readonly name: string
  readonly type: SqlType
}

interface Tool {
  readonly name: string
  readonly parameters: readonly Parameter[]
  readonly input: Readonly<Record<string, unknown>>
  readonly output: Readonly<Record<string, unknown>>
}

describe.each(Array.from({ length: signatures }, (_, index) => firstSeed + index))('seed %i', (seed) => {
  it('is listed as clients accept it, brings every value back, and refuses every other before the body runs', async () => {
    const random = createRandom(seed)

    const tool = await offerTool(random, seed)

    expect(findSchemaFaults(tool.input, 'input'), JSON.stringify(tool.input)).toEqual([])
    expect(findSchemaFaults(tool.output, 'output'), JSON.stringify(tool.output)).toEqual([])
    for (let call = 0; call < callsEach; call += 1) {
      await expectRoundTrip(random, tool)
      await expectRefusal(random, tool)
    }
  })
})

/** A function that answers with what it was given. Its names are as odd as Postgres lets them be. */
async function offerTool(random: Random, seed: number): Promise<Tool> {
  const { anyType } = createTypeMaker(random, `${seed} `)
  const parameters = random.many(random.integer(1, 4), (index): Parameter => ({
    name:
      random.pick([`input`, `$${index + 1}`, 'select', anyText(random).replaceAll('"', "'").toWellFormed()])
      + `_${index}`,
    type: anyType(),
  }))
  const name = `f${seed}`
  for (const statement of new Set(parameters.flatMap(({ type }) => type.setUp))) await sql.unsafe(statement)
  const inputs = parameters.map(({ name, type }) => `"${name}" ${type.sql}`)
  const outputs = parameters.map(({ type }, index) => `r${index} ${type.sql}`)
  // A single output of a row type is what the function returns, so plpgsql wants its columns.
  const isOneRow = parameters.length === 1 && parameters[0]!.type.isComposite === true
  const answers = isOneRow ? ['($1).*'] : parameters.map((_, index) => `$${index + 1}`)
  await sql.unsafe(
    `create function demo.${name}(${inputs.join(', ')}) returns table (${outputs.join(', ')})
       language plpgsql volatile as $body$ begin perform nextval('demo.ran'); return query select ${answers.join(', ')}; end $body$`,
  )
  await sql`select chumbo.register_tool(${`demo.${name}`})`
  const [row] = await sql<{ input: Tool['input']; output: Tool['output'] }[]>`
    select input_schema as input, output_schema as output from chumbo.capabilities where name = ${name}`
  return { name, parameters, ...row! }
}

async function expectRoundTrip(random: Random, { name, parameters, input, output }: Tool): Promise<void> {
  const samples = parameters.map((parameter) => ({ ...parameter, ...parameter.type.right(random) }))
  // Structured arguments come as JSON text now and then, as some clients send them.
  const sent = Object.fromEntries(
    samples.map(({ name, type, sent }) => [
      name,
      (type.isArray === true || type.isComposite === true) && random.oneIn(4) ? JSON.stringify(sent) : sent,
    ]),
  )
  const expected = Object.fromEntries(
    // A single output of a row type is the answer itself, and Postgres tells no row from one of nulls there.
    samples.map(({ back }, index) => [`r${index}`, samples.length === 1 && isRowOfNulls(back) ? null : back]),
  )

  const { answer } = await call(name, sent)

  expect(answer.outcome, describeCall(sent, answer, parameters)).toBe('ok')
  const result = JSON.parse(answer.result!) as unknown
  expect(result, describeCall(sent, answer, parameters)).toEqual({ rows: [expected] })
  expectValid(output, result)
  if (samples.every(({ isListed }) => isListed)) {
    expectValid(input, Object.fromEntries(samples.map(({ name, sent }) => [name, sent])))
  }
}

async function expectRefusal(random: Random, { name, parameters }: Tool): Promise<void> {
  const candidates = parameters.filter(({ type }) => type.isJson !== true)
  if (candidates.length === 0) return
  const chosen = random.pick(candidates)
  const sent = Object.fromEntries(
    parameters.map(({ name, type }) => [
      name,
      name === chosen.name ? type.wrong(random) : type.right(random).sent,
    ]),
  )

  const { answer, ran } = await call(name, sent)

  const told = describeCall(sent, answer, parameters)
  expect(answer.error?.code, told).toBe('invalid_arguments')
  expect(answer.error?.message, told).toContain(`\`${chosen.name}`)
  expect(ran, told).toBe(0)
}

function isRowOfNulls(value: Json): boolean {
  return (
    typeof value === 'object'
    && value !== null
    && !Array.isArray(value)
    && Object.values(value).every((part) => part === null)
  )
}

interface Answer {
  readonly outcome: string
  readonly result: string | null
  readonly error: { readonly code: string; readonly message?: string } | null
}

async function call(name: string, args: Json): Promise<{ answer: Answer; ran: number }> {
  const ran = async () =>
    Number((await sql`select last_value + case when is_called then 1 else 0 end as n from demo.ran`)[0]!['n'])
  const subject = '00000000-0000-4000-8000-00000000000a'
  const facts = {
    role: 'authenticated',
    subject,
    claims: { sub: subject, role: 'authenticated' },
    strategy: 'bearer',
  }
  const before = await ran()
  const [row] = await sql.unsafe<{ answer: Answer }[]>(
    `select public.chumbo_call('default', $1, $2::text::jsonb, $3::text::jsonb) as answer`,
    [name, JSON.stringify(args), JSON.stringify({ ...facts, token_scopes: [], trace_id: 'property' })],
  )
  return { answer: row!.answer, ran: (await ran()) - before }
}

const validator = new AjvJsonSchemaValidator()

function expectValid(schema: Readonly<Record<string, unknown>>, value: unknown): void {
  const { errorMessage } = validator.getValidator(schema)(value)
  expect(errorMessage, `${JSON.stringify(value)} against ${JSON.stringify(schema)}`).toBeUndefined()
}

function describeCall(sent: Json, answer: Answer, parameters: readonly Parameter[]): string {
  return JSON.stringify({
    sent,
    answer,
    types: parameters.map(({ type }) => type.sql),
    setUp: parameters.flatMap(({ type }) => type.setUp),
  })
}
