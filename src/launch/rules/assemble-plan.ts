import type { LaunchPlan, PlannedFlag } from '../../contract/launch-plan.ts'

/** Everything the llama-server dialect's command is made of today. */
export interface LaunchInput {
  readonly slot: string
  readonly command: readonly [string, ...string[]]
  readonly port: number
  /** Absolute path of the (first) model file. */
  readonly modelPath: string
  readonly ctxTokens: number
  /** −1 = the engine's own choice, which is all layers where a GPU is present. */
  readonly nGpuLayers: number
  /** 0 = the engine's own choice. */
  readonly threads: number
  readonly keyEnv: string | undefined
  /** `[server] env` of the slot file. */
  readonly env: Readonly<Record<string, string>>
}

/**
 * What is the launch of this slot? The base layer, then the slot layer; each flag says where it came from. Nothing passes
 * through a shell. Source: SPEC 9.
 */
export function assemblePlan(input: LaunchInput): LaunchPlan {
  const base: PlannedFlag[] = [
    { flag: '--host', values: ['127.0.0.1'], layer: 'base' },
    { flag: '--port', values: [String(input.port)], layer: 'base' },
    { flag: '--model', values: [input.modelPath], layer: 'base' },
    { flag: '--alias', values: [input.slot], layer: 'base' },
    { flag: '--ctx-size', values: [String(input.ctxTokens)], layer: 'base' },
  ]
  const slot: PlannedFlag[] = []
  if (input.nGpuLayers >= 0) slot.push({ flag: '-ngl', values: [String(input.nGpuLayers)], layer: 'slot' })
  if (input.threads > 0) slot.push({ flag: '--threads', values: [String(input.threads)], layer: 'slot' })
  slot.push({ flag: '--metrics', values: [], layer: 'slot' })
  return {
    slot: input.slot,
    command: input.command,
    flags: [...base, ...slot],
    env: input.env,
    port: input.port,
    ...(input.keyEnv === undefined ? {} : { keyEnv: input.keyEnv }),
  }
}
