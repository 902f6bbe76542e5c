// tests/cases/migrations.ts — I: migrations, deploy and local work.
import { same, type AbsentCase, type Case } from './case.ts'

export const migrations: readonly (Case | AbsentCase)[] = [
  {
    id: 'D36',
    title: 'new code in front of an old schema says which it needs and which it found',
    async run({ sql, rpc }) {
      const newest = await sql`select max(number)::integer as number from chumbo.installed`
      const number = newest[0]?.['number'] as number
      const removed = await sql`delete from chumbo.installed where number = ${number} returning *`
      try {
        for (const [method, params] of [
          ['tools/list', {}],
          ['tools/call', { name: 'ctx', arguments: {} }],
        ] as const) {
          const { status, text } = await rpc(method, params)
          same(
            [status >= 500, text.includes(`version ${number} `), text.includes(`version ${number - 1}`)],
            [true, true, true],
            `${method}: ${text}`,
          )
        }
      } finally {
        await sql`insert into chumbo.installed ${sql(removed[0] as Record<string, unknown>)}`
      }
      same((await rpc('tools/list')).status, 200, 'afterwards')
    },
  },
  {
    id: 'D37',
    title: 'everything can be run again',
    async run({ sql, stack, call }) {
      const { readMigrations, runMigrations } = await import('../support/migrations.ts')
      const { dumpSchema } = await import('../support/dump-schema.ts')
      const before = await dumpSchema(stack.adminUrl)
      const rows = await sql`select count(*)::integer as n from chumbo.capabilities`
      await runMigrations(stack.databaseUrl, readMigrations())
      same(await dumpSchema(stack.adminUrl), before, 'the schema')
      same(
        [...(await sql`select count(*)::integer as n from chumbo.capabilities`)],
        [...rows],
        'capabilities',
      )
      same((await call('ctx')).isError, undefined, 'a call afterwards')
    },
  },
  {
    id: 'D38',
    title: 'the right import map wins',
    why: 'the command that writes a function into a project is not there yet',
  },
  {
    id: 'D39',
    title: 'without a container engine every command does what it can',
    why: 'setup and the remote half of the doctor are not there yet; install and dev need no container',
  },
]
