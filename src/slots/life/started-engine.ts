import type { ThinkingChoice } from '../../launch/rules/launch-request.ts'
import type { MemoryNeed } from '../../launch/rules/memory-need.ts'
import type { EngineProcess } from '../../runtimes/runtime.ts'
import type { Binding } from '../launch/prepare-launch.ts'
import type { EngineEndpoint } from '../slots.ts'

/** A running engine with what is known of its start. */
export interface StartedEngine {
  readonly attemptId: string
  readonly binding: Binding
  readonly process: EngineProcess
  /** Undefined = the runner has no keys. Never logged. */
  readonly engineKey: string | undefined
  readonly logPath: string
  /** What it was admitted with. */
  readonly need: MemoryNeed
}

/** Where it answers: `http://127.0.0.1:PORT`. */
export function originOf({ binding }: StartedEngine): string {
  return `http://127.0.0.1:${binding.plan.port}`
}

/** Where requests for it go. */
export function endpointOf(engine: StartedEngine, thinking: ThinkingChoice | undefined): EngineEndpoint {
  const { binding, engineKey } = engine
  const { launch, runner } = binding
  return {
    origin: originOf(engine),
    engineKey,
    alias: aliasOf(engine),
    onClientAbort: runner.onClientAbort,
    ...(runner.usageOnRequest === true ? { usageOnRequest: true } : {}),
    ...(runner.key === 'comfyui' ? { protocol: 'comfyui' } : {}),
    routes: runner.routes,
    // What was pinned when this engine started is its own: nothing a request says is to look as if it could change it.
    enableThinking: launch.thinking.pinnedBy === undefined ? thinking?.enabled : undefined,
  }
}

/** An engine with names of its own for its models would load another one for any other name. */
export function aliasOf({ binding }: StartedEngine): string {
  const { bound, plan, runner } = binding
  return runner.modelRef === 'tag' && bound.modelId !== '' ? bound.modelId : plan.slot
}
