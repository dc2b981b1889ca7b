import { DEVICES, type Device, SLOT_TYPES, type SlotType } from '../../../contract/slot-row.ts'
import { valueAt } from '../../toml/rules/merge-patch.ts'
import { isTable, type Table } from '../../toml/rules/table.ts'
import type { SlotPlace } from './slot-clashes.ts'

/**
 * What can be read of a slot file, mistakes or not, so that one mistake does not hide a quarrel with another file. Undefined = it does not
 * say, or not in a way that can be used.
 */
export interface SlotOutline {
  readonly name: string
  /** How messages name its file. */
  readonly file: string
  /** It is being made: there is no such file yet. */
  readonly isNew?: boolean
  readonly aliases: readonly string[]
  readonly port: number | undefined
  readonly type: SlotType
  readonly device: Device
  readonly gpuIndex: number | undefined
  readonly isDefault: boolean
  readonly binary: string | undefined
  readonly profile: string | undefined
  /** '' = none. */
  readonly modelId: string
}

/** The outline of the slot `name` from the keys of its file. */
export function outlineOf(name: string, file: string, data: Table): SlotOutline {
  const aliases = data['aliases']
  const type = SLOT_TYPES.find((one) => one === (data['type'] ?? 'llm'))
  const device = DEVICES.find((one) => one === (data['device'] ?? 'cpu'))
  return {
    name,
    file,
    aliases: Array.isArray(aliases) ? [...new Set(aliases.filter((alias) => typeof alias === 'string'))] : [],
    port: numberOf(data['port']),
    type: type ?? 'llm',
    device: device ?? 'cpu',
    gpuIndex: numberOf(data['gpu_index']),
    isDefault: data['default'] === true,
    binary: textOf(data['binary']),
    profile: textOf(data['profile']),
    modelId: textOf(valueAt(data, ['model', 'default'])) ?? '',
  }
}

/** The outline as far as places go. */
export function placeOf({ name, file, isNew, port, type, device, isDefault, modelId }: SlotOutline): SlotPlace {
  const place = { name, file, port, type, isDefault, isNpuLlm: device === 'npu' && type === 'llm' && modelId !== '' }
  return isNew === true ? { ...place, isNew } : place
}

/** The names of the tables below a key, for example the ids of `[models.<id>]`; mistakes inside do not matter. */
export function tableNames(data: Table, key: string): readonly string[] {
  const tables = data[key]
  return isTable(tables) ? Object.keys(tables) : []
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
