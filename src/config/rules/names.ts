/** A slot as far as its names go. `file`: how messages name it. */
export interface SlotNames {
  readonly name: string
  readonly aliases: readonly string[]
  readonly file: string
}

/** Everything that owns a name under which requests find something. */
export interface NameOwners {
  readonly slots: readonly SlotNames[]
  /** Names of lanes. */
  readonly lanes: readonly string[]
  /** Ids of models.toml. */
  readonly models: readonly string[]
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
}

/**
 * Which names are claimed twice? Slot names, aliases, lane names and model ids share one space, with the built-in alias and the names of
 * seed slots. One clash per further claim; the owner that was there first in the order slots, lanes, models comes first.
 * Source: SPEC 3 "Names".
 */
export function findNameClashes(owners: NameOwners): readonly NameClash[] {
  const slots = owners.slots.map(({ name, file }) => ({ name, owner: `slot "${name}" (${file})` }))
  const others: Claim[] = [
    ...owners.slots.flatMap(({ name, aliases, file }) =>
      aliases.map((alias) => ({ name: alias, owner: `an alias of slot "${name}" (${file})` })),
    ),
    ...owners.lanes.map((name) => ({ name, owner: `lane "${name}" (lanes/${name}.toml)` })),
    ...owners.models.map((name) => ({ name, owner: `model "${name}" (models.toml)` })),
  ]
  const first = new Map<string, string>()
  for (const [alias, slot] of BUILT_IN_ALIASES) first.set(alias, `the built-in alias of slot "${slot}"`)
  const clashes: NameClash[] = []
  const claim = ({ name, owner }: Claim, reserved: string | undefined): void => {
    const before = first.get(name) ?? reserved
    if (before === undefined) first.set(name, owner)
    else clashes.push(clashOf(name, before, owner))
  }
  for (const slot of slots) claim(slot, undefined)
  for (const other of others) claim(other, reservationOf(other.name))
  return clashes
}

function reservationOf(name: string): string | undefined {
  if (SEED_SLOT_NAMES.some((seed) => seed === name)) return `seed slot "${name}" (its name is reserved)`
  return name.startsWith(VIRTUAL_PREFIX) ? `the names of slots below ${VIRTUAL_PREFIX}` : undefined
}

function clashOf(name: string, before: string, owner: string): NameClash {
  return {
    name,
    owners: [before, owner],
    message: `the name "${name}" belongs to ${before} and to ${owner}: rename one of them`,
  }
}
