// tests/unit/hosts/node.test.ts — an app behind node:http: bodies in, streams out, and a caller who hangs up.
import { connect } from 'node:net'

import { afterEach, describe, expect, it } from 'vitest'

import { serve, toNodeHandler, type NodeServer } from '../../../runtime/hosts/node.ts'

const running: NodeServer[] = []

async function start(fetch: (request: Request) => Promise<Response>): Promise<string> {
  const server = await serve({ fetch }, { port: 0, hostname: '127.0.0.1' })
  running.push(server)
  return server.url
}

afterEach(async () => {
  for (const server of running.splice(0)) await server.close()
})

describe('the Node host', () => {
  it('hands over method, path, headers and body, and sends what comes back', async () => {
    const url = await start(async (request) =>
      Response.json(
        {
          method: request.method,
          path: new URL(request.url).pathname + new URL(request.url).search,
          host: request.headers.get('host'),
          twice: request.headers.get('x-twice'),
          body: await request.text(),
        },
        { status: 201, headers: { 'X-Own': 'yes' } },
      ),
    )

    const response = await fetch(`${url}/mcp?a=1`, {
      method: 'POST',
      headers: { 'X-Twice': 'a, b' },
      body: 'héllo',
    })

    expect(response.status).toBe(201)
    expect(response.headers.get('x-own')).toBe('yes')
    expect(await response.json()).toEqual({
      method: 'POST',
      path: '/mcp?a=1',
      host: new URL(url).host,
      twice: 'a, b',
      body: 'héllo',
    })
  })

  it('keeps what a proxy says about the address', async () => {
    const url = await start(async (request) => Response.json(Object.fromEntries(request.headers)))

    const response = await fetch(url, {
      headers: { 'X-Forwarded-Host': 'public.example', 'X-Forwarded-Proto': 'https' },
    })

    expect(await response.json()).toMatchObject({
      'x-forwarded-host': 'public.example',
      'x-forwarded-proto': 'https',
    })
  })

  it('answers GET and HEAD, which have no body, and keeps cookies apart', async () => {
    const url = await start(async (request) => {
      const headers = new Headers([
        ['Set-Cookie', 'a=1'],
        ['Set-Cookie', 'b=2'],
      ])
      return new Response(request.body === null ? null : 'body', { headers })
    })

    const response = await fetch(url)

    expect(await response.text()).toBe('')
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(200)
  })

  it('streams as it is produced', async () => {
    let sendNext = (): void => {}
    const url = await start(
      async () =>
        new Response(
          new ReadableStream({
            start(controller) {
              controller.enqueue(new TextEncoder().encode('data: 1\n\n'))
              sendNext = () => {
                controller.enqueue(new TextEncoder().encode('data: 2\n\n'))
                controller.close()
              }
            },
          }),
          { headers: { 'Content-Type': 'text/event-stream' } },
        ),
    )

    const response = await fetch(url)
    const reader = response.body?.getReader()
    const first = await reader?.read()
    sendNext()
    const second = await reader?.read()

    expect(new TextDecoder().decode(first?.value)).toBe('data: 1\n\n')
    expect(new TextDecoder().decode(second?.value)).toBe('data: 2\n\n')
  })

  it('aborts the request of a caller who hangs up, and serves the next', async () => {
    const aborted: string[] = []
    const url = await start(async (request) => {
      if (new URL(request.url).pathname === '/quick') return new Response('quick')
      await new Promise<void>((resolve) => {
        request.signal.addEventListener('abort', () => {
          aborted.push('aborted')
          resolve()
        })
      })
      return new Response('late')
    })

    await expect(fetch(`${url}/slow`, { signal: AbortSignal.timeout(50) })).rejects.toThrow()

    expect(await (await fetch(`${url}/quick`)).text()).toBe('quick')
    await expect.poll(() => aborted).toEqual(['aborted'])
  })

  it('does not abort a request that was answered', async () => {
    const signals: AbortSignal[] = []
    const url = await start(async (request) => {
      signals.push(request.signal)
      return new Response('done')
    })

    await (await fetch(url)).text()
    await new Promise((resolve) => setTimeout(resolve, 20))

    expect(signals.map(({ aborted }) => aborted)).toEqual([false])
  })

  it.each([
    ['breaks', () => Promise.reject(new Error('private'))],
    [
      'breaks at once',
      () => {
        throw new Error('private')
      },
    ],
  ])('answers for an app that %s, without its words', async (_label, fetchApp: () => Promise<Response>) => {
    const url = await start(fetchApp)

    const response = await fetch(url)

    expect(response.status).toBe(400)
    expect(await response.text()).not.toContain('private')
  })

  it('breaks off a stream that fails, and goes on', async () => {
    let isFirst = true
    const url = await start(async () => {
      if (!isFirst) return new Response('next')
      isFirst = false
      return new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(new TextEncoder().encode('begun')),
          pull: () => Promise.reject(new Error('broken')),
        }),
      )
    })

    await expect(fetch(url).then((response) => response.text())).rejects.toThrow()
    expect(await (await fetch(url)).text()).toBe('next')
  })

  it('answers a request line that is no URL', async () => {
    const url = await start(async () => new Response('never'))
    const { port } = new URL(url)

    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), '127.0.0.1', () => {
        socket.write('GET //:99999 HTTP/1.1\r\nHost: x y\r\nConnection: close\r\n\r\n')
      })
      let text = ''
      socket.on('data', (bytes) => (text += bytes.toString()))
      socket.on('end', () => resolve(text))
      socket.on('error', reject)
    })

    expect(answer).toMatch(/^HTTP\/1\.1 400/)
  })

  it('says when its port is taken', async () => {
    const url = await start(async () => new Response(''))

    await expect(
      serve(
        { fetch: async () => new Response('') },
        { port: Number(new URL(url).port), hostname: '127.0.0.1' },
      ),
    ).rejects.toMatchObject({ code: 'EADDRINUSE' })
  })

  it('is a listener for a server of the application', () => {
    expect(toNodeHandler({ fetch: async () => new Response('') })).toHaveLength(2)
  })
})
