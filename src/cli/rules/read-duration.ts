import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../kernel/units.ts'

/** How a length of time is written. */
export const DURATION_FORMS = '90s, 30m, 2h, 1d or 1h30m'

const PARTS = /^(?:(\d{1,5})d)?(?:(\d{1,5})h)?(?:(\d{1,5})m)?(?:(\d{1,6})s)?$/
const FACTORS_MS = [24 * HOUR_MS, HOUR_MS, MINUTE_MS, SECOND_MS] as const

/** `1h30m` → ms, above 0: days (of 24 hours), hours, minutes, seconds, the larger first. Undefined = it is not written like this, or is nothing. */
export function readDuration(text: string): number | undefined {
  const [, ...counts] = PARTS.exec(text.toLowerCase()) ?? []
  const ms = FACTORS_MS.reduce((sum, factorMs, nth) => sum + factorMs * Number(counts[nth] ?? 0), 0)
  return ms > 0 ? ms : undefined
}

/** 5400000 → `1h30m`; whole seconds, rounded; `0s` = nothing. */
export function durationText(ms: number): string {
  let rest = Math.round(ms / SECOND_MS) * SECOND_MS
  const parts = FACTORS_MS.map((factorMs, nth) => {
    const count = Math.floor(rest / factorMs)
    rest -= count * factorMs
    return count === 0 ? '' : `${count}${'dhms'.charAt(nth)}`
  })
  return parts.join('') || '0s'
}
