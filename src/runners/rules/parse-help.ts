import type { EngineHelp, HelpOption } from '../../contract/runner.ts'
import { choicesOf, countValues } from './help-placeholder.ts'

// oxlint-disable-next-line no-control-regex -- ESC is what is looked for.
const ANSI = /\u001b\[[0-9;?]*[ -/]*[@-~]/g

/** Descriptions stand further right, in every dialect; a flag that is named at their beginning is no option. */
const MAX_OPTION_INDENT = 8

/** `-ngl`, `--ctx-size`, `--fim-qwen-1.5b-default`; not `-1` and not a bullet. */
const NAME = /^--?[A-Za-z][\w.-]*/
const OPTION_LINE = new RegExp(`^ {0,${MAX_OPTION_INDENT}}(?=--?[A-Za-z])`)

/** Two spaces end the spellings, unless they only align what follows a comma (`-m,    --model`). */
const COLUMN_GAP = /(?<![,\s])\s{2,}/

/** Between two spellings; a comma inside of a placeholder is not followed by a flag. */
const NEXT_SPELLING = /(?:, ?| \| )(?=--?[A-Za-z])/

/** What llama.cpp writes of flags that it only still names. */
const REMOVED = /\b(?:argument|option|flag) has been removed\b/i

interface Entry {
  readonly spellings: string
  readonly about: string[]
}

function entriesOf(text: string): readonly Entry[] {
  const entries: Entry[] = []
  for (const line of text.replace(ANSI, '').split(/\r?\n/)) {
    const indent = OPTION_LINE.exec(line)
    if (indent === null) {
      entries.at(-1)?.about.push(line.trim())
      continue
    }
    const [spellings = '', ...about] = line.slice(indent[0].length).trimEnd().split(COLUMN_GAP)
    // Blanks become one, so that no pattern has to try a long row of them from each of its places.
    entries.push({ spellings: spellings.replace(/\s+/g, ' '), about })
  }
  return entries
}

/** One option; its spellings may repeat the placeholder (`-f FOO, --foo FOO`) or not (`-f, --foo FOO`). */
function optionOf(spellings: string): HelpOption | undefined {
  const names: string[] = []
  let placeholder = ''
  for (const spelling of spellings.split(NEXT_SPELLING)) {
    const name = NAME.exec(spelling)?.[0]
    if (name === undefined) return undefined
    names.push(name)
    const rest = spelling.slice(name.length).replace(/^=/, '').trim()
    if (rest !== '') placeholder = rest
  }
  return { names, values: countValues(placeholder), choices: choicesOf(placeholder) }
}

/**
 * Which flags does an engine's `--help` name? Reads llama-server's layout, argparse's (vLLM, SGLang) and the embedded engine's.
 * Flags that the text calls removed are left out: the engine refuses them. undefined = the text names no flag at all, so it is
 * no help text and nothing may be concluded from it. Source: SPEC 9.
 */
export function parseHelp(text: string): EngineHelp | undefined {
  const flags = new Map<string, HelpOption>()
  for (const { spellings, about } of entriesOf(text)) {
    if (REMOVED.test(about.join(' '))) continue
    const option = optionOf(spellings)
    if (option === undefined) continue
    for (const name of option.names) flags.set(name, option)
  }
  return flags.size === 0 ? undefined : { flags }
}
