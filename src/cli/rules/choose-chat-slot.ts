import { MODEL_ID_PATTERN } from '../../contract/names.ts'
import type { SlotRow } from '../../contract/slot-row.ts'

/** What names a slot: its name, a further name, its model. */
export type NamedSlot = Pick<SlotRow, 'name' | 'aliases' | 'model_id'>

/**
 * `named`: a slot is called `name`, which is asked `text` ('' = nothing is asked yet). `unknown`: `name` was meant to be a slot, and none is
 * called so; nobody else must answer. `default`: all words are the question to the default slot; `isGuess` = the first word could have been meant as a slot.
 */
export type ChatChoice =
  | { readonly kind: 'named'; readonly name: string; readonly text: string }
  | { readonly kind: 'unknown'; readonly name: string }
  | { readonly kind: 'default'; readonly text: string; readonly isGuess: boolean }

/**
 * What do the words of `hal0 chat` mean? Of two or more the first is the slot when one is called so, by name, alias or model. One alone is the
 * question, unless it is the name of a slot. A word and then a sentence in quotes is a slot and a question, so that a slip in the slot's
 * name is never answered by another slot. Source: SPEC 18 `chat`.
 */
export function chooseChatSlot(words: readonly string[], slots: readonly NamedSlot[]): ChatChoice {
  const [first, ...rest] = words
  if (first === undefined) return { kind: 'default', text: '', isGuess: false }
  const named = rest.length === 0 ? slots.find(({ name }) => name === first) : findNamedSlot(slots, first)
  if (named !== undefined) return { kind: 'named', name: first, text: rest.join(' ') }
  const [sentence, more] = rest
  if (sentence !== undefined && more === undefined && /\s/.test(sentence) && MODEL_ID_PATTERN.test(first)) {
    return { kind: 'unknown', name: first }
  }
  return { kind: 'default', text: words.join(' '), isGuess: rest.length > 0 }
}

/** Which slot is called so? A name goes before an alias. A model may be of several slots and lanes: which of them answers is the gateway's to say. */
export function findCalledSlot<Slot extends Pick<NamedSlot, 'name' | 'aliases'>>(
  slots: readonly Slot[],
  wanted: string,
): Slot | undefined {
  return slots.find(({ name }) => name === wanted) ?? slots.find(({ aliases }) => aliases.includes(wanted))
}

function findNamedSlot(slots: readonly NamedSlot[], wanted: string): NamedSlot | undefined {
  return findCalledSlot(slots, wanted) ?? slots.find(({ model_id }) => model_id === wanted)
}
