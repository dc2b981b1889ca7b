/** Byte and time units. Names elsewhere carry the unit (`nowMs`, `sizeBytes`); these are the factors between them. */
export const KIB = 1024
export const MIB = 1024 * KIB
export const GIB = 1024 * MIB
export const SECOND_MS = 1_000
export const MINUTE_MS = 60 * SECOND_MS
export const HOUR_MS = 60 * MINUTE_MS

/** 1610612736 → "1.5 GiB", as memory is told in messages; two digits below a tenth, so that little is not told as none. */
export function gibText(bytes: number): string {
  return `${(bytes / GIB).toFixed(bytes < GIB / 10 ? 2 : 1)} GiB`
}

/** Whole seconds for a `Retry-After` header: never below 1, rounded up. `ms` may be 0 or negative. */
export function retryAfterSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / SECOND_MS))
}

/** Epoch milliseconds → ISO 8601 UTC, the wire form of every time (SPEC 16). */
export function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString()
}
