/** What can be in one SwapList at a time. */
export interface Placed {
  /** Where it stands in its list; −1 = in none. The list's business. */
  place: number
}

/**
 * A set, in no order, for things that come and go with every request. A Set of such things costs more than it looks: each time its table is made anew
 * the old one is left behind with all it held, and keeps it from being collected for long.
 */
export class SwapList<T extends Placed> {
  readonly #items: T[] = []

  get size(): number {
    return this.#items.length
  }

  /** Something that is in it already stays where it is. */
  add(item: T): void {
    if (item.place < 0) item.place = this.#items.push(item) - 1
  }

  /** False = it was not in it. */
  delete(item: T): boolean {
    const { place } = item
    if (place < 0) return false
    item.place = -1
    const last = this.#items.pop()
    if (last !== undefined && last !== item) {
      this.#items[place] = last
      last.place = place
    }
    return true
  }

  /** As it is now; what changes while it is walked does not matter. */
  all(): T[] {
    return [...this.#items]
  }

  clear(): void {
    for (const item of this.#items) item.place = -1
    this.#items.length = 0
  }
}
