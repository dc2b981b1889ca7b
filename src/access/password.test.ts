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
    const [one, two] = [await passwords.hash('a long password'), await passwords.hash('a long password')]
    expect(one).toMatch(/^\$scrypt\$ln=4,r=1,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
    expect(one).not.toBe(two)
    expect(await passwords.verify('a long password', one)).toBe(true)
    expect(await passwords.verify('a long passwort', one)).toBe(false)
    // Another daemon, with other costs for new ones.
    expect(await createPasswords({ ln: 5, r: 1, p: 2 }).verify('a long password', two)).toBe(true)
  })

  it('are the same however their letters were typed', async () => {
    const passwords = createPasswords(cheap)
    expect(await passwords.verify('gru\u0308n und blau', await passwords.hash('gr\u00fcn und blau'))).toBe(true)
  })

  it('cost as much for nobody as for somebody, and are compared in constant time', async () => {
    const passwords = createPasswords(cheap)
    const stored = await passwords.hash('a long password')
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

  it('are hashed two at a time; whoever finds too many waiting comes back later', async () => {
    const passwords = createPasswords(cheap)
    const all = Array.from({ length: 30 }, () => passwords.hash('a long password'))
    const done = await Promise.allSettled(all)
    expect(done.filter(({ status }) => status === 'fulfilled')).toHaveLength(18)
    const refused = all[29]
    if (refused !== undefined)
      expect(await failure(refused)).toMatchObject({ code: 'auth.rate_limited', retryAfterS: 5 })
    expect(await passwords.hash('a long password')).toContain('scrypt')
  })

  it('cost what they should, and have the memory for it', async () => {
    expect(PASSWORD_COST).toEqual({ ln: 15, r: 8, p: 3 })
    const passwords = createPasswords()
    expect(await passwords.verify('a long password', await passwords.hash('a long password'))).toBe(true)
  })
})
