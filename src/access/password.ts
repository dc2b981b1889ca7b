import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { Hal0Error } from '../kernel/errors.ts'
import { MIB } from '../kernel/units.ts'

/** What a hash costs: N = 2^ln, r, p. */
export interface PasswordCost {
  readonly ln: number
  readonly r: number
  readonly p: number
}

/** One of OWASP's sets for scrypt: 32 MiB, and a fifth of a second on one core. */
export const PASSWORD_COST: PasswordCost = { ln: 15, r: 8, p: 3 }
const MAX_MEMORY_BYTES = 256 * MIB
const HASH_BYTES = 32
const SALT_BYTES = 16
/** Node has four threads for this and for files: two stay free. */
const MAX_RUNNING = 2
/** Who comes later is asked to come back: memory and patience are bounded. */
const MAX_WAITING = 16
/** New passwords that are hashed or wait, so that there is always room for people who sign in. */
const MAX_CHANGES = 10
/** Of those, one person's: nobody keeps the others from changing theirs. */
const MAX_CHANGES_OF_ONE = 6
const BUSY_RETRY_S = 5

/** Hashes passwords off the main thread, a few at a time. */
export interface Passwords {
  /**
   * The text to be kept: it holds its own salt and cost. `by`: id of who wants it; one person's and all people's are bounded, so that they do not fill
   * the queue of those who sign in. Errors: `auth.rate_limited` while too many wait.
   */
  hash(password: string, by: string): Promise<string>
  /** `stored` undefined = nobody, or nobody with a password: costs the same time, and is never right. Errors: `auth.rate_limited` while too many wait. */
  verify(password: string, stored: string | undefined): Promise<boolean>
}

export function createPasswords(cost: PasswordCost = PASSWORD_COST): Passwords {
  const nobody: Stored = { cost, salt: randomBytes(SALT_BYTES), hash: randomBytes(HASH_BYTES) }
  const inTurn = createTurns()
  const asChange = createChangeBounds()
  return {
    hash: (password, by) =>
      asChange(by, async () => {
        const salt = randomBytes(SALT_BYTES)
        const hash = await inTurn(() => derive(password, salt, cost))
        return write({ cost, salt, hash })
      }),
    async verify(password, stored) {
      const known = stored === undefined ? undefined : read(stored)
      const { cost: own, salt, hash } = known ?? nobody
      const found = await inTurn(() => derive(password, salt, own))
      return timingSafeEqual(found, hash) && known !== undefined
    },
  }
}

interface Stored {
  readonly cost: PasswordCost
  readonly salt: Buffer
  readonly hash: Buffer
}

const FORMAT = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/

function write({ cost: { ln, r, p }, salt, hash }: Stored): string {
  return `$scrypt$ln=${ln},r=${r},p=${p}$${base64(salt)}$${base64(hash)}`
}

/** Undefined = nothing that hal0 wrote: nobody comes in by it. */
function read(text: string): Stored | undefined {
  const [, ln, r, p, salt = '', hash = ''] = FORMAT.exec(text) ?? []
  if (ln === undefined) return undefined
  const cost = { ln: Number(ln), r: Number(r), p: Number(p) }
  if (cost.ln < 1 || cost.r < 1 || cost.p < 1 || memoryOf(cost) > MAX_MEMORY_BYTES) return undefined
  return { cost, salt: Buffer.from(salt, 'base64'), hash: Buffer.from(hash, 'base64') }
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}

function memoryOf({ ln, r, p }: PasswordCost): number {
  return 128 * r * (2 ** ln + p + 2)
}

function derive(password: string, salt: Buffer, cost: PasswordCost): Promise<Buffer> {
  const options: ScryptOptions = { N: 2 ** cost.ln, r: cost.r, p: cost.p, maxmem: memoryOf(cost) + MIB }
  return new Promise((resolve, reject) => {
    // The same letters are one password however they were typed.
    scrypt(password.normalize('NFKC'), salt, HASH_BYTES, options, (failure, hash) => {
      if (failure === null) resolve(hash)
      else reject(failure)
    })
  })
}

function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let running = 0
  const waiting: (() => void)[] = []
  return async (work) => {
    if (running >= MAX_RUNNING) {
      if (waiting.length >= MAX_WAITING) {
        throw tooMany('Too many passwords are being checked at this moment')
      }
      // The place is handed over, so nobody slips in between.
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else running++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) running--
      else next()
    }
  }
}

function createChangeBounds(): <T>(by: string, work: () => Promise<T>) => Promise<T> {
  const counts = new Map<string, number>()
  let all = 0
  return async (by, work) => {
    const own = counts.get(by) ?? 0
    if (own >= MAX_CHANGES_OF_ONE) throw tooMany('You set too many passwords at this moment')
    if (all >= MAX_CHANGES) throw tooMany('Too many passwords are being set at this moment')
    counts.set(by, own + 1)
    all++
    try {
      return await work()
    } finally {
      const left = (counts.get(by) ?? 1) - 1
      if (left === 0) counts.delete(by)
      else counts.set(by, left)
      all--
    }
  }
}

function tooMany(message: string): Hal0Error {
  return Hal0Error.of('auth.rate_limited', message, { retryAfterS: BUSY_RETRY_S })
}
