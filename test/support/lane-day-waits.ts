/** Nothing of the day takes longer than this, also on a machine that has much else to do. */
const LONGEST_MS = 45_000
const LOOK_AGAIN_MS = 25

/** Resolves when the clock says so. */
export async function until(atMs: number): Promise<void> {
  // A timer may fire a moment early by this clock.
  for (let leftMs = atMs - Date.now(); leftMs > 0; leftMs = atMs - Date.now()) {
    await new Promise((resolve) => setTimeout(resolve, leftMs))
  }
}

/** Resolves as soon as the condition holds; `what` names it for those who wait for too long. */
export async function becomes(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const lastMs = Date.now() + LONGEST_MS
  while (!(await inTime(what, Promise.resolve(condition())))) {
    if (Date.now() > lastMs) throw new Error(`still not so after ${LONGEST_MS} ms: ${what}`)
    await until(Date.now() + LOOK_AGAIN_MS)
  }
}

/** What it resolves with, unless that takes too long. */
export function inTime<T>(what: string, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`not over after ${LONGEST_MS} ms: ${what}`)), LONGEST_MS)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
