import { expect, it } from 'vitest'
import { chooseCheckpoint } from './choose-checkpoint.ts'

const chosen = (checkpoint: string) => ({ kind: 'chosen', checkpoint })

it.each([
  ['any: the first', undefined, ['b.safetensors', 'a.safetensors'], chosen('b.safetensors')],
  ['by its name', 'a.safetensors', ['b.safetensors', 'a.safetensors'], chosen('a.safetensors')],
  ['in a folder', 'a.safetensors', ['xl/a.safetensors'], chosen('xl/a.safetensors')],
  ['in a folder of Windows', 'a.safetensors', ['xl\\a.safetensors'], chosen('xl\\a.safetensors')],
  ['the bare one before one in a folder', 'a', ['xl/a', 'a'], chosen('a')],
  ['an end of a name is no name', 'a.safetensors', ['ba.safetensors'], { kind: 'not_listed', wanted: 'a.safetensors' }],
  ['none at all', undefined, [], { kind: 'none' }],
  ['a name, and none at all', 'a', [], { kind: 'not_listed', wanted: 'a' }],
])('%s', (_name, wanted, listed, expected) => expect(chooseCheckpoint(wanted, listed)).toEqual(expected))
