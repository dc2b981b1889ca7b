import { monitorEventLoopDelay } from 'node:perf_hooks'
import { onTestFinished } from 'vitest'
import { until } from './lane-day-waits.ts'

const BETWEEN_MS = 50

/** How long this process, or the daemon, or the way between them, has stood still at most, ms: so late things may be done, and told, without anybody's fault. */
export interface Pulse {
  lagMs(): number
}

/** Asks the daemon for a sign of life again and again, until the test ends. */
export function startPulse(url: string): Pulse {
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  let longestMs = 0
  let sentMs: number | undefined
  let isOver = false
  const beat = async (): Promise<void> => {
    while (!isOver) {
      sentMs = Date.now()
      const answer = await fetch(`${url}/api/health`)
      await answer.arrayBuffer()
      longestMs = Math.max(longestMs, Date.now() - sentMs)
      sentMs = undefined
      await until(Date.now() + BETWEEN_MS)
    }
  }
  const beating = beat()
  onTestFinished(async () => {
    isOver = true
    // A daemon that is already gone answers nobody.
    await beating.catch(() => {})
    delay.disable()
  })
  return {
    lagMs: () => Math.max(longestMs, sentMs === undefined ? 0 : Date.now() - sentMs, delay.max / 1e6),
  }
}
