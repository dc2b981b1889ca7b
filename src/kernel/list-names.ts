/** Longer lists help nobody. */
const MAX_LISTED = 20

/** Known names for a message, parted by commas: at most twenty, and how many more there are. */
export function listNames(names: Iterable<string>): string {
  const all = [...names]
  const more = all.length > MAX_LISTED ? `, and ${all.length - MAX_LISTED} more` : ''
  return `${all.slice(0, MAX_LISTED).join(', ')}${more}`
}
