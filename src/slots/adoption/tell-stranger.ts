import { announce } from '../../events/announce.ts'
import type { Publisher } from '../../events/bus.ts'
import { findPortHolder } from '../../hardware/port-holder.ts'
import type { Log } from '../../kernel/log.ts'
import type { PortPool } from '../port-pool.ts'

/**
 * A slot was up when the last daemon ended, and its engine is gone. Whoever answers on its port by now is not taken for it, and that is said.
 * Never rejects. Source: SPEC 4 "A stranger on the port is never adopted".
 */
export async function tellStranger(
  slot: string,
  port: number,
  { bus, log, ports }: { readonly bus: Publisher; readonly log: Log; readonly ports: Pick<PortPool, 'checkFree'> },
): Promise<void> {
  const isFree = await ports.checkFree(slot, port).then(
    () => true,
    () => false,
  )
  if (isFree) return
  const holder = await findPortHolder(port)
  const who = holder === undefined ? 'another process' : `another process (pid ${holder.pid}, ${holder.program})`
  const message = `slot ${slot} was up when hal0 ended; its engine is gone, and ${who} has its port ${port}: that one is not taken for it`
  const data = { slot, port, pid: holder?.pid ?? null, program: holder?.program ?? null }
  announce({ log, bus }, { type: 'slot.stranger_refused', severity: 'warning', source: `slot:${slot}`, message, data })
}
