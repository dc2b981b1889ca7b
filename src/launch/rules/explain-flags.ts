import type { LaunchLayer } from '../../contract/launch-plan.ts'
import type { AssembledLaunch } from './launch-request.ts'

/** One flag of the command, as `resolved` shows it. */
export interface ExplainedFlag {
  readonly flag: string
  readonly values: readonly string[]
  readonly layer: LaunchLayer
  readonly canonical: string
  /** Earlier settings of the same flag, lowest layer first. */
  readonly replaced: readonly {
    readonly flag: string
    readonly values: readonly string[]
    readonly layer: LaunchLayer
  }[]
}

/** Where is each flag of the command from, and what did it replace? In the order of the command. Source: SPEC 9 `resolved`. */
export function explainFlags({ plan, removed, canonicals }: AssembledLaunch): readonly ExplainedFlag[] {
  return plan.flags.map(({ flag, values, layer }, at) => {
    const canonical = canonicals?.[at] ?? flag
    const replaced = removed
      .filter((other) => other.reason === 'replaced' && other.canonical === canonical)
      .map((other) => ({ flag: other.flag, values: other.values, layer: other.layer }))
    return { flag, values, layer, canonical, replaced }
  })
}
