// cli/stack/auth/input.ts — reads bodies the way Supabase Auth does: JSON, or a form at the token endpoint.

import type { StackRequest } from '../http.ts'
import { AuthError, validationFailed } from './errors.ts'

export type Fields = Readonly<Record<string, unknown>>

/** A JSON object; an empty body reads as an empty object. @throws AuthError when it is anything else. */
export function jsonBody(request: StackRequest): Fields {
  const source = request.body.toString('utf8')
  if (source.trim() === '') return {}
  let value: unknown
  try {
    value = JSON.parse(source)
  } catch {
    throw badJson()
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw badJson()
  return { ...value }
}

/** True when the body is JSON; the token endpoint treats the two kinds differently. */
export function isJson(request: StackRequest): boolean {
  return (request.headers['content-type'] ?? '').startsWith('application/json')
}

/** A form or a JSON object. */
export function formOrJson(request: StackRequest): Fields {
  return isJson(request)
    ? jsonBody(request)
    : Object.fromEntries(new URLSearchParams(request.body.toString('utf8')))
}

/** A string member, undefined when absent or empty. @throws AuthError when it has another type or is too long. */
export function text(fields: Fields, name: string, maxLength: number): string | undefined {
  const value = fields[name]
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value !== 'string') throw validationFailed(`400: ${name} must be a string`)
  if (value.length > maxLength) throw validationFailed(`400: ${name} is longer than ${maxLength} characters`)
  return value
}

function badJson(): AuthError {
  return new AuthError(400, 'bad_json', 'Could not parse request body as JSON')
}
