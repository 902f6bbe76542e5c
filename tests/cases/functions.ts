// tests/cases/functions.ts — F: SQL functions as tools.
import { expect, same, type Case } from './case.ts'

const exactly = ['9007199254740993', '-9223372036854775808', '42'] as const

export const functions: readonly Case[] = [
  {
    id: 'D24',
    title: 'a twin of a registered function takes nothing over',
    async run({ sql, call, tools }) {
      await sql.unsafe(`
        create function cases.tag_note(body text) returns text language sql stable security invoker set search_path = '' as 'select ''one: '' || body';
        comment on function cases.tag_note(text) is 'Tags a note.';
        revoke execute on function cases.tag_note(text) from public, anon;
        grant execute on function cases.tag_note(text) to authenticated;
        select chumbo.register_tool('cases.tag_note');
        create function cases.tag_note(body text, tag text default null) returns text language sql stable security invoker set search_path = '' as 'select ''two: '' || body';
        revoke execute on function cases.tag_note(text, text) from public, anon;
        grant execute on function cases.tag_note(text, text) to authenticated`)
      const answer = await call('tag_note', { body: 'x' })
      const isListed = (await tools()).some(({ name }) => name === 'tag_note')
      const code = (answer._meta?.['dev.chumbo/error'] as { code?: string } | undefined)?.code
      expect(
        (answer.structuredContent?.['result'] === 'one: x' && isListed)
          || (answer.isError === true && !isListed && code === 'tool_unavailable'),
        JSON.stringify(answer),
      )
      const findings = await sql<{ text: string }[]>`
        select concat_ws(' ', detail, fix) as text from chumbo.lint() where capability = 'tag_note'`
      const told = findings.map(({ text }) => text).join('\n')
      expect(
        told.includes('cases.tag_note(text)') && told.includes('cases.tag_note(text,text)'),
        `findings: ${told}`,
      )
      await sql.unsafe('drop function cases.tag_note(text, text)')
      same(
        (await call('tag_note', { body: 'x' })).structuredContent,
        { result: 'one: x' },
        'with the twin gone',
      )
    },
  },
  {
    id: 'D25',
    title: 'big integers arrive whole, in both directions',
    async run({ sql, send, tools }) {
      await sql.unsafe(`
        create function cases.echo_id(p bigint) returns bigint language sql stable security invoker set search_path = '' as 'select p';
        create function cases.echo_numeric(p numeric) returns numeric language sql stable security invoker set search_path = '' as 'select p';
        create function cases.echo_json(p jsonb) returns jsonb language sql stable security invoker set search_path = '' as 'select p';
        revoke execute on function cases.echo_id(bigint), cases.echo_numeric(numeric), cases.echo_json(jsonb) from public, anon;
        grant execute on function cases.echo_id(bigint), cases.echo_numeric(numeric), cases.echo_json(jsonb) to authenticated;
        select chumbo.register_tool(t) from unnest(array['cases.echo_id', 'cases.echo_numeric', 'cases.echo_json']) as t`)
      const raw = async (name: string, argument: string): Promise<string> =>
        (
          await send(
            `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":{"p":${argument}}}}`,
          )
        ).text

      for (const digits of exactly) {
        for (const argument of [JSON.stringify(digits), digits]) {
          const text = await raw('echo_id', argument)
          expect(
            text.includes(`"structuredContent":{"result":"${digits}"}`),
            `${argument} came back as ${text}`,
          )
        }
      }
      const long = '123456789012345678901234567890.123456789'
      for (const argument of [JSON.stringify(long), long]) {
        expect((await raw('echo_numeric', argument)).includes(`"result":"${long}"`), `numeric ${argument}`)
      }
      expect(
        (await raw('echo_json', '{"n":9007199254740993,"m":[1.10]}')).includes('"n":9007199254740993'),
        'inside jsonb',
      )
      const tool = (await tools()).find(({ name }) => name === 'echo_id')
      const { p } = tool?.inputSchema['properties'] as { p: { type: string } }
      same(p.type, 'string', 'the listed form of a bigint')
    },
  },
  {
    id: 'D26',
    title:
      'a NUL or half of a surrogate pair is refused by name, and everything else comes back byte for byte',
    async run({ sql, send, call }) {
      await sql.unsafe(`
        create function cases.keep(body text default '', extra jsonb default '{}') returns jsonb
          language sql stable security invoker set search_path = '' as 'select jsonb_build_object(''body'', body, ''extra'', extra)';
        comment on function cases.keep(text, jsonb) is 'Says it again.';
        revoke execute on function cases.keep(text, jsonb) from public, anon;
        grant execute on function cases.keep(text, jsonb) to authenticated;
        select chumbo.register_tool('cases.keep')`)
      const raw = (args: string) =>
        send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"keep","arguments":${args}}}`)
      const hostile = [
        ['body', String.raw`{"body":"a\u0000b"}`],
        ['extra', String.raw`{"extra":{"k":["\u0000"]}}`],
        ['body', String.raw`{"body":"\ud800"}`],
      ] as const
      for (const [argument, args] of hostile) {
        const { status, message } = await raw(args)
        same([status, message.result?.isError], [200, true], args)
        expect(
          message.result?.content?.[0]?.text?.includes(`\`${argument}\``) === true,
          JSON.stringify(message.result),
        )
      }
      const text = 'héllo 👩‍👩‍👧 שלום \u200f'
      same((await call('keep', { body: text })).structuredContent?.['body'], text, 'other text')
      const receipts = await sql`select outcome from chumbo.receipts where capability = 'keep' order by id`
      same(
        receipts.map(({ outcome }) => outcome as string),
        ['refused', 'refused', 'refused', 'ok'],
        'receipts',
      )
    },
  },
  {
    id: 'D27',
    title: '"nothing changed" is not success',
    async run({ sql, call, bob }) {
      const added = await call('add_note', { body: 'of Bob' }, { token: bob.token })
      const [{ id }] = added.structuredContent?.['rows'] as [{ id: string }]
      const foreign = await call('change_note', { id, body: 'planted' })
      const absent = await call('change_note', { id: '999999999', body: 'planted' })
      const plain = (answer: object): string =>
        JSON.stringify(answer).replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'TRACE')
      same(plain(foreign), plain(absent), 'the two answers')
      same(foreign.isError, true, 'success')
      expect(/no row/i.test(foreign.content?.[0]?.text ?? ''), JSON.stringify(foreign))
      const [row] = await sql`select body from cases.notes where id = ${id}::bigint`
      same(row?.['body'], 'of Bob', "Bob's row")
      const receipts =
        await sql`select row_count from chumbo.receipts where capability = 'change_note' order by id desc limit 2`
      same(
        receipts.map(({ row_count: rows }) => rows as number),
        [0, 0],
        'rows in the receipts',
      )
    },
  },
]
