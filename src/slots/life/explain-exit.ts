import type { SlotFailure } from '../../contract/slot-state.ts'
import { errorRegistry } from '../../kernel/error-registry.ts'
import { isoTime } from '../../kernel/units.ts'
import { explainFailure } from '../../runners/rules/explain-failure.ts'
import { readLogTail } from '../../runtimes/process/log-file.ts'
import type { ExitFacts } from '../../runtimes/runtime.ts'
import { LOG_TAIL_BYTES } from '../settings.ts'
import type { StartedEngine } from './started-engine.ts'

export function describeExit(facts: ExitFacts): string {
  switch (facts.kind) {
    case 'code':
      return `exited with code ${facts.code}`
    case 'signal':
      return `was ended by ${facts.signal}`
    case 'unknown':
      return 'has gone'
  }
}

/** What an engine was doing when it ended. */
export type EndedDuring = 'loading' | 'up'

const DURING = {
  loading: { code: 'slot.spawn_failed', words: 'while it loaded' },
  up: { code: 'dispatch.upstream_unavailable', words: 'while it was up' },
} as const

const KILLED_REMEDY =
  'Somebody killed it: often the system, when memory ran out (`journalctl -k` or `dmesg` names it). Lower the context, choose a smaller model, or free memory.'

/** What llama.cpp says of a request without its key: every probe of ours asks so once, on purpose, and no engine ends of it. */
const WRONG_KEY = /\bunauthorized: invalid api key\b/i

/**
 * Why did this engine end? What it was doing, how it exited, the decisive line of its own output and what to do.
 * Never rejects: without a log the exit alone has to do. Source: SPEC 5, 10 "error signatures".
 */
export async function explainExit(
  engine: StartedEngine,
  facts: ExitFacts,
  endedDuring: EndedDuring,
): Promise<SlotFailure> {
  const during = DURING[endedDuring]
  const lines = await readLogTail(engine.logPath, LOG_TAIL_BYTES, { attemptId: engine.attemptId }).catch(() => [])
  const telling = lines.filter((line) => !WRONG_KEY.test(line))
  const explained = explainFailure(telling, engine.binding.runner.signatures)
  // Whoever is killed says nothing of it: what merely looks like an error was said before, of something else.
  const isKilled = facts.kind === 'signal' && facts.signal === 'SIGKILL'
  const found = isKilled && explained?.cause === undefined ? undefined : explained
  const said = found === undefined ? '' : `: ${found.line}`
  return {
    code: during.code,
    message: `the engine ${describeExit(facts)} ${during.words}${said}`,
    cause: found?.cause ?? null,
    line: found?.line ?? null,
    remedy: found?.remedy ?? (isKilled ? KILLED_REMEDY : errorRegistry[during.code].remedy),
    at: isoTime(facts.atMs),
  }
}
