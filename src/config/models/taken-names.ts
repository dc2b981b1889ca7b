import type { ModelFacts } from '../../contract/model.ts'
import type { Home } from '../../files/home.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { suggestModelId } from '../../models/rules/suggest-id.ts'
import { listLaneFiles } from '../lanes/lane-file.ts'
import { BUILT_IN_ALIASES, findNameClashes, SEED_SLOT_NAMES } from '../rules/names.ts'
import { slotFilePath } from '../slots/slot-file.ts'
import { readSlotUses } from '../slots/slot-uses.ts'

/** The id that a model file gets when nobody names one; `taken` = `readTakenNames`, absent = nothing is. */
export function chooseModelId(fileName: string, taken: ReadonlySet<string> = new Set()): string {
  return suggestModelId(fileName, taken)
}

/** Every name that a new model id may not be: ids, slots, aliases, lanes, reserved ones. Source: SPEC 3 "Names". */
export async function readTakenNames(home: Home, rows: ReadonlyMap<string, ModelFacts>): Promise<ReadonlySet<string>> {
  const [uses, lanes] = await Promise.all([readSlotUses(home), readLaneNames(home)])
  return new Set([
    ...rows.keys(),
    ...uses.flatMap((use) => [use.slot, ...use.aliases]),
    ...lanes,
    ...SEED_SLOT_NAMES,
    ...BUILT_IN_ALIASES.keys(),
  ])
}

/** Errors: `validation.invalid` naming both owners of the name. */
export async function refuseNameClash(home: Home, rows: ReadonlyMap<string, ModelFacts>, id: string): Promise<void> {
  const [uses, lanes] = await Promise.all([readSlotUses(home), readLaneNames(home)])
  const slots = uses.map((use) => ({ name: use.slot, aliases: use.aliases, file: slotFilePath(home, use.slot) }))
  const clash = findNameClashes({ slots, lanes, models: [...rows.keys()], newModel: id }).find((one) => one.name === id)
  if (clash === undefined) return
  throw Hal0Error.of('validation.invalid', clash.message, {
    param: 'id',
    details: { owners: clash.owners, remedy: 'Choose another id for the model.' },
  })
}

async function readLaneNames(home: Home): Promise<readonly string[]> {
  return (await listLaneFiles(home)).names
}
