import type { Stats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { isAbsolute } from 'node:path'
import type { EngineHelp } from '../contract/runner.ts'
import { engineEnvironment } from '../runtimes/process/rules/engine-env.ts'
import { abilitiesOf, NO_ABILITIES, pickVersion } from './rules/engine-facts.ts'
import { parseHelp } from './rules/parse-help.ts'
import { type BoundedRun, runBounded } from './run-bounded.ts'
import type { EngineFacts } from './runner.ts'

type Command = readonly [string, ...string[]]

/** How an engine is asked about itself. Each entry is a whole command; the first that answers is taken. */
export interface EngineQuestions {
  readonly help: readonly Command[]
  readonly version: readonly Command[]
  /** For each command. */
  readonly timeoutMs: number
}

/** Reads engines' own words, each build once. */
export interface EngineReader {
  /** Never rejects. */
  describe(command: Command, questions: EngineQuestions): Promise<EngineFacts>
}

interface Reading {
  readonly facts: Promise<EngineFacts>
  /** On the monotonic clock: asked again after; Infinity = while the files are the same. */
  untilMs: number
}

/** A machine under load fails for a moment; a broken engine should not cost every load its time-outs. */
const RETRY_FAILED_AFTER_MS = 30_000

/** A help without it is a summary (newer vLLM's plain `--help`): what it leaves out is not unknown. */
const ALWAYS_GIVEN = '--port'

const UNKNOWN: EngineFacts = { version: undefined, abilities: NO_ABILITIES, help: undefined }

/**
 * `env`: the daemon's environment, of which engines inherit a selection. A build is what lies at the absolute paths of the command
 * now: path, size and time of change; a replaced program or script is read again. `signal`: ends what is being read. Source: SPEC 9.
 */
export function createEngineReader(
  env: Readonly<Record<string, string | undefined>>,
  options: { readonly nowMs?: () => number; readonly signal?: AbortSignal | undefined } = {},
): EngineReader {
  const { nowMs = () => performance.now(), signal } = options
  const readings = new Map<string, { readonly build: string; readonly reading: Reading }>()
  return {
    async describe(command, questions) {
      const place = JSON.stringify(command)
      const files = await filesOf(command)
      const build = buildOf(files)
      const known = readings.get(place)
      if (known?.build === build && nowMs() < known.reading.untilMs) return known.reading.facts
      const reading: Reading = {
        facts: readFacts(questions, { env: engineEnvironment(env), signal }).then((facts) => {
          return { ...facts, build: contentOf(files) }
        }),
        untilMs: Number.POSITIVE_INFINITY,
      }
      readings.set(place, { build, reading })
      const facts = await reading.facts
      if (facts.help === undefined) reading.untilMs = nowMs() + RETRY_FAILED_AFTER_MS
      return facts
    },
  }
}

type FileState = Stats | undefined

function filesOf(command: Command): Promise<readonly FileState[]> {
  const paths = command.filter((word) => isAbsolute(word))
  return Promise.all(paths.map((path) => stat(path).catch(() => undefined)))
}

/** Changes with whatever could make the program answer differently. */
function buildOf(files: readonly FileState[]): string {
  return files
    .map((file) => (file === undefined ? 'absent' : `${file.ino}:${file.size}:${file.mtimeMs}:${file.ctimeMs}`))
    .join(' ')
}

/** Changes when the files were written anew, not when only their rights, names or place on the disk did. */
function contentOf(files: readonly FileState[]): string {
  return files.map((file) => (file === undefined ? 'absent' : `${file.size}:${file.mtimeMs}`)).join(' ')
}

type Surroundings = Pick<BoundedRun, 'env' | 'signal'>

async function readFacts(questions: EngineQuestions, around: Surroundings): Promise<EngineFacts> {
  const [help, version] = await Promise.all([readHelp(questions, around), readVersion(questions, around)])
  return help === undefined ? { ...UNKNOWN, version } : { version, abilities: abilitiesOf(help), help }
}

async function readHelp(
  { help: commands, timeoutMs }: EngineQuestions,
  around: Surroundings,
): Promise<EngineHelp | undefined> {
  for (const [program, ...args] of commands) {
    const output = await runBounded({ program, args, timeoutMs, ...around })
    if (output === undefined) return undefined
    // An engine that refuses the question prints its usage too, but not all of it.
    if (output.code !== 0) continue
    const help = parseHelp(output.stdout) ?? parseHelp(output.stderr)
    if (help?.flags.has(ALWAYS_GIVEN) === true) return help
  }
  return undefined
}

async function readVersion(
  { version: commands, timeoutMs }: EngineQuestions,
  around: Surroundings,
): Promise<string | undefined> {
  for (const [program, ...args] of commands) {
    const output = await runBounded({ program, args, timeoutMs, ...around })
    if (output?.code === 0) return pickVersion(`${output.stdout}\n${output.stderr}`)
  }
  return undefined
}
