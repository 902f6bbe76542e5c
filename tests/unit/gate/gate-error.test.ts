// tests/unit/gate/gate-error.test.ts — what a failed round trip means is read from its code, never from its text.
import { describe, expect, it } from 'vitest'

import { requiredSchema } from '../../../runtime/gate/gate.ts'
import { schemaOutdated, toGateError } from '../../../runtime/gate/gate-error.ts'

describe('toGateError', () => {
  it.each([
    ['PGRST202', 404, 'schema_outdated'],
    ['42883', undefined, 'schema_outdated'],
    ['3F000', undefined, 'schema_outdated'],
    ['57014', undefined, 'timeout'],
    ['57P05', undefined, 'timeout'],
    ['08006', undefined, 'database_unavailable'],
    ['53300', undefined, 'database_unavailable'],
    ['57P01', undefined, 'database_unavailable'],
    ['57P03', 503, 'database_unavailable'],
    ['PGRST000', 503, 'database_unavailable'],
    ['PGRST003', 504, 'database_unavailable'],
    ['ECONNREFUSED', undefined, 'database_unavailable'],
    ['CONNECTION_CLOSED', undefined, 'database_unavailable'],
    ['CONNECT_TIMEOUT', undefined, 'database_unavailable'],
    ['EAI_AGAIN', undefined, 'database_unavailable'],
    ['', undefined, 'database_unavailable'],
    ['', 502, 'database_unavailable'],
    ['28P01', undefined, 'server_misconfigured'],
    ['PGRST301', 401, 'server_misconfigured'],
    ['42501', 403, 'server_misconfigured'],
    ['XX000', 500, 'internal_error'],
    ['25006', 405, 'internal_error'],
  ])('reads %j with status %s as %s', (code, status, slug) => {
    const cause = new Error('driver text')

    const error = toGateError({ code, status, cause })

    expect(error).toMatchObject({ code: slug, cause })
    expect(error.message).not.toContain('driver text')
    if (slug === 'database_unavailable') expect(error.retryAfterSeconds).toBe(5)
  })
})

describe('schemaOutdated', () => {
  it.each([
    [9, `This server needs version ${requiredSchema} of the Chumbo schema and found version 9.`],
    [null, `This server needs version ${requiredSchema} of the Chumbo schema and found an older one.`],
  ])('names the versions, found %s', (found, sentence) => {
    expect(schemaOutdated(found)).toMatchObject({ status: 503, message: sentence })
  })
})
