import { expect, it } from 'vitest'
import type { LaneFile } from '../config/lanes/live-lanes.ts'
import { laneConfigSchema } from '../contract/lane-config.ts'
import { createLaneBindings } from './lane-bindings.ts'
import { NOTHING } from './rules/lane-target.ts'

const MODEL = { kind: 'model', model: 'hello', profile: 'chat' } as const

/** Lanes with the files given, which may be taken away. */
function bindingsOf(files: Record<string, object>) {
  const lanes = new Map<string, LaneFile>(
    Object.entries(files).map(([name, keys]) => [
      name,
      { name, config: laneConfigSchema.parse(keys), problem: undefined },
    ]),
  )
  return { lanes, bindings: createLaneBindings({ all: () => [...lanes.values()], find: (name) => lanes.get(name) }) }
}

it('makes the slot of a lane of its file and of what it runs', () => {
  const { bindings } = bindingsOf({ desk: { threads: 2, runner: 'mine' } })
  bindings.setTarget('desk', MODEL)
  const slot = bindings.configOf('desk')
  expect(slot).toMatchObject({ gpus: [], runner: 'mine' })
  expect(slot?.config).toMatchObject({
    ...{ name: 'desk', type: 'llm', device: 'cpu', threads: 2, profile: 'chat', model: { default: 'hello' } },
    ...{ autoload: false, pinned: false, unload_after_s: 0 },
  })
})

it('gives the cards of a lane, and leaves the threads to the engine', () => {
  const { bindings } = bindingsOf({ gpu0: { device: 'gpu-cuda', gpus: [1, 2] } })
  const slot = bindings.configOf('gpu0')
  expect(slot).toMatchObject({ gpus: [1, 2], runner: undefined })
  expect(slot?.config).toMatchObject({ threads: 0, model: { default: '' } })
})

it('is the same object until something of it changes', () => {
  const { bindings } = bindingsOf({ desk: {} })
  const before = bindings.configOf('desk')
  bindings.setTarget('desk', NOTHING)
  expect(bindings.configOf('desk')).toBe(before)
  bindings.setTarget('desk', MODEL)
  const after = bindings.configOf('desk')
  expect(after).not.toBe(before)
  bindings.setTarget('desk', { ...MODEL })
  expect(bindings.configOf('desk')).toBe(after)
})

it('a lane that comes back under the same name begins with nothing', () => {
  const { lanes, bindings } = bindingsOf({ desk: {} })
  bindings.setTarget('desk', MODEL)
  const file = lanes.get('desk')
  lanes.clear()
  expect([bindings.names(), bindings.configOf('desk')]).toEqual([[], undefined])
  if (file !== undefined) lanes.set('desk', file)
  expect(bindings.targetOf('desk')).toEqual(NOTHING)
})
