import type { SlotRow } from '../contract/slot-row.ts'
import type { Home } from '../files/home.ts'
import { QUICKSTART_SLOT } from './agent-slot.ts'

/** One line that works as pasted into a POSIX shell: JSON in single quotes, none inside. */
export function curlLine(url: string): string {
  const body = {
    model: QUICKSTART_SLOT,
    messages: [{ role: 'user', content: 'What is 2+2?' }],
    temperature: 0,
  }
  return `curl -s ${url}/v1/chat/completions -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`
}

/** What `quickstart` says when everything is up. */
export function welcomeText(facts: {
  readonly url: string
  readonly home: Home
  readonly row: SlotRow
  readonly command: string
}): string {
  const { url, home, row, command } = facts
  return `hal0 is up.

  Base URL   ${url}/v1   (for any OpenAI client; no API key needed from this machine)
  Slot       ${row.name}: model ${row.model_id ?? '-'}, runner ${row.runner}
  Home       ${home.label}

Try it:

  ${curlLine(url)}

Serve a GGUF file of your own instead (stop this one first):

  ${command} --model /path/to/your.gguf

Ctrl-C stops hal0 and its engines.
`
}
