import { MINUTE_MS } from '../../kernel/units.ts'
import type { ServedDecision, ServedQuestion, TargetFailure } from './decision.ts'
import { sameTarget } from './lane-target.ts'

/** So long after it was due a retry may be put off for requests in flight on the fallback. Source: SPEC 12 "Failure". */
export const RETRY_PATIENCE_MS = 10 * MINUTE_MS

/** When may a target be tried again? */
type Due =
  | { readonly kind: 'now' }
  /** Epoch ms; always after now. */
  | { readonly kind: 'at'; readonly atMs: number }
  /** Not by the clock. */
  | { readonly kind: 'open' }

/**
 * What is to be done with a decision, as far as failures allow? Requests in flight put off a retry only where they run on the fallback: their end
 * is an event, not a time, so ask again when the last one ends, and when the fallback becomes ready. Source: SPEC 12 "Failure".
 */
export function chooseServed(question: ServedQuestion): ServedDecision {
  const { decision, nowMs } = question
  const { target } = decision
  const failure = question.failureOf(target)
  const isServing = sameTarget(question.current, target) && question.readySinceMs !== undefined
  if (failure === undefined || isServing) return { kind: 'run', target, isFallback: false, reviewAtMs: undefined }
  const standIn = standInOf(question)
  const due = standIn.kind === 'now' ? dueOverFallback(failure, question) : dueByFailure(failure, nowMs)
  if (due.kind === 'now') return { kind: 'run', target, isFallback: false, reviewAtMs: undefined }
  const dueMs = timeOf(due)
  if (standIn.kind === 'now') return { kind: 'run', target: question.default, isFallback: true, reviewAtMs: dueMs }
  return { kind: 'wait', failure, reviewAtMs: sooner(dueMs, timeOf(standIn)) }
}

/** When can the default stand in for a reserved model? `open`: never, or not by the clock. */
function standInOf(question: ServedQuestion): Due {
  if (!mayFallBack(question)) return { kind: 'open' }
  const { current, default: standIn, nowMs, readySinceMs } = question
  const failure = question.failureOf(standIn)
  const isServing = sameTarget(current, standIn) && readySinceMs !== undefined
  return failure === undefined || isServing ? { kind: 'now' } : dueByFailure(failure, nowMs)
}

/** Is there a default that may stand in for a reserved model? Whether it can is another question. */
function mayFallBack({ decision, default: standIn }: ServedQuestion): boolean {
  const isForHolder = decision.reason === 'reserved' || decision.reason === 'preload' || decision.reason === 'gap'
  const isModel = decision.target.kind === 'model' && standIn.kind === 'model'
  return isForHolder && isModel && !sameTarget(standIn, decision.target)
}

function dueByFailure({ failedAtMs, retry }: TargetFailure, nowMs: number): Due {
  return retry.kind === 'never' ? { kind: 'open' } : dueAt(failedAtMs + retry.delayMs, nowMs)
}

function dueOverFallback(failure: TargetFailure, question: ServedQuestion): Due {
  const { nowMs, current, readySinceMs, inFlight } = question
  if (!sameTarget(current, question.default) || failure.retry.kind === 'never') return dueByFailure(failure, nowMs)
  if (readySinceMs === undefined) return { kind: 'open' }
  const dueMs = Math.max(readySinceMs, failure.failedAtMs) + failure.retry.delayMs
  if (nowMs < dueMs || inFlight === 0) return dueAt(dueMs, nowMs)
  return dueAt(dueMs + RETRY_PATIENCE_MS, nowMs)
}

function dueAt(atMs: number, nowMs: number): Due {
  return atMs <= nowMs ? { kind: 'now' } : { kind: 'at', atMs }
}

function timeOf(due: Due): number | undefined {
  return due.kind === 'at' ? due.atMs : undefined
}

function sooner(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b)
}
