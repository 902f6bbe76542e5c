// cli/stack/pages/sign-in.ts — the page a person sees: sign in, read who asks, approve or deny.
//
// Two plain forms, no script: it works in any browser, with a keyboard and with a screen reader. The session is a
// cookie that holds the access token, for this origin only.

import type { StackHandler, StackRequest, StackResponse } from '../http.ts'
import { decide, readAuthorization } from '../auth/consent.ts'
import type { AuthContext } from '../auth/context.ts'
import { AuthError } from '../auth/errors.ts'
import { signInWithPassword } from '../auth/sign-in.ts'
import { requireUser, type User } from '../auth/users.ts'

const COOKIE = 'chumbo-session'

/** Creates the handler of `/sign-in`. */
export function createSignInPage(context: AuthContext): StackHandler {
  return async (request) => {
    const authorizationId = request.url.searchParams.get('authorization_id') ?? undefined
    try {
      if (request.method === 'GET') return await show(context, request, authorizationId)
      if (request.method === 'POST') return await submit(context, request, authorizationId)
      return page(405, 'Not allowed', '<p>This page answers GET and POST only.</p>')
    } catch (error) {
      if (!(error instanceof AuthError)) throw error
      return faultPage(error, authorizationId)
    }
  }
}

async function show(
  context: AuthContext,
  request: StackRequest,
  authorizationId: string | undefined,
): Promise<StackResponse> {
  const user = await currentUser(context, request)
  if (user === undefined) return signInForm(authorizationId)
  if (authorizationId === undefined) return page(200, 'Signed in', signedIn(user))
  const details = await readAuthorization(context, user, authorizationId)
  // Consented before: nothing is left to ask.
  if (typeof details['redirect_url'] === 'string') return redirect(details['redirect_url'])
  return consentForm(user, details, authorizationId)
}

async function submit(
  context: AuthContext,
  request: StackRequest,
  authorizationId: string | undefined,
): Promise<StackResponse> {
  // The cookie is SameSite=Lax, which already keeps foreign forms out; a browser that names another origin is refused.
  const origin = request.headers['origin']
  if (origin !== undefined && origin !== 'null' && !context.siteOrigins.includes(origin)) {
    return page(403, 'Refused', '<p>This form was sent from another site.</p>')
  }
  const form = new URLSearchParams(request.body.toString('utf8'))
  const action = form.get('action')
  if (action === 'sign-out') return redirect(pageUrl(authorizationId), `${COOKIE}=; Path=/sign-in; Max-Age=0`)
  if (action === 'sign-in') {
    const credentials = { email: form.get('email') ?? '', password: form.get('password') ?? '' }
    try {
      const { accessToken } = await signInWithPassword(context, request, credentials)
      return redirect(
        pageUrl(authorizationId),
        `${COOKIE}=${accessToken}; Path=/sign-in; HttpOnly; SameSite=Lax`,
      )
    } catch (error) {
      if (!(error instanceof AuthError)) throw error
      return signInForm(authorizationId, {
        email: credentials.email,
        message: 'E-mail address and password do not match.',
      })
    }
  }
  const user = await currentUser(context, request)
  if (user === undefined) return signInForm(authorizationId)
  if (authorizationId === undefined || (action !== 'approve' && action !== 'deny')) {
    return page(400, 'Nothing to decide', '<p>Start again from the application that sent you here.</p>')
  }
  return redirect(await decide(context, user, authorizationId, action))
}

async function currentUser(context: AuthContext, request: StackRequest): Promise<User | undefined> {
  const token = new RegExp(`(?:^|;\\s*)${COOKIE}=([^;]+)`).exec(request.headers['cookie'] ?? '')?.[1]
  if (token === undefined) return undefined
  const bearer = { ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } }
  return requireUser(context, bearer).then(
    ({ user }) => user,
    // An old cookie is no fault of the visitor: he signs in again.
    () => undefined,
  )
}

function signInForm(
  authorizationId: string | undefined,
  failed?: { readonly email: string; readonly message: string },
): StackResponse {
  const alert = failed === undefined ? '' : `<p role="alert">${escape(failed.message)}</p>`
  return page(
    failed === undefined ? 200 : 401,
    'Sign in',
    `${alert}
<form method="post" action="${escape(pageUrl(authorizationId))}">
  <p><label for="email">E-mail address</label>
  <input id="email" name="email" type="email" autocomplete="username" required value="${escape(failed?.email ?? '')}"></p>
  <p><label for="password">Password</label>
  <input id="password" name="password" type="password" autocomplete="current-password" required></p>
  <p><button name="action" value="sign-in">Sign in</button></p>
</form>`,
  )
}

function consentForm(user: User, details: Record<string, unknown>, authorizationId: string): StackResponse {
  // Written by readAuthorization in this process.
  const client = details['client'] as { name: string; uri: string }
  const redirectTo = new URL(String(details['redirect_uri']))
  const scopes = String(details['scope']).split(' ')
  const name = client.name === '' ? 'An application without a name' : client.name
  return page(
    200,
    `Allow ${name}?`,
    `<p><strong>${escape(name)}</strong> wants to act as you, ${escape(user.email)}.</p>
<dl>
  <dt>You will be sent to</dt><dd>${escape(redirectTo.host === '' ? redirectTo.protocol : redirectTo.host)}</dd>
  <dt>It asked for</dt><dd>${scopes.map(escape).join(', ')}</dd>
</dl>
<p>It will read and change what you can read and change, until you take the permission back.</p>
<form method="post" action="${escape(pageUrl(authorizationId))}">
  <p><button name="action" value="approve">Allow</button>
  <button name="action" value="deny">Deny</button></p>
</form>
${signOutForm(authorizationId)}`,
  )
}

function signedIn(user: User): string {
  return `<p>You are signed in as ${escape(user.email)}.</p>${signOutForm(undefined)}`
}

function signOutForm(authorizationId: string | undefined): string {
  return `<form method="post" action="${escape(pageUrl(authorizationId))}">
  <p><button name="action" value="sign-out">Sign in as somebody else</button></p>
</form>`
}

function faultPage(error: AuthError, authorizationId: string | undefined): StackResponse {
  const sentence =
    error.errorCode === 'oauth_authorization_not_found'
      ? 'This request is unknown, has expired, or belongs to somebody else.'
      : 'This request has already been decided.'
  return page(
    error.status,
    'This request cannot be answered',
    `<p>${sentence} Start again from your application.</p>
${authorizationId === undefined ? '' : signOutForm(authorizationId)}`,
  )
}

function pageUrl(authorizationId: string | undefined): string {
  return authorizationId === undefined
    ? '/sign-in'
    : `/sign-in?authorization_id=${encodeURIComponent(authorizationId)}`
}

function redirect(location: string, cookie?: string): StackResponse {
  return { status: 303, headers: { location, ...(cookie === undefined ? {} : { 'set-cookie': cookie }) } }
}

const STYLE = `body{font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:3rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
label{display:block;font-weight:600}input{font:inherit;width:100%;box-sizing:border-box;padding:.5rem;border:1px solid #6b6b6b}
button{font:inherit;padding:.5rem 1rem;margin-right:.5rem}dt{font-weight:600}dd{margin:0 0 .5rem}[role=alert]{color:#a00000}
@media (prefers-color-scheme:dark){body{color:#f0f0f0;background:#161616}input{color:inherit;background:#222}[role=alert]{color:#ff9c9c}}`

function page(status: number, title: string, body: string): StackResponse {
  return {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy':
        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    },
    body: `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)}</title><style>${STYLE}</style></head>
<body><main><h1>${escape(title)}</h1>
${body}
</main></body>
</html>
`,
  }
}

function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
