// cli/commands/capabilities/grant.ts — `chumbo capabilities grant` and `revoke`

import type postgres from 'postgres'

import { HISTORY_MIGRATION } from '../../capabilities/catalog.ts'
import { withDatabase } from '../../database.ts'
import { EXIT, type ExitCode } from '../../exit-codes.ts'
import type { Output } from '../../output.ts'
import type { CommonOptions } from './index.ts'

export interface GrantOptions extends CommonOptions {
  readonly to?: 'everyone' | 'authenticated'
  readonly user?: string
  readonly client?: string
  readonly claim?: Readonly<Record<string, unknown>>
  readonly deny?: boolean
  readonly expires?: string
}

/** Gives, or with `--deny` denies, from the next request on. */
export async function runGrant(scope: string, options: GrantOptions, output: Output): Promise<ExitCode> {
  const { grantee, effect, text } = readGrantee(options)
  const { user = null, client = null, expires = null } = options
  const id = await withDatabase(options, { migration: HISTORY_MIGRATION }, async (sql) => {
    const [row] = await sql`
      select chumbo.grant_scope(${scope}, ${grantee}, ${user}::uuid, ${client}, ${claimOf(sql, options)}, ${effect},
        ${expires}::timestamptz)::text as id`
    return String(row?.['id'])
  })
  const verb = effect === 'allow' ? 'granted to' : 'denied to'
  const end = expires === null ? '' : ` until ${expires}`
  output.answer({ grant: id, scope, grantee, effect, expires }, `${scope} is ${verb} ${text}${end}.`)
  return EXIT.done
}

/** Withdraws what was given in the same words. Nothing to withdraw is no failure. */
export async function runRevoke(scope: string, options: GrantOptions, output: Output): Promise<ExitCode> {
  const { grantee, effect, text } = readGrantee(options)
  const { user = null, client = null } = options
  const withdrawn = await withDatabase(options, { migration: HISTORY_MIGRATION }, async (sql) => {
    const [row] = await sql`
      select chumbo.revoke_scope(${scope}, ${grantee}, ${user}::uuid, ${client}, ${claimOf(sql, options)}, ${effect}) as count`
    return Number(row?.['count'])
  })
  const what = effect === 'allow' ? 'grant' : 'denial'
  output.answer(
    { scope, grantee, effect, withdrawn },
    withdrawn === 0
      ? `There was no ${what} of ${scope} to ${text}.`
      : `The ${what} of ${scope} to ${text} is withdrawn.`,
  )
  return EXIT.done
}

/** Whom the flags name. What does not go together is the database's to refuse. */
function readGrantee({ to, user, client, claim, deny = false }: GrantOptions) {
  const named =
    user !== undefined && client !== undefined ? 'user_client' : user !== undefined ? 'user' : undefined
  const grantee =
    to ?? named ?? (client !== undefined ? 'client' : claim !== undefined ? 'claim' : 'authenticated')
  const parts = [grantee, user, client, claim === undefined ? undefined : JSON.stringify(claim)]
  return {
    grantee,
    effect: deny ? 'deny' : 'allow',
    text: parts.filter((part) => part !== undefined).join(' '),
  }
}

function claimOf(sql: postgres.Sql, { claim }: GrantOptions) {
  // Parsed from JSON, so it is nothing that JSON could not say.
  return claim === undefined ? null : sql.json(claim as postgres.JSONValue)
}
