/** A request that waits, as far as turns go. */
export interface TurnWaiter {
  /** Undefined = whatever is loaded will do. */
  readonly modelId?: string | undefined
  /** Order of arrival. */
  readonly nth?: number
}

/** Whose turn is it at a slot that several models share? */
export interface Turn {
  /** May this one have the engine that is up? */
  mayHave(waiter: TurnWaiter): boolean
  /** The model that is next when nobody holds a lease any more; undefined = nobody waits for another one. */
  readonly nextModelId: string | undefined
}

/**
 * A turn belongs to those who waited when the model came up. Later ones share it only while nobody waits for another model: so each
 * model is loaded at most once for all who wait for it, and nobody waits for ever. `begunAtNth`: how many had arrived when the turn
 * began. `waiters` in order of arrival; those that take any model may be left out. Source: SPEC 11 "Resolution" 3, CASES 13.
 */
export function chooseTurn(loadedModelId: string, begunAtNth: number, waiters: Iterable<TurnWaiter>): Turn {
  let foreign: TurnWaiter | undefined
  for (const waiter of waiters) {
    if (fits(waiter, loadedModelId)) continue
    foreign = waiter
    break
  }
  const firstForeignNth = foreign?.nth ?? Number.POSITIVE_INFINITY
  return {
    mayHave: (waiter) => fits(waiter, loadedModelId) && (nthOf(waiter) < begunAtNth || nthOf(waiter) < firstForeignNth),
    nextModelId: foreign?.modelId,
  }
}

/** The same for an engine that came up without its model: nobody can have it, and whoever wants another one is next. */
export function chooseTurnOfNone(failedModelId: string, waiters: Iterable<TurnWaiter>): Turn {
  for (const waiter of waiters) {
    if (!fits(waiter, failedModelId)) return { mayHave: () => false, nextModelId: waiter.modelId }
  }
  return { mayHave: () => false, nextModelId: undefined }
}

function fits({ modelId }: TurnWaiter, loadedModelId: string): boolean {
  return modelId === undefined || modelId === loadedModelId
}

function nthOf({ nth = 0 }: TurnWaiter): number {
  return nth
}
