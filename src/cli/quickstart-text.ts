import { basename, relative } from 'node:path'
import { DEFAULT_SLOT, type SlotRow } from '../contract/slot-row.ts'
import type { Home } from '../files/home.ts'
import { shellWord } from './shell-line.ts'

/**
 * One line that works as pasted into a POSIX shell: JSON in single quotes, none inside; the answer ends its line. Where hal0 is not open, with the
 * key that the commands here take from HAL0_API_KEY.
 */
export function curlLine(url: string, isOpen: boolean): string {
  const body = {
    model: DEFAULT_SLOT,
    messages: [{ role: 'user', content: 'What is 2+2?' }],
    temperature: 0,
  }
  const key = isOpen ? '' : ' -H "Authorization: Bearer $HAL0_API_KEY"'
  return `curl -sS -w '\\n' ${url}/v1/chat/completions${key} -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`
}

/** How the person who started this would type it again. */
export interface TypedAs {
  /** `npm start --` or `hal0 quickstart`. */
  readonly quickstart: string
  /** `hal0`, or `node dist/cli/main.js` where there is no such command. */
  readonly hal0: string
}

/** `script`: the second word of argv, the program as it was called. `isNpmStart`: npm runs us. Pure. */
export function typedAs(script: string, folder: string, isNpmStart: boolean): TypedAs {
  const path = relative(folder, script)
  const hal0 = basename(script) === 'hal0' ? 'hal0' : `node ${shellWord(path.startsWith('..') ? script : path)}`
  return { quickstart: isNpmStart ? 'npm start --' : `${hal0} quickstart`, hal0 }
}

/** What `quickstart` says when everything is up. `homeFlag` and `portFlag` are what was typed; undefined = the default. */
export function welcomeText(facts: {
  readonly url: string
  readonly home: Home
  readonly row: Pick<SlotRow, 'name' | 'model_id' | 'runner'>
  readonly typed: TypedAs
  readonly homeFlag: string | undefined
  readonly portFlag: number | undefined
  /** Is no user defined? */
  readonly isOpen: boolean
}): string {
  const { url, home, row, typed, homeFlag, portFlag, isOpen } = facts
  const at = homeFlag === undefined ? '' : ` --home ${shellWord(homeFlag)}`
  const port = portFlag === undefined ? '' : ` --port ${portFlag}`
  return `hal0 is up.

  Base URL   ${url}/v1   (for any OpenAI client; ${isOpen ? 'no API key needed from this machine' : 'with the API key of a user, here in HAL0_API_KEY'})
  Slot       ${row.name}: model ${row.model_id ?? '-'}, runner ${row.runner}
  Home       ${home.label}

Try it in a second terminal:

  ${curlLine(url, isOpen)}
  ${typed.hal0} chat${at}
  ${typed.hal0} slot list${at}

Serve a GGUF file of your own instead (stop this one first):

  ${typed.quickstart}${at}${port} --model /path/to/your.gguf

Ctrl-C stops hal0 and its engines.
`
}
