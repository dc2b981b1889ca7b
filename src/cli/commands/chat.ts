import type { Hal0Client } from '../../client/client.ts'
import { DEFAULT_SLOT, type SlotRow } from '../../contract/slot-row.ts'
import { UsageError } from '../cli-error.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { chatInteractively } from '../interactive-chat.ts'
import type { Output } from '../output.ts'
import { chooseChatSlot, findNamedSlot } from '../rules/choose-chat-slot.ts'

export interface ChatOptions extends GlobalOptions {
  /** A slot's name, an alias, or the id of a model that a slot has. Absent = the first word may be one. */
  readonly slot?: string
}

/**
 * `hal0 chat [SLOT] [TEXT]`: answers TEXT, or what is piped in, and ends; on a terminal without TEXT it holds a conversation.
 * JSON (one answer only): `{slot, answer}` with the slot that answered.
 * Errors: UsageError, `slot.not_found` (the gateway would let another slot answer), those of the request.
 */
export async function chat(words: readonly string[], options: ChatOptions): Promise<void> {
  if (options.slot === '') throw new UsageError('--slot is empty.', 'Name a slot; `hal0 slot list` shows them.')
  if (words.length > 0 && words.every((word) => word.trim() === '')) {
    throw new UsageError('There is nothing to ask.', 'Give a TEXT, or pipe one in.')
  }
  const output = outputOf(options)
  const isTerminal = process.stdin.isTTY
  // Asked before the daemon is: it is wrong whoever answers.
  let piped = words.length === 0 && !isTerminal ? await readPiped() : undefined
  if (piped === '') throw new UsageError('There is nothing to ask.', 'Give a TEXT, or pipe one in.')
  const client = await connect(options)
  const { slot, text: typed } =
    options.slot === undefined
      ? await readWords(client, words, output)
      : { slot: (await findSlot(client, options.slot)).name, text: words.join(' ') }
  if (typed !== '') return answerOnce(client, slot, typed, output)
  if (isTerminal) {
    if (options.json === true) throw new UsageError('chat --json needs a TEXT.', 'Give one: hal0 chat --json "TEXT".')
    return chatInteractively(client, slot, output)
  }
  piped ??= await readPiped()
  if (piped !== '') return answerOnce(client, slot, piped, output)
  // Nobody else must answer in the place of a slot that was named.
  throw new UsageError(`${slot} is a slot, and nothing is asked of it.`, `Ask it: hal0 chat ${slot} "TEXT".`)
}

/** Errors: `slot.not_found`, in the daemon's own words. */
async function readWords(
  client: Hal0Client,
  words: readonly string[],
  output: Output,
): Promise<{ readonly slot: string; readonly text: string }> {
  const choice = chooseChatSlot(words, await client.slots.list())
  if (choice.kind === 'named') return choice
  const name = choice.kind === 'unknown' ? choice.name : DEFAULT_SLOT
  const slot = (await findSlot(client, name)).name
  if (choice.kind === 'unknown') return { slot, text: words.slice(1).join(' ') }
  // JSON says who answered.
  if (choice.isGuess && !output.json) output.note(`asking slot ${slot}: no slot is called ${JSON.stringify(words[0])}`)
  return { slot, text: choice.text }
}

/** The slot that is meant: a name nobody knows must not be answered by slot `agent` in its place. Errors: `slot.not_found`. */
async function findSlot(client: Hal0Client, wanted: string): Promise<SlotRow> {
  return findNamedSlot(await client.slots.list(), wanted) ?? (await client.slots.show(wanted))
}

async function answerOnce(client: Hal0Client, slot: string, text: string, output: Output): Promise<void> {
  let answer = ''
  for await (const piece of client.chat({ model: slot, messages: [{ role: 'user', content: text }] })) {
    answer += piece
    if (!output.json) output.write(piece)
  }
  if (output.json) output.result({ slot, answer }, () => answer)
  else if (!answer.endsWith('\n')) output.write('\n')
}

async function readPiped(): Promise<string> {
  let text = ''
  process.stdin.setEncoding('utf8')
  for await (const chunk of process.stdin) text += chunk
  return text.trim()
}
