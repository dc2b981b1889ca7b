import type { Arbiter, ArbiterPass } from '../arbiter/ports.ts'
import type { AcquireOptions, Lease, Slots } from '../slots/slots.ts'

/** Lets a request in to the group that holds the GPU's memory. */
export type Doorkeeper = Pick<Arbiter, 'enter'>

export interface ArbitratedOptions extends AcquireOptions {
  /** `waitMs` is `load_wait_s`: neither has the client lowered it, nor has the request waited before. */
  readonly isWholeWait: boolean
}

/**
 * A lease of this slot, once its group has the memory; the pass lasts exactly as long as the lease. Undefined arbiter = nothing is
 * arbitrated. Errors: those of `Arbiter.enter` and `Slots.acquire`. Source: SPEC 8 "Arbiter".
 */
export async function acquireArbitrated(
  slots: Pick<Slots, 'acquire'>,
  arbiter: Doorkeeper | undefined,
  slot: string,
  { isWholeWait, ...options }: ArbitratedOptions,
): Promise<Lease> {
  if (arbiter === undefined) return await slots.acquire(slot, options)
  // The client's own limit holds here too.
  const maxWaitMs = isWholeWait ? {} : { maxWaitMs: options.waitMs }
  const pass = await arbiter.enter(slot, { signal: options.signal, ...maxWaitMs })
  try {
    const waitMs = loadWaitOf(pass, options.waitMs, isWholeWait)
    const lease = await slots.acquire(slot, { ...options, waitMs })
    return {
      slot: lease.slot,
      attemptId: lease.attemptId,
      endpoint: lease.endpoint,
      revoked: lease.revoked,
      moved: () => lease.moved(),
      release(outcome) {
        lease.release(outcome)
        pass.leave()
      },
    }
  } catch (thrown) {
    pass.leave()
    throw thrown
  }
}

/** The arbiter's limit stands in place of `load_wait_s`, and not of a client's lower one. */
function loadWaitOf({ loadWaitMs }: ArbiterPass, waitMs: number, isWholeWait: boolean): number {
  if (loadWaitMs === undefined) return waitMs
  return isWholeWait ? loadWaitMs : Math.min(waitMs, loadWaitMs)
}
