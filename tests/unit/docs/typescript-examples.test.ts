// tests/unit/docs/typescript-examples.test.ts — every TypeScript block of the pages is held against the library's types.
import { dirname, join } from 'node:path'

import ts from 'typescript'
import { expect, it } from 'vitest'

import { repositoryRoot } from '../../support/repository.ts'
import { readExamples, readPages, type Example } from './pages.ts'

const examples = readPages()
  .flatMap(readExamples)
  .filter(({ language, skipped }) => language === 'ts' && skipped === undefined)

it('TypeScript in the pages compiles as an application would compile it', () => {
  const files = new Map(examples.map((example) => [pathOf(example), example.code]))

  const faults = check(files)

  expect(files.size).toBe(examples.length)
  expect(faults).toEqual([])
}, 60_000)

/** A block that begins with `// path` is that file of its page, so blocks of one page can import each other. */
function pathOf({ page, line, code }: Example): string {
  const name = /^\/\/ (\S+\.ts)\n/.exec(code)?.[1] ?? `line-${line}.ts`
  return join(repositoryRoot, 'docs/.examples', page, name)
}

/** Type-checks files that exist in memory only, below the repository so that its packages are found. */
function check(files: ReadonlyMap<string, string>): string[] {
  const config = ts.readConfigFile(join(repositoryRoot, 'tsconfig.json'), (path) => ts.sys.readFile(path))
  const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, repositoryRoot)
  const host = ts.createCompilerHost(options)
  const folders = new Set([...files.keys()].flatMap(foldersOf))
  const onDisk = { ...host }
  host.fileExists = (path) => files.has(path) || onDisk.fileExists(path)
  host.readFile = (path) => files.get(path) ?? onDisk.readFile(path)
  host.directoryExists = (path) => folders.has(path) || onDisk.directoryExists?.(path) === true
  host.getSourceFile = (path, languageOrOptions, ...rest) => {
    const text = files.get(path)
    return text === undefined
      ? onDisk.getSourceFile(path, languageOrOptions, ...rest)
      : ts.createSourceFile(path, text, languageOrOptions)
  }

  const program = ts.createProgram({
    rootNames: [...files.keys()],
    host,
    options: {
      ...options,
      paths: {
        chumbo: [join(repositoryRoot, 'runtime/index.ts')],
        'chumbo/node': [join(repositoryRoot, 'runtime/hosts/node.ts')],
        'chumbo/testing': [join(repositoryRoot, 'runtime/testing.ts')],
      },
    },
  })
  return ts
    .getPreEmitDiagnostics(program)
    .filter(({ file }) => file === undefined || files.has(file.fileName))
    .map(({ file, start = 0, messageText }) => {
      const place = file === undefined ? 'tsconfig' : `${file.fileName}:${line(file, start)}`
      return `${place.replace(`${repositoryRoot}/`, '')} ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
    })
}

function foldersOf(path: string): string[] {
  const folder = dirname(path)
  return folder === path || folder === repositoryRoot ? [] : [folder, ...foldersOf(folder)]
}

function line(file: ts.SourceFile, position: number): number {
  return file.getLineAndCharacterOfPosition(position).line + 1
}
