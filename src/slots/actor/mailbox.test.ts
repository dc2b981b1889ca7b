import { expect, it } from 'vitest'
import { Mailbox } from './mailbox.ts'

/** Writes down what is handled; `inside` happens while a message is. */
function openMailbox(inside: Record<string, () => void> = {}) {
  const seen: string[] = []
  const mailbox = new Mailbox<string>(
    (message) => {
      seen.push(`${message} begins`)
      inside[message]?.()
      seen.push(`${message} ends`)
    },
    (message, cause) => void seen.push(`${message} fails: ${String(cause)}`),
  )
  return { mailbox, seen }
}

it('a message from inside another one is handled after it', () => {
  const { mailbox, seen } = openMailbox({ a: () => mailbox.post('b') })
  mailbox.post('a')
  expect(seen).toEqual(['a begins', 'a ends', 'b begins', 'b ends'])
})

it('a fault in one does not silence the rest', () => {
  const { mailbox, seen } = openMailbox({
    a: () => {
      mailbox.post('b')
      throw new Error('no')
    },
  })
  mailbox.post('a')
  mailbox.post('c')
  expect(seen).toEqual(['a begins', 'a fails: Error: no', 'b begins', 'b ends', 'c begins', 'c ends'])
})

it('work takes the place of a message: not inside one, and what is posted meanwhile comes after', () => {
  const begun: boolean[] = []
  const { mailbox, seen } = openMailbox({ a: () => void begun.push(mailbox.begin()) })
  mailbox.post('a')
  begun.push(mailbox.begin())
  expect(begun).toEqual([false, true])
  mailbox.post('b')
  mailbox.post('c')
  begun.push(mailbox.begin())
  expect([begun.at(-1), seen]).toEqual([false, ['a begins', 'a ends']])
  mailbox.end()
  expect(seen.slice(2)).toEqual(['b begins', 'b ends', 'c begins', 'c ends'])
  expect(mailbox.begin()).toBe(true)
})
