// cli/commands/dev-guide.ts — what `chumbo dev` tells a person who wants to connect.

export interface DevEndpoints {
  readonly mcpUrl: string
  readonly signInUrl: string
  readonly publishableKey: string
  readonly databaseUrl: string
  readonly users: Readonly<Record<'alice' | 'bob', { readonly email: string; readonly password: string }>>
}

/** Addresses, test users, and one line to copy for each client. */
export function connectionGuide(stack: DevEndpoints, seconds: number): string {
  const { mcpUrl, signInUrl, publishableKey, databaseUrl, users } = stack
  const cursor = Buffer.from(JSON.stringify({ url: mcpUrl })).toString('base64')
  const vscode = JSON.stringify({ name: 'chumbo', type: 'http', url: mcpUrl })
  return `Ready in ${seconds.toFixed(1)} s. Ctrl-C stops everything.

  MCP          ${mcpUrl}
  Sign-in      ${signInUrl}
  Data API key ${publishableKey}
  Database     ${databaseUrl}

Test users
  ${users.alice.email}  password ${users.alice.password}
  ${users.bob.email}    password ${users.bob.password}

Connect a client
  Claude Code  claude mcp add --transport http chumbo ${mcpUrl}
  Cursor       cursor://anysphere.cursor-deeplink/mcp/install?name=chumbo&config=${encodeURIComponent(cursor)}
  VS Code      code --add-mcp '${vscode}'
  Inspector    npx @modelcontextprotocol/inspector --transport http --server-url ${mcpUrl}
`
}
