import { describe, expect, it } from 'vitest'
import { PortRetries } from './port-retries.ts'

/** How many ports a load may lose when it loses every one. */
function lose(retries: PortRetries): number {
  let tries = 0
  while (retries.mayTryAnother(undefined)) {
    tries++
    retries.begun()
  }
  return tries
}

describe('PortRetries', () => {
  it('gives up after five ports in a row, and begins anew with a load that somebody asks for', () => {
    const retries = new PortRetries()
    retries.begun()
    expect(lose(retries)).toBe(5)
    retries.begun()
    expect(lose(retries)).toBe(5)
  })

  it('never tries another than the one that the user chose', () => {
    expect(new PortRetries().mayTryAnother(8080)).toBe(false)
  })
})
