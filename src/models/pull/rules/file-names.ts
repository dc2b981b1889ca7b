/** The last part of a path in a repository. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** The folder of a path in a repository; '' = the top. */
export function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')))
}

const QUANT = /(?:^|[-._/])((?:UD-)?(?:I?Q\d+(?:_[A-Z0-9]+)*|TQ\d_\d|MXFP4(?:_MOE)?|BF16|F16|F32))(?=[-./]|$)/gi

/** Which quantisation does a file's name tell (upper case, for example `Q4_K_M`)? The last word counts. Null = none. */
export function quantOf(path: string): string | null {
  // The folder speaks when the file does not: `Q4_K_M/model-00001-of-00003.gguf`.
  for (const text of [baseName(path), folderOf(path)]) {
    const last = [...text.matchAll(QUANT)].at(-1)?.[1]
    if (last !== undefined) return last.toUpperCase()
  }
  return null
}

/** Does a path tell this quantisation, as a word of its own? `Q4_K` is not in `Q4_K_M`; `UD-Q4_K_XL` is also a `Q4_K_XL`. */
export function hasQuant(path: string, quant: string): boolean {
  const word = quant.replaceAll(/[^A-Za-z0-9]/g, (sign) => `\\${sign}`)
  const pattern = new RegExp(`(?:^|[-._/])${word}(?=[-./]|$)`, 'i')
  return pattern.test(baseName(path)) || pattern.test(`${folderOf(path)}/`)
}

/** Is it a projector (images, audio), which belongs to a model and is none? */
export function isProjector(path: string): boolean {
  return /(?:^|[-._])mmproj(?:[-._]|$)/i.test(baseName(path))
}

/** Which part of how many is a file of a split model? `key` is the same for all parts. Null = not split. */
export function splitPartOf(
  path: string,
): { readonly key: string; readonly part: number; readonly parts: number } | null {
  const [, stem, part, parts] = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/i.exec(path) ?? []
  if (stem === undefined || part === undefined || parts === undefined) return null
  return { key: `${stem}-of-${parts}`, part: Number(part), parts: Number(parts) }
}

/** The path of another part of the same split model. */
export function partPath(path: string, part: number): string {
  return path.replace(/-\d{5}(-of-\d{5}\.gguf)$/i, (_, rest: string) => `-${String(part).padStart(5, '0')}${rest}`)
}

/** Those of `names` that look most like `wanted`, best first: those that share the most words. At most `limit`. */
export function selectNearNames(wanted: string, names: readonly string[], limit: number): readonly string[] {
  const wantedWords = wordsOf(wanted)
  const score = (name: string): number =>
    [...new Set(wordsOf(name))].filter((word) => wantedWords.includes(word)).length
  return names.toSorted((a, b) => score(b) - score(a) || (a < b ? -1 : 1)).slice(0, limit)
}

function wordsOf(name: string): readonly string[] {
  return name.toLowerCase().split(/[^a-z0-9]+/)
}
