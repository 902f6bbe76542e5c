// tests/unit/docs/pages.ts — the pages people read, taken apart: code blocks, headings, links.
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

import { repositoryFiles, repositoryRoot } from '../../support/repository.ts'

export interface Page {
  /** Path from the root of the repository. */
  readonly path: string
  readonly text: string
}

export interface Example {
  readonly page: string
  /** Line of the opening fence. */
  readonly line: number
  readonly language: 'sql' | 'ts'
  readonly code: string
  /** Why it cannot be run, where a comment in front of the fence says so. */
  readonly skipped: string | undefined
}

/** README, changelog and everything in docs. */
export function readPages(): Page[] {
  return repositoryFiles()
    .filter((path) => /^(README|CHANGELOG)\.md$|^docs\/.*\.md$/.test(path))
    .map((path) => ({ path, text: readFileSync(join(repositoryRoot, path), 'utf8') }))
}

/**
 * The SQL and TypeScript of a page. Every block is run, unless `<!-- not run: reason -->` stands in front of it: an example
 * nobody runs is the exception that has to explain itself.
 */
export function readExamples({ path, text }: Page): Example[] {
  const blocks = text.matchAll(/(?:^<!-- not run: (.+) -->\n\n?)?^```(sql|ts)\n([^]*?)^```$/gm)
  return [...blocks].map(({ index, 1: skipped, 2: language, 3: code = '' }) => ({
    page: path,
    line: text.slice(0, text.indexOf('```', index)).split('\n').length,
    // The pattern lets no other word through.
    language: language as 'sql' | 'ts',
    code,
    skipped,
  }))
}

/** Every link of a page to another place in the repository, as path and anchor. */
export function readLinks({
  path,
  text,
}: Page): { readonly file: string; readonly anchor: string | undefined }[] {
  return [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [file = '', anchor] = target.split('#')
      return { file: file === '' ? path : normalize(join(dirname(path), file)), anchor }
    })
}

/** The anchors that a forge gives to the headings of a page. */
export function readAnchors({ text }: Page): string[] {
  return [...withoutCode(text).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

function withoutCode(text: string): string {
  return text.replace(/^```[^]*?^```$/gm, '')
}
