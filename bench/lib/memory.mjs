// Memory of a proxy: each round on processes that have served a little and hold no garbage of other lines.
import { residentKib } from './machine.mjs'
import { addErrors, chatBody, headersFor, interleave, runJob } from './work.mjs'

const SETTLE_MS = 1_000
const WARM_CHUNKS = 20
export const SIDES_WITH_MEMORY = /** @type {const} */ (['nginx', 'bare', 'hal0'])

export const rest = (ms = SETTLE_MS) => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * Rounds on fresh processes. `measure` gets the target, warm, and what its processes hold then in KiB.
 * @param {number} rounds @param {import('./line.mjs').Bench} bench @param {Record<string, number>} errors
 * @param {(target: import('./stage.mjs').Target, idleKib: number, side: string) => Promise<Record<string, number>>} measure
 */
export async function freshRounds(rounds, bench, errors, measure) {
  /** @type {import('./work.mjs').Rounds} */
  const sides = {}
  for (let round = 0; round < rounds; round++) {
    const stage = await bench.fresh()
    const one = await interleave(
      1,
      stage,
      async (target, side) => {
        const place = { origin: target.origin, headers: headersFor(target), spacingMs: 1 }
        const body = chatBody(`pace ${WARM_CHUNKS} 50`, { stream: true })
        const warm = await runJob({ ...place, kind: 'streams', streams: 50, chunks: WARM_CHUNKS, body })
        addErrors(errors, warm.errors, side)
        await rest()
        return measure(target, residentKib(target.pids()), side)
      },
      SIDES_WITH_MEMORY,
    )
    for (const side of SIDES_WITH_MEMORY) if (one[side] !== undefined) (sides[side] ??= []).push(...one[side])
  }
  await bench.end()
  return sides
}

/** The most that the processes hold, looked at every 50 ms until stopped. @param {() => number[]} pids */
export function watchPeak(pids) {
  let peakKib = residentKib(pids())
  const timer = setInterval(() => {
    peakKib = Math.max(peakKib, residentKib(pids()))
  }, 50)
  return () => {
    clearInterval(timer)
    return Math.max(peakKib, residentKib(pids()))
  }
}
