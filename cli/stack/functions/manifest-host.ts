// cli/stack/functions/manifest-host.ts — runs inside Deno or Node: loads a module of definitions and writes its manifest.
//
// Its one argument is the URL of the module. Everything but the last line of stdout may come from the module.

/* eslint-disable no-console -- a child process, whose output its parent reads. */

import { manifest } from '../../../runtime/manifest.ts'

const module = (await import(process.argv[2] ?? '')) as Readonly<Record<string, unknown>>
const exported = (name: string) => {
  const value = module[name] ?? []
  if (!Array.isArray(value)) throw new TypeError(`The export ${name} is no array of definitions.`)
  // Whether they are definitions, manifest finds out.
  return value as never[]
}
const names = ['tools', 'resources', 'prompts'].filter((name) => name in module)
const sources = Object.fromEntries(names.map((name) => [name, exported(name)]))
console.log(`\n${JSON.stringify({ names, manifest: manifest(sources) })}`)
// What the module left open must not keep the process.
process.exit(0)
