import { hashSecret, isSecret, newSecret } from './secrets.ts'

/** By which the first admin is made in a browser: printed at the start, good once, and only while nobody is defined. Source: SPEC 14. */
export interface SetUpToken {
  /** To be printed at the start; undefined = there is none, or no longer. */
  readonly secret: string | undefined
  /** Takes the token: nobody else can use it until `giveBack`. False = it is not the one, or it is void. */
  take(sent: string): boolean
  /** No user came of it: it may be used again. */
  giveBack(): void
  /** Somebody is defined: void for ever, also when nobody is left later. */
  end(): void
}

/** `isOpen`: is nobody defined? Asked each time. */
export function createSetUpToken(isOpen: () => boolean): SetUpToken {
  const secret = newSecret('hal0_setup_')
  const hash = hashSecret(secret)
  let isTaken = false
  let isOver = false
  return {
    get secret() {
      return isOpen() && !isTaken && !isOver ? secret : undefined
    },
    take(sent) {
      // Compared in any case: how long it takes must not tell whether there is one.
      const isRight = isSecret(sent, hash)
      if (!isRight || isTaken || isOver || !isOpen()) return false
      isTaken = true
      return true
    },
    giveBack() {
      isTaken = false
    },
    end() {
      isOver = true
    },
  }
}
