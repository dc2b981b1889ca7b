/** Which checkpoint paints? `wanted` was not found when it was named and is not among those that are listed. */
export type CheckpointChoice =
  | { readonly kind: 'chosen'; readonly checkpoint: string }
  | { readonly kind: 'not_listed'; readonly wanted: string }
  | { readonly kind: 'none' }

/**
 * `wanted`: a name as it is listed, or its file name without folder; undefined = any. `listed`: ComfyUI's own names in its order, which may hold folders (with `\` on Windows).
 * A file in a subfolder is found by its name; without a wish the first is taken.
 */
export function chooseCheckpoint(wanted: string | undefined, listed: readonly string[]): CheckpointChoice {
  const found =
    wanted === undefined
      ? listed[0]
      : (listed.find((name) => name === wanted) ?? listed.find((name) => name.split(/[/\\]/).at(-1) === wanted))
  if (found !== undefined) return { kind: 'chosen', checkpoint: found }
  return wanted === undefined ? { kind: 'none' } : { kind: 'not_listed', wanted }
}
