import { describe, expect, it } from 'vitest'
import { readCredentials } from './sent-credentials.ts'
import { endedCookie, sessionCookie } from './session-cookie.ts'

describe('what a request shows', () => {
  it.each([
    ['nothing', ['Host', 'x'], undefined],
    ['Bearer', ['Authorization', 'Bearer K1'], 'K1'],
    ['in any case, with spaces', ['AUTHORIZATION', 'bEARER   K1 '], 'K1'],
    ['x-api-key', ['X-Api-Key', ' K1'], 'K1'],
    ['both, the same', ['authorization', 'Bearer K1', 'x-api-key', 'K1'], 'K1'],
    ['an empty one beside', ['authorization', 'Bearer ', 'x-api-key', 'K1'], 'K1'],
    ['an empty one behind', ['x-api-key', 'K1', 'authorization', 'Bearer'], 'K1'],
    ['another scheme is not ours', ['authorization', 'Basic abc', 'x-api-key', 'K1'], 'K1'],
    ['another scheme alone', ['authorization', 'Basic abc'], undefined],
    ['no scheme', ['authorization', 'K1'], undefined],
    ['Bearerish', ['authorization', 'BearerK1'], undefined],
    ['headers of the same length', ['x-api-kex', 'K1', 'authorizatiom', 'Bearer K1', 'cookiE2', 'x'], undefined],
  ])('%s', (_name, rawHeaders, key) => {
    expect(readCredentials(rawHeaders)).toEqual({ key, sessions: [], problem: undefined })
  })

  it.each([
    [
      'two that differ',
      ['authorization', 'Bearer SECRET1', 'x-api-key', 'SECRET2'],
      'x-api-key',
      /two keys that differ: one as authorization, one as x-api-key/,
    ],
    [
      'the other way round',
      ['x-api-key', 'SECRET2', 'authorization', 'Bearer SECRET1'],
      'authorization',
      /one as x-api-key, one as authorization/,
    ],
    [
      'twice the same header',
      ['x-api-key', 'SECRET1', 'X-API-Key', 'SECRET2'],
      'x-api-key',
      /x-api-key is there twice/,
    ],
    ['empty', ['authorization', 'Bearer'], 'authorization', /holds no key/],
    ['empty key', ['x-api-key', ' '], 'x-api-key', /holds no key/],
  ])('%s is a problem', (_name, rawHeaders, header, text) => {
    const { problem } = readCredentials(rawHeaders)
    expect(problem).toEqual({ header, text: expect.stringMatching(text) })
    expect(problem?.text).not.toContain('SECRET')
  })

  it.each([
    ['hal0_session=T1', ['T1']],
    ['a=b; hal0_session=T1; c=d', ['T1']],
    ['hal0_session=T1;hal0_session=T2', ['T1', 'T2']],
    ['xhal0_session=T1; hal0_session', []],
    ['hal0_session=a=b', ['a=b']],
    ['HAL0_SESSION=T1', []],
  ])('cookies %s', (cookie, sessions) => {
    expect(readCredentials(['Cookie', cookie]).sessions).toEqual(sessions)
  })

  it('cookies are closed to scripts and to other sites', () => {
    for (const cookie of [sessionCookie('T1', true), endedCookie(true)]) {
      expect(cookie).toMatch(/^hal0_session=(T1)?; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+; Secure$/)
    }
    expect(sessionCookie('T1', false)).not.toContain('Secure')
    expect(endedCookie(false)).toContain('Max-Age=0')
  })
})
