import { splitPartName } from './file-names.ts'

/** Leaves room for a number behind it, and is still read at a glance. */
const MAX_STEM_CHARS = 100

/**
 * Under which id could this file be registered? Lower case, made of the file's name without folder, ending and part number; the
 * quantisation stays. `taken`: ids that cannot be used; then a number from 2 follows. Always matches `MODEL_ID_PATTERN`.
 */
export function suggestModelId(fileName: string, taken: ReadonlySet<string>): string {
  const name = fileName.slice(fileName.lastIndexOf('/') + 1)
  const stem = name.replace(/\.gguf$/i, '').replace(splitPartName(name) === undefined ? /$^/ : /-\d{5}-of-\d{5}$/, '')
  const id = stem
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '')
    .slice(0, MAX_STEM_CHARS)
    .replace(/[-._]+$/, '')
  const base = id === '' ? 'model' : id
  if (!taken.has(base)) return base
  let nth = 2
  while (taken.has(`${base}-${nth}`)) nth++
  return `${base}-${nth}`
}
