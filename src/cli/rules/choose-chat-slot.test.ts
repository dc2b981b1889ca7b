import { describe, expect, it } from 'vitest'
import { chooseChatSlot, findCalledSlot, type NamedSlot } from './choose-chat-slot.ts'

const slots: readonly NamedSlot[] = [
  { name: 'agent', aliases: [], model_id: 'hello' },
  { name: 'mine', aliases: ['my-own'], model_id: 'org/name.q8' },
  { name: 'hello', aliases: [], model_id: null },
]

describe('chooseChatSlot', () => {
  it.each([
    [['mine', 'What is a slot?'], { kind: 'named', name: 'mine', text: 'What is a slot?' }],
    [['my-own', 'what', 'is', 'it'], { kind: 'named', name: 'my-own', text: 'what is it' }],
    // As it was said: the model may be of a lane that somebody has booked, and of a slot that is free.
    [['org/name.q8', 'hi'], { kind: 'named', name: 'org/name.q8', text: 'hi' }],
    [['hello', 'hi'], { kind: 'named', name: 'hello', text: 'hi' }],
    [['mine'], { kind: 'named', name: 'mine', text: '' }],
    // One word is a question unless it is a name: an alias or a model is not enough.
    [['my-own'], { kind: 'default', text: 'my-own', isGuess: false }],
    [['org/name.q8'], { kind: 'default', text: 'org/name.q8', isGuess: false }],
    [['What is a slot?'], { kind: 'default', text: 'What is a slot?', isGuess: false }],
    [['what', 'is', 'a', 'slot'], { kind: 'default', text: 'what is a slot', isGuess: true }],
    [['Mine', 'hi'], { kind: 'default', text: 'Mine hi', isGuess: true }],
    [['mien', 'What is a slot?'], { kind: 'unknown', name: 'mien' }],
    [['Dear slot,', 'what are you?'], { kind: 'default', text: 'Dear slot, what are you?', isGuess: true }],
    [[], { kind: 'default', text: '', isGuess: false }],
  ])('%j', (words, choice) => {
    expect(chooseChatSlot(words, slots)).toEqual(choice)
  })
})

describe('findCalledSlot', () => {
  it.each([
    ['hello', 'hello'],
    ['my-own', 'mine'],
    ['org/name.q8', undefined],
    ['Agent', undefined],
  ])('%s: %s', (wanted, found) => {
    expect(findCalledSlot(slots, wanted)?.name).toBe(found)
  })
})
