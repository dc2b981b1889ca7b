import { hashSecret, isSecret, newSecret } from './secrets.ts'

/**
 * The daemon's own key of this machine: drawn at each start, and told in daemon.json (0600) alone, so whoever may read that file is the local
 * admin. Source: SPEC 14.
 */
export interface LocalKey {
  /** For daemon.json, and nothing else. */
  readonly secret: string
  accepts(sent: string): boolean
}

export function createLocalKey(): LocalKey {
  const secret = newSecret('hal0_local_')
  const hash = hashSecret(secret)
  return { secret, accepts: (sent) => isSecret(sent, hash) }
}
