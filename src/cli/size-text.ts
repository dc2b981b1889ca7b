const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const

/** A number of bytes for people, in powers of 1000 as hubs and disks count: `4.7 GB`. */
export function bytesText(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000
    unit++
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1
  return `${value.toFixed(digits)} ${UNITS[unit] ?? 'B'}`
}
