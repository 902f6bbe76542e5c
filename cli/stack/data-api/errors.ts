// cli/stack/data-api/errors.ts — PostgREST's error bodies and its mapping from SQLSTATE to HTTP status.

import { STATUS_CODES } from 'node:http'

import { json, type StackResponse } from '../http.ts'
import { isConnectionFault } from '../postgres/connection-fault.ts'

/** What we read of an error, whoever threw it. */
export interface DatabaseFault {
  readonly code: string
  readonly message: string
  readonly details: string | null
  readonly hint: string | null
}

/** An error of the Data API itself, with a PGRST code. */
export function apiError(
  status: number,
  code: string,
  message: string,
  { details = null, hint = null }: { readonly details?: string | null; readonly hint?: string | null } = {},
): StackResponse {
  return json(status, { code, details, hint, message }, { 'proxy-status': `PostgREST; error=${code}` })
}

/** Turns anything a query rejected with into the response PostgREST would give. */
export function databaseError(
  error: unknown,
  { isAnonymous }: { readonly isAnonymous: boolean },
): StackResponse {
  const fault = readFault(error)
  if (fault === undefined) throw error
  // 57P01 comes from the running session and has a status of its own.
  if (isConnectionFault(error) && fault.code !== '57P01') {
    return apiError(503, 'PGRST001', 'Database client error. Retrying the connection.', {
      details: fault.message,
    })
  }
  if (fault.code === 'PGRST') return customError(fault)
  const status = httpStatus(fault, isAnonymous)
  return {
    ...apiError(status, fault.code, fault.message, fault),
    // The raised message doubles as the reason phrase, except where it could not stand in a status line.
    ...(fault.code.startsWith('PT') && /^[\x20-\x7e]+$/.test(fault.message)
      ? { statusText: fault.message }
      : {}),
    ...(status === 401 ? withChallenge(fault) : {}),
  }
}

/** SQLSTATE → status. Exported for its test. */
export function httpStatus({ code, message }: DatabaseFault, isAnonymous: boolean): number {
  const custom = /^PT(.*)$/.exec(code)?.[1]
  if (custom !== undefined) return /^[1-9]\d\d$/.test(custom) ? Number(custom) : 500
  const exact: Readonly<Record<string, number>> = {
    '23503': 409,
    '23505': 409,
    '25006': 405,
    '42883': 404,
    '42P01': 404,
    '42P17': 500,
    '53400': 500,
    '57P01': 503,
    P0001: 400,
    '42501': isAnonymous ? 401 : 403,
    '21000': message.endsWith('requires a WHERE clause') ? 400 : 500,
    '22023': /^role .* does not exist$/.test(message) ? 401 : 400,
  }
  return exact[code] ?? CLASSES[code.slice(0, 2)] ?? 400
}

const CLASSES: Readonly<Record<string, number>> = {
  ...{ '08': 503, '53': 503, '0L': 403, '0P': 403, '28': 403 },
  ...{ '09': 500, '25': 500, '2D': 500, '38': 500, '39': 500, '3B': 500, '40': 500, '54': 500, '55': 500 },
  ...{ '57': 500, '58': 500, F0: 500, HV: 500, P0: 500, XX: 500 },
}

/** `raise sqlstate 'PGRST'`: the function dictates body, status and headers. */
function customError({ message, details }: DatabaseFault): StackResponse {
  const body = parseObject(message)
  const control = parseObject(details ?? '')
  if (
    typeof body?.['code'] !== 'string'
    || typeof body['message'] !== 'string'
    || typeof control?.['status'] !== 'number'
  ) {
    return apiError(500, 'PGRST121', 'The error raised with SQLSTATE PGRST could not be parsed', {
      details: details ?? message,
      hint: 'message must be JSON with code and message, detail must be JSON with status and headers.',
    })
  }
  const text = (name: string) => (typeof body[name] === 'string' ? body[name] : null)
  const statusText = control['status_text'] ?? STATUS_CODES[control['status']]
  return {
    ...apiError(control['status'], body['code'], body['message'], {
      details: text('details'),
      hint: text('hint'),
    }),
    headers: { 'content-type': 'application/json', ...stringMembers(control['headers']) },
    ...(typeof statusText === 'string' ? { statusText } : {}),
  }
}

function withChallenge(fault: DatabaseFault): Pick<StackResponse, 'headers'> {
  return {
    headers: {
      'content-type': 'application/json',
      'proxy-status': `PostgREST; error=${fault.code}`,
      'www-authenticate': 'Bearer',
    },
  }
}

function readFault(error: unknown): DatabaseFault | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined
  const text = (value: unknown) => (typeof value === 'string' ? value : null)
  return {
    code: error.code,
    message: error.message,
    details: text('detail' in error ? error.detail : null),
    hint: text('hint' in error ? error.hint : null),
  }
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}

function stringMembers(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null) return {}
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name.toLowerCase(), String(member)]),
  )
}
