import { expect, it } from 'vitest'
import { Turns } from './turns.ts'

it('runs one step at a time in the order they asked, also past one that fails', async () => {
  const turns = new Turns()
  const log: string[] = []
  const step = (name: string, fails = false) =>
    turns.take(async () => {
      log.push(`${name} begins`)
      await new Promise((resolve) => setImmediate(resolve))
      log.push(`${name} ends`)
      if (fails) throw new Error(name)
      return name
    })
  const outcomes = await Promise.allSettled([step('a'), step('b', true), step('c')])
  expect(outcomes.map((outcome) => outcome.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(log).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
})
