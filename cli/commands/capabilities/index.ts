// cli/commands/capabilities/index.ts — `chumbo capabilities`: look at what a database offers, and change it at once.

import { type Command, InvalidArgumentError, Option } from 'commander'

import { databaseOption } from '../../database.ts'
import type { ExitCode } from '../../exit-codes.ts'
import type { Output } from '../../output.ts'
import { type DiffOptions, runDiff } from './diff.ts'
import { type GrantOptions, runGrant, runRevoke } from './grant.ts'
import { type LimitOptions, runLimit } from './limit.ts'
import { type ListOptions, runList } from './list.ts'
import { runShow, type ShowOptions } from './show.ts'
import { runSwitch, type SwitchOptions } from './switch.ts'

/** What every verb below has. */
export interface CommonOptions {
  readonly dbUrl?: string
  readonly project: string
}

const KINDS = ['tool', 'resource', 'resource_template', 'prompt']

/** Adds the verbs. `finish` receives the exit code. */
export function addCapabilitiesCommand(
  program: Command,
  output: Output,
  finish: (code: ExitCode) => void,
): void {
  const parent = program
    .command('capabilities')
    .description('Look at the tools, resources and prompts of a database, and change who may use them.')
  const verb = (usage: string, description: string) =>
    parent
      .command(usage)
      .description(description)
      .addOption(databaseOption())
      .option('--project <dir>', 'folder that holds supabase/', '.')
      .option('--json', 'print one JSON document instead of text')
  const kind = () => new Option('--kind <kind>', 'only this kind').choices(KINDS)
  const server = () => new Option('--server <slug>', 'server it belongs to').default('default')

  verb('list', 'List everything with its version, scopes and size.')
    .option('--server <slug>', 'only this server')
    .addOption(kind())
    .action(async (options: ListOptions) => finish(await runList(options, output)))

  verb('show <name>', 'Show the definition, who may use it, its limits and its last changes.')
    .addOption(server())
    .addOption(kind())
    .action(async (name: string, options: ShowOptions) => finish(await runShow(name, options, output)))

  verb('diff [name]', 'Compare the database with the code, or with --from two versions of one capability.')
    .addOption(server())
    .addOption(kind())
    .option('--from <version>', 'older version, from the history', count)
    .option('--to <version>', 'newer version (default: what is registered now)', count)
    .option('--code <file>', 'module that exports tools, resources or prompts')
    .option('--function <name>', 'function whose capabilities.ts is read', 'mcp')
    .addOption(
      new Option(
        '--runtime <name>',
        'where the module is loaded (default: Deno below supabase/functions)',
      ).choices(['deno', 'node']),
    )
    .action(async (name: string | undefined, options: DiffOptions) =>
      finish(await runDiff(name, options, output)),
    )

  for (const action of ['enable', 'disable'] as const) {
    const description =
      action === 'enable'
        ? 'Offer it again from the next request on.'
        : 'Withdraw it from the next request on.'
    verb(`${action} <name>`, description)
      .addOption(server())
      .addOption(kind())
      .action(async (name: string, options: SwitchOptions) =>
        finish(await runSwitch(action, name, options, output)),
      )
  }

  const grantee = (command: Command) =>
    command
      .addOption(new Option('--to <grantee>', 'whom').choices(['everyone', 'authenticated']))
      .option('--user <uuid>', 'one user; with --client the user through this client only')
      .option('--client <id>', 'one OAuth client')
      .option('--claim <json>', 'callers whose verified claims contain this object', claim)
      .option('--deny', 'a denial, which outweighs every grant')
  grantee(verb('grant <scope>', 'Give a scope to all signed-in callers, or to whom you name.'))
    .option('--expires <time>', 'end of the grant, such as 2027-01-31T00:00Z', time)
    .action(async (scope: string, options: GrantOptions) => finish(await runGrant(scope, options, output)))
  grantee(verb('revoke <scope>', 'Withdraw what grant gave, named in the same way.')).action(
    async (scope: string, options: GrantOptions) => finish(await runRevoke(scope, options, output)),
  )

  verb('limit <limit>', 'Create or change a rate limit; the name is yours.')
    .addOption(server())
    .option('--capability <name>', 'count the calls of this one only (default: all of the server)')
    .addOption(
      new Option('--per <subject>', 'who is counted')
        .choices(['principal', 'client', 'server'])
        .default('principal'),
    )
    .option('--requests <number>', 'how many', count, 60)
    .option('--window <seconds>', 'in which time', count, 60)
    .option('--weight <number>', 'requests one call counts for', count, 1)
    .addOption(new Option('--method <method>', 'how').choices(['gcra', 'fixed_window']).default('gcra'))
    .action(async (limit: string, options: LimitOptions) => finish(await runLimit(limit, options, output)))
}

function count(value: string): number {
  const number = Number(value)
  if (Number.isInteger(number) && number > 0 && number <= 2_147_483_647) return number
  throw new InvalidArgumentError('It must be a whole number above 0.')
}

function claim(value: string): Readonly<Record<string, unknown>> {
  try {
    const object: unknown = JSON.parse(value)
    if (typeof object === 'object' && object !== null && !Array.isArray(object)) return { ...object }
  } catch {
    // Told below, as any other value that is no object.
  }
  throw new InvalidArgumentError('It must be a JSON object, such as {"app_metadata": {"plan": "pro"}}.')
}

function time(value: string): string {
  const instant = Date.parse(value)
  if (!Number.isNaN(instant)) return new Date(instant).toISOString()
  throw new InvalidArgumentError('It must be a time, such as 2027-01-31T00:00Z.')
}
