import type { KeyRow } from '../../contract/user.ts'

/** Is this the only key of its user that counts? `keys`: all that the caller may see, as they were before it was revoked. */
export function isLastKey(id: string, keys: readonly KeyRow[], nowMs: number): boolean {
  const counts = ({ revoked_at: revoked, expires_at: end }: KeyRow) =>
    revoked === null && (end === null || new Date(end).getTime() > nowMs)
  const found = keys.find((one) => one.id === id)
  if (found === undefined || !counts(found)) return false
  return !keys.some((other) => other.id !== found.id && other.user.id === found.user.id && counts(other))
}
