import { readFileSync } from 'node:fs'

/** How many files this process may have open at once, sockets included; undefined = no limit is known. */
export function openFileLimit(): number | undefined {
  try {
    // Node has raised the soft limit to the hard one before it ran a line of ours.
    const text = readFileSync('/proc/self/limits', 'utf8')
    const soft = /^Max open files +(\d+)/m.exec(text)?.[1]
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}
