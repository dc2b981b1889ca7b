import type { EngineRoute } from '../contract/engine-route.ts'
import type { StopSignal } from '../contract/launch-plan.ts'
import type { Dialect, EngineAbilities, EngineHelp } from '../contract/runner.ts'
import type { SlotType } from '../contract/slot-row.ts'
import type { ErrorSignature } from './rules/explain-failure.ts'

export { ENGINE_ROUTES, type EngineRoute } from '../contract/engine-route.ts'

/** What llama-server, vLLM and SGLang have. */
export const LLM_ENGINE_ROUTES = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/embeddings',
  '/v1/responses',
  '/v1/rerank',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/tokenize',
] as const satisfies readonly EngineRoute[]

/** How to tell whether the engine is up, and whether it is ours. All paths are GET. Source: SPEC 5. */
export interface ProbeSpec {
  readonly healthPath: string
  /** Lists at least one model when it can serve. Undefined = the engine has no such list: healthy is ready. */
  readonly modelsPath: string | undefined
  /**
   * Needs the engine key: 200 with it, 401/403 without. Its JSON may carry `total_slots` (parallel sequences). Undefined = the
   * engine has no such path, and is taken for ours when it answers.
   */
  readonly identityPath: string | undefined
}

/** What the binary says about itself, read once per build (`createEngineReader`). */
export interface EngineFacts {
  /** The line of `--version` that says it (`pickVersion`); undefined = it does not say. */
  readonly version: string | undefined
  readonly abilities: EngineAbilities
  /** Undefined = it cannot be told, and then no flag is refused as unknown. */
  readonly help: EngineHelp | undefined
  /** Differs between builds that were written to the same place; absent = it cannot be told. */
  readonly build?: string
}

/** An engine build that can serve a slot. Source: SPEC 10; contract suite: test/contract/runner.ts. */
export interface Runner {
  readonly key: string
  /** For people, one line. */
  readonly title: string
  readonly dialect: Dialect
  readonly types: readonly SlotType[]
  readonly routes: readonly EngineRoute[]
  readonly probe: ProbeSpec
  /** Environment variable that carries the engine key; undefined = this engine has no keys. */
  readonly keyEnv: string | undefined
  /** Requests that it works on at once, where it does not say so itself (`total_slots`); absent = it queues for itself. ≥ 1. */
  readonly concurrency?: number
  /** What a cut client connection does to the engine. `drain`: read to the end, the lease is held until then. */
  readonly onClientAbort: 'abort' | 'drain'
  /** Its streams tell their usage only when asked to (`stream_options.include_usage`); absent = they tell it anyway, or never. Source: SPEC 11 "Usage". */
  readonly usageOnRequest?: true
  /** What a stop sends first; undefined = SIGTERM. */
  readonly stopSignal?: StopSignal
  readonly signatures: readonly ErrorSignature[]
  /** How its models are named: a file of the registry (absent), or the engine's own tag: the slot's model id is passed as it is. */
  readonly modelRef?: 'tag'
  /** Serves a baked-in model: no model has to be bound. */
  readonly isSelfManaged: boolean
  /** Flags, in any spelling, that only change how an engine works (speed, memory, checks) and that it does not have: left out of the command where its help does not name them, not refused. */
  readonly noEffect: ReadonlySet<string>
  /** Dialect `template`: words after the program, with ${PORT} ${MODEL} ${ALIAS} ${CTX} ${HOST}. */
  readonly template?: readonly string[]
  /**
   * The program and what stands before the flags, looked up now (PATH, settings, package folder).
   * Errors: `slot.spawn_failed` naming what was looked for, where, and how to get it.
   */
  findCommand(): Promise<readonly [string, ...string[]]>
  /** What the program found by `findCommand` says about itself. Never rejects: what cannot be asked is undefined. */
  describe(command: readonly [string, ...string[]]): Promise<EngineFacts>
}
