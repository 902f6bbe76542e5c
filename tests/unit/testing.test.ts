// tests/unit/testing.test.ts — what `chumbo/testing` promises to the author of an application.
import { ProtocolError, ResourceTemplate } from '@modelcontextprotocol/server'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { defineTool, errorMetaKey, textResult, ChumboError } from '../../runtime/index.ts'
import { createTestMcp } from '../../runtime/testing.ts'

const archive = defineTool(
  {
    name: 'archive',
    description: 'Archives a project.',
    inputSchema: z.object({ id: z.int() }),
    scopes: ['write'],
  },
  async ({ id }, ctx) => {
    await ctx.supabase.from('projects').update({ archived: true }).eq('id', id).throwOnError()
    return textResult(`Archived ${id} for ${ctx.user.id}.`)
  },
)
const whoami = defineTool(
  { name: 'whoami', description: 'Tells who calls.', inputSchema: z.object({}) },
  (_args, { user, clientId, scopes, jwtClaims }) =>
    textResult(JSON.stringify({ user, clientId, scopes, plan: jwtClaims['plan'] })),
)
const bob = 'b0b00000-0000-4000-8000-000000000002'

describe('createTestMcp', () => {
  it('runs a tool against a database of the test', async () => {
    const sent: string[] = []
    const mcp = await createTestMcp({
      tools: [archive],
      database: (request) => {
        sent.push(`${request.method} ${new URL(request.url).pathname}`)
        return new Response(null, { status: 204 })
      },
    })

    const result = await mcp.callTool('archive', { id: 7 }, { userId: bob, scopes: ['write'] })

    expect(result.content).toEqual([{ type: 'text', text: `Archived 7 for ${bob}.` }])
    expect(sent).toEqual(['PATCH /rest/v1/projects'])
    expect(mcp.failures).toEqual([])
  })

  it('shows and runs what the scopes of the caller allow', async () => {
    const mcp = await createTestMcp({ tools: [archive, whoami] })

    expect((await mcp.listTools()).map(({ name }) => name)).toEqual(['whoami'])
    expect((await mcp.listTools({ scopes: ['write'] })).map(({ name }) => name)).toEqual([
      'archive',
      'whoami',
    ])
    await expect(mcp.callTool('archive', { id: 7 })).rejects.toThrow(ProtocolError)
  })

  it('calls as the person it is told', async () => {
    const mcp = await createTestMcp({ tools: [whoami] })

    const result = await mcp.callTool(
      'whoami',
      {},
      {
        userId: bob,
        email: 'bob@example.test',
        clientId: 'c11e0000-0000-4000-8000-00000000000b',
        scopes: ['read'],
        claims: { plan: 'team' },
      },
    )

    expect(JSON.parse(textOf(result))).toEqual({
      user: { id: bob, email: 'bob@example.test' },
      clientId: 'c11e0000-0000-4000-8000-00000000000b',
      scopes: ['read'],
      plan: 'team',
    })
  })

  it('words failures as a client reads them and keeps what was thrown for the test', async () => {
    const thrown = new Error('relation "secrets" does not exist')
    const breaking = defineTool(
      { name: 'break', description: 'Breaks.', inputSchema: z.object({ how: z.string().default('badly') }) },
      ({ how }) => {
        if (how === 'politely') throw new ChumboError('It is taken.', { code: 'taken', status: 409 })
        throw thrown
      },
    )
    const mcp = await createTestMcp({ tools: [breaking] })

    const rude = await mcp.callTool('break')
    const polite = await mcp.callTool('break', { how: 'politely' })
    const wrong = await mcp.callTool('break', { how: 1 })

    expect(rude._meta).toMatchObject({ [errorMetaKey]: { code: 'tool_failed' } })
    expect(JSON.stringify(rude)).not.toContain('secrets')
    expect(polite._meta).toMatchObject({ [errorMetaKey]: { code: 'taken', message: 'It is taken.' } })
    expect(wrong._meta).toMatchObject({ [errorMetaKey]: { code: 'invalid_arguments' } })
    expect(mcp.failures[0]).toBe(thrown)
  })

  it('says which request of a handler nobody answers', async () => {
    const mcp = await createTestMcp({ tools: [archive] })

    const result = await mcp.callTool('archive', { id: 7 }, { scopes: ['write'] })

    expect(result.isError).toBe(true)
    expect(mcp.failures.map(String)).toEqual([expect.stringContaining('PATCH /rest/v1/projects')])
  })

  it('reads resources and prompts, names beyond ASCII included', async () => {
    const mcp = await createTestMcp({
      register(server) {
        server.registerResource(
          'note',
          new ResourceTemplate('note://{id}', { list: undefined }),
          {},
          (uri, { id }) => ({
            contents: [{ uri: uri.href, text: `note ${String(id)}` }],
          }),
        )
        server.registerPrompt('größe', {}, () => ({
          messages: [{ role: 'user', content: { type: 'text', text: 'Hello' } }],
        }))
      },
    })

    expect(await mcp.request('resources/read', { uri: 'note://7' })).toMatchObject({
      contents: [{ text: 'note 7' }],
    })
    expect(await mcp.request('prompts/get', { name: 'größe' })).toMatchObject({
      messages: [{ role: 'user' }],
    })
    await expect(mcp.request('resources/read', { uri: 'other://7' })).rejects.toThrow(ProtocolError)
  })

  it('hands out the endpoint for a client of the author', async () => {
    const mcp = await createTestMcp({ tools: [whoami], limits: { bodyBytes: 400 } })
    const call = (token: string) =>
      mcp.app.fetch(
        new Request(mcp.url, {
          method: 'POST',
          headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
          body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
        }),
      )

    expect((await call(await mcp.signIn())).status).toBe(200)
    expect((await call('forged')).status).toBe(401)
    await expect(mcp.callTool('whoami', { padding: 'x'.repeat(400) })).rejects.toMatchObject({
      name: 'ChumboError',
      code: 'payload_too_large',
      status: 413,
    })
  })

  it('refuses ids that no Supabase project has', async () => {
    const mcp = await createTestMcp({ tools: [whoami] })

    await expect(mcp.callTool('whoami', {}, { userId: 'bob' })).rejects.toThrow(/userId must be a UUID/)
    await expect(mcp.callTool('whoami', {}, { clientId: 'cursor' })).rejects.toThrow(
      /clientId must be a UUID/,
    )
  })
})

function textOf({ content: [block] }: { content: readonly { type: string }[] }): string {
  return block !== undefined && 'text' in block ? String(block.text) : ''
}
