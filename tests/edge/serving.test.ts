// tests/edge/serving.test.ts — calls under Deno: side by side, abandoned, and with work left after the answer.
import assert from 'node:assert/strict'

import { z } from 'zod'

import { defineTool, textResult } from '../../runtime/index.ts'
import { createTestMcp } from '../../runtime/testing.ts'

const permissions: Deno.TestDefinition['permissions'] = {
  env: ['SUPABASE_*', 'CHUMBO_*', 'PG*'],
  net: ['127.0.0.1'],
  read: false,
  write: false,
  run: false,
}

const people = ['a11ce000-0000-4000-8000-000000000001', 'b0b00000-0000-4000-8000-000000000002']

const whoami = defineTool(
  { name: 'whoami', description: 'Who.', inputSchema: z.object({ wait: z.number() }) },
  async ({ wait }, { user }) => {
    await new Promise((resolve) => setTimeout(resolve, wait))
    return textResult(user.id)
  },
)

const callOf = (id: unknown, wait: number, token: string, url: string, signal?: AbortSignal) =>
  new Request(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'whoami', arguments: { wait } },
    }),
    ...(signal === undefined ? {} : { signal }),
  })

Deno.test(
  'two people with one id each get their own answer, also beside those who hang up',
  { permissions },
  async () => {
    const mcp = await createTestMcp({ tools: [whoami] })
    const tokens = await Promise.all(people.map((userId) => mcp.signIn({ userId })))

    const said = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const token = tokens[index % 2] ?? ''
        if (index % 10 === 9) {
          const controller = new AbortController()
          const answer = mcp.app.fetch(callOf(1, 20, token, mcp.url, controller.signal))
          setTimeout(() => controller.abort(), 5)
          await Promise.race([answer.then((response) => response.body?.cancel()).catch(() => {}), delay(200)])
          return 'hung up'
        }
        const response = await mcp.app.fetch(callOf(1, index % 7, token, mcp.url))
        const { id, result } = await response.json()
        assert.equal(id, 1)
        return result.content[0].text === people[index % 2] ? 'right' : 'wrong'
      }),
    )

    assert.equal(said.filter((outcome) => outcome === 'right').length, 90)
    await mcp.close()
  },
)

Deno.test('ids come back as they were sent', { permissions }, async () => {
  const mcp = await createTestMcp({ tools: [whoami] })
  const token = await mcp.signIn()

  for (const id of [0, '', '1', 9007199254740991]) {
    const response = await mcp.app.fetch(callOf(id, 0, token, mcp.url))
    assert.strictEqual((await response.json()).id, id)
  }
  await mcp.close()
})

Deno.test('work after the answer is handed to the host', { permissions }, async () => {
  const handed: Promise<unknown>[] = []
  const host = globalThis as { EdgeRuntime?: { waitUntil(work: Promise<unknown>): void } }
  host.EdgeRuntime = { waitUntil: (work) => void handed.push(work) }
  try {
    const mcp = await createTestMcp({ tools: [whoami] })

    await mcp.callTool('whoami', { wait: 0 })

    assert.equal(handed.length, 1)
    await handed[0]
    await mcp.close()
  } finally {
    delete host.EdgeRuntime
  }
})

Deno.test('numbers keep their digits in this engine', { permissions }, async () => {
  const { parseExact } = await import('../../runtime/exact-json.ts')
  const text = '{"n":[9007199254740993,0.12345678901234567890123]}'

  assert.equal(JSON.stringify(parseExact(text)), text)
})

function delay(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
