import { describe, expect, it } from 'vitest'
import { environValue, isDead, parseProcStat } from './proc-text.ts'

const REST = '-1 4194304 105 0 0 0 0 0 0 0 20 0 3 0 76435 2998272 431 18446744073709551615 1 2 3'

describe('parseProcStat', () => {
  it.each([
    ['a plain name', `15516 (head) R 15507 15500 8407 0 ${REST}`],
    ['a name with spaces', `15516 (tmux: server) R 15507 15500 8407 0 ${REST}`],
    ['a name with parentheses', `15516 (a) S 1 (b)) R 15507 15500 8407 0 ${REST}\n`],
    ['an empty name', `15516 () R 15507 15500 8407 0 ${REST}`],
  ])('reads a line with %s', (_what, line) => {
    expect(parseProcStat(line)).toEqual({
      pid: 15516,
      state: 'R',
      parentPid: 15507,
      groupId: 15500,
      sessionId: 8407,
      threads: 3,
      startTicks: 76435,
      isKernelThread: false,
    })
  })

  it('tells threads of the kernel', () => {
    const line = '2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 0 0 0 0'
    expect(parseProcStat(line)?.isKernelThread).toBe(true)
  })

  it.each([
    ['nothing', ''],
    ['no name', '15516 R 1 2 3'],
    ['a line cut short', '15516 (head) R 15507 15500'],
    ['words for numbers', `pid (head) R 15507 15500 8407 0 ${REST}`],
  ])('gives up on %s', (_what, line) => {
    expect(parseProcStat(line)).toBeUndefined()
  })
})

describe('isDead', () => {
  it.each([
    ['running', { state: 'R', threads: 1 }, false],
    ['in a driver', { state: 'D', threads: 1 }, false],
    ['stopped', { state: 'T', threads: 1 }, false],
    ['a zombie', { state: 'Z', threads: 1 }, true],
    ['a zombie on old kernels', { state: 'Z', threads: 0 }, true],
    ['a zombie whose other threads go on', { state: 'Z', threads: 7 }, false],
    ['dead', { state: 'X', threads: 0 }, true],
  ])('%s', (_what, stat, expected) => {
    expect(isDead(stat)).toBe(expected)
  })
})

describe('environValue', () => {
  it.each([
    ['first', 'NAME=a:b\0X=1\0', 'a:b'],
    ['last', 'X=1\0NAME=a:b\0', 'a:b'],
    ['last, cut short', 'X=1\0NAME=a:b', 'a:b'],
    ['twice: the first counts', 'NAME=1\0NAME=2\0', '1'],
    ['empty', 'X=1\0NAME=\0', ''],
    ['part of another name', 'MY_NAME=1\0NAME_2=1\0', undefined],
    ['part of another value', 'X=NAME=1\0', undefined],
    ['no environment', '', undefined],
  ])('%s', (_what, environ, expected) => {
    expect(environValue(environ, 'NAME')).toBe(expected)
  })
})
