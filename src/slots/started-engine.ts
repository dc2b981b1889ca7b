import type { EngineProcess } from '../runtimes/runtime.ts'
import type { Binding } from './prepare-launch.ts'
import type { EngineEndpoint } from './slots.ts'

/** A running engine with what is known of its start. */
export interface StartedEngine {
  readonly attemptId: string
  readonly binding: Binding
  readonly process: EngineProcess
  /** Undefined = the runner has no keys. Never logged. */
  readonly engineKey: string | undefined
  readonly logPath: string
}

/** Where requests for it go. */
export function endpointOf({ binding, engineKey }: StartedEngine): EngineEndpoint {
  const { plan, runner } = binding
  return {
    origin: `http://127.0.0.1:${plan.port}`,
    engineKey,
    alias: plan.slot,
    onClientAbort: runner.onClientAbort,
    routes: runner.routes,
    enableThinking: undefined,
  }
}
