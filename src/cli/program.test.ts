import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { buildProgram } from './program.ts'

const program = buildProgram(() => {})

/** Every command with the words before it, commander's own `help` aside. */
function commandsOf(
  command: Command,
  words: readonly string[],
): { readonly words: string; readonly command: Command }[] {
  const own = { words: words.join(' '), command }
  const children = command.commands.filter((child) => child.name() !== 'help')
  return [own, ...children.flatMap((child) => commandsOf(child, [...words, child.name()]))]
}

/** What `--help` prints, examples included. */
function helpOf(command: Command): string {
  let text = ''
  const before = { ...command.configureOutput() }
  command.configureOutput({ writeOut: (piece) => void (text += piece) })
  command.outputHelp()
  command.configureOutput(before)
  return text
}

describe('help leads a new user', () => {
  it.each(commandsOf(program, ['hal0']))(
    '$words --help: what it does, and an example of itself',
    ({ words, command }) => {
      expect(command.description()).toMatch(/^\S.*\S$/)
      const help = helpOf(command)
      const [, examples = ''] = help.split(/\nExamples?:\n/)
      expect(examples).toMatch(new RegExp(`^  hal0 `))
      // A noun's own examples lead to its commands.
      if (command.commands.length === 0) expect(examples).toContain(words)
    },
  )

  it.each([
    ['hal0', 'hal0 slot create mine --model hello --profile chat'],
    ['hal0', 'hal0 chat mine "What is a slot?"'],
    ['hal0 slot', 'hal0 slot load mine'],
    ['hal0 slot create', 'Then: hal0 slot load mine && hal0 chat mine "What is a slot?"'],
  ])('%s --help names: %s', (words, line) => {
    const found = commandsOf(program, ['hal0']).find((one) => one.words === words)
    expect(found && helpOf(found.command)).toContain(line)
  })
})
