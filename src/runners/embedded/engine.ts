import type { LoadedModel } from './load-model.ts'
import { type EngineCounters, zeroCounters } from './rules/metrics-text.ts'
import type { EngineOptions } from './rules/parse-args.ts'
import { SequencePool } from './sequence-pool.ts'
import { Turns } from './turns.ts'

/** A loaded model at work: what every route needs. */
export interface Engine {
  readonly options: EngineOptions
  readonly loaded: LoadedModel
  readonly pool: SequencePool
  /** Everything that decodes on the context, or changes what a sequence holds, takes one. */
  readonly turns: Turns
  readonly counters: EngineCounters
}

export function createEngine(options: EngineOptions, loaded: LoadedModel): Engine {
  return { options, loaded, pool: new SequencePool(loaded.context), turns: new Turns(), counters: zeroCounters() }
}
