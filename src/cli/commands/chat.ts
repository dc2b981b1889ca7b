import type { Hal0Client } from '../../client/client.ts'
import { DEFAULT_SLOT } from '../../contract/slot-row.ts'
import { UsageError } from '../cli-error.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { chatInteractively } from '../interactive-chat.ts'
import type { Output } from '../output.ts'
import { chooseChatSlot, findCalledSlot } from '../rules/choose-chat-slot.ts'

export interface ChatOptions extends GlobalOptions {
  /** A slot's name, an alias, or another name that a request may have. Absent = the first word may be one. */
  readonly slot?: string
}

/**
 * `hal0 chat [SLOT] [TEXT]`: answers TEXT, or what is piped in, and ends; on a terminal without TEXT it holds a conversation.
 * The gateway gets the name that was said. JSON (one answer only): `{slot, answer}` with the slot that answered.
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
  const { asked, text: typed } =
    options.slot === undefined
      ? await readWords(client, words, output)
      : { asked: await findAsked(client, options.slot), text: words.join(' ') }
  if (typed !== '') return answerOnce(client, asked, typed, output)
  if (isTerminal) {
    if (options.json === true) throw new UsageError('chat --json needs a TEXT.', 'Give one: hal0 chat --json "TEXT".')
    return chatInteractively(client, asked.name, output, options)
  }
  piped ??= await readPiped()
  if (piped !== '') return answerOnce(client, asked, piped, output)
  // Nobody else must answer in the place of a slot that was named.
  throw new UsageError(
    `${asked.name} is a slot, and nothing is asked of it.`,
    `Ask it: hal0 chat ${asked.name} "TEXT".`,
  )
}

/** `name`: as it was said, and as the gateway is asked. `slot`: which one that is, as the gateway said a moment before. */
interface Asked {
  readonly name: string
  readonly slot: string
}

/** Errors: `slot.not_found`, in the daemon's own words. */
async function readWords(
  client: Hal0Client,
  words: readonly string[],
  output: Output,
): Promise<{ readonly asked: Asked; readonly text: string }> {
  const choice = chooseChatSlot(words, await client.slots.list())
  const asked = await findAsked(client, choice.kind === 'default' ? DEFAULT_SLOT : choice.name)
  if (choice.kind !== 'default') return { asked, text: words.slice(1).join(' ') }
  // JSON says who answered.
  if (choice.isGuess && !output.json) {
    output.note(`asking slot ${asked.slot}: no slot is called ${JSON.stringify(words[0])}`)
  }
  return { asked, text: choice.text }
}

/**
 * Who is meant? What is no slot's name may still lead somewhere (the model of several lanes, one that is loaded on demand): the gateway says
 * where. A name nobody knows must not be answered by slot `agent` in its place. Errors: `slot.not_found`.
 */
async function findAsked(client: Hal0Client, name: string): Promise<Asked> {
  const called = findCalledSlot(await client.slots.list(), name)
  if (called !== undefined) return { name, slot: called.name }
  const { decision, slot } = await client.explainRoute({ model: name })
  const isKnown = decision === 'slot' || decision === 'on_demand'
  return { name, slot: isKnown && slot !== null ? slot : (await client.slots.show(name)).name }
}

async function answerOnce(client: Hal0Client, { name, slot }: Asked, text: string, output: Output): Promise<void> {
  let answer = ''
  for await (const piece of client.chat({ model: name, messages: [{ role: 'user', content: text }] })) {
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
