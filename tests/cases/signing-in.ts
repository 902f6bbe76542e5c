// tests/cases/signing-in.ts — C: signing in through the project's own OAuth server.
import { same, type AbsentCase, type Case } from './case.ts'

export const signingIn: readonly (Case | AbsentCase)[] = [
  {
    id: 'D11',
    title: 'the consent page survives "already approved"',
    why: 'the consent page for projects is not there yet; the local stack has one of its own',
  },
  {
    id: 'D12',
    title: 'only scopes that the authorization server grants are advertised',
    async run({ rpc, stack }) {
      // None at all is a subset of every list; which of them are read from the server comes with the consent page.
      const metadata = (await (await fetch(`${stack.mcpUrl}/oauth-protected-resource`)).json()) as object
      const server = (await (
        await fetch(`${stack.origin}/.well-known/oauth-authorization-server/auth/v1`)
      ).json()) as { scopes_supported?: string[] }
      const advertised = (metadata as { scopes_supported?: string[] }).scopes_supported ?? []
      const unknown = advertised.filter((scope) => server.scopes_supported?.includes(scope) !== true)
      same(unknown, [], 'scopes the server does not list')
      const { headers } = await rpc('tools/list', {}, { token: null })
      same(/ scope=/.test(headers.get('www-authenticate') ?? ''), false, 'a scope in the challenge')
    },
  },
]
