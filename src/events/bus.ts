import type { Hal0Event, NewEvent } from '../contract/events.ts'

/** Whoever has something to say. Publishing never throws and never waits. */
export interface Publisher {
  publish(event: NewEvent): void
}

export interface Subscription {
  /** Stops delivery; idempotent. */
  close(): void
}

/**
 * The event bus. Source: SPEC 17.
 * `subscribe` first replays what is kept with id > `afterId`, then follows; `onGap` is called instead of a replay when
 * events after `afterId` are no longer kept (or the id is from another life of the daemon).
 */
export interface EventBus extends Publisher {
  subscribe(options: {
    readonly afterId?: number
    readonly onEvent: (event: Hal0Event) => void
    readonly onGap?: (oldestKeptId: number) => void
  }): Subscription
  /** Newest last; at most `limit`. */
  recent(limit: number): readonly Hal0Event[]
}
