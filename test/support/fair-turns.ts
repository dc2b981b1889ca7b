/** One request as it comes. */
export interface Arrival {
  readonly atMs: number
  readonly slot: string
}

/** How slots are that do not fit together; `parallel` null = as many requests as come. */
export interface TurnCosts {
  readonly serveMs: number
  readonly loadMs: number
  readonly stopMs: number
  readonly parallel: number | null
}

/**
 * How often would a perfect host load a model for these arrivals, one model at a time, when the oldest waiter is next, each turn serves all who
 * came before it and lasts while nobody else waits? And how long would the unluckiest wait? Computed on paper: nothing of hal0's own code.
 */
export function playFairTurns(arrivals: readonly Arrival[], costs: TurnCosts): { loads: number; longestMs: number } {
  const { serveMs, loadMs, stopMs, parallel } = costs
  let left = arrivals.toSorted((a, b) => a.atMs - b.atMs)
  let loaded: string | undefined
  let loads = 0
  let nowMs = 0
  let longestMs = 0
  for (let oldest = left[0]; oldest !== undefined; oldest = left[0]) {
    const { slot } = oldest
    nowMs = Math.max(nowMs, oldest.atMs)
    if (slot !== loaded) {
      nowMs += loadMs + (loaded === undefined ? 0 : stopMs)
      loaded = slot
      loads += 1
    }
    const stranger = left.find((arrival) => arrival.slot !== slot)
    const lastMs = Math.max(nowMs, stranger?.atMs ?? Number.POSITIVE_INFINITY)
    const mine = left.filter((arrival) => arrival.slot === slot && arrival.atMs <= lastMs)
    const places: number[] = Array.from({ length: parallel ?? mine.length }, () => nowMs)
    for (const { atMs } of mine) {
      places.sort((a, b) => a - b)
      const beginMs = Math.max(places[0] ?? nowMs, atMs)
      longestMs = Math.max(longestMs, beginMs - atMs)
      places[0] = beginMs + serveMs
    }
    nowMs = Math.max(...places, stranger === undefined ? 0 : lastMs)
    left = left.filter((arrival) => !mine.includes(arrival))
  }
  return { loads, longestMs }
}
