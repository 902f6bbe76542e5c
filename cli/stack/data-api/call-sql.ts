// cli/stack/data-api/call-sql.ts — the two statements of one call: the request's settings, then the call itself.

import type { ApiFunction, Setting } from './function-catalog.ts'

/** One round of transaction-local settings; `$1, $2` name and value of the first, and so on. */
export function settingsSql(count: number): string {
  const calls = Array.from({ length: count }, (_, i) => `set_config($${2 * i + 1}, $${2 * i + 2}, true)`)
  return `select ${calls.join(', ')}`
}

/** Name and value of every setting, flat, in order. */
export function settingsParameters(settings: readonly Setting[]): string[] {
  return settings.flatMap(([name, value]) => [name, value])
}

export interface CallShape {
  readonly fn: ApiFunction
  /** `json`: `$1` is the whole body. `unnamed`: it goes to the only parameter. `values`: `$n` is the n-th argument. */
  readonly style: 'json' | 'unnamed' | 'values'
  readonly argumentNames: readonly string[]
  readonly version: number
}

/**
 * The call, answering one row: `body` (JSON text exactly as Postgres writes it), `status` and `headers` as the
 * function may have set them. The version in the comment keeps prepared plans apart across schema changes.
 */
export function callSql({ fn, style, argumentNames, version }: CallShape): string {
  const target = `${identifier(fn.schema)}.${identifier(fn.name)}`
  const readBack = `current_setting('response.status', true) as status, current_setting('response.headers', true) as headers`
  const { from, list } = callArguments(fn, style, argumentNames)
  // A whole-row reference to a function of one column is that column's value; from a subquery it is a row.
  const rows =
    fn.soleColumn === undefined
      ? `${target}(${list})`
      : `(select * from ${target}(${list}) as sole(${identifier(fn.soleColumn)}))`
  // The odd alias keeps clear of a column the function itself may call "result".
  const source = `from ${from}lateral ${rows} as chumbo_result`
  const start = `/* ${version} */ select`
  // Not even a void function stands in the select list: settings must be read after it ran.
  if (fn.returns === 'void') return `${start} null as body, ${readBack} ${source}`
  if (fn.isSet) return `${start} coalesce(json_agg(chumbo_result), '[]')::text as body, ${readBack} ${source}`
  return `${start} coalesce(to_json(chumbo_result)::text, 'null') as body, ${readBack} ${source}`
}

function callArguments(
  fn: ApiFunction,
  style: CallShape['style'],
  argumentNames: readonly string[],
): { from: string; list: string } {
  const [only] = fn.parameters
  if (style === 'unnamed') return { from: '', list: `$1::text::${only?.type ?? 'json'}` }
  const used = fn.parameters.filter(({ name }) => argumentNames.includes(name))
  if (style === 'values') {
    const list = used.map(
      (parameter) =>
        `${binding(parameter)}$${argumentNames.indexOf(parameter.name) + 1}::text::${parameter.type}`,
    )
    return { from: '', list: list.join(', ') }
  }
  if (used.length === 0) return { from: '', list: '' }
  const columns = used.map(({ name, type }) => `${identifier(name)} ${type}`).join(', ')
  return {
    from: `json_to_record($1::text::json) as arguments(${columns}), `,
    list: used.map((parameter) => `${binding(parameter)}arguments.${identifier(parameter.name)}`).join(', '),
  }
}

function binding({ name, isVariadic }: { readonly name: string; readonly isVariadic: boolean }): string {
  return `${isVariadic ? 'variadic ' : ''}${identifier(name)} := `
}

/** Quotes a name. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
