// tests/cases/tokens.ts — B: tokens and the gateway.
import { same, type AbsentCase, type Case } from './case.ts'

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

export const tokens: readonly (Case | AbsentCase)[] = [
  {
    id: 'D06',
    title: 'an ES256 user token is accepted, and every broken one meets our own challenge',
    async run({ rpc, alice }) {
      const [header = '', payload = '', signature = ''] = alice.token.split('.')
      const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>
      const flipped = `${header}.${payload}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`
      const expired = `${header}.${part({ ...claims, exp: 1 })}.${signature}`
      const unsigned = `${part({ alg: 'none', typ: 'JWT' })}.${payload}.`

      same((await rpc('tools/list')).status, 200, 'the token itself')
      for (const [label, token] of Object.entries({ flipped, expired, unsigned })) {
        const { status, headers } = await rpc('tools/list', {}, { token })
        same([status, headers.get('www-authenticate')?.startsWith('Bearer')], [401, true], label)
      }
    },
  },
  {
    id: 'D07',
    title: 'a later deploy does not quietly switch gateway verification back on',
    why: 'the remote half of the doctor is not there yet',
  },
  {
    id: 'D08',
    title: 'an empty key set is neither "accept all" nor "reject all"',
    why: 'the shared-secret mode is not there yet',
  },
  {
    id: 'D09',
    title: 'a project key is not a user',
    async run({ rpc, call, stack, alice }) {
      const old = (role: string): string =>
        `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ role, iss: 'supabase', exp: 4e9 })}.x`
      for (const token of [stack.publishableKey, stack.secretKey, old('anon'), old('service_role')]) {
        const { status, headers } = await rpc('tools/list', {}, { token })
        same(
          [status, headers.get('www-authenticate')?.startsWith('Bearer')],
          [401, true],
          'a key for a token',
        )
      }
      const me = await call('ctx', {}, { headers: { apikey: stack.publishableKey } })
      same(
        me.structuredContent?.['rows'],
        [{ role: 'authenticated', uid: alice.id, client_id: alice.connection.wallet.clientId }],
        'a key beside a token',
      )
    },
  },
  {
    id: 'D10',
    title: 'ending a sign-in takes effect on the next call and for nobody else',
    async run({ rpc, sql, stack, alice, bob }) {
      const { signIn } = await import('../support/sign-in.ts')
      const other = await signIn(stack, stack.users.alice, { name: 'Another client of Alice' })
      const token = other.wallet.accessToken
      same((await rpc('tools/list', {}, { token })).status, 200, 'before')
      const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {
        session_id: string
      }

      await sql`delete from auth.sessions where id = ${claims.session_id}::uuid`

      same((await rpc('tools/list', {}, { token })).status, 401, 'after')
      same((await rpc('tools/list', {}, { token: alice.token })).status, 200, "Alice's other client")
      same((await rpc('tools/list', {}, { token: bob.token })).status, 200, 'Bob')
      await other.close().catch(() => {})
    },
  },
]
