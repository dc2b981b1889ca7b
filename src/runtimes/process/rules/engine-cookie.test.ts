import { describe, expect, it } from 'vitest'
import { formatCookie, isHomeId, parseCookie } from './engine-cookie.ts'

describe('engine cookie', () => {
  it('reads what it writes', () => {
    const cookie = { homeId: 'h-1', slot: 'agent', attemptId: 'a:1' }
    expect(parseCookie(formatCookie(cookie))).toEqual(cookie)
  })

  it.each(['', 'a', 'a:b', 'a:b:', ':b:c', 'a::c'])('takes %j for none', (text) => {
    expect(parseCookie(text)).toBeUndefined()
  })

  it.each([
    ['h-1', true],
    ['/root/.hal0', true],
    ['', false],
    ['a:b', false],
    ['a\0b', false],
  ])('isHomeId(%j) is %s', (text, expected) => expect(isHomeId(text)).toBe(expected))
})
