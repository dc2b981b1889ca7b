import type { Hal0Client } from '../../client/client.ts'
import { UsageError } from '../cli-error.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { chatInteractively } from '../interactive-chat.ts'
import type { Output } from '../output.ts'

export interface ChatOptions extends GlobalOptions {
  /** Slot, alias or model id. */
  readonly slot: string
}

/**
 * `hal0 chat [--slot S] [TEXT]`: answers TEXT, or what is piped in, and ends; on a terminal without TEXT it holds a conversation.
 * JSON (one answer only): `{slot, answer}`.
 */
export async function chat(words: readonly string[], options: ChatOptions): Promise<void> {
  const output = outputOf(options)
  const client = await connect(options)
  const typed = words.join(' ')
  if (typed === '' && process.stdin.isTTY) {
    if (options.json === true) throw new UsageError('chat --json needs a TEXT.', 'Give one: hal0 chat --json "TEXT".')
    return chatInteractively(client, options.slot, output)
  }
  const text = typed === '' ? (await readAll(process.stdin)).trim() : typed
  if (text === '') throw new UsageError('There is nothing to ask.', 'Give a TEXT, or pipe one in.')
  await answerOnce(client, options.slot, text, output)
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
