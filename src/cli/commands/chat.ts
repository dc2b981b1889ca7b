import type { Hal0Client } from '../../client/client.ts'
import { UsageError } from '../cli-error.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { chatInteractively } from '../interactive-chat.ts'
import type { Output } from '../output.ts'

export interface ChatOptions extends GlobalOptions {
  /** A slot's name, or the id of a model that a slot has. */
  readonly slot: string
}

/**
 * `hal0 chat [--slot S] [TEXT]`: answers TEXT, or what is piped in, and ends; on a terminal without TEXT it holds a conversation.
 * JSON (one answer only): `{slot, answer}` with the slot that answered.
 * Errors: UsageError, `slot.not_found` (the gateway would let another slot answer), those of the request.
 */
export async function chat(words: readonly string[], options: ChatOptions): Promise<void> {
  if (options.slot === '') throw new UsageError('--slot is empty.', 'Name a slot; `hal0 slot list` shows them.')
  const output = outputOf(options)
  const client = await connect(options)
  const typed = words.join(' ')
  if (typed === '' && process.stdin.isTTY) {
    if (options.json === true) throw new UsageError('chat --json needs a TEXT.', 'Give one: hal0 chat --json "TEXT".')
    return chatInteractively(client, await findSlot(client, options.slot), output)
  }
  const text = typed === '' ? (await readAll(process.stdin)).trim() : typed
  if (text === '') throw new UsageError('There is nothing to ask.', 'Give a TEXT, or pipe one in.')
  await answerOnce(client, await findSlot(client, options.slot), text, output)
}

/** The name of the slot that is meant: a name nobody knows must not be answered by slot `agent` in its place. */
async function findSlot(client: Hal0Client, wanted: string): Promise<string> {
  const rows = await client.slots.list()
  const found = rows.find((row) => row.name === wanted) ?? rows.find((row) => row.model_id === wanted)
  // The daemon's own words for a name that it does not know.
  return (found ?? (await client.slots.show(wanted))).name
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

async function readAll(stream: NodeJS.ReadStream): Promise<string> {
  let text = ''
  stream.setEncoding('utf8')
  for await (const chunk of stream) text += chunk
  return text
}
