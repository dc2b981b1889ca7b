import { HOUR_MS, isoTime, MINUTE_MS, SECOND_MS } from '../../kernel/units.ts'

/** The last moment that a Date can hold, epoch ms. */
const LAST_MS = 8.64e15

/** Epoch ms in the words of an explanation: ISO 8601, also of what no Date can hold. */
export function timeText(ms: number): string {
  return Math.abs(ms) <= LAST_MS ? isoTime(ms) : 'no time that could be named'
}

/** 5_400_000 → "1 h 30 min"; the two largest units that it has. */
export function durationText(ms: number): string {
  if (!Number.isFinite(ms)) return 'forever'
  if (ms < SECOND_MS) return `${Math.ceil(ms)} ms`
  if (ms < MINUTE_MS) return `${Math.round(ms / 100) / 10} s`
  const [large, small, unit, subunit] =
    ms < HOUR_MS ? ([MINUTE_MS, SECOND_MS, 'min', 's'] as const) : ([HOUR_MS, MINUTE_MS, 'h', 'min'] as const)
  const smalls = Math.round(ms / small)
  const perLarge = large / small
  const rest = smalls % perLarge
  return `${Math.floor(smalls / perLarge)} ${unit}${rest === 0 ? '' : ` ${rest} ${subunit}`}`
}
