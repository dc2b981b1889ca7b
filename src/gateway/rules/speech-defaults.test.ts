import { expect, it } from 'vitest'
import { missingSpeechPairs, type SpeechDefaults } from './speech-defaults.ts'

const all: SpeechDefaults = { voice: 'af "x"', speed: 1.25, response_format: 'wav' }

it.each<[string, string, SpeechDefaults, readonly string[]]>([
  ['all that is missing', '{"input":"hi"}', all, ['"voice":"af \\"x\\""', '"speed":1.25', '"response_format":"wav"']],
  ['not what the client said', '{"voice":"bm","speed":1}', all, ['"response_format":"wav"']],
  ['not what the client left open on purpose', '{"voice":null,"speed":1,"response_format":"mp3"}', all, []],
  ['nothing where the slot says nothing', '{"input":"hi"}', {}, []],
  ['nothing into what cannot be read', '{', all, []],
])('%s', (_name, text, defaults, expected) => expect(missingSpeechPairs(text, defaults)).toEqual(expected))
