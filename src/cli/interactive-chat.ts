import { createInterface } from 'node:readline'
import type { ChatMessage } from '../client/chat.ts'
import type { Hal0Client } from '../client/client.ts'
import { UnreachableError } from '../client/client-errors.ts'
import { describeError, errorLines } from './describe-error.ts'
import type { GlobalOptions } from './globals.ts'
import type { Output } from './output.ts'
import { inOwnTimes } from './own-times.ts'

/**
 * A conversation on a terminal; everything said so far goes along with each question. Ctrl-C stops the running answer, Ctrl-D leaves.
 * A failed or stopped question is forgotten, so that the next one starts from what was answered. Errors: UnreachableError.
 */
export async function chatInteractively(
  client: Hal0Client,
  slot: string,
  output: Output,
  globals: GlobalOptions,
): Promise<void> {
  const said: ChatMessage[] = []
  let answering: AbortController | undefined
  const terminal = createInterface({ input: process.stdin, output: process.stdout, prompt: '> ' })
  terminal.on('SIGINT', () => {
    if (answering !== undefined) return answering.abort(new Error('stopped'))
    output.write('\n')
    output.note('Ctrl-D leaves.')
    terminal.prompt()
  })
  output.note(`Talking to ${slot} at ${client.baseUrl}. Ctrl-C stops an answer, Ctrl-D leaves.`)
  terminal.prompt()
  try {
    for await (const line of terminal) {
      if (line.trim() !== '') {
        answering = new AbortController()
        await answer(client, slot, said, line, answering.signal, output, globals)
        answering = undefined
      }
      terminal.prompt()
    }
  } finally {
    terminal.close()
  }
  output.write('\n')
}

async function answer(
  client: Hal0Client,
  slot: string,
  said: ChatMessage[],
  question: string,
  signal: AbortSignal,
  output: Output,
  globals: GlobalOptions,
): Promise<void> {
  const messages: ChatMessage[] = [...said, { role: 'user', content: question }]
  let text = ''
  try {
    for await (const piece of client.chat({ model: slot, messages, signal })) {
      text += piece
      output.write(piece)
    }
    output.write('\n')
    said.push({ role: 'user', content: question }, { role: 'assistant', content: text })
  } catch (thrown) {
    output.write('\n')
    if (signal.aborted) return output.note('(stopped)')
    if (thrown instanceof UnreachableError) throw thrown
    output.note(errorLines(describeError(await inOwnTimes(thrown, globals))).trimEnd())
  }
}
