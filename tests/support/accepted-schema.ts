// tests/support/accepted-schema.ts — the subset of JSON Schema that every client we know of takes.

/** What is wrong with a listed schema, each with its place; empty when every client takes it. */
export function findSchemaFaults(schema: unknown, side: 'input' | 'output'): string[] {
  if (!isRecord(schema)) return ['/: no object']
  const root = [
    ...(schema['type'] === 'object' ? [] : ['/: the root is no object']),
    ...['anyOf', 'oneOf', 'allOf', 'not', 'if', 'enum', 'const']
      .filter((keyword) => keyword in schema)
      .map((keyword) => `/: ${keyword} at the root`),
    ...(side === 'output' || schema['additionalProperties'] === false ? [] : ['/: an input that is open']),
  ]
  return [...root, ...findNodeFaults(schema, '', side)]
}

const unions = ['anyOf', 'oneOf', 'allOf', 'not', 'if']
const references = ['$ref', '$defs', 'definitions', '$id', '$anchor', '$dynamicRef']

function findNodeFaults(node: unknown, path: string, side: 'input' | 'output'): string[] {
  if (!isRecord(node)) return [`${path}: no object`]
  const { type, items, properties, required, description } = node
  const types = Array.isArray(type) ? type : [type]
  const faults = [...references, ...unions]
    .filter((keyword) => keyword in node)
    .map((key) => `${path}: ${key}`)

  // An answer may be null; a client that builds a form from an input knows one type for a field.
  if (Array.isArray(type) && side === 'input') faults.push(`${path}: several types`)
  if (types.includes('array') && (!isRecord(items) || Object.keys(items).length === 0)) {
    faults.push(`${path}: an array of nothing`)
  }
  if (description !== undefined && typeof description !== 'string')
    faults.push(`${path}: a description that is no text`)
  const names = isRecord(properties) ? Object.keys(properties) : []
  if (
    required !== undefined
    && !(Array.isArray(required) && required.every((name) => names.includes(String(name))))
  ) {
    faults.push(`${path}: a required property that is not described`)
  }
  if (isRecord(items)) faults.push(...findNodeFaults(items, `${path}/items`, side))
  for (const name of names) {
    faults.push(
      ...findNodeFaults((properties as Record<string, unknown>)[name], `${path}/properties/${name}`, side),
    )
  }
  return faults
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
