/**
 * What number does this file say? A whole number ≥ 0 that JavaScript keeps exactly, else undefined: negative ones, words, and the huge ones
 * that a kernel prints for "no limit" or for a counter that ran below zero are no figures.
 */
export function parseCount(text: string): number | undefined {
  const trimmed = text.trim()
  if (!/^\d{1,16}$/.test(trimmed)) return undefined
  const value = Number(trimmed)
  return Number.isSafeInteger(value) ? value : undefined
}

/** As `parseCount`, and at most 100. */
export function parsePercent(text: string): number | undefined {
  const value = parseCount(text)
  return value === undefined || value > 100 ? undefined : value
}

/** Colder or hotter than this no card runs: the sensor is not there, or broken. °C. */
const TEMPERATURE_RANGE = { min: -40, max: 150 } as const

/** °C with at most one decimal, from a count of `perDegree`ths of a degree (hwmon: 1000, nvidia-smi: 1). */
export function parseTemperature(text: string, perDegree: number): number | undefined {
  const trimmed = text.trim()
  if (!/^-?\d{1,9}$/.test(trimmed)) return undefined
  const degrees = Math.round((Number(trimmed) / perDegree) * 10) / 10
  return degrees >= TEMPERATURE_RANGE.min && degrees <= TEMPERATURE_RANGE.max ? degrees : undefined
}
