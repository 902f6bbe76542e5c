// tests/cases/run.ts — `npm run cases -- --json`: one test per case of the handed list, against a real stack.
import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'

import type { AbsentCase, Case } from './case.ts'
import { discovery } from './discovery.ts'
import { finding } from './finding.ts'
import { functions } from './functions.ts'
import { isolation } from './isolation.ts'
import { limits } from './limits.ts'
import { migrations } from './migrations.ts'
import { schemas } from './schemas.ts'
import { signingIn } from './signing-in.ts'
import { createStage, type Stage } from './stage.ts'
import { tokens } from './tokens.ts'
import { transport } from './transport.ts'

const cases: readonly (Case | AbsentCase)[] = [
  ...discovery,
  ...tokens,
  ...signingIn,
  ...transport,
  ...schemas,
  ...functions,
  ...isolation,
  ...limits,
  ...migrations,
  ...finding,
].sort((one, other) => (one.id < other.id ? -1 : 1))

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false }, report: { type: 'string' } },
})
const say = (line: string): void => {
  process.stderr.write(`${line}\n`)
}

/** Runs the cases in order; each leaves the stage as it found it, or uses names of its own. */
async function runCases(stage: Stage): Promise<Record<string, 'pass' | 'fail' | 'n/a'>> {
  const verdicts: Record<string, 'pass' | 'fail' | 'n/a'> = {}
  for (const one of cases) {
    if (positionals.length > 0 && !positionals.includes(one.id)) continue
    if ('why' in one) {
      verdicts[one.id] = 'n/a'
      say(`– ${one.id} ${one.title}: ${one.why}`)
      continue
    }
    try {
      await one.run(stage)
      verdicts[one.id] = 'pass'
      say(`✓ ${one.id} ${one.title}`)
    } catch (error) {
      verdicts[one.id] = 'fail'
      say(`✗ ${one.id} ${one.title}\n    ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return verdicts
}

const stage = await createStage()
let verdicts: Record<string, 'pass' | 'fail' | 'n/a'>
try {
  verdicts = await runCases(stage)
} finally {
  await stage.close()
}
if (values.report !== undefined) await writeFile(values.report, JSON.stringify(verdicts))
if (values.json) process.stdout.write(`${JSON.stringify(verdicts)}\n`)
const count = (verdict: string): number => Object.values(verdicts).filter((one) => one === verdict).length
say(`\n${count('pass')} passed, ${count('fail')} failed, ${count('n/a')} not applicable yet`)
process.exit(count('fail') === 0 && count('pass') > 0 ? 0 : 1)
