/** Ports in a row that a slot may lose to others before its load has failed. */
const MAX_LOST_IN_A_ROW = 5

/**
 * Between the bind test and the engine's own bind someone else may take a port that hal0 chose: another daemon that starts at the same
 * moment does. The next claim then sees that it is taken.
 */
export class PortRetries {
  #lost = 0

  /** A port was lost: may another be tried? Not when it is the user's own choice, and not for ever. */
  mayTryAnother(explicitPort: number | undefined): boolean {
    if (explicitPort !== undefined || this.#lost >= MAX_LOST_IN_A_ROW) return false
    this.#lost++
    return true
  }

  /** A port was won. */
  reset(): void {
    this.#lost = 0
  }
}
