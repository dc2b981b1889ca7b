import type { LaunchRequest, RemovedFlag } from './launch-request.ts'
import { readFlags, type WrittenFlag } from './read-flags.ts'
import { EMBEDDING_FLAG, isModeFlag, RERANK_FLAG } from './screen-flags.ts'
import { managedFlags } from './template-launch.ts'

export interface ProfileFlags {
  /** What the profile may set, in its order. */
  readonly flags: readonly WrittenFlag[]
  /** What it may not. */
  readonly removed: readonly RemovedFlag[]
}

/**
 * What do the profile's words say, without what a profile may not set? A mistake that slipped into its file never breaks forwarding.
 * Of two mode flags the one that fits the slot's type stays. Source: SPEC 3.
 */
export function readProfileFlags({ profile, engine, type }: LaunchRequest): ProfileFlags {
  const written = readFlags(profile.flags, engine.dialect, engine.help)
  const managed = managedFlags(engine.template ?? [])
  const first = written.find(isModeFlag)?.known.canonical
  const hasBoth = written.some((flag) => isModeFlag(flag) && flag.known.canonical !== first)
  const mode = !hasBoth ? first : type === 'reranking' ? RERANK_FLAG : type === 'embedding' ? EMBEDDING_FLAG : first
  const flags: WrittenFlag[] = []
  const removed: RemovedFlag[] = []
  for (const flag of written) {
    const detail =
      flag.known.instead ||
      (isModeFlag(flag) && flag.known.canonical !== mode ? `an engine either embeds or reranks: ${mode} is set` : '') ||
      (managed.has(flag.flag) ? `the template of runner ${engine.key} sets it` : '')
    if (detail === '') flags.push(flag)
    else
      removed.push({
        flag: flag.flag,
        values: flag.values,
        layer: 'profile',
        canonical: flag.known.canonical,
        reason: 'denied',
        detail,
      })
  }
  return { flags, removed }
}
