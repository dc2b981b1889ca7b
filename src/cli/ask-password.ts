import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { CliError, UsageError } from './cli-error.ts'

/** How a password may be given; never as an argument, which other users of the machine could read. */
export interface PasswordOptions {
  /** False = without a password (`--no-password`, where there is such an option). */
  readonly password?: boolean
  readonly passwordStdin?: boolean
}

/**
 * The password that the options ask for; undefined = none is given. Errors: UsageError (both ways, no terminal, nothing piped in), `not_saved`
 * (CliError: the two do not agree, or the question was left).
 */
export async function readPassword({ password, passwordStdin }: PasswordOptions): Promise<string | undefined> {
  if (passwordStdin === true) {
    if (password !== undefined) throw new UsageError('--password-stdin is a password already.', 'Give one of the two.')
    return readPiped()
  }
  if (password !== true) return undefined
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new UsageError('--password asks on a terminal, and there is none.', 'Pipe it in, with --password-stdin.')
  }
  return askTwice()
}

async function readPiped(): Promise<string> {
  if (process.stdin.isTTY) {
    throw new UsageError('--password-stdin reads a pipe, and this is a terminal.', 'Write --password to be asked.')
  }
  let text = ''
  process.stdin.setEncoding('utf8')
  for await (const chunk of process.stdin) text += chunk
  const password = text.replace(/\r?\n$/, '')
  if (password === '') throw new UsageError('No password was piped in.')
  if (/[\r\n]/.test(password)) throw new UsageError('What was piped in has several lines; a password has one.')
  return password
}

/** Nothing is echoed. One reader for both questions: a second one could lose what was typed ahead. */
async function askTwice(): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input: process.stdin, output: nowhere, terminal: true, historySize: 0 })
  terminal.on('SIGINT', () => terminal.close())
  // From here on lines are kept until they are asked for.
  const lines = terminal[Symbol.asyncIterator]()
  const ask = async (question: string): Promise<string> => {
    process.stderr.write(question)
    const line = await lines.next()
    process.stderr.write('\n')
    if (line.done === true) throw new CliError('not_saved', 'No password was given; nothing is changed.')
    return line.value
  }
  try {
    const first = await ask('Password: ')
    if (first === '') throw new CliError('not_saved', 'The password is empty; nothing is changed.')
    if ((await ask('Once more: ')) === first) return first
    throw new CliError('not_saved', 'The two are not the same; nothing is changed.', 'Try it again.')
  } finally {
    terminal.close()
  }
}
