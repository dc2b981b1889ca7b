import type { SlotType } from '../../contract/slot-row.ts'

/** What a new slot has to be able to do. */
export interface SlotWish {
  readonly type: SlotType
  /** Keys of the runners that have the route; absent or empty = nobody knows. */
  readonly runners?: readonly string[]
  /** `NAME` when absent. */
  readonly name?: string
  /** `MODEL` when absent. */
  readonly model?: string
}

/**
 * The command that makes a slot which can answer: without `--binary` a slot of the CPU gets the built-in engine, which has neither every
 * route nor every type, and who follows the advice would come back with the same error. Speech needs no model. Source: SPEC 3, 10.
 */
export function createCommand({ type, runners = [], name = 'NAME', model = 'MODEL' }: SlotWish): string {
  const typed = type === 'llm' ? '' : ` --type ${type}`
  const binary = binaryFor(type, runners)
  const bound = type === 'tts' || type === 'transcription' ? '' : ` --model ${model}`
  return `hal0 slot create ${name}${typed}${binary === undefined ? '' : ` --binary ${binary}`}${bound}`
}

/** Undefined = what such a slot gets by itself does; the profiles of the other types name a runner. */
function binaryFor(type: SlotType, runners: readonly string[]): string | undefined {
  const isText = type === 'llm' || type === 'embedding'
  if (!isText && type !== 'reranking') return undefined
  if (isText && (runners.length === 0 || runners.includes('embedded'))) return undefined
  // `llama-server` runs on every machine.
  return runners.includes('cpu') ? 'cpu' : (runners[0] ?? 'cpu')
}
