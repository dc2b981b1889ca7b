import type { EngineProcess } from '../runtimes/runtime.ts'
import type { Binding } from './resolve-binding.ts'

/** A running engine with what is known of its start. */
export interface StartedEngine {
  readonly attemptId: string
  readonly binding: Binding
  readonly process: EngineProcess
  /** Undefined = the runner has no keys. Never logged. */
  readonly engineKey: string | undefined
  readonly logPath: string
}
