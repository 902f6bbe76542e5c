// tests/cases/transport.ts — D: transport.
import { expect, same, type Case } from './case.ts'

/** The headers of a protocol client that a browser has to be allowed. */
const protocolHeaders =
  'authorization, content-type, accept, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name, last-event-id'

export const transport: readonly Case[] = [
  {
    id: 'D13',
    title: 'the answer has the media type that was asked for',
    async run({ rpc }) {
      const accepted = [
        'application/json',
        'text/event-stream',
        'application/json, text/event-stream',
        'text/event-stream, application/json',
        '*/*',
        '',
      ]
      for (const accept of accepted) {
        const { status, headers, text } = await rpc('tools/list', {}, { headers: { Accept: accept } })
        same(status, 200, `status for ${accept}`)
        const type = headers.get('content-type')?.split(';')[0] ?? ''
        expect(accept === '' || accept === '*/*' || accept.includes(type), `${type} for ${accept}`)
        if (type === 'text/event-stream') same(text.match(/^data: /gm)?.length, 1, 'data lines')
      }
      same((await rpc('tools/list', {}, { headers: { Accept: 'image/png' } })).status, 406, 'an image')
    },
  },
  {
    id: 'D14',
    title: 'GET and DELETE are refused at once and leave nothing',
    async run({ send, sql, stack, alice }) {
      const receipts = async (): Promise<unknown> =>
        (await sql`select count(*)::integer as n from chumbo.receipts`)[0]?.['n']
      const before = await receipts()
      for (const method of ['GET', 'DELETE']) {
        for (const token of [alice.token, null]) {
          const startedAt = performance.now()
          const { status, headers } = await send('', {
            method,
            token,
            headers: { Accept: 'text/event-stream' },
          })
          same(status, 405, `status of ${method}`)
          expect(headers.has('allow'), 'no Allow header')
          expect(performance.now() - startedAt < 1_000, 'it took more than a second')
        }
      }
      same(await receipts(), before, 'receipts')
      same((await fetch(`${stack.mcpUrl}/oauth-protected-resource`)).status, 200, 'the metadata')
    },
  },
  {
    id: 'D15',
    title: 'the same request id of two people never crosses',
    async run({ send, alice, bob }) {
      for (const id of [1, 'text', 0, 9_007_199_254_740_991]) {
        const calls = Array.from({ length: id === 1 ? 400 : 20 }, (_, index) => {
          const who = index % 2 === 0 ? alice : bob
          const body = JSON.stringify({
            jsonrpc: '2.0',
            id,
            method: 'tools/call',
            params: { name: 'who_after', arguments: { seconds: Math.random() * 0.05 } },
          })
          // Ten of them hang up in flight.
          const gone = id === 1 && index < 10 ? AbortSignal.timeout(5) : undefined
          return send(body, { token: who.token, ...(gone === undefined ? {} : { signal: gone }) })
            .then(({ message }) => ({
              who: who.id,
              id: message.id,
              saw: message.result?.structuredContent?.['result'],
            }))
            .catch((error: unknown) => {
              if (gone === undefined) throw error
              return undefined
            })
        })
        const answers = (await Promise.all(calls)).filter((answer) => answer !== undefined)
        expect(answers.length >= calls.length - 10, `${answers.length} answers to ${calls.length} calls`)
        const crossed = answers.filter((answer) => answer.saw !== answer.who || answer.id !== id)
        same(crossed, [], `crossed answers with the id ${JSON.stringify(id)}`)
      }
    },
  },
  {
    id: 'D16',
    title: 'a browser gets through the preflight and can read the refusal',
    async run({ send, stack }) {
      const origin = 'https://app.example'
      const preflight = await send('', {
        method: 'OPTIONS',
        token: null,
        headers: {
          Origin: origin,
          'Access-Control-Request-Method': 'POST',
          'Access-Control-Request-Headers': protocolHeaders,
        },
      })
      expect(preflight.status >= 200 && preflight.status < 300, `status ${preflight.status}`)
      const allowed = (preflight.headers.get('access-control-allow-headers') ?? '').toLowerCase().split(/, */)
      same(
        protocolHeaders.split(', ').filter((name) => !allowed.includes(name)),
        [],
        'headers not allowed',
      )
      expect(/POST/.test(preflight.headers.get('access-control-allow-methods') ?? ''), 'POST is not allowed')

      const metadata = { url: `${stack.mcpUrl}/oauth-protected-resource`, method: 'GET' }
      for (const sending of [{}, { method: 'GET' }, metadata]) {
        const { headers } = await send('{}', { token: null, headers: { Origin: origin }, ...sending })
        expect([origin, '*'].includes(headers.get('access-control-allow-origin') ?? ''), 'no origin header')
        const exposed = (headers.get('access-control-expose-headers') ?? '').toLowerCase()
        for (const name of ['www-authenticate', 'mcp-session-id', 'retry-after']) {
          expect(exposed.includes(name), `${name} is not exposed: ${exposed}`)
        }
      }
    },
  },
]
