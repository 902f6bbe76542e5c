// tests/demo/run.ts — `npm run demo`: boots everything, tells the whole story with a real client, then stays up.
import { parseArgs } from 'node:util'

import { connectionGuide } from '../../cli/commands/dev-guide.ts'
import { startStack } from '../../cli/stack/index.ts'
import { repositoryRoot } from '../support/repository.ts'
import { runChecks, type CheckResult } from './checks.ts'
import { createCast } from './cast.ts'
import { story } from './story.ts'

const options = {
  once: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  gate: { type: 'string', default: 'rest' },
  port: { type: 'string' },
  help: { type: 'boolean', default: false },
} as const

const usage = `Usage: npm run demo -- [--once] [--json] [--gate rest|direct] [--port N]

  --once   exit after the story instead of staying up
  --json   print one JSON document on stdout
  --gate   how the runtime reaches the database (rest)
  --port   port of the gateway (a free one)
`

const values = readFlags()

const say = (line: string): void => {
  if (!values.json) process.stdout.write(`${line}\n`)
}

function readFlags() {
  try {
    return parseArgs({ options }).values
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`)
    process.exit(2)
  }
}

async function main(): Promise<number> {
  if (values.help) {
    process.stdout.write(usage)
    return 0
  }
  const port = values.port === undefined ? undefined : Number(values.port)
  if (
    (values.gate !== 'rest' && values.gate !== 'direct')
    || (port !== undefined && !(port > 0 && port < 65_536))
  ) {
    process.stderr.write(usage)
    return 2
  }

  say(
    'Booting Postgres, the authorization server, the Data API and the Edge Functions; installing with `supabase db push`.',
  )
  const startedAt = performance.now()
  const interrupted = untilSignal()
  const stack = await startStack({ project: repositoryRoot, gate: values.gate, install: 'push', port })
  const seconds = (performance.now() - startedAt) / 1000
  say(`Ready in ${seconds.toFixed(1)} s at ${stack.mcpUrl}\n`)

  try {
    const cast = await createCast(stack)
    let checks: readonly CheckResult[]
    try {
      checks = await runChecks(story(cast), { say, interrupted })
    } finally {
      await cast.close()
    }
    const ok = checks.length > 0 && checks.every((check) => check.ok)
    if (values.json) process.stdout.write(`${JSON.stringify({ ok, endpoint: stack.mcpUrl, checks })}\n`)
    say(ok ? `\nAll ${checks.length} checks passed.` : '\nSome checks failed; see above.')

    if (!values.once) {
      say(`\n${connectionGuide(stack, seconds)}`)
      await interrupted
    }
    return ok ? 0 : 1
  } finally {
    await stack.stop()
  }
}

function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    const message = error instanceof Error ? error.message : String(error)
    if (values.json)
      process.stdout.write(
        `${JSON.stringify({ ok: false, endpoint: null, checks: [], error: { message } })}\n`,
      )
    process.stderr.write(`demo: ${message}\n`)
    process.exit(1)
  },
)
