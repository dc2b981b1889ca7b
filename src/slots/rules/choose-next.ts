/** A request in a slot's queue, as far as fairness between keys goes. */
export interface KeyedWaiter {
  /** Whose it is; all without one are one. */
  readonly key?: string | undefined
}

/** The queue of a slot, a line for each key that has somebody in it: the line whose turn is next comes first; within one in order of arrival. */
export type Lines<Waiter> = ReadonlyMap<string | undefined, ReadonlySet<Waiter>>

/**
 * Who gets the place that is free? The first line in which somebody may have it, and of that line the oldest who may; undefined = nobody.
 * The caller moves that line to the end, and new lines join there: so whoever is first of a line waits for at most one of each other line,
 * however many those have. Source: SPEC 11 "Queues".
 */
export function chooseNext<Waiter>(lines: Lines<Waiter>, mayHave: (waiter: Waiter) => boolean): Waiter | undefined {
  for (const line of lines.values()) {
    for (const waiter of line) if (mayHave(waiter)) return waiter
  }
  return undefined
}

/**
 * The queue has one too many since `newcomer` stands in it: who is refused? The newest of the longest line, where that one is still longer than the
 * newcomer's own; else the newcomer. So from a limit of two on, one key alone cannot fill the queue against all others, and no two keys push each
 * other out in turn: the lines only become more even. Source: SPEC 11 "Queues".
 */
export function chooseRefused<Waiter extends KeyedWaiter>(lines: Lines<Waiter>, newcomer: Waiter): Waiter {
  let longest: ReadonlySet<Waiter> = lines.get(newcomer.key) ?? new Set([newcomer])
  for (const line of lines.values()) if (line.size > longest.size) longest = line
  let newest = newcomer
  if (longest !== lines.get(newcomer.key)) for (const waiter of longest) newest = waiter
  return newest
}
