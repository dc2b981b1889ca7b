import { createHash } from 'node:crypto'
import type { ResolvedSlot } from './resolve-launch.ts'

/** Its port does not tell a launch from another: it is often chosen anew. */
const ANY_PORT = 0

/** The same for two starts exactly when they would run the same thing. Errors: as `launchOn`. Source: SPEC 6 "changed launch". */
export function fingerprintOf(resolved: Pick<ResolvedSlot, 'launchOn' | 'build' | 'bound'>): string {
  const { plan } = resolved.launchOn(ANY_PORT)
  const { modelId, profile } = resolved.bound
  return createHash('sha256')
    .update(JSON.stringify([plan, resolved.build ?? null, modelId, profile]))
    .digest('base64url')
    .slice(0, 22)
}
