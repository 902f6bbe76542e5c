// tests/unit/gate/rest.test.ts — what goes out over the Data API, and how long it is waited for.
import { describe, expect, it } from 'vitest'

import { resolveEnvironment } from '../../../runtime/environment.ts'
import { createRestGate } from '../../../runtime/gate/rest.ts'

const environment = (keys: string) =>
  resolveEnvironment({ SUPABASE_URL: 'https://project.example', SUPABASE_SECRET_KEYS: keys })

const asked = { server: 'acme' }

function gateOver(fetch: typeof globalThis.fetch, timeoutMs?: number) {
  return createRestGate({
    environment: environment('{"web":"sb_secret_web","default":"sb_secret_default"}'),
    fetch,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  })
}

describe('the gate over the Data API', () => {
  it('sends the server, the arguments in their own digits, and the default key', async () => {
    let sent: Request | undefined
    const gate = gateOver(async (input, init) => {
      sent = new Request(input, init)
      return Response.json({ outcome: 'ok', result: '{}' })
    })

    await gate.call({
      capability: 'echo',
      argumentsText: '{"p":9007199254740993}',
      request: { server: 'acme', subject: 'x' },
    })

    expect(sent?.url).toBe('https://project.example/rest/v1/rpc/chumbo_call')
    expect(sent?.headers.get('apikey')).toBe('sb_secret_default')
    expect(await sent?.text()).toBe(
      '{"server":"acme","capability":"echo","arguments":{"p":9007199254740993},"request":{"server":"acme","subject":"x"}}',
    )
  })

  it('asks once, whatever comes back', async () => {
    let times = 0
    const gate = gateOver(async () => {
      times += 1
      return new Response('', { status: 503 })
    })

    await expect(gate.enter(asked)).rejects.toMatchObject({ code: 'database_unavailable' })
    expect(times).toBe(1)
  })

  it('does not wait for ever', async () => {
    const gate = gateOver(
      (_input, init) =>
        new Promise((_, reject) => {
          init?.signal?.addEventListener('abort', () => reject(init.signal?.reason as Error))
        }),
      20,
    )

    await expect(gate.call({ capability: 'x', argumentsText: '{}', request: asked })).rejects.toMatchObject({
      code: 'database_unavailable',
    })
  })

  it.each([
    ['an answer of another shape', { outcome: 'surprise' }],
    ['no answer', null],
  ])('takes %s for a fault and not for a result', async (_label, answer) => {
    const gate = gateOver(async () => Response.json(answer))

    await expect(gate.call({ capability: 'x', argumentsText: '{}', request: asked })).rejects.toThrow()
    await expect(gate.enter(asked)).rejects.toThrow()
  })

  it('asks a database that lacks the function for its version, and lives with no answer', async () => {
    const missing = Response.json({ code: 'PGRST202', message: 'private' }, { status: 404 })
    const old = gateOver(async (input) =>
      String(input instanceof Request ? input.url : input).endsWith('chumbo_version')
        ? Response.json(7)
        : missing.clone(),
    )
    const empty = gateOver(async () => missing.clone())

    await expect(old.enter(asked)).rejects.toMatchObject({
      message: expect.stringMatching(/found version 7/) as string,
    })
    await expect(empty.enter(asked)).rejects.toMatchObject({
      message: expect.stringMatching(/found an older one/) as string,
    })
  })

  it('uses the only key there is, and refuses to start without one', () => {
    expect(() => createRestGate({ environment: environment('{"web":"x"}') })).not.toThrow()
    expect(() => createRestGate({ environment: environment('{}') })).toThrow(
      expect.objectContaining({ code: 'server_misconfigured' }),
    )
  })
})
