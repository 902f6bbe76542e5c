// tests/demo/what-happened.ts — everything above is in Postgres, and each person can read their own part.
import { setTimeout as sleep } from 'node:timers/promises'

import { createClient } from '@supabase/supabase-js'

import { passwordSession, type Person } from '../support/sign-in.ts'
import type { Cast } from './cast.ts'
import { expect, same, type Check } from './checks.ts'

export function whatHappened({ stack, sql, alice, bob, books, startedAt }: Cast): Check[] {
  async function receipts(): Promise<Record<string, number>> {
    const rows = await sql<{ line: string; n: number }[]>`
      select subject || ' ' || outcome as line, count(*)::integer as n
      from chumbo.receipts where created_at >= ${startedAt} group by 1 order by 1`
    return Object.fromEntries(rows.map(({ line, n }) => [line, n]))
  }

  /** Receipts of TypeScript calls close just after their responses. */
  async function settledReceipts(): Promise<Record<string, number>> {
    for (let attempt = 0; attempt < 40; attempt += 1) {
      const found = await receipts()
      if (!Object.keys(found).some((line) => line.endsWith(' open'))) return found
      await sleep(50)
    }
    return receipts()
  }

  async function readOwn(who: Person): Promise<string[]> {
    const { access_token: token } = await passwordSession(stack, who)
    const client = createClient(stack.origin, stack.publishableKey, {
      auth: { persistSession: false },
      global: { headers: { Authorization: `Bearer ${token}` } },
    })
    const { data } = await client.from('chumbo_receipts').select('id').limit(10_000).throwOnError()
    return (data as { id: string }[]).map((row) => row.id)
  }

  return [
    {
      id: 'receipts-agree',
      title: 'One receipt for every call, by caller and outcome',
      async run() {
        const counted = Object.fromEntries([...books].sort(([a], [b]) => (a < b ? -1 : 1)))
        same(await settledReceipts(), counted, 'receipts by caller and outcome')
        const total = [...books.values()].reduce((sum, n) => sum + n, 0)
        return `${total} calls, ${total} receipts`
      },
    },
    {
      id: 'own-receipts-only',
      title: 'Alice reads what agents did in her name, and nothing of Bob',
      async run() {
        const of = async (who: Person): Promise<string[]> =>
          (await sql<{ id: string }[]>`select id from chumbo.receipts where subject = ${who.id}`).map(
            (row) => row.id,
          )
        const own = await readOwn(alice)
        same([...own].sort(), (await of(alice)).sort(), "Alice's receipts")
        const bobs = new Set(await of(bob))
        expect(
          bobs.size > 0 && own.length > 0 && !own.some((id) => bobs.has(id)),
          "receipts of Bob are in Alice's list",
        )

        const anonymous = await fetch(`${stack.origin}/rest/v1/chumbo_receipts?select=id`, {
          headers: { apikey: stack.publishableKey },
        })
        expect(!anonymous.ok, `without a sign-in the answer was ${anonymous.status}`)
        return `${own.length} receipts of hers through the Data API, none of Bob's ${bobs.size}`
      },
    },
  ]
}
