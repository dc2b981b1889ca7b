import { plainFailureText } from '../../contract/plain-failure.ts'
import { counted } from '../../kernel/sentence.ts'
import type { ServedDecision, TargetFailure } from './decision.ts'
import { type LaneTarget, targetText } from './lane-target.ts'
import { timeText } from './time-words.ts'

/** How a lane stands at this moment. */
export interface Standing {
  readonly lane: string
  readonly served: ServedDecision
  /** What stands against what is wanted; undefined = nothing. */
  readonly failure: TargetFailure | undefined
  /** What the lane is on, or loading. */
  readonly current: LaneTarget
}

/** What a lane does because it cannot load what it wants. */
export interface Instead {
  /** What serves, or is being loaded. */
  readonly target: LaneTarget
  readonly isFallback: boolean
  readonly code: string
  /** Epoch ms, of the next try; undefined = there is none by the clock. */
  readonly retryAtMs: number | undefined
  /** Sentences, for everybody: why, what serves, and what comes next. */
  readonly text: string
  /** What somebody could do about it; undefined = it is under way. */
  readonly wayOut: string | undefined
}

/** Why does the lane not run what is `wanted`, what does it do instead, and when is it tried again? Undefined = nothing failed. Source: SPEC 12 "Failure". */
export function explainInstead(wanted: LaneTarget, { lane, served, failure, current }: Standing): Instead | undefined {
  if (failure === undefined) return undefined
  const next = nextTry(served, failure)
  const times = failure.failures === 1 ? 'once' : counted(failure.failures, 'time')
  const isFallback = served.kind === 'run' && served.isFallback
  const why = `${targetText(wanted)} could not be loaded: ${plainFailureText(failure)}; it failed ${times}.`
  return {
    target: isFallback ? served.target : current,
    isFallback,
    code: failure.code,
    retryAtMs: next.kind === 'at' ? next.atMs : undefined,
    text: [why, ...standInTexts(served, current), nextText(next, isFallback)].join(' '),
    wayOut: wayOutOf(next, lane),
  }
}

type NextTry = { readonly kind: 'now' | 'open' | 'never' } | { readonly kind: 'at'; readonly atMs: number }

function nextTry(served: ServedDecision, { retry, failedAtMs }: TargetFailure): NextTry {
  if (served.kind === 'run' && !served.isFallback) return { kind: 'now' }
  if (retry.kind === 'never') return { kind: 'never' }
  // Over a stand-in the clock begins when that is ready.
  const atMs = served.kind === 'run' ? served.reviewAtMs : failedAtMs + retry.delayMs
  return atMs === undefined ? { kind: 'open' } : { kind: 'at', atMs }
}

function standInTexts(served: ServedDecision, current: LaneTarget): string[] {
  if (served.kind === 'run') {
    return served.isFallback ? [`${targetText(served.target)}, the default, is in its place.`] : []
  }
  return [current.kind === 'nothing' ? 'Nothing is in its place.' : `${targetText(current)} runs on.`]
}

function nextText(next: NextTry, isFallback: boolean): string {
  switch (next.kind) {
    case 'now':
      return 'It is being tried again now.'
    case 'open':
      return 'It is tried again a while after that is ready.'
    case 'never':
      return 'It is not tried again before the model or the profile is another.'
    case 'at':
      return `The next try is at ${timeText(next.atMs)}${isFallback ? '; requests that run then are waited for' : ''}.`
  }
}

function wayOutOf(next: NextTry, lane: string): string | undefined {
  switch (next.kind) {
    case 'now':
      return undefined
    case 'never':
      return `Mend the model or the profile, then \`hal0 lane reload ${lane}\` tries at once (as an administrator).`
    case 'at':
    case 'open':
      return `Have it tried again at once: \`hal0 lane reload ${lane}\` (as an administrator).`
  }
}
