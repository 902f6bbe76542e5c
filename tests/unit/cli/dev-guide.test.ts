// tests/unit/cli/dev-guide.test.ts
import { describe, expect, it } from 'vitest'

import { connectionGuide } from '../../../cli/commands/dev-guide.ts'

const guide = connectionGuide(
  {
    mcpUrl: 'http://127.0.0.1:1/functions/v1/mcp',
    signInUrl: 'http://127.0.0.1:1/sign-in',
    publishableKey: 'sb_publishable_x',
    databaseUrl: 'postgresql://postgres@127.0.0.1:2/postgres',
    users: {
      alice: { email: 'alice@example.test', password: 'a-password' },
      bob: { email: 'bob@example.test', password: 'b-password' },
    },
  },
  1.44,
)

describe('connectionGuide', () => {
  it.each([
    ['Claude Code', 'claude mcp add --transport http chumbo http://127.0.0.1:1/functions/v1/mcp'],
    [
      'VS Code',
      `code --add-mcp '{"name":"chumbo","type":"http","url":"http://127.0.0.1:1/functions/v1/mcp"}'`,
    ],
    ['the sign-in page', 'http://127.0.0.1:1/sign-in'],
    ['Alice', 'alice@example.test  password a-password'],
    ['the time it took', 'Ready in 1.4 s'],
  ])('has a line for %s', (_case, line) => {
    expect(guide).toContain(line)
  })

  it('gives Cursor a link that decodes to the address', () => {
    const config = /config=(\S+)/.exec(guide)?.[1] ?? ''

    expect(JSON.parse(Buffer.from(decodeURIComponent(config), 'base64').toString())).toEqual({
      url: 'http://127.0.0.1:1/functions/v1/mcp',
    })
  })
})
