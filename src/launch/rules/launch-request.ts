import type { LaunchLayer, LaunchPlan, StopSignal } from '../../contract/launch-plan.ts'
import type { GgufFacts } from '../../contract/model.ts'
import type { RemovalReason } from '../../contract/resolved.ts'
import type { Dialect, EngineAbilities, EngineHelp } from '../../contract/runner.ts'
import type { ContextChoice, Device, SlotType } from '../../contract/slot-row.ts'
import type { ReasoningEffort, SpeculationMode, Tune, VisionMode } from '../../contract/tune.ts'

/** The engine that a launch is for. */
export interface LaunchEngine {
  /** Runner key. */
  readonly key: string
  readonly dialect: Dialect
  readonly abilities: EngineAbilities
  /** Undefined = the binary cannot be asked; then no flag is refused as unknown. */
  readonly help: EngineHelp | undefined
  /** Flags, in any spelling, that this engine does not have and that mean no more than speed, memory or checks: left out, and shown as `no_effect`, where its help does not name them. */
  readonly noEffect: ReadonlySet<string>
  readonly command: readonly [string, ...string[]]
  readonly keyEnv: string | undefined
  /** Absent = SIGTERM. */
  readonly stopSignal?: StopSignal
  /** Dialect `template`: words with ${PORT} ${MODEL} ${ALIAS} ${CTX} ${HOST}. */
  readonly template?: readonly string[]
}

/** The model as a launch needs it. Paths are absolute. */
export interface LaunchModel {
  readonly id: string
  /** The (first) file. */
  readonly path: string
  readonly architecture: string | null
  readonly nativeCtxTokens: number | null
  readonly chatTemplate: string | null
  readonly mmproj: string | null
  readonly drafter: string | null
  /** The row's fact; null = unset, then the tag decides. */
  readonly mtp: boolean | null
  readonly tags: readonly string[]
  readonly jinja: boolean | null
  /** How its vectors come about, as its file says; null = it does not say, absent = nobody looked. */
  readonly pooling?: GgufFacts['pooling']
}

/** A profile, its flags split into words. Undefined = it does not say. */
export interface LaunchProfile {
  readonly name: string
  readonly flags: readonly string[]
  readonly ctxTokens?: number | undefined
  readonly enableThinking?: boolean | undefined
  readonly reasoningEffort?: ReasoningEffort | undefined
  readonly reasoningBudget?: number | undefined
  readonly vision?: VisionMode | undefined
  readonly speculation?: SpeculationMode | undefined
}

/** What the NPU's one engine does besides chat: speech to text, embeddings. Source: SPEC 8 "NPU". */
export interface NpuServices {
  readonly asr: boolean
  readonly embed: boolean
}

/** Everything a launch command is made of. Source: SPEC 9. */
export interface LaunchRequest {
  readonly slot: string
  readonly type: SlotType
  readonly device: Device
  readonly port: number
  readonly engine: LaunchEngine
  /** Undefined = the engine brings its own. */
  readonly model: LaunchModel | undefined
  readonly profile: LaunchProfile
  /** The slot's `[tune]`. */
  readonly tune: Tune
  /** −1 = the engine's own choice. */
  readonly nGpuLayers: number
  /** 0 = the engine's own choice. */
  readonly threads: number
  /** The GPUs that the engine may see, at least one; undefined = every GPU. */
  readonly gpus: readonly number[] | undefined
  /** `[npu]` of the slot: what one `flm serve` does besides chat. Absent = nothing. */
  readonly npu?: NpuServices | undefined
  /** `[server] env` of the slot; wins over what is derived. */
  readonly env: Readonly<Record<string, string>>
}

/** A flag that a layer named and that is not in the command. */
export interface RemovedFlag {
  readonly flag: string
  readonly values: readonly string[]
  readonly layer: LaunchLayer
  readonly canonical: string
  readonly reason: RemovalReason
  /** One clause for people: who owns it, or which layer replaced it. */
  readonly detail: string
}

/** What speculates in this launch. */
export interface SpeculationChoice {
  readonly mode: 'drafter' | 'mtp' | 'ngram' | 'off'
  /** Why, in one clause; for `auto` without a drafter or heads it begins with `mtp.auto_off_model_ineligible`. */
  readonly detail: string
}

/** What new requests are told about thinking. Source: SPEC 3 "[tune]". */
export interface ThinkingChoice {
  /** Undefined = nothing is said: the chat template decides. */
  readonly enabled: boolean | undefined
  readonly source: 'slot' | 'profile' | 'flags' | 'template'
  /** The profile flag that no override can change. */
  readonly pinnedBy: string | undefined
}

/** A launch, explained. */
export interface AssembledLaunch {
  readonly plan: LaunchPlan
  readonly removed: readonly RemovedFlag[]
  readonly ctx: ContextChoice
  readonly speculation: SpeculationChoice
  readonly thinking: ThinkingChoice
  /** Worth knowing, no error. */
  readonly notes: readonly string[]
  /** The name under which each flag of the plan is compared, in the order of `plan.flags`. */
  readonly canonicals?: readonly string[]
}
