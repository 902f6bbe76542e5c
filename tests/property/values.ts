// tests/property/values.ts — values of the types that have no parts, right ones and wrong ones.
import type { Random } from './random.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** What a client sends, and what has to come back for it. */
export interface Sample {
  readonly sent: Json
  readonly back: Json
  /** Written in the form that the listed schema asks for; what is taken beyond that form is not. */
  readonly isListed: boolean
}

export interface SqlType {
  readonly sql: string
  /** What has to exist before the type can be named. */
  readonly setUp: readonly string[]
  readonly right: (random: Random) => Sample
  readonly wrong: (random: Random) => Json
  /** Refuses null, so a field of the type has to be given. */
  readonly isRequired?: boolean
  /** An array, or a domain over one: Postgres reads no array of those from JSON. */
  readonly isArray?: boolean
  readonly isComposite?: boolean
  /** Takes anything, so nothing is wrong for it. */
  readonly isJson?: boolean
}

export const same = (value: Json): Sample => ({ sent: value, back: value, isListed: true })
const otherwise = (sent: Json, back: Json): Sample => ({ sent, back, isListed: false })

const alphabets = [
  'a',
  'Z',
  '0',
  ' ',
  '"',
  "'",
  '\\',
  '{',
  '}',
  ',',
  '%',
  '$1',
  'é',
  'ß',
  '👩‍👩‍👧',
  'שלום',
  '\u200f',
  '\n',
  '\t',
  'NULL',
  '漢',
  '\u{10ffff}',
]
export const anyText = (random: Random): string =>
  random.many(random.integer(0, 8), () => random.pick(alphabets)).join('')

const digits = (random: Random, count: number): string =>
  `${random.integer(1, 9)}${random.many(Math.max(0, count - 1), () => random.integer(0, 9)).join('')}`

/** Without a null of its own: at the top it means that nothing is given. */
export function anyJson(random: Random, depth = 2): Json {
  const kind = random.integer(1, depth > 0 ? 6 : 4)
  if (kind === 1) return random.integer(-1000, 1000)
  if (kind === 2) return random.integer(-1000, 1000) / 8
  if (kind === 3) return random.oneIn(2)
  if (kind === 4) return anyText(random)
  const part = () => (random.oneIn(5) ? null : anyJson(random, depth - 1))
  if (kind === 5) return random.many(random.integer(0, 3), part)
  return Object.fromEntries(
    random.many(random.integer(0, 3), (index) => [`${anyText(random)}${index}`, part()]),
  )
}

const pad = (number: number, width = 2) => String(number).padStart(width, '0')
const day = (random: Random) =>
  `${pad(random.integer(1, 9999), 4)}-${pad(random.integer(1, 12))}-${pad(random.integer(1, 28))}`
const time = (random: Random) =>
  `${pad(random.integer(0, 23))}:${pad(random.integer(0, 59))}:${pad(random.integer(0, 59))}`
  + (random.oneIn(2) ? '' : `.${pad(random.integer(0, 99_999), 5)}${random.integer(1, 9)}`)

function integers(sql: string, low: number, high: number): SqlType {
  return {
    sql,
    setUp: [],
    right(random) {
      const value = random.pick([low, high, 0, random.integer(low, high)])
      return random.oneIn(5) ? otherwise(String(value), value) : same(value)
    },
    wrong: (random) => random.pick<Json>([low - 1, high + 1, 1.5, 'x', '', true, {}, [1], '0x', '1 2']),
  }
}

function fromList(sql: string, right: readonly Json[], wrong: readonly Json[]): SqlType {
  return {
    sql,
    setUp: [],
    right: (random) => same(random.pick(right)),
    wrong: (random) => random.pick<Json>([...wrong, 7, true, {}, []]),
  }
}

const text: Omit<SqlType, 'sql'> = {
  setUp: [],
  right: (random) => same(anyText(random)),
  wrong: (random) => random.pick<Json>([7, false, { a: 1 }, ['x']]),
}

export const scalarTypes: readonly SqlType[] = [
  integers('smallint', -32_768, 32_767),
  integers('integer', -2_147_483_648, 2_147_483_647),
  {
    sql: 'bigint',
    setUp: [],
    right(random) {
      const small = random.integer(-1000, 1000)
      if (random.oneIn(4)) return otherwise(small, String(small))
      return same(
        random.pick([
          '9223372036854775807',
          '-9223372036854775808',
          '9007199254740993',
          `-${digits(random, 18)}`,
          digits(random, 17),
        ]),
      )
    },
    wrong: (random) =>
      random.pick<Json>([
        '9223372036854775808',
        '-9223372036854775809',
        '1.5',
        1.5,
        'x',
        '',
        true,
        [],
        '1e400',
      ]),
  },
  {
    sql: 'numeric',
    setUp: [],
    right(random) {
      if (random.oneIn(5)) return same(random.pick(['NaN', 'Infinity', '-Infinity', '0', '0.000', '1.50']))
      const sign = random.pick(['', '-'])
      return same(
        `${sign}${digits(random, random.integer(1, 40))}${random.oneIn(2) ? '' : `.${digits(random, random.integer(1, 40))}`}`,
      )
    },
    wrong: (random) => random.pick<Json>(['x', '1..2', '', '1e131071', true, {}, []]),
  },
  {
    sql: 'double precision',
    setUp: [],
    right(random) {
      if (random.oneIn(6)) {
        const value = random.pick(['NaN', 'Infinity', '-Infinity'])
        return otherwise(value, value)
      }
      const value = random.pick([
        0.1,
        1e300,
        5e-324,
        1.7976931348623157e308,
        random.integer(-1e9, 1e9) / 1024,
        random.integer(-1e9, 1e9) / 3,
      ])
      return same(value === 0 ? 0 : value)
    },
    wrong: (random) => random.pick<Json>(['x', true, {}, [], '1e400']),
  },
  {
    sql: 'real',
    setUp: [],
    right: (random) => same(random.integer(-9999, 9999) / 4),
    wrong: (random) => random.pick<Json>(['x', 1e39, true, {}, []]),
  },
  {
    sql: 'boolean',
    setUp: [],
    right: (random) => (random.oneIn(5) ? otherwise('true', true) : same(random.oneIn(2))),
    wrong: (random) => random.pick<Json>(['yes', 't', 1, 0, {}, []]),
  },
  { sql: 'text', ...text },
  { sql: 'varchar', ...text },
  {
    sql: 'jsonb',
    setUp: [],
    isJson: true,
    right: (random) => same(anyJson(random)),
    wrong: () => null,
  },
  fromList(
    'uuid',
    ['00000000-0000-4000-8000-00000000000a', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
    ['x', '', '00000000-0000-4000-8000-00000000000'],
  ),
  {
    sql: 'date',
    setUp: [],
    right: (random) => (random.oneIn(6) ? otherwise('infinity', 'infinity') : same(day(random))),
    wrong: (random) => random.pick<Json>(['2026-02-30', '2026-13-01', 'soon', '', 7, {}]),
  },
  {
    sql: 'timestamptz',
    setUp: [],
    right: (random) =>
      random.oneIn(6) ? otherwise('-infinity', '-infinity') : same(`${day(random)}T${time(random)}+00:00`),
    wrong: (random) => random.pick<Json>(['2026-02-30T00:00:00Z', '2026-01-01T25:00:00Z', 'soon', '', 7, {}]),
  },
  {
    sql: 'timestamp',
    setUp: [],
    right: (random) => same(`${day(random)}T${time(random)}`),
    wrong: (random) => random.pick<Json>(['2026-02-30', 'x', 7]),
  },
  {
    sql: 'time',
    setUp: [],
    right: (random) => same(time(random)),
    wrong: (random) => random.pick<Json>(['25:00:00', 'x', 7]),
  },
  fromList('timetz', ['12:00:00+02', '00:00:00.5-08'], ['x', '25:00:00+02']),
  fromList('interval', ['1 day 02:30:00', '-1 years', '00:00:00.000001', '3 mons'], ['x', '']),
  {
    sql: 'bytea',
    setUp: [],
    right: (random) =>
      same(
        `\\x${random.many(random.integer(0, 6), () => random.integer(0, 255).toString(16).padStart(2, '0')).join('')}`,
      ),
    wrong: (random) => random.pick<Json>(['AAAA', '\\x0', '\\xzz', '', 'x00', 7]),
  },
  fromList('varbit', ['101', '', '0'], ['102', 'x']),
  fromList('inet', ['192.168.0.1', '192.168.0.1/24', '::1'], ['x', '300.1.1.1']),
  fromList('cidr', ['192.168.0.0/24'], ['192.168.0.1/24', 'x']),
  fromList('macaddr', ['08:00:2b:01:02:03'], ['x']),
  fromList('int4range', ['[1,10)', 'empty', '(,5)'], ['[10,1)', 'x']),
  fromList('numrange', ['[1.5,2]', '(-1,)'], ['[2,1]', 'x']),
  fromList('int8multirange', ['{[1,3),[9007199254740993,9007199254740995)}', '{}'], ['{[3,1)}', 'x']),
  fromList('point', ['(1,2)', '(0.5,-1)'], ['x', '(1)']),
  fromList('polygon', ['((0,0),(1,0),(1,1))'], ['x']),
  fromList('xml', ['<a b="c">d</a>', 'text'], ['<a>']),
  fromList('tsvector', ["'cat':1 'dog':2"], ["'cat"]),
  fromList('tsquery', ["'cat' & 'dog'"], ["'cat' &"]),
  fromList('oid', ['0', '4294967295'], ['x', '-99999999999']),
  fromList('money', ['$1.50', '-$1,234.00'], ['x']),
]
