// Clients that ask for a large answer and stop reading: what the proxy then holds for them.
import { residentKib } from '../lib/machine.mjs'
import { freshRounds, rest } from '../lib/memory.mjs'
import { addErrors, chatBody, headersFor, runJob } from '../lib/work.mjs'

const ANSWER_BYTES = 4_600_000

/** @type {import('../lib/line.mjs').Line} */
export const stalled = {
  key: 'stalled',
  title: 'clients that stop reading',
  measure: async ({ memoryRounds, stalledClients }, bench) => {
    /** @type {Record<string, number>} */
    const errors = {}
    const body = chatBody(`big ${ANSWER_BYTES}`, { stream: true })
    const sides = await freshRounds(memoryRounds, bench, errors, async (target, idleKib, side) => {
      let grownKib = Number.NaN
      const job = { kind: 'stalled', clients: stalledClients, body, origin: target.origin, headers: headersFor(target) }
      const result = await runJob(job, async () => {
        await rest()
        grownKib = residentKib(target.pids()) - idleKib
      })
      addErrors(errors, result.errors, side)
      return { grown_mib: grownKib / 1024 }
    })
    return { sides, errors, facts: { clients: stalledClients, answer_bytes: ANSWER_BYTES } }
  },
}
