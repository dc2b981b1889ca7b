import type { LlamaModel, Token } from 'node-llama-cpp'
import { describe, expect, it } from 'vitest'
import { TokenText } from './token-text.ts'

/** A vocabulary of bytes: token n is byte n. */
const bytes = {
  detokenize: (tokens: readonly number[]) => Buffer.from(tokens).toString('utf8'),
} as unknown as LlamaModel

const tokensOf = (text: string): Token[] => [...Buffer.from(text)] as Token[]

describe('TokenText', () => {
  it.each([['plain'], ['Grüße'], ['世界'], ['🦙 and 🦙'], ['é🦙世']])('gives whole characters only: %s', (text) => {
    const stream = new TokenText(bytes, [])
    const pieces = tokensOf(text).map((token) => stream.push(token))
    expect(pieces.join('')).not.toContain('\uFFFD')
    expect(pieces.join('') + stream.end()).toBe(text)
  })

  it('does not hold bytes for ever that make no character', () => {
    const stream = new TokenText(bytes, [])
    const pieces = [0xff, 0xff, 0xff, 0xff, 0x61].map((byte) => stream.push(byte as Token))
    expect(pieces.join('')).toContain('a')
  })

  it('gives what is left at the end, replaced', () => {
    const stream = new TokenText(bytes, [])
    expect(
      tokensOf('🦙')
        .slice(0, 2)
        .map((token) => stream.push(token)),
    ).toEqual(['', ''])
    expect(stream.end()).toBe('\uFFFD')
    expect(stream.end()).toBe('')
  })
})
