import { createServer } from 'node:net'
import { Hal0Error } from '../kernel/errors.ts'

/** Which loopback port does a slot get? One claim at a time, so that two slots never choose the same. Source: SPEC 10 "Ports". */
export interface PortPool {
  /**
   * `explicit`: that port or `slot.port_in_use`. Otherwise `previous` when it is still free, else the lowest free one of the range.
   * The claim lasts until the slot claims again.
   */
  claim(slot: string, wish: { readonly explicit?: number; readonly previous?: number | null }): Promise<number>
}

export function createPortPool(range: readonly [number, number]): PortPool {
  const claims = new Map<string, number>()
  let tail: Promise<unknown> = Promise.resolve()

  const takenByOther = (slot: string, port: number) =>
    [...claims].find(([name, claimed]) => claimed === port && name !== slot)?.[0]

  const choose: PortPool['claim'] = async (slot, { explicit, previous }) => {
    claims.delete(slot)
    if (explicit !== undefined) {
      const owner = takenByOther(slot, explicit)
      if (owner !== undefined || !(await isFree(explicit))) {
        const holder = owner === undefined ? 'another process' : `slot ${owner}`
        throw Hal0Error.of('slot.port_in_use', `port ${explicit} of slot ${slot} is used by ${holder}`, {
          param: 'port',
          details: { port: explicit, slot },
        })
      }
      claims.set(slot, explicit)
      return explicit
    }
    const [low, high] = range
    const candidates = Array.from({ length: high - low + 1 }, (_, i) => low + i)
    if (previous != null && previous >= low && previous <= high) candidates.unshift(previous)
    for (const port of candidates) {
      if (takenByOther(slot, port) === undefined && (await isFree(port))) {
        claims.set(slot, port)
        return port
      }
    }
    throw Hal0Error.of('slot.port_in_use', `no free port for slot ${slot} in [slots] port_range ${low}–${high}`, {
      details: { slot, port_range: range },
    })
  }

  return {
    claim: (slot, wish) => {
      const result = tail.then(() => choose(slot, wish))
      tail = result.catch(() => undefined)
      return result
    },
  }
}

/** The bind test: only a port that we could have is free. */
function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)))
  })
}
