import type * as crypto from 'node:crypto'
import { describe, expect, it, vi } from 'vitest'
import { failure } from '../../test/support/failure.ts'
import { createPasswords, PASSWORD_COST } from './password.ts'

const work = vi.hoisted(() => ({ hashed: [] as object[], compared: 0 }))
vi.mock('node:crypto', async (original) => {
  const real = await original<typeof crypto>()
  return {
    ...real,
    scrypt: (
      password: string,
      salt: Buffer,
      size: number,
      options: object,
      done: (e: Error | null, k: Buffer) => void,
    ) => {
      work.hashed.push(options)
      real.scrypt(password, salt, size, options, done)
    },
    timingSafeEqual: (one: Buffer, other: Buffer) => {
      work.compared++
      return real.timingSafeEqual(one, other)
    },
  }
})

const cheap = { ln: 4, r: 1, p: 1 }

describe('passwords', () => {
  it('are kept as a hash that holds its cost and a salt of its own', async () => {
    const passwords = createPasswords(cheap)
    const [one, two] = [await passwords.hash('a long password', 'ann'), await passwords.hash('a long password', 'ann')]
    expect(one).toMatch(/^\$scrypt\$ln=4,r=1,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
    expect(one).not.toBe(two)
    expect(await passwords.verify('a long password', one)).toBe(true)
    expect(await passwords.verify('a long passwort', one)).toBe(false)
    // Another daemon, with other costs for new ones.
    expect(await createPasswords({ ln: 5, r: 1, p: 2 }).verify('a long password', two)).toBe(true)
  })

  it('are the same however their letters were typed', async () => {
    const passwords = createPasswords(cheap)
    expect(await passwords.verify('gru\u0308n und blau', await passwords.hash('gr\u00fcn und blau', 'ann'))).toBe(true)
  })

  it('cost as much for nobody as for somebody, and are compared in constant time', async () => {
    const passwords = createPasswords(cheap)
    const stored = await passwords.hash('a long password', 'ann')
    const costs: unknown[] = []
    for (const hash of [
      stored,
      undefined,
      'nonsense',
      '$scrypt$ln=31,r=8,p=1$AAAAAAAAAAAAAAAAAAAAAA$' + 'A'.repeat(43),
    ]) {
      const before = work.compared
      const isRight = await passwords.verify('a long password', hash)
      costs.push([work.hashed.at(-1), work.compared - before, isRight])
    }
    const cost = expect.objectContaining({ N: 16, r: 1, p: 1 })
    expect(costs).toEqual([
      [cost, 1, true],
      [cost, 1, false],
      [cost, 1, false],
      [cost, 1, false],
    ])
  })

  it('are checked two at a time; whoever finds too many waiting comes back later', async () => {
    const passwords = createPasswords(cheap)
    const all = Array.from({ length: 30 }, () => passwords.verify('a long password', undefined))
    const done = await Promise.allSettled(all)
    expect(done.filter(({ status }) => status === 'fulfilled')).toHaveLength(18)
    const refused = all[29]
    if (refused !== undefined)
      expect(await failure(refused)).toMatchObject({ code: 'auth.rate_limited', retryAfterS: 5 })
    expect(await passwords.hash('a long password', 'ann')).toContain('scrypt')
  })

  // One user with 18 changes at once kept everybody else from signing in.
  it('that are set leave room: for others who set theirs, and for all who sign in', async () => {
    const passwords = createPasswords(cheap)
    const change = (by: string, count: number) =>
      Array.from({ length: count }, () => passwords.hash('a long password', by))
    const [ann, bob, cat] = [change('ann', 18), change('bob', 18), change('cat', 1)]
    const signIns = Array.from({ length: 8 }, () => passwords.verify('a long password', undefined))
    const madeOf = async (all: readonly Promise<unknown>[]) =>
      (await Promise.allSettled(all)).filter(({ status }) => status === 'fulfilled').length
    expect(await Promise.all([ann, bob, cat, signIns].map(madeOf))).toEqual([6, 4, 0, 8])
    const refused = ann[17]
    if (refused !== undefined)
      expect(await failure(refused)).toMatchObject({ code: 'auth.rate_limited', retryAfterS: 5 })
    // Their places are free again.
    expect(await madeOf([...change('cat', 6), ...change('ann', 4)])).toBe(10)
  })

  it('cost what they should, and have the memory for it', async () => {
    expect(PASSWORD_COST).toEqual({ ln: 15, r: 8, p: 3 })
    const passwords = createPasswords()
    expect(await passwords.verify('a long password', await passwords.hash('a long password', 'ann'))).toBe(true)
  })
})
