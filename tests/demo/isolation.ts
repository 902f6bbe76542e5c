// tests/demo/isolation.ts — two people of two workspaces at one endpoint, and neither ever meets the other's rows.
import { signIn, type Connection, type Person } from '../support/sign-in.ts'
import type { Cast } from './cast.ts'
import { expect, same, type Check } from './checks.ts'

export const workspaceOf = {
  alice: '00000000-0000-4000-8000-00000000000a',
  bob: '00000000-0000-4000-8000-00000000000b',
} as const

/** Interleaved calls of the concurrency check. */
const interleaved = 200

export function isolation(cast: Cast): Check[] {
  const { stack, sql, alice, bob, connections, call, note } = cast
  const of = (name: string): Connection => {
    const connection = connections.get(name)
    expect(connection !== undefined, `${name} is not connected`)
    return connection
  }

  async function seesOnly(who: Person, connection: Connection, own: string): Promise<string> {
    const { data } = await call(who, connection, 'list_workspaces')
    const workspaces = (data['workspaces'] as { workspace_id: string }[] | undefined) ?? []
    same(
      workspaces.map((row) => row.workspace_id),
      [own],
      'workspaces',
    )

    const snippets = await call(who, connection, 'list_snippets', { limit: 50 })
    const rows = (snippets.data['rows'] as { workspace_id: string; visibility: string }[] | undefined) ?? []
    const foreign = rows.filter((row) => row.workspace_id !== own)
    expect(rows.length > foreign.length, `of ${rows.length} snippets none is their own`)
    expect(
      foreign.every((row) => row.visibility === 'public'),
      `foreign snippets: ${JSON.stringify(foreign)}`,
    )
    return `one workspace, ${rows.length - foreign.length} snippets of it, ${foreign.length} public ones of others`
  }

  return [
    {
      id: 'alice-sees-only-a',
      title: 'Alice sees her workspace, through a SQL tool and a TypeScript tool',
      run: () => seesOnly(alice, of('alice'), workspaceOf.alice),
    },
    {
      id: 'bob-sees-only-b',
      title: 'Bob signs in with the same kind of client and sees his',
      async run() {
        connections.set('bob', await signIn(stack, bob, { name: 'Demo client of Bob' }))
        return seesOnly(bob, of('bob'), workspaceOf.bob)
      },
    },
    {
      id: 'resource-isolated',
      title: 'Resources obey the same policies',
      async run() {
        const [snippet] = await sql<{ id: string }[]>`
          select id from public.snippets where workspace_id = ${workspaceOf.bob}::uuid and visibility = 'workspace' limit 1`
        const uri = `snippet://${snippet?.id}`
        const { resources } = await of('alice').client.listResources()
        expect(
          resources.length > 0 && resources.every((resource) => resource.uri !== uri),
          "Alice's list is wrong",
        )

        const stolen = await of('alice')
          .client.readResource({ uri })
          .catch((error: unknown) => error)
        note(alice, 'tool_error')
        expect(
          stolen instanceof Error && /not found/.test(stolen.message),
          `Alice read ${JSON.stringify(stolen)}`,
        )
        const own = await of('bob').client.readResource({ uri })
        note(bob, 'ok')
        same(own.contents.length, 1, "contents of Bob's read")
        return `Bob reads ${uri}, for Alice it does not exist`
      },
    },
    {
      id: 'write-into-foreign-workspace-refused',
      title: "Alice's agent cannot write into Bob's workspace",
      async run() {
        const count = async (): Promise<unknown> =>
          (
            await sql`select count(*)::integer as n from public.snippets where workspace_id = ${workspaceOf.bob}::uuid`
          )[0]?.['n']
        const before = await count()
        const answer = await call(alice, of('alice'), 'save_snippet', {
          workspace_id: workspaceOf.bob,
          title: 'Planted',
          body: 'This must not arrive.',
        })
        same(answer.outcome, 'tool_error', 'outcome')
        same(await count(), before, "snippets in Bob's workspace")
        expect(!/policy|relation|row-level/i.test(answer.text), `database text leaked: ${answer.text}`)
        return answer.text.replaceAll('\n', ' ')
      },
    },
    {
      id: 'concurrent-isolation',
      title: `${interleaved} interleaved calls never cross`,
      async run() {
        const turns = Array.from({ length: interleaved }, (_, index) => (index % 2 === 0 ? 'alice' : 'bob'))
        const answers = await Promise.all(turns.map((name) => call(cast[name], of(name), 'list_workspaces')))
        const crossed = answers.filter(({ data }, index) => {
          const rows = (data['workspaces'] as { workspace_id: string }[] | undefined) ?? []
          return rows.length !== 1 || rows[0]?.workspace_id !== workspaceOf[turns[index] ?? 'alice']
        })
        same(crossed.length, 0, 'crossed or lost answers')
        return `${answers.length} answers, each with its caller's workspace only`
      },
    },
  ]
}
