// tests/bench/load-worker.ts — the clients, in a thread of their own: the stack in the main thread must not wait for them.
import { Agent, request } from 'node:http'
import { parentPort } from 'node:worker_threads'

import postgres from 'postgres'

import type { HttpTarget, Job, JobResult, SqlTarget } from './load.ts'

/** One call; resolves with what came back. */
type Call = (client: number) => Promise<string>

/** As many connections as the direct gate opens. */
const connections = 10

const agent = new Agent({ keepAlive: true, maxSockets: 64 })
const pools = new Map<string, postgres.Sql>()

function createHttpCall({ url, headers, body, tokens }: HttpTarget): Call {
  const { hostname, port, pathname } = new URL(url)
  const variants = tokens.map((token) => ({ ...headers, authorization: `Bearer ${token}` }))
  return (client) =>
    new Promise((resolve, reject) => {
      const outgoing = request(
        {
          agent,
          hostname,
          port,
          path: pathname,
          method: 'POST',
          headers: { ...variants[client % variants.length], 'content-length': Buffer.byteLength(body) },
        },
        (answer) => {
          const chunks: Buffer[] = []
          answer.on('data', (chunk: Buffer) => chunks.push(chunk))
          answer.once('error', reject)
          answer.once('end', () => {
            const text = Buffer.concat(chunks).toString('utf8')
            if (answer.statusCode === 200) resolve(text)
            else reject(new Error(`status ${answer.statusCode}: ${text}`))
          })
        },
      )
      outgoing.once('error', reject)
      outgoing.end(body)
    })
}

/** The whole transaction in one write, as the gate does it; less than this cannot be done for a call as its caller. */
function createSqlCall({ url, subjects, text }: SqlTarget): Call {
  const pool = pools.get(url) ?? postgres(url, { max: connections, onnotice: () => {} })
  pools.set(url, pool)
  const openings = subjects.map((sub) => {
    const claims = JSON.stringify({ sub, role: 'authenticated' })
    return `begin; set local role authenticated; set local "request.jwt.claims" = '${claims}'`
  })
  return async (client) => {
    const connection = await pool.reserve()
    try {
      const [, rows] = await Promise.all([
        connection.unsafe(openings[client % openings.length] ?? '').simple(),
        connection.unsafe(text, [], { prepare: true }),
        connection.unsafe('commit').simple(),
      ])
      return JSON.stringify(rows)
    } finally {
      connection.release()
    }
  }
}

/** Runs `count` calls, `clients` at a time, each client sending its next one when it has its answer. */
async function run({ clients, count, target }: Job): Promise<JobResult> {
  const call = target.kind === 'http' ? createHttpCall(target) : createSqlCall(target)
  const latencies: number[] = []
  const errors: string[] = []
  let left = count

  async function act(client: number): Promise<void> {
    while (left > 0) {
      left -= 1
      const startedAt = performance.now()
      const answer = await call(client).catch((error: unknown) => `error: ${String(error)}`)
      latencies.push(performance.now() - startedAt)
      // An answer that is fast because it is wrong is no answer.
      if (!answer.includes(target.expected) || answer.includes('"isError":true'))
        errors.push(answer.slice(0, 300))
    }
  }

  const startedAt = performance.now()
  await Promise.all(Array.from({ length: clients }, (_, client) => act(client)))
  return { latencies, seconds: (performance.now() - startedAt) / 1000, errors }
}

parentPort?.on('message', (job: Job & { readonly id: number }) => {
  void run(job).then((result) => parentPort?.postMessage({ id: job.id, result }))
})
