// tests/property/types.ts — types at random, from a column's plainest to domains, arrays and composites within each other.
import type { Random } from './random.ts'
import { anyText, same, scalarTypes, type Json, type Sample, type SqlType } from './values.ts'

/** Makes types whose names begin with `prefix`, which no other maker may use. */
export function createTypeMaker(random: Random, prefix: string) {
  let made = 0
  const named = (kind: string) => {
    made += 1
    // A name that has to be quoted, in a schema that has to be quoted.
    return `"Odd ""schema"" %s"."${prefix}${kind} ${made} '%I"`
  }

  function anyType(depth = 3): SqlType {
    const kind = random.integer(1, depth > 0 ? 10 : 5)
    if (kind <= 4) return random.pick(scalarTypes)
    if (kind === 5) return anyEnum()
    if (kind === 6) return anyDomain(depth)
    if (kind <= 8) return anyArray(depth)
    return anyComposite(depth)
  }

  function anyEnum(): SqlType {
    const labels = [
      ...new Set(
        random.many(random.integer(1, 4), (index) =>
          `${anyText(random).slice(0, 10)}${index}`.toWellFormed(),
        ),
      ),
    ]
    const sql = named('enum')
    return {
      sql,
      setUp: [`create type ${sql} as enum (${labels.map(literal).join(', ')})`],
      right: (chance) => same(chance.pick(labels)),
      wrong: (chance) => chance.pick<Json>(['no label', '', 7, {}, [labels[0]!]]),
    }
  }

  function anyDomain(depth: number): SqlType {
    const sql = named('domain')
    const of = (base: string, check: string) => [`create domain ${sql} as ${base} ${check}`]
    const kind = random.integer(1, 7)
    if (kind === 1) {
      return {
        sql,
        setUp: of('text', "not null check (value ~ '^[a-z]{2,5}$')"),
        isRequired: true,
        right: (chance) => same(chance.pick(['ab', 'abcde', 'xyz'])),
        wrong: (chance) => chance.pick<Json>(['a', 'abcdef', 'AB', '', 7]),
      }
    }
    if (kind === 2) {
      return {
        sql,
        setUp: of('integer', 'check (value between -5 and 5) check (value <> 0)'),
        right: (chance) => same(chance.pick([-5, 5, 1])),
        wrong: (chance) => chance.pick<Json>([0, 6, -6, 'x', 1.5]),
      }
    }
    if (kind === 3) {
      return {
        sql,
        setUp: of('numeric(8, 3)', ''),
        right: (chance) =>
          same(
            `${chance.pick(['', '-'])}${chance.integer(1, 99_999)}.${String(chance.integer(0, 999)).padStart(3, '0')}`,
          ),
        wrong: (chance) => chance.pick<Json>(['100000', '1.0001', 0.00001, 'x', true]),
      }
    }
    if (kind === 4) {
      return {
        sql,
        setUp: of('varchar(3)', ''),
        right: (chance) => same(chance.pick(['', 'a', 'äöü', '👩👩👩'])),
        wrong: (chance) => chance.pick<Json>(['abcd', '👩👩👩👩', 7]),
      }
    }
    if (kind === 5) {
      return {
        sql,
        setUp: of('text', "check (value in ('a', 'b''c', 'd\\e'))"),
        right: (chance) => same(chance.pick(['a', "b'c", 'd\\e'])),
        wrong: (chance) => chance.pick<Json>(['b', '', 7]),
      }
    }
    const base = kind === 6 && depth > 0 ? anyArray(depth - 1) : anyType(depth - 1)
    return { ...base, sql, setUp: [...base.setUp, `create domain ${sql} as ${base.sql}`] }
  }

  function anyArray(depth: number): SqlType {
    let items = anyType(depth - 1)
    while (items.isArray === true) items = anyType(depth - 1)
    const isPlain = items.isComposite !== true && items.isJson !== true
    const element = (chance: Random): Sample =>
      chance.oneIn(6) && items.isRequired !== true
        ? { sent: null, back: null, isListed: false }
        : items.right(chance)
    // An array within a jsonb[] would be read as a dimension.
    const kept = (chance: Random): Sample => {
      const sample = element(chance)
      return Array.isArray(sample.sent) ? kept(chance) : sample
    }
    const list = (samples: readonly Sample[]): Sample => ({
      sent: samples.map(({ sent }) => sent),
      back: samples.map(({ back }) => back),
      isListed: samples.every(({ isListed }) => isListed),
    })
    return {
      sql: `${items.sql}[]`,
      setUp: items.setUp,
      isArray: true,
      right(chance) {
        if (isPlain && chance.oneIn(4)) {
          const width = chance.integer(1, 3)
          // Two dimensions, which the comment of the function does not announce.
          return {
            ...list(chance.many(chance.integer(1, 3), () => list(chance.many(width, () => kept(chance))))),
            isListed: false,
          }
        }
        return list(chance.many(chance.integer(0, 4), () => kept(chance)))
      },
      wrong(chance) {
        const bad = items.isJson === true ? undefined : items.wrong(chance)
        const before = chance.many(chance.integer(0, 2), () => kept(chance).sent)
        const one = kept(chance).sent
        return chance.pick<Json>([
          ...(bad === undefined || Array.isArray(bad)
            ? []
            : [
                [...before, bad],
                [...before, bad],
              ]),
          ...(isPlain
            ? [
                [[one], [one, one]],
                [one === null ? items.right(chance).sent : one, [one]],
              ]
            : []),
          { a: 1 },
          'no json',
          '{1,2}',
          '7',
          7,
          true,
        ])
      },
    }
  }

  function anyComposite(depth: number): SqlType {
    const sql = named('row')
    const names = [
      ...new Set(
        random.many(random.integer(1, 4), (index) =>
          `${anyText(random).replaceAll('"', "'").slice(0, 8)}${index}`.toWellFormed(),
        ),
      ),
    ]
    const fields = names.map((name) => ({ name, type: anyType(depth - 1) }))
    const columns = fields.map(({ name, type }) => `"${name}" ${type.sql}`)
    const whole = (chance: Random): Sample => {
      const sent: Record<string, Json> = {}
      const back: Record<string, Json> = {}
      let isListed = true
      for (const { name, type } of fields) {
        if (type.isRequired !== true && chance.oneIn(5)) {
          back[name] = null
          if (chance.oneIn(2)) {
            sent[name] = null
            isListed = false
          }
        } else {
          const sample = type.right(chance)
          sent[name] = sample.sent
          back[name] = sample.back
          isListed &&= sample.isListed
        }
      }
      return { sent, back, isListed }
    }
    return {
      sql,
      setUp: [
        ...fields.flatMap(({ type }) => type.setUp),
        `create type ${sql} as (${columns.join(', ')}, "gone" text)`,
        `alter type ${sql} drop attribute "gone"`,
      ],
      isComposite: true,
      right: whole,
      wrong(chance) {
        const { name, type } = chance.pick(fields)
        const good = whole(chance).sent as Record<string, Json>
        const bad = type.isJson === true ? undefined : type.wrong(chance)
        return chance.pick<Json>([
          ...(bad === undefined
            ? []
            : [
                { ...good, [name]: bad },
                { ...good, [name]: bad },
              ]),
          ...(type.isRequired === true ? [{ ...good, [name]: null }] : []),
          { ...good, gone: 'x' },
          { ...good, 'no such field': null },
          [good],
          'no json',
          '(x)',
          7,
        ])
      },
    }
  }

  return { anyType }
}

export const literal = (value: string): string => `'${value.replaceAll("'", "''")}'`
