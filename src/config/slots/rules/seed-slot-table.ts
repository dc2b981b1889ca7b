import type { Device, SlotType } from '../../../contract/slot-row.ts'
import { tagWordsOf } from '../../../runners/rules/service-keys.ts'
import { SEED_SLOT_NAMES } from '../../rules/names.ts'

/** A slot that hal0 makes by itself. */
export interface SeedSlot {
  readonly type: SlotType
  readonly device: Device
  /** Of the seed profiles. */
  readonly profile: string
  /** The runner that it needs; `binary` in its file where neither its profile nor its device leads there. */
  readonly runner: string
  readonly binary?: string
  readonly pinned?: true
  /** Made only where the program of its runner is installed. */
  readonly needsProgram?: true
  /** Serves as a part of another slot's engine, and is never loaded itself. */
  readonly rides?: { readonly slot: string; readonly key: 'asr' | 'embed' }
  /** For the comment of its file: what it is for. */
  readonly purpose: string
}
export type SeedSlotName = (typeof SEED_SLOT_NAMES)[number]

const LLM = { type: 'llm', device: 'cpu', runner: 'embedded' } as const
const FLM = { device: 'npu', profile: 'flm', runner: 'flm', needsProgram: true } as const

/** Source: SPEC 3 "Seed slots and their profiles". */
export const SEED_SLOTS: Readonly<Record<SeedSlotName, SeedSlot>> = {
  agent: {
    ...LLM,
    profile: 'agent',
    pinned: true,
    purpose: 'Answers whatever asks for no slot by name: tools and long conversations.',
  },
  utility: { ...LLM, profile: 'utility', pinned: true, purpose: 'Quick helper tasks: titles, summaries, extraction.' },
  coder: { ...LLM, profile: 'coding', purpose: 'Writing and changing code.' },
  brain: { ...LLM, profile: 'brain', purpose: 'Hard questions, with thinking.' },
  embed: {
    type: 'embedding',
    device: 'cpu',
    profile: 'embedding',
    runner: 'embedded',
    purpose: 'Turns texts into vectors, for search.',
  },
  rerank: {
    type: 'reranking',
    device: 'cpu',
    profile: 'reranking',
    // The embedded engine does not rerank.
    runner: 'cpu',
    binary: 'cpu',
    purpose: 'Orders found texts by how well they answer a question.',
  },
  flm: { ...FLM, type: 'llm', purpose: 'Chat on the NPU.' },
  tts: { type: 'tts', device: 'cpu', profile: 'kokoro', runner: 'kokoro', purpose: 'Reads texts aloud.' },
  qwen3tts: {
    type: 'tts',
    device: 'cpu',
    profile: 'qwen3-tts',
    runner: 'qwen3tts',
    purpose: 'Reads texts aloud, with expression.',
  },
  img: { type: 'image', device: 'cpu', profile: 'comfyui', runner: 'comfyui', purpose: 'Paints images.' },
  'flm-stt': {
    ...FLM,
    type: 'transcription',
    rides: { slot: 'flm', key: 'asr' },
    purpose: 'Writes down speech, on the NPU.',
  },
  'flm-embed': {
    ...FLM,
    type: 'embedding',
    rides: { slot: 'flm', key: 'embed' },
    purpose: 'Turns texts into vectors, on the NPU.',
  },
}

/** Is the name one of the seed slots'? Deleting one needs force and leaves a tombstone. Source: SPEC 3. */
export function isSeedSlot(name: string): name is SeedSlotName {
  return SEED_SLOT_NAMES.some((seed) => seed === name)
}

/** The file of a seed slot. `profile`: its own or a smaller one made for this machine. `isSelfManaged`: no model has to be bound. */
export function seedSlotText(name: SeedSlotName, profile: string, isSelfManaged: boolean): string {
  const { type, device, binary, pinned, purpose } = SEED_SLOTS[name]
  return `# Slot "${name}": ${purpose}
# hal0 made this file and does not write over it: it is yours to edit.
# ${startText(name, isSelfManaged)}
name = "${name}"
type = "${type}"
device = "${device}"
${binary === undefined ? '' : `binary = "${binary}"\n`}
# Flags and context size: \`hal0 profile show ${profile}\`.
profile = "${profile}"

# true = load its model when the daemon starts.
autoload = false
${pinned ? '# Never evicted, never unloaded when idle.\npinned = true\n' : ''}
[model]
default = ""
${name === 'flm' ? NPU_SWITCHES : ''}`
}

const NPU_SWITCHES = `
# What its one engine does besides: slot "flm-stt" needs asr, slot "flm-embed" needs embed.
[npu]
asr = false
embed = false
`

/** What makes the slot serve, for the comment of its file. */
function startText(name: SeedSlotName, isSelfManaged: boolean): string {
  const { runner, rides } = SEED_SLOTS[name]
  if (rides !== undefined) {
    return `It is a part of slot "${rides.slot}", and serves when that does: \`hal0 slot edit ${rides.slot} --set npu.${rides.key}=true\`.`
  }
  if (isSelfManaged) return `Its engine brings its own model: \`hal0 slot load ${name}\` starts it.`
  const edit = `It has no model yet: \`hal0 slot edit ${name} --model`
  const tag = tagWordsOf(runner)
  if (tag !== undefined) return `${edit} ${tag.word}\` binds one; ${tag.where}.`
  return `${edit} ID\` binds one that \`hal0 model list\` shows.`
}
