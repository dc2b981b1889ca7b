/** A slot as far as its names go. `file`: how messages name it. */
export interface SlotNames {
  readonly name: string
  readonly aliases: readonly string[]
  readonly file: string
  /** It is being made: there is no such file yet. */
  readonly isNew?: boolean
}

/** Everything that owns a name under which requests find something. */
export interface NameOwners {
  readonly slots: readonly SlotNames[]
  /** Names of lanes. */
  readonly lanes: readonly string[]
  /** The name of a lane that is being made: there is no such file yet. */
  readonly newLane?: string
  /** Ids of models.toml. */
  readonly models: readonly string[]
  /** The id of a model that is being made: models.toml does not have it yet. */
  readonly newModel?: string
}

/** One name that two things claim. */
export interface NameClash {
  readonly name: string
  /** Both, in words that say where each is. */
  readonly owners: readonly [string, string]
  readonly message: string
}

/** Names of the slots that hal0 seeds; a slot may have one: it is that slot. Source: SPEC 3. */
export const SEED_SLOT_NAMES = [
  'agent',
  'utility',
  'coder',
  'brain',
  'embed',
  'rerank',
  'flm',
  'tts',
  'qwen3tts',
  'img',
  'flm-stt',
  'flm-embed',
] as const

/** Alias → slot; resolved at dispatch, never written, never listed. Source: SPEC 3. */
export const BUILT_IN_ALIASES: ReadonlyMap<string, string> = new Map([['embed-rerank', 'rerank']])

/** How clients may also spell a slot: a model id below it could never be reached. Source: SPEC 11. */
const VIRTUAL_PREFIX = 'hal0/'

interface Claim {
  readonly name: string
  readonly owner: string
  readonly isNew: boolean
}

/** A slot as messages name it. A file that is not there yet is not looked for. */
export function tellSlot({ name, file, isNew }: Pick<SlotNames, 'name' | 'file' | 'isNew'>): string {
  return isNew === true ? `the new slot "${name}"` : `slot "${name}" (${file})`
}

/**
 * Which names are claimed twice? Slot names, aliases, lane names and model ids share one space, with the built-in alias and the names of
 * seed slots. One clash per further claim; the owner that was there first in the order slots, lanes, models comes first.
 * Source: SPEC 3 "Names".
 */
export function findNameClashes(owners: NameOwners): readonly NameClash[] {
  const slots = owners.slots.map((slot) => ({ name: slot.name, owner: tellSlot(slot), isNew: slot.isNew === true }))
  const others: Claim[] = [
    ...owners.slots.flatMap((slot) =>
      slot.aliases.map((name) => ({ name, owner: `an alias of ${tellSlot(slot)}`, isNew: slot.isNew === true })),
    ),
    ...owners.lanes.map((name) => ({ name, owner: `lane "${name}" (lanes/${name}.toml)`, isNew: false })),
    ...owners.models.map((name) => ({ name, owner: `model "${name}" (models.toml)`, isNew: false })),
    ...(owners.newLane === undefined
      ? []
      : [{ name: owners.newLane, owner: `the new lane "${owners.newLane}"`, isNew: true }]),
    ...(owners.newModel === undefined
      ? []
      : [{ name: owners.newModel, owner: `the new model "${owners.newModel}"`, isNew: true }]),
  ]
  const first = new Map<string, Omit<Claim, 'name'>>()
  for (const [alias, slot] of BUILT_IN_ALIASES)
    first.set(alias, { owner: `the built-in alias of slot "${slot}"`, isNew: false })
  const clashes: NameClash[] = []
  const claim = (own: Claim, reserved: string | undefined): void => {
    const before = first.get(own.name) ?? (reserved === undefined ? undefined : { owner: reserved, isNew: false })
    if (before === undefined) first.set(own.name, own)
    else clashes.push(clashOf(before, own))
  }
  for (const slot of slots) claim(slot, undefined)
  for (const other of others) claim(other, reservationOf(other.name))
  return clashes
}

function reservationOf(name: string): string | undefined {
  if (SEED_SLOT_NAMES.some((seed) => seed === name)) return `seed slot "${name}" (its name is reserved)`
  return name.startsWith(VIRTUAL_PREFIX) ? `the names of slots below ${VIRTUAL_PREFIX}` : undefined
}

function clashOf(before: Omit<Claim, 'name'>, own: Claim): NameClash {
  const { name } = own
  const [there, added] = before.isNew && !own.isNew ? [own, before] : [before, own]
  return {
    name,
    owners: [before.owner, own.owner],
    message: added.isNew
      ? `the name "${name}" belongs to ${there.owner} already: choose another for ${added.owner}`
      : `the name "${name}" belongs to ${before.owner} and to ${own.owner}: rename one of them`,
  }
}
