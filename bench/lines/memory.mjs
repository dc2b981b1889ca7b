// What an open stream costs the daemon: its resident memory before, and with all streams open. Runs first, on a daemon that
// has served a little and holds no garbage of other lines.
import { readFileSync } from 'node:fs'
import { chatBody, headersFor, runJob } from '../lib/work.mjs'

const TOKENS_PER_SECOND = 2
const SAMPLE_MS = 200
const WARM_STREAMS = 50
const SETTLE_MS = 2_000

/** @param {number} pid @returns {number} KiB */
function residentKib(pid) {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}

/** @type {import('../lib/line.mjs').Line} */
export const memory = {
  key: 'memory',
  title: 'memory at open streams',
  measure: async (stage, { openStreams, openSeconds }) => {
    const tokens = TOKENS_PER_SECOND * openSeconds
    const knobs = { stamp: true, tokens_per_second: TOKENS_PER_SECOND }
    const body = chatBody({ stream: true, max_tokens: tokens, fake: knobs })
    const place = { kind: 'streams', spacingMs: 1, origin: stage.hal0.origin, headers: headersFor(stage.hal0) }
    const warmBody = chatBody({ stream: true, max_tokens: 20, fake: { stamp: true } })
    const warm = await runJob({ ...place, streams: WARM_STREAMS, chunks: 21, body: warmBody })
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
    const idleKib = residentKib(stage.daemonPid)
    let openKib = Number.NaN
    let areAllOpen = false
    const timer = setInterval(() => {
      if (areAllOpen) openKib = Math.max(openKib, residentKib(stage.daemonPid))
    }, SAMPLE_MS)
    const job = { ...place, streams: openStreams, chunks: tokens + 1, body }
    const result = await runJob(job, (milestone) => {
      if (milestone !== 'all_open') return
      areAllOpen = true
      openKib = residentKib(stage.daemonPid)
    }).finally(() => clearInterval(timer))
    /** @type {Record<string, number>} */
    const errors = { ...warm.errors, ...result.errors }
    if (!areAllOpen) errors['not all streams were open at once'] = 1
    const perStreamKib = (openKib - idleKib) / openStreams
    return {
      direct: [],
      hal0: [{ idle_mib: idleKib / 1024, open_mib: openKib / 1024, stream_kib: perStreamKib }],
      errors,
      facts: { streams: openStreams },
      rows: [
        { name: 'daemon memory, idle', key: 'idle_mib', unit: 'MiB' },
        { name: `daemon memory, ${openStreams} streams`, key: 'open_mib', unit: 'MiB' },
        { name: 'memory per stream', key: 'stream_kib', unit: 'KiB' },
      ],
    }
  },
}
