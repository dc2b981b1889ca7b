/** Ports in a row that a slot may lose to others before its load has failed. */
const MAX_LOST_IN_A_ROW = 5

/**
 * Between the bind test and the engine's own bind someone else may take a port that hal0 chose: another daemon that starts at the same
 * moment does. The next claim then sees that it is taken.
 */
export class PortRetries {
  #lost = 0
  /** The next start is one of these tries, not a load that somebody asks for. */
  #isTryingAgain = false

  /** A load begins. */
  begun(): void {
    if (!this.#isTryingAgain) this.#lost = 0
    this.#isTryingAgain = false
  }

  /** A port was lost: may another be tried? Not when it is the user's own choice, and not for ever. */
  mayTryAnother(explicitPort: number | undefined): boolean {
    if (explicitPort !== undefined || this.#lost >= MAX_LOST_IN_A_ROW) return false
    this.#lost++
    this.#isTryingAgain = true
    return true
  }
}
