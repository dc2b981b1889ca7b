import type { EngineRoute } from '../../runners/runner.ts'

/** Where and how an engine is asked its known question. */
export interface SanityAsk {
  readonly origin: string
  readonly engineKey: string | undefined
  /** The name the engine knows its model by. */
  readonly alias: string
  readonly routes: readonly EngineRoute[]
  readonly mode: 'strict' | 'lenient'
  /** On a CPU answers may take much longer. */
  readonly isCpu: boolean
  readonly signal: AbortSignal
  /** As the runner says; `drain`: the engine does not bear a cut connection, its answer is read to the end. Absent = `abort`. */
  readonly onClientAbort?: 'abort' | 'drain'
}

/** Source: SPEC 5 "output-sanity gate". */
export type SanityVerdict =
  | { readonly kind: 'passed' }
  /** The engine has neither of the two routes. */
  | { readonly kind: 'unsupported' }
  /** `sample`: what it said, at most 120 characters, printable. `why`: one clause. */
  | { readonly kind: 'failed'; readonly sample: string; readonly why: string }
  /** No answer in time, or none that says anything about the output (overloaded, connection cut): to be asked again. */
  | { readonly kind: 'ambiguous'; readonly why: string }
