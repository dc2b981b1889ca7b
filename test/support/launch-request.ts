import type { EngineHelp } from '../../src/contract/runner.ts'
import type {
  AssembledLaunch,
  LaunchEngine,
  LaunchModel,
  LaunchRequest,
} from '../../src/launch/rules/launch-request.ts'

/** Everything that an engine can have. */
export const ALL_ABILITIES = { jinja: true, mmproj: true, drafter: true, mtp: true, ngram: true }
export const NO_ABILITIES = { jinja: false, mmproj: false, drafter: false, mtp: false, ngram: false }

export const ENGINE: LaunchEngine = {
  key: 'standard',
  dialect: 'llama-server',
  abilities: ALL_ABILITIES,
  help: undefined,
  noEffect: new Set(),
  command: ['/usr/bin/llama-server'],
  keyEnv: 'LLAMA_API_KEY',
}

export const MODEL: LaunchModel = {
  id: 'm',
  path: '/m/a.gguf',
  architecture: 'llama',
  nativeCtxTokens: 4096,
  chatTemplate: null,
  mmproj: null,
  drafter: null,
  mtp: null,
  tags: [],
  jinja: null,
}

/** What a row of a table changes. */
export interface RequestChange extends Partial<Omit<LaunchRequest, 'engine' | 'model' | 'profile'>> {
  readonly engine?: Partial<LaunchEngine>
  readonly model?: Partial<LaunchModel> | 'none'
  readonly profile?: Partial<LaunchRequest['profile']>
}

/** A plain chat slot on a CPU, changed. */
export function launchRequest(change: RequestChange = {}): LaunchRequest {
  return {
    slot: 'agent',
    type: 'llm',
    device: 'cpu',
    port: 8081,
    tune: {},
    nGpuLayers: -1,
    threads: 0,
    gpus: undefined,
    env: {},
    ...change,
    engine: { ...ENGINE, ...change.engine },
    model: change.model === 'none' ? undefined : { ...MODEL, ...change.model },
    profile: { name: 'chat', flags: [], ...change.profile },
  }
}

/** A help that knows these spellings: one option a line, its values as a number at the end. */
export function engineHelp(...lines: readonly string[]): EngineHelp {
  return {
    flags: new Map(
      lines.flatMap((line) => {
        const words = line.split(' ')
        const names = words.slice(0, -1)
        const option = { names, values: Number(words.at(-1)), choices: [] }
        return names.map((name) => [name, option] as const)
      }),
    ),
  }
}

/** The command by layer, in order: `base: --host 127.0.0.1 … | slot: --metrics`. */
export function showLayers({ plan }: AssembledLaunch): string {
  const parts: string[] = []
  let layer: string | undefined
  for (const planned of plan.flags) {
    const words = [planned.flag, ...planned.values].filter((word, at) => at > 0 || word !== '').join(' ')
    if (planned.layer === layer) parts.push(`${parts.pop() ?? ''} ${words}`)
    else parts.push(`${planned.layer}: ${words}`)
    layer = planned.layer
  }
  return parts.join(' | ')
}

/** What was left out: `profile replaced --temp 0.1`. */
export function showRemoved({ removed }: AssembledLaunch): readonly string[] {
  return removed.map(({ flag, values, layer, reason }) => [layer, reason, flag, ...values].join(' '))
}
