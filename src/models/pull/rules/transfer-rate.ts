/** A rate is the mean of this time. */
const WINDOW_MS = 5_000

/** Less says nothing. */
const MIN_SPAN_MS = 500

/** Bytes received up to a moment (monotonic ms). */
export interface RateSample {
  readonly atMs: number
  readonly bytes: number
}

/** Samples that the rate at `nowMs` needs, oldest first; one that is as old as the window or older stays as its beginning. */
export function keepSamples(samples: readonly RateSample[], nowMs: number): readonly RateSample[] {
  const firstInside = samples.findIndex(({ atMs }) => atMs > nowMs - WINDOW_MS)
  if (firstInside < 0) return samples.slice(-1)
  return samples.slice(Math.max(0, firstInside - 1))
}

/** Bytes per second over the last 5 s up to `nowMs`; null = not known yet. */
export function transferRate(samples: readonly RateSample[], bytes: number, nowMs: number): number | null {
  const [first] = keepSamples(samples, nowMs)
  if (first === undefined || nowMs - first.atMs < MIN_SPAN_MS) return null
  return Math.max(0, Math.round(((bytes - first.bytes) * 1000) / (nowMs - first.atMs)))
}
