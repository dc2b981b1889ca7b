const STEP = 1024
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

/** A number of bytes for people, in powers of 1024 as `hal0 doctor` and the daemon's messages count: `4.4 GiB`. */
export function bytesText(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= STEP - 0.5 && unit < UNITS.length - 1) {
    value /= STEP
    unit++
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1
  return `${value.toFixed(digits)} ${UNITS[unit] ?? 'B'}`
}
