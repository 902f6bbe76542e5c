// cli/stack/auth/errors.ts — the two error shapes of Supabase Auth.

import { json, type StackRequest, type StackResponse } from '../http.ts'

/** Supabase's own shape: `{code, error_code, msg}`, or `{code, message}` for clients that name an API version. */
export class AuthError extends Error {
  override readonly name = 'AuthError'
  readonly status: number
  readonly errorCode: string

  constructor(status: number, errorCode: string, message: string) {
    super(message)
    this.status = status
    this.errorCode = errorCode
  }
}

/** The OAuth shape of RFC 6749: `{error, error_description}`, always with status 400. */
export class OAuthError extends Error {
  override readonly name = 'OAuthError'
  readonly error: string

  constructor(error: string, description: string) {
    super(description)
    this.error = error
  }
}

/** Refuses input; the message carries the inner status as the real service's does. */
export function validationFailed(message: string): AuthError {
  return new AuthError(400, 'validation_failed', message)
}

/** Turns what a handler threw into a response; unknown errors are rethrown for the gateway to report. */
export function errorResponse(error: unknown, request: StackRequest): StackResponse {
  if (error instanceof OAuthError) return json(400, { error: error.error, error_description: error.message })
  if (!(error instanceof AuthError)) throw error
  const version = request.headers['x-supabase-api-version']
  if (version !== undefined && version >= '2024-01-01') {
    return json(
      error.status,
      { code: error.errorCode, message: error.message },
      { 'x-supabase-api-version': '2024-01-01', 'x-sb-error-code': error.errorCode },
    )
  }
  return json(
    error.status,
    { code: error.status, error_code: error.errorCode, msg: error.message },
    { 'x-sb-error-code': error.errorCode },
  )
}
