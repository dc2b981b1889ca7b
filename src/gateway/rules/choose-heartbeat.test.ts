import { expect, it } from 'vitest'
import { chooseHeartbeat, type HeartbeatChoice } from './choose-heartbeat.ts'

it.each<[string | undefined, number, HeartbeatChoice | undefined]>([
  [undefined, 0, { kind: 'none' }],
  [undefined, 15, { kind: 'after_status', everyMs: 15_000 }],
  ['5', 0, { kind: 'at_once', everyMs: 5_000 }],
  ['5', 15, { kind: 'at_once', everyMs: 5_000 }],
  [' 1.5 ', 0, { kind: 'at_once', everyMs: 1_500 }],
  ['1', 0, { kind: 'at_once', everyMs: 1_000 }],
  ['60', 0, { kind: 'at_once', everyMs: 60_000 }],
  ['0.9', 0, undefined],
  ['61', 0, undefined],
  ['0', 15, undefined],
  ['-5', 0, undefined],
  ['5s', 0, undefined],
  ['1e1', 0, undefined],
  ['', 0, undefined],
])('header %s, setting %s', (header, settingS, expected) => expect(chooseHeartbeat(header, settingS)).toEqual(expected))
