import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { expect, it } from 'vitest'
import { buildProgram } from '../../src/cli/program.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const program = buildProgram(() => {})

/** What is wrong with `hal0 WORDS`; undefined = such a command exists, with each option that is named. */
function mistakeIn(words: readonly string[]): string | undefined {
  let command: Command = program
  for (const word of words) {
    if (word.startsWith('-')) {
      const known = [...command.options, ...program.options].some(
        (option) => option.long === word || option.short === word || word === '--help',
      )
      if (!known) return `${command.name()} has no option ${word}`
      continue
    }
    const child = command.commands.find((one) => one.name() === word)
    if (child !== undefined) command = child
    // Upper case stands for what the reader fills in; a command without subcommands takes arguments.
    else if (command.commands.length > 0 && /^[a-z]/.test(word)) return `there is no command ${word}`
  }
  return undefined
}

/** Every `hal0 …` in backticks, up to a pipe; in a source file they may be escaped, and a template string is no quotation. */
function commandsIn(text: string): string[][] {
  const quoted = [...text.matchAll(/`hal0 ([^`\\\n]+)\\?`/g)].map(([, words = '']) => words)
  const commands = quoted.filter((words) => !/^[^-]*\$\{/.test(words))
  return commands.map((words) =>
    words
      .replace(/ \| .*$/, '')
      .replaceAll(/"[^"]*"|'[^']*'/g, 'TEXT')
      .replaceAll(/[[\]|…]/g, ' ')
      .split(/[\s=]+/)
      .filter((word) => /^-{0,2}[A-Za-z]/.test(word)),
  )
}

function files(): string[] {
  const docs = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => `src/${name}`)
  return ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...docs.map((name) => `docs/${name}`), ...sources]
}

it('every command that a text of the product names exists', () => {
  const named = files().flatMap((path) =>
    commandsIn(readFileSync(join(root, path), 'utf8')).map((words) => ({ path, words })),
  )
  expect(named.length).toBeGreaterThan(30)
  const mistakes = named
    .map(({ path, words }) => ({ place: `${path}: hal0 ${words.join(' ')}`, mistake: mistakeIn(words) }))
    .filter(({ mistake }) => mistake !== undefined)
  expect(mistakes).toEqual([])
})

it.each([
  ['hal0 frob migrate', 'there is no command frob'],
  ['hal0 slot frob NAME', 'there is no command frob'],
  ['hal0 slot unload NAME --frob', 'unload has no option --frob'],
])('finds a command that does not exist: %s', (text, mistake) => {
  expect(commandsIn(`Run \`${text}\`, please.`).map(mistakeIn)).toEqual([mistake])
})
