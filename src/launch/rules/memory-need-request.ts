import type { GgufFacts } from '../../contract/model.ts'
import type { Dialect } from '../../contract/runner.ts'
import type { Device } from '../../contract/slot-row.ts'
import type { SpeculationChoice } from './launch-request.ts'

/** One flag of the command with the name under which its spellings are compared (`AssembledLaunch.canonicals`). */
export interface NeedFlag {
  readonly canonical: string
  /** As it stands in the command: of a pair it tells which. */
  readonly flag: string
  readonly values: readonly string[]
}

/** A model file that the launch reads. */
export interface NeedFile {
  readonly path: string
  /** Of all its parts; null = it cannot be told. */
  readonly sizeBytes: number | null
  /** Null = its header cannot be read. */
  readonly facts: GgufFacts | null
}

/** A launch as far as its memory depends on it. */
export interface NeedRequest {
  /** Runner key. */
  readonly runner: string
  readonly dialect: Dialect
  /** The engine brings its own model, or loads it by a tag. */
  readonly isSelfManaged: boolean
  readonly device: Device
  /** The whole command, in its order. */
  readonly flags: readonly NeedFlag[]
  readonly env: Readonly<Record<string, string>>
  /** The context window of the launch. */
  readonly ctxTokens: number
  readonly speculation: SpeculationChoice['mode']
  /** Undefined = the command names none. */
  readonly model: NeedFile | undefined
  readonly mmproj: NeedFile | undefined
  readonly drafter: NeedFile | undefined
  /** Adapters and control vectors. */
  readonly adapters: readonly Pick<NeedFile, 'path' | 'sizeBytes'>[]
}
