import { USER_NAME_PATTERN } from '../../contract/user.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { retryAfterSeconds } from '../../kernel/units.ts'
import { networkOf } from '../rules/address-range.ts'
import { countedAttempts, decideSignIn, type SignInLimit } from '../rules/sign-in-limit.ts'

/** Addresses, and names, of which attempts are remembered; who fills it drives out the oldest only. */
export const MAX_REMEMBERED = 10_000

/** One try to sign in. It counts as failed until it is known to be otherwise, so that many at once gain nothing. */
export interface Attempt {
  /** The name starts anew; of the address only this one is forgotten. */
  succeeded(): void
  /** It was not decided at all. */
  undone(): void
}

/** Errors: `auth.rate_limited`. Source: SPEC 14 "rate-limited". */
export interface SignInAttempts {
  /** `name`: as typed. Only what can be a name is remembered: people type passwords there. */
  begin(address: string, name: string): Attempt
}

/** A limit was reached: told at the first refusal, and not again before the moment at which one more would be let try. */
export type OnLimited = (reached: {
  readonly by: 'address' | 'name'
  readonly address: string
  /** As typed: it may be a password. */
  readonly name: string
}) => void

export function createSignInAttempts(
  clock: Clock,
  limit: () => SignInLimit,
  onLimited: OnLimited = () => {},
): SignInAttempts {
  const addresses = new Map<string, readonly number[]>()
  const names = new Map<string, readonly number[]>()
  /** Until when each refusal that was told lasts. */
  const told = new Map<string, number>()

  function refuseTooMany(
    counts: ReadonlyMap<string, readonly number[]>,
    key: string,
    who: string,
    reached: Parameters<OnLimited>[0],
  ): void {
    const nowMs = clock.nowMs()
    const decision = decideSignIn(counts.get(key) ?? [], nowMs, limit())
    if (decision.kind === 'go') return
    const what = `${reached.by} ${key}`
    if (told.get(what) !== decision.untilMs) {
      if (told.size >= MAX_REMEMBERED) told.clear()
      told.set(what, decision.untilMs)
      onLimited(reached)
    }
    throw Hal0Error.of('auth.rate_limited', `Too many attempts to sign in ${who}`, {
      retryAfterS: retryAfterSeconds(decision.untilMs - nowMs),
    })
  }

  function add(counts: Map<string, readonly number[]>, key: string, atMs: number): void {
    const before = countedAttempts(counts.get(key) ?? [], atMs, limit())
    // Behind the others again: what is driven out is what was quiet longest.
    counts.delete(key)
    if (counts.size >= MAX_REMEMBERED) {
      const oldest = counts.keys().next().value
      if (oldest !== undefined) counts.delete(oldest)
    }
    counts.set(key, [...before, atMs])
  }

  function takeBack(counts: Map<string, readonly number[]>, key: string, atMs: number): void {
    const times = counts.get(key) ?? []
    const at = times.indexOf(atMs)
    const rest = times.filter((_, index) => index !== at)
    if (rest.length === 0) counts.delete(key)
    else counts.set(key, rest)
  }

  return {
    begin(address, name) {
      const network = networkOf(address)
      const typed = name.toLowerCase()
      const known = USER_NAME_PATTERN.test(typed) ? typed : undefined
      refuseTooMany(addresses, network, 'from this address', { by: 'address', address, name })
      if (known !== undefined) refuseTooMany(names, known, 'as this user', { by: 'name', address, name })
      const atMs = clock.nowMs()
      add(addresses, network, atMs)
      if (known !== undefined) add(names, known, atMs)
      return {
        succeeded() {
          takeBack(addresses, network, atMs)
          if (known !== undefined) names.delete(known)
        },
        undone() {
          takeBack(addresses, network, atMs)
          if (known !== undefined) takeBack(names, known, atMs)
        },
      }
    },
  }
}
