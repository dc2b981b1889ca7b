import { DEVICES, type Device } from '../../../contract/slot-row.ts'
import { findMissingReferences, type KnownNames } from '../../slots/rules/slot-references.ts'
import { valueAt } from '../../toml/rules/merge-patch.ts'
import type { Table } from '../../toml/rules/table.ts'
import type { LaneFinding } from './inspect-lane.ts'

/** What can be read of a lane file, mistakes or not. Undefined = it does not say, or not in a way that can be used. */
export interface LaneOutline {
  readonly name: string
  /** How messages name its file. */
  readonly file: string
  readonly device: Device
  readonly gpus: readonly number[]
  /** '' = none. */
  readonly modelId: string
  readonly profile: string | undefined
  readonly runner: string | undefined
}

/** The outline of the lane `name` from the keys of its file. */
export function laneOutlineOf(name: string, file: string, data: Table): LaneOutline {
  const gpus = data['gpus']
  return {
    name,
    file,
    device: DEVICES.find((one) => one === data['device']) ?? 'cpu',
    gpus: Array.isArray(gpus) ? gpus.filter((gpu) => typeof gpu === 'number') : [],
    modelId: textOf(valueAt(data, ['default', 'model'])) ?? '',
    profile: textOf(valueAt(data, ['default', 'profile'])),
    runner: textOf(data['runner']),
  }
}

/** As a slot names them, so a lane does: by other keys. */
const KEYS = { profile: 'default.profile', 'model.default': 'default.model', binary: 'runner' } as const

export type MissingLaneReference = LaneFinding & {
  readonly key: (typeof KEYS)[keyof typeof KEYS]
  readonly code: 'profile.not_found' | 'model.not_found' | 'config.invalid'
}

/** What does this lane name that does not exist? With the nearest name that does. As for slots. Source: SPEC 12. */
export function findMissingLaneReferences(lane: LaneOutline, known: KnownNames): readonly MissingLaneReference[] {
  const { name, file, device, modelId, profile, runner } = lane
  const asSlot = {
    ...{ name, file, device, modelId, profile, binary: runner, type: 'llm' as const },
    ...{ aliases: [], port: undefined, gpuIndex: undefined, isDefault: false },
  }
  return findMissingReferences(asSlot, known).map(({ key, message }) => ({
    key: KEYS[key],
    message,
    code: key === 'profile' ? 'profile.not_found' : key === 'binary' ? 'config.invalid' : 'model.not_found',
  }))
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
