import { BodyBudget } from '../../src/gateway/body/body-budget.ts'

/** A budget that tells what is held. */
export class CountingBudget extends BodyBudget {
  heldBytes = 0

  override take(sizeBytes: number): boolean {
    const isTaken = super.take(sizeBytes)
    if (isTaken) this.heldBytes += sizeBytes
    return isTaken
  }

  override giveBack(sizeBytes: number): void {
    this.heldBytes -= sizeBytes
    super.giveBack(sizeBytes)
  }
}
