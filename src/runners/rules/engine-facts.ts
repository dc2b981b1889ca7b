import type { EngineAbilities, EngineHelp } from '../../contract/runner.ts'

/** An engine of which nothing is known. */
export const NO_ABILITIES: EngineAbilities = { jinja: false, mmproj: false, drafter: false, mtp: false, ngram: false }

/** What can a build do whose help is in llama-server's words? Source: SPEC 9 "Speculation", 10. */
export function abilitiesOf(help: EngineHelp): EngineAbilities {
  const knows = (...names: readonly string[]): boolean => names.some((name) => help.flags.has(name))
  const speculations = help.flags.get('--spec-type')?.choices ?? []
  return {
    jinja: knows('--jinja'),
    mmproj: knows('--mmproj'),
    drafter: knows('--spec-draft-model', '--model-draft'),
    mtp: speculations.includes('draft-mtp'),
    ngram: speculations.some((choice) => choice.startsWith('ngram')),
  }
}

const MAX_VERSION_CHARACTERS = 200
/** `version: 1 (abc)`, `0.11.0`, `v1.2`, `name 1.2.3`. */
const SAYS_VERSION = /^(?:version\b|v?\d+\.\d|[\w-]+ v?\d+\.\d+(?:\.\d+)?$)/i

/** The line of a `--version` output that says it: GPU libraries and loggers like to speak first. undefined = no line. */
export function pickVersion(output: string): string | undefined {
  const lines = output.split(/\r?\n/).map((line) => line.trim())
  const line = lines.find((candidate) => SAYS_VERSION.test(candidate)) ?? lines.find((candidate) => candidate !== '')
  return line?.slice(0, MAX_VERSION_CHARACTERS)
}
