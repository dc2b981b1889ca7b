import type { ThinkingChoice } from '../launch/rules/launch-request.ts'
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
export function endpointOf(
  { binding, engineKey }: StartedEngine,
  thinking: ThinkingChoice | undefined,
): EngineEndpoint {
  const { launch, plan, runner } = binding
  return {
    origin: `http://127.0.0.1:${plan.port}`,
    engineKey,
    alias: plan.slot,
    onClientAbort: runner.onClientAbort,
    routes: runner.routes,
    // What was pinned when this engine started is its own: nothing a request says is to look as if it could change it.
    enableThinking: launch.thinking.pinnedBy === undefined ? thinking?.enabled : undefined,
  }
}
