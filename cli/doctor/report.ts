// cli/doctor/report.ts — a diagnosis as text for people.

import { type Check, type Diagnosis, type Finding, privilegedRules } from './check.ts'

/** Checks first, then findings worst first, then what can do more than its caller. */
export function describeDiagnosis({ checks, findings }: Diagnosis): string {
  const privileged = findings.filter(({ rule, level }) => level === 'info' && privilegedRules.includes(rule))
  const remarks = findings.filter((finding) => finding.level === 'info' && !privileged.includes(finding))
  return [
    checks.map(describeCheck).join('\n'),
    ...section('Errors', ofLevel(findings, 'error')),
    ...section('Warnings', ofLevel(findings, 'warning')),
    ...section('Remarks', remarks),
    ...section('Can do more than their caller', privileged),
    verdict(checks),
  ].join('\n\n')
}

function describeCheck({ id, status, detail, fix }: Check): string {
  const line = `${status.padEnd(8)} ${id.padEnd(17)} ${detail}`
  return fix === null ? line : `${line}\n${' '.repeat(27)}Next: ${fix}`
}

/** One entry for each thing to mend, with everything that leads to it. */
function section(title: string, findings: readonly Finding[]): string[] {
  if (findings.length === 0) return []
  const byKey = Map.groupBy(findings, ({ key }) => key)
  const entries = [...byKey.values()].flatMap((same) => {
    const [first] = same
    if (first === undefined) return []
    const places = [...new Set(same.map(placeOf))].filter((place) => place !== '')
    const next = first.fix === null ? '' : `\n    Next: ${first.fix}`
    const where = places.length > 0 ? `  ${places.join(', ')}` : ''
    return [`  ${first.rule}${where}\n    ${first.detail}${next}`]
  })
  return [`${title} (${entries.length})\n${entries.join('\n')}`]
}

function placeOf({ server, kind, capability }: Finding): string {
  return [server, kind, capability].filter((part) => part !== null).join('/')
}

function ofLevel(findings: readonly Finding[], level: Finding['level']): Finding[] {
  return findings.filter((finding) => finding.level === level)
}

function verdict(checks: readonly Check[]): string {
  const count = (status: Check['status']) => checks.filter((check) => check.status === status).length
  const told = (['failed', 'error', 'warning', 'skipped'] as const)
    .filter((status) => count(status) > 0)
    .map(
      (status) =>
        `${count(status)} ${status === 'warning' ? 'with warnings' : status === 'error' ? 'with errors' : status}`,
    )
  return told.length === 0 ? 'Nothing to mend.' : `${checks.length} checks: ${told.join(', ')}.`
}
