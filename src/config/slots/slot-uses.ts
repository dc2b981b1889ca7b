import type { Home } from '../../files/home.ts'
import { defaultProfileOf } from '../profiles/profiles-file.ts'
import { readConfigText } from '../toml/config-text.ts'
import { isTable } from '../toml/rules/table.ts'
import { parseTomlData } from '../toml/toml-file.ts'
import { listSlotFiles, readSlotFile, slotFilePath } from './slot-file.ts'

/** What a slot's file binds, as far as it can be read. */
export interface SlotUse {
  readonly slot: string
  /** Undefined = cannot be read. */
  readonly profile: string | undefined
  /** '' = none; undefined = cannot be read. */
  readonly modelId: string | undefined
  readonly aliases: readonly string[]
}

/**
 * Which profile and model does each slot use? In the order of names. A file with mistakes counts with what can still be read of it, so
 * that nothing is deleted from under a slot that someone is about to mend. Errors: `config.invalid` (the folder cannot be read).
 */
export async function readSlotUses(home: Home): Promise<readonly SlotUse[]> {
  const { names } = await listSlotFiles(home)
  return Promise.all(
    names.map(async (slot): Promise<SlotUse> => {
      try {
        const config = await readSlotFile(home, slot)
        if (config === undefined) return { slot, ...UNKNOWN }
        return {
          slot,
          profile: config.profile ?? defaultProfileOf(config.type),
          modelId: config.model.default,
          aliases: config.aliases,
        }
      } catch {
        return { slot, ...(await readLeniently(slotFilePath(home, slot))) }
      }
    }),
  )
}

const UNKNOWN: Omit<SlotUse, 'slot'> = { profile: undefined, modelId: undefined, aliases: [] }

async function readLeniently(path: string): Promise<Omit<SlotUse, 'slot'>> {
  const text = await readConfigText(path)
  if (text === 'absent' || !text.ok) return UNKNOWN
  const parsed = parseTomlData(path, text.value)
  if (parsed.ok) {
    const data = parsed.value
    const model = isTable(data['model']) ? data['model']['default'] : undefined
    const aliases = Array.isArray(data['aliases']) ? data['aliases'].filter((alias) => typeof alias === 'string') : []
    return { profile: stringOf(data['profile']), modelId: stringOf(model), aliases }
  } else {
    return {
      profile: /^\s*profile\s*=\s*(["'])(.*?)\1/m.exec(text.value)?.[2],
      modelId: /^\s*(?:model\s*\.\s*)?default\s*=\s*(["'])(.*?)\1/m.exec(text.value)?.[2],
      aliases: [],
    }
  }
}

function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
