// cli/capabilities/registration.ts — one form for what a manifest, a database and its history say of a capability.

import type { Manifest } from '../../runtime/manifest.ts'

/** What is registered under one kind and name. The fields are those of chumbo.capabilities. */
export interface Registration {
  readonly kind: string
  readonly name: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** The definitions of a manifest, as `chumbo.sync_capabilities` writes them into rows. */
export function readManifest(manifest: Partial<Manifest>): readonly Registration[] {
  const { tools = [], resources = [] } = manifest
  const prompts = 'prompts' in manifest && Array.isArray(manifest.prompts) ? manifest.prompts : []
  return [
    ...tools.map((entry) => readEntry('tool', entry)),
    ...resources.map((entry) =>
      readEntry('uriTemplate' in entry ? 'resource_template' : 'resource', { ...entry }),
    ),
    ...prompts.map((entry: Readonly<Record<string, unknown>>) => readEntry('prompt', entry)),
  ]
}

function readEntry(kind: string, entry: Readonly<Record<string, unknown>>): Registration {
  return {
    kind,
    name: String(entry['name']),
    fields: {
      title: entry['title'] ?? null,
      description: entry['description'] ?? null,
      input_schema: entry['inputSchema'] ?? null,
      output_schema: entry['outputSchema'] ?? null,
      annotations: entry['annotations'] ?? {},
      meta: entry['_meta'] ?? null,
      uri: entry['uri'] ?? entry['uriTemplate'] ?? null,
      mime_type: entry['mimeType'] ?? null,
      required_scopes: entry['scopes'] ?? [],
      icons: entry['icons'] ?? null,
      size: entry['size'] ?? null,
      visibility: entry['visibility'] ?? ['model', 'app'],
      is_pinned: entry['pinned'] ?? false,
      search_terms: entry['search'] ?? null,
    },
  }
}

/** What `chumbo.registration` answers. */
export function readRow({ kind, name, ...fields }: Readonly<Record<string, unknown>>): Registration {
  return { kind: String(kind), name: String(name), fields }
}
