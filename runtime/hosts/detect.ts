// runtime/hosts/detect.ts — what differs between hosts: where variables are, and how work outlives a response.

import type { EnvironmentVariables } from '../environment.ts'

interface Hosts {
  readonly Deno?: { readonly env: { get(name: string): string | undefined } }
  readonly process?: { readonly env: Record<string, string | undefined> }
  readonly EdgeRuntime?: { waitUntil(work: Promise<unknown>): void }
}

const hosts = globalThis as Hosts

/** The variables of this process. Deno may allow some and refuse the rest, so it is asked for each one. */
export function readVariables(): EnvironmentVariables {
  const { Deno: deno, process: node } = hosts
  if (deno === undefined) return node?.env ?? {}
  return new Proxy(
    {},
    { get: (_target, name) => (typeof name === 'string' ? deno.env.get(name) : undefined) },
  )
}

/** Keeps the host alive for work after the response: Edge Functions stop an isolate that has none registered. */
export function readBackground(): (work: Promise<void>) => void {
  return (work) => hosts.EdgeRuntime?.waitUntil(work)
}
