// cli/commands/capabilities/show.ts — `chumbo capabilities show`

import {
  type CapabilityDetails,
  findCapability,
  HISTORY_MIGRATION,
  type ListedCapability,
  readDetails,
} from '../../capabilities/catalog.ts'
import { withDatabase } from '../../database.ts'
import { EXIT, type ExitCode } from '../../exit-codes.ts'
import type { Output } from '../../output.ts'
import type { CommonOptions } from './index.ts'

export interface ShowOptions extends CommonOptions {
  readonly server: string
  readonly kind?: string
}

/** Prints one capability as clients see it, with all that decides over its use. */
export async function runShow(name: string, options: ShowOptions, output: Output): Promise<ExitCode> {
  const shown = await withDatabase(options, { migration: HISTORY_MIGRATION }, async (sql) => {
    const found = await findCapability(sql, { server: options.server, kind: options.kind, name })
    return { ...found, ...(await readDetails(sql, found)), requiredScopes: found.scopes }
  })
  output.answer(shown, describe(shown))
  return EXIT.done
}

type Shown = Omit<ListedCapability, 'scopes'> & CapabilityDetails

function describe({ definition, scopes, limits, changes, ...capability }: Shown): string {
  const { server, kind, name, handler, target, enabled, version, digest } = capability
  const runs = target === null ? handler : `${handler} ${target}`
  return [
    `${kind} ${name} of ${server}, version ${version}, ${enabled ? 'enabled' : 'disabled'}`,
    `Runs    ${runs}`,
    `Digest  ${digest}`,
    '',
    'Who may use it',
    ...indent(scopes.length === 0 ? ['every caller of the server'] : scopes.flatMap(describeScope)),
    '',
    'Limits',
    ...indent(limits.length === 0 ? ['none'] : limits.map(describeLimit)),
    '',
    'Last changes',
    ...indent(changes.map(describeChange)),
    '',
    'Definition',
    ...indent(JSON.stringify(definition, null, 2).split('\n')),
  ].join('\n')
}

function indent(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`)
}

function describeScope({ name, requestable, grants }: Shown['scopes'][number]): string[] {
  const held = grants.map(
    ({ grantee, effect, user_id, client_id, claim, expires_at }) =>
      `  ${effect} ${[grantee, user_id, client_id, claim === null ? null : JSON.stringify(claim)]
        .filter((part) => part !== null)
        .join(' ')}${expires_at === null ? '' : ` until ${expires_at}`}`,
  )
  return [
    `scope ${name}${requestable ? ', which a user may give to a client' : ''}`,
    ...(held.length === 0 ? ['  granted to nobody here; a token may carry it'] : held),
  ]
}

function describeLimit({
  name,
  capability,
  per,
  requests,
  window_seconds,
  weight,
  method,
}: Shown['limits'][number]): string {
  const scope = capability === null ? 'all calls of the server' : 'calls of this one'
  return `${name}: ${requests} in ${window_seconds} s per ${per}, ${scope}, weight ${weight}, ${method}`
}

function describeChange({
  change,
  version,
  changed_by,
  subject,
  changed_at,
}: Shown['changes'][number]): string {
  const by = changed_by === null ? 'before changes were recorded' : `by ${changed_by}`
  return `${changed_at}  v${version} ${change} ${by}${subject === null ? '' : ` for ${subject}`}`
}
