import type { z } from 'zod'
import { type laneConfigAnswerSchema, laneConfigSchema } from '../../contract/lane-config.ts'
import { NAME_PATTERN, NAME_RULE } from '../../contract/names.ts'
import type { Home } from '../../files/home.ts'
import { Hal0Error, toHal0Error } from '../../kernel/errors.ts'
import { withWriteLock } from '../home/write-lock.ts'
import { findUnknownNulls, selectAbsentNulls, withoutEmptied } from '../slots/rules/unset-keys.ts'
import { readConfigText } from '../toml/config-text.ts'
import { mergePatch } from '../toml/rules/merge-patch.ts'
import type { Table } from '../toml/rules/table.ts'
import { findLaneRefMistakes, type LaneRefFinding } from './check-lane-refs.ts'
import { laneFilePath } from './lane-file.ts'
import { inspectLane } from './rules/inspect-lane.ts'
import { laneOutlineOf } from './rules/lane-outline.ts'
import { readLaneData, removeLaneFile, writeLaneFile } from './write-lane.ts'

/** Keys as in the file. */
export type LaneConfigAnswer = z.infer<typeof laneConfigAnswerSchema>

/**
 * The files of the lanes as people manage them. Every write happens under the write lock, and tells all that is wrong at once: keys and values,
 * the default's model and profile, the runner, GPUs and names that others have. Errors of writes: `validation.invalid` (where one kind of thing
 * alone is wrong: `model.not_found`, `profile.not_found`, `slot.exists` for a name), `config.invalid` (the file cannot be read). Source: SPEC 2, 12, 16.
 */
export interface LaneAdmin {
  /** Errors: also `slot.exists` (there is such a lane). */
  create(name: string, config: Readonly<Record<string, unknown>>): Promise<LaneConfigAnswer>
  /** Errors: `lane.not_found`, `config.invalid`. */
  config(name: string): Promise<LaneConfigAnswer>
  /** A merge patch: null deletes a key, tables merge. The file may have mistakes that it mends. Errors: also `lane.not_found`. */
  update(name: string, patch: Readonly<Record<string, unknown>>): Promise<LaneConfigAnswer>
  /** What runs is stopped by whoever drives the lane. Errors: `lane.not_found`. */
  remove(name: string): Promise<void>
}

export interface LaneAdminDeps {
  readonly home: Home
  /** Keys of the runners of this installation, the custom ones included. */
  readonly knownRunners: () => readonly string[]
  /** These files (absolute paths) have been written: resolves when everybody has looked at them. */
  readonly written: (files: readonly string[]) => Promise<void>
}

export function createLaneAdmin({ home, knownRunners, written }: LaneAdminDeps): LaneAdmin {
  /** Checks the whole; of what is around it, what `keys` touch. The caller holds the write lock. */
  async function write(name: string, payload: Table, keys: ReadonlySet<string>, slips: readonly LaneRefFinding[] = []) {
    const inspection = inspectLane(payload, name)
    const own = [...slips, ...(inspection.ok ? [] : inspection.findings)]
    const outline = laneOutlineOf(name, laneFilePath(home, name), payload)
    const refs = await findLaneRefMistakes(home, outline, keys, knownRunners())
    const found = [...own, ...refs.filter(({ key }) => !own.some((one) => one.key === key))]
    if (found.length > 0) throw refusal(name, found)
    await writeLaneFile(home, name, payload)
    return { name, config: { ...payload } }
  }
  async function told<T>(name: string, work: () => Promise<T>): Promise<T> {
    const result = await withWriteLock(home, work)
    await written([laneFilePath(home, name)])
    return result
  }

  return {
    create: async (name, config) => {
      if (!NAME_PATTERN.test(name)) throw refusal(name, [{ key: 'name', message: `expected ${NAME_RULE}` }])
      return told(name, async () => {
        const file = laneFilePath(home, name)
        if ((await readConfigText(file)) !== 'absent') {
          throw Hal0Error.of('slot.exists', `there is a lane "${name}" already (${file})`, {
            param: 'name',
            details: { lane: name, remedy: `Choose another name, or change that lane: \`hal0 lane edit ${name}\`.` },
          })
        }
        // A null stands for an absent key.
        const payload = mergePatch({}, config)
        return write(name, payload, new Set([...Object.keys(payload), 'name']))
      })
    },
    config: async (name) => ({ name, config: { ...(await readLaneData(home, name)) } }),
    update: async (name, patch) =>
      told(name, async () => {
        const current = await readLaneData(home, name)
        const slips = findUnknownNulls(laneConfigSchema, selectAbsentNulls(current, patch))
        const merged = withoutEmptied(mergePatch(current, patch), patch)
        return write(
          name,
          merged,
          new Set(Object.keys(patch).filter((key) => key !== 'name')),
          slips.map(({ path, expected }) => ({ key: path.join('.'), message: expected })),
        )
      }),
    remove: async (name) =>
      told(name, async () => {
        await requireFile(home, name)
        await removeLaneFile(home, name)
      }),
  }
}

/** One that cannot be read is there, and may go. Errors: `lane.not_found`. */
async function requireFile(home: Home, name: string): Promise<void> {
  await readLaneData(home, name).catch((cause: unknown) => {
    if (toHal0Error(cause).code === 'lane.not_found') throw cause
  })
}

const MODEL_REMEDY = '`hal0 model list` shows those there are; `hal0 model add FILE` adds one.'

function refusal(lane: string, found: readonly LaneRefFinding[]): Hal0Error {
  const codes = new Set(found.map(({ code }) => code ?? 'validation.invalid'))
  const [only = 'validation.invalid', ...more] = codes
  const text = found.map(({ key, message }) => `${key}: ${message}`).join('; ')
  const code = more.length === 0 ? only : 'validation.invalid'
  const mistakes = found.map((one) => ({ key: one.key, message: one.message, ...(one.code && { code: one.code }) }))
  return Hal0Error.of(code, `lane ${lane}: ${text}`, {
    param: found[0]?.key ?? 'name',
    details: { lane, mistakes, ...(code === 'model.not_found' ? { remedy: MODEL_REMEDY } : {}) },
  })
}
