import { readFileSync } from 'node:fs'

/** The version in hal0's own package.json. */
export function ownVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  const parsed: unknown = JSON.parse(text)
  const known = typeof parsed === 'object' && parsed !== null && 'version' in parsed
  return known ? String(parsed.version) : 'unknown'
}
