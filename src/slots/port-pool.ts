import { createServer } from 'node:net'
import { Hal0Error } from '../kernel/errors.ts'

/** A port that is a slot's while its engine runs. */
export interface PortClaim {
  readonly port: number
  /** The engine is gone: from now on the port is only the one that the slot would like to have again. Idempotent. */
  readonly release: () => void
}

export interface PortWish {
  readonly explicit?: number
  readonly previous?: number | null
  /** The start that asks was given up: it must not take the port from the one that came after it. */
  readonly signal?: AbortSignal
}

/**
 * Which loopback port does a slot get? One claim at a time, so that two slots never choose the same. A claim belongs to a start; what
 * outlives it is a preference, which others avoid while they have a choice. Source: SPEC 10 "Ports".
 */
export interface PortPool {
  /**
   * `explicit`: that port or `slot.port_in_use`; only a running slot or another process can be in its way. Otherwise `previous`, when it is
   * free and no other slot's preference; else the lowest free one of the range, those that others prefer last.
   */
  claim(slot: string, wish: PortWish): Promise<PortClaim>
  /** The slot's engine runs on it already. Returns the release, as of a claim. */
  hold(slot: string, port: number): () => void
  /** Could this slot claim that port now? Errors: `slot.port_in_use`. */
  checkFree(slot: string, port: number): Promise<void>
  /** The port that this slot had, or is to have. A port is preferred by one slot: the last one for which it was said. */
  prefer(slot: string, port: number): void
  /** The port that a claim without a wish would get now; nothing is claimed. Errors: `slot.port_in_use` (none is free). */
  suggest(slot: string): Promise<number>
  /** The slot is no more: others may have its port as if it had never been. */
  forget(slot: string): void
}

/** `ownPort`: the one that hal0 itself listens on, for messages. */
export function createPortPool(
  range: readonly [number, number],
  ownPort: () => number | undefined = () => undefined,
): PortPool {
  const claims = new Map<string, PortClaim>()
  const preferences = new Map<string, number>()
  let tail: Promise<unknown> = Promise.resolve()

  const claimedByOther = (slot: string, port: number) =>
    [...claims].find(([name, claim]) => claim.port === port && name !== slot)?.[0]

  const prefer: PortPool['prefer'] = (slot, port) => {
    for (const [name, preferred] of preferences) if (preferred === port) preferences.delete(name)
    preferences.set(slot, port)
  }

  function take(slot: string, port: number): PortClaim {
    const claim: PortClaim = {
      port,
      release: () => {
        // A later claim of the same slot is not this one's to give up.
        if (claims.get(slot) === claim) claims.delete(slot)
      },
    }
    claims.set(slot, claim)
    prefer(slot, port)
    return claim
  }

  async function checkFree(slot: string, port: number): Promise<void> {
    const owner = claimedByOther(slot, port)
    if (owner === undefined && (await isFree(port))) return
    const others = port === ownPort() ? 'hal0 itself: it is the port of the gateway' : 'another process'
    const holder = owner === undefined ? others : `slot ${owner}`
    throw Hal0Error.of('slot.port_in_use', `port ${port} of slot ${slot} is used by ${holder}`, {
      param: 'port',
      details: { port, slot },
    })
  }

  async function findFree(slot: string, previous: number | null | undefined): Promise<number> {
    const [low, high] = range
    const preferredByOthers = new Set([...preferences].filter(([name]) => name !== slot).map(([, port]) => port))
    const ports = Array.from({ length: high - low + 1 }, (_, i) => low + i)
    const candidates = [
      ...ports.filter((port) => port === previous && !preferredByOthers.has(port)),
      ...ports.filter((port) => !preferredByOthers.has(port)),
      ...ports.filter((port) => preferredByOthers.has(port)),
    ]
    for (const port of candidates) {
      if (claimedByOther(slot, port) === undefined && (await isFree(port))) return port
    }
    throw Hal0Error.of('slot.port_in_use', `no free port for slot ${slot} in [slots] port_range ${low}–${high}`, {
      details: { slot, port_range: range },
    })
  }

  return {
    claim: (slot, { explicit, previous, signal }) => {
      const result = tail.then(async () => {
        signal?.throwIfAborted()
        claims.delete(slot)
        if (explicit === undefined) return take(slot, await findFree(slot, previous))
        await checkFree(slot, explicit)
        return take(slot, explicit)
      })
      tail = result.catch(() => undefined)
      return result
    },
    hold: (slot, port) => take(slot, port).release,
    checkFree,
    prefer,
    suggest: (slot) => findFree(slot, preferences.get(slot)),
    forget: (slot) => {
      claims.delete(slot)
      preferences.delete(slot)
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
