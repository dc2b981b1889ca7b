import type { LaneConfig } from '../../contract/lane.ts'

/** A lane as its file says, or as it said when it was last right. */
export interface LaneFile {
  readonly name: string
  readonly config: LaneConfig
  /** What is wrong with the file now; undefined = nothing. */
  readonly problem: string | undefined
}

/** The lane files of a home. Source: SPEC 2 "last good version", 12. */
export interface LiveLanes {
  /** In order of name; the same array until something changes. A lane whose file was never right is not among them: log, bus and validate tell it. */
  all(): readonly LaneFile[]
  find(name: string): LaneFile | undefined
  /** Reads those among `changed` (absolute paths) again, or all. Never rejects. */
  reload(changed?: readonly string[]): Promise<void>
}
