// What an open stream costs: resident memory before, and with all streams open; and every stream ends whole.
import { fileLimit, residentKib } from '../lib/machine.mjs'
import { freshRounds, rest } from '../lib/memory.mjs'
import { addErrors, chatBody, headersFor, runJob } from '../lib/work.mjs'

/** A proxy holds two sockets for a stream, and has some files besides. */
const FILES_PER_STREAM = 2
const OTHER_FILES = 500

/** @type {import('../lib/line.mjs').Line} */
export const memory = {
  key: 'memory',
  title: 'memory of open streams',
  measure: async ({ memoryRounds, openStreams }, bench) => {
    /** @type {Record<string, number>} */
    const errors = {}
    const wanted = Math.max(...openStreams) * FILES_PER_STREAM + OTHER_FILES
    if (fileLimit() < wanted)
      return {
        sides: {},
        errors,
        skipped: `a process may open ${fileLimit()} files (ulimit -Hn) and ${wanted} are needed`,
      }
    const body = chatBody('hold', { stream: true })
    const sides = await freshRounds(memoryRounds, bench, errors, async (target, idleKib, side) => {
      /** @type {Record<string, number>} */
      const row = { idle_mib: idleKib / 1024 }
      const steps = [...openStreams]
      const job = { kind: 'held', steps: openStreams, body, control: target.control }
      const result = await runJob({ ...job, origin: target.origin, headers: headersFor(target) }, async () => {
        const open = steps.shift() ?? 0
        await rest()
        row[`stream_kib_${open}`] = (residentKib(target.pids()) - idleKib) / open
      })
      addErrors(errors, result.errors, side)
      return row
    })
    return { sides, errors, facts: { open_files: fileLimit() } }
  },
}
