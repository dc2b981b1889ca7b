import type { Arbiter, ArbiterPass } from '../arbiter/ports.ts'
import type { AcquireOptions, Lease, Slots } from '../slots/slots.ts'

/** Lets a request in to the group that holds the GPU's memory. */
export type Doorkeeper = Pick<Arbiter, 'enter' | 'enterNow'>

export interface ArbitratedOptions extends AcquireOptions {
  /** `waitMs` is `load_wait_s`: neither has the client lowered it, nor has the request waited before. */
  readonly isWholeWait: boolean
}

/** A lease, and the leave to use its group's memory, which is given back with it; undefined = nothing is arbitrated. */
export interface ArbitratedLease {
  readonly lease: Lease
  readonly pass: ArbiterPass | undefined
}

/** Where neither the group's memory nor the slot needs a wait; undefined = `acquireArbitrated` has to be asked. */
export function leaseArbitratedNow(
  slots: Pick<Slots, 'leaseNow'>,
  arbiter: Doorkeeper | undefined,
  slot: string,
  modelId: string | undefined,
): ArbitratedLease | undefined {
  const pass = arbiter?.enterNow(slot)
  if (arbiter !== undefined && pass === undefined) return undefined
  const lease = slots.leaseNow(slot, modelId)
  if (lease !== undefined) return { lease, pass }
  pass?.leave()
  return undefined
}

/**
 * A lease of this slot, once its group has the memory. Undefined arbiter = nothing is arbitrated.
 * Errors: those of `Arbiter.enter` and `Slots.acquire`. Source: SPEC 8 "Arbiter".
 */
export async function acquireArbitrated(
  slots: Pick<Slots, 'acquire'>,
  arbiter: Doorkeeper | undefined,
  slot: string,
  { isWholeWait, ...options }: ArbitratedOptions,
): Promise<ArbitratedLease> {
  if (arbiter === undefined) return { lease: await slots.acquire(slot, options), pass: undefined }
  // The client's own limit holds here too.
  const maxWaitMs = isWholeWait ? {} : { maxWaitMs: options.waitMs }
  const pass = await arbiter.enter(slot, { signal: options.signal, ...maxWaitMs })
  try {
    const waitMs = loadWaitOf(pass, options.waitMs, isWholeWait)
    return { lease: await slots.acquire(slot, { ...options, waitMs }), pass }
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
