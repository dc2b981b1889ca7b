import { wrongModeError } from './errors.ts'
import type { RequestBook } from './request-book.ts'
import type { Stage } from './switch-host.ts'
import type { WishBook } from './wish-book.ts'

/** What came of looking for those who waited too long. */
export interface Expiry {
  /** When the next one will have; undefined = nobody waits. Monotonic ms. */
  readonly nextMs: number | undefined
  readonly refused: number
}

/**
 * Refuses requests and people that waited for their mode long enough. Who waits for images while the switch to them is under way
 * waits for its outcome instead.
 */
export function refuseOverdue(book: RequestBook, wishes: WishBook, stage: Stage, nowMs: number): Expiry {
  let nextMs: number | undefined
  let refused = 0
  const isOver = ({ untilMs }: { readonly untilMs: number }) => nowMs >= untilMs
  for (const group of stage === 'draining' || stage === 'loading' ? (['llm'] as const) : (['llm', 'img'] as const)) {
    const overdue = book.waiters(group).filter(isOver)
    book.refuse(overdue, ({ slot }) => wrongModeError(group, slot, 'waited'))
    const people = wishes.all.filter((wish) => wish.mode === group)
    const impatient = people.filter(isOver)
    wishes.refuse(impatient, wrongModeError(group, undefined, 'waited'))
    refused += overdue.length + impatient.length
    for (const { untilMs } of [...book.waiters(group), ...people.filter((wish) => !isOver(wish))]) {
      nextMs = Math.min(nextMs ?? Number.POSITIVE_INFINITY, untilMs)
    }
  }
  return { nextMs, refused }
}
