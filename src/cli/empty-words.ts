import type { Command } from 'commander'
import { UsageError } from './cli-error.ts'

/** Placeholders of options for which "" means nothing; for others it clears a key. */
const NEVER_EMPTY = /<(?:file|dir|url|lane|user|time|length|date)>/

/**
 * A variable of a script that is not set leaves "": as a name it would ask for another address, as a path it would mean the current folder.
 * Errors: UsageError.
 */
export function refuseEmptyWords(command: Command): void {
  // Its words are a text for a model.
  if (command.name() === 'chat') return
  command.registeredArguments.forEach((argument, nth) => {
    const given: unknown = command.processedArgs[nth]
    const words: readonly unknown[] = Array.isArray(given) ? given : [given]
    if (words.includes('')) throw emptyWord(command, `<${argument.name()}>`)
  })
  for (let owner: Command | null = command; owner !== null; owner = owner.parent) {
    const values = owner.opts()
    const empty = owner.options.find((one) => {
      const value: unknown = values[one.attributeName()]
      return NEVER_EMPTY.test(one.flags) && (value === '' || (Array.isArray(value) && value.includes('')))
    })
    if (empty !== undefined) throw emptyWord(command, empty.long ?? empty.flags)
  }
}

function emptyWord(command: Command, what: string): UsageError {
  const path: string[] = []
  for (let owner: Command | null = command; owner !== null; owner = owner.parent) path.unshift(owner.name())
  return new UsageError(`${what} is empty.`, `\`${path.join(' ')} --help\` shows what belongs there.`)
}
