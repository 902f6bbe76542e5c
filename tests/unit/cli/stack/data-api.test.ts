// tests/unit/cli/stack/data-api.test.ts — overloads, statements and statuses, without a database.
import { describe, expect, it } from 'vitest'

import {
  callSql,
  identifier,
  settingsParameters,
  settingsSql,
} from '../../../../cli/stack/data-api/call-sql.ts'
import { databaseError, httpStatus } from '../../../../cli/stack/data-api/errors.ts'
import { findFunction } from '../../../../cli/stack/data-api/find-function.ts'
import type { ApiFunction } from '../../../../cli/stack/data-api/function-catalog.ts'

function fn(
  parameters: readonly (readonly [name: string, type: string, isRequired?: boolean])[],
): ApiFunction {
  return {
    schema: 'public',
    name: 'f',
    parameters: parameters.map(([name, type, isRequired = true]) => ({
      name,
      type,
      isRequired,
      isVariadic: false,
    })),
    returns: 'scalar',
    isSet: false,
    soleColumn: undefined,
    isVolatile: true,
    hoistedSettings: [],
  }
}

const one = fn([['a', 'integer']])
const two = fn([
  ['a', 'integer'],
  ['b', 'integer', false],
])
const unnamed = fn([['', 'jsonb']])
const search = { schema: 'public', name: 'f', bodyType: 'application/json' }

describe('findFunction', () => {
  it.each([
    ['the overload with these names', [one, unnamed], ['a'], { found: one, unnamed: false }],
    ['the one whose rest has defaults', [two], ['a'], { found: two, unnamed: false }],
    ['the unnamed one only when no name fits', [one, unnamed], ['x'], { found: unnamed, unnamed: true }],
    ['none when a required argument is missing', [two], ['b'], { missing: true }],
    ['none when an argument is unknown', [one], ['a', 'x'], { missing: true }],
    ['neither of two that fit', [one, two], ['a'], { ambiguous: [one, two] }],
  ])('picks %s', (_case, overloads, argumentNames, expected) => {
    expect(findFunction(overloads, { ...search, argumentNames })).toEqual(expected)
  })

  it('never gives query parameters to an unnamed parameter', () => {
    expect(findFunction([unnamed], { ...search, bodyType: undefined, argumentNames: [] })).toEqual({
      missing: true,
    })
  })
})

describe('callSql', () => {
  it('binds by name and leaves what was left out to its default', () => {
    const sql = callSql({ fn: two, style: 'json', argumentNames: ['a'], version: 7 })

    expect(sql).toContain('json_to_record($1::text::json) as arguments("a" integer)')
    expect(sql).toContain('"public"."f"("a" := arguments."a")')
    expect(sql).toContain('/* 7 */')
  })

  it('quotes what a name may contain', () => {
    expect(identifier('a"; drop table x; --')).toBe('"a""; drop table x; --"')
  })
})

describe('settings', () => {
  it('are set in one statement, in order', () => {
    const settings = [
      ['role', 'anon'],
      ['request.method', 'GET'],
    ] as const

    expect(settingsSql(2)).toBe('select set_config($1, $2, true), set_config($3, $4, true)')
    expect(settingsParameters(settings)).toEqual(['role', 'anon', 'request.method', 'GET'])
  })
})

describe('httpStatus', () => {
  it.each([
    ['PT404', '', 404],
    ['PT099', '', 500],
    ['PTABC', '', 500],
    ['P0001', '', 400],
    ['P0002', '', 500],
    ['23505', '', 409],
    ['23502', '', 400],
    ['25006', '', 405],
    ['25001', '', 500],
    ['42501', '', 403],
    ['42883', '', 404],
    ['53400', '', 500],
    ['53200', '', 503],
    ['57P01', '', 503],
    ['57014', '', 500],
    ['40P01', '', 500],
    ['28P01', '', 403],
    ['22023', 'role "x" does not exist', 401],
    ['22023', 'other', 400],
    ['21000', 'UPDATE requires a WHERE clause', 400],
    ['21000', 'other', 500],
    ['99999', '', 400],
  ])('maps %s %s to %i', (code, message, status) => {
    expect(httpStatus({ code, message, details: null, hint: null }, false)).toBe(status)
  })

  it('asks anon to sign in where somebody signed in is forbidden', () => {
    expect(httpStatus({ code: '42501', message: '', details: null, hint: null }, true)).toBe(401)
  })
})

describe('databaseError', () => {
  it.each(['CONNECTION_CLOSED', 'ECONNREFUSED', '57P03'])('reports %s as an outage', (code) => {
    const error = Object.assign(new Error('gone'), { code })

    expect(databaseError(error, { isAnonymous: false }).status).toBe(503)
  })

  it('does not swallow a fault of ours', () => {
    expect(() => databaseError(new TypeError('ours'), { isAnonymous: false })).toThrow('ours')
  })

  it('keeps a message that cannot stand in a status line out of it', () => {
    const error = Object.assign(new Error('line\r\nX-Injected: 1'), { code: 'PT400' })

    expect(databaseError(error, { isAnonymous: false })).not.toHaveProperty('statusText')
  })
})
