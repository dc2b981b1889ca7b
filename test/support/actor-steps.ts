import fc from 'fast-check'
import type { EvictionReason } from '../../src/slots/admission/residents.ts'
import type { SanityVerdict } from '../../src/slots/life/sanity.ts'
import type { Look } from '../../src/slots/rules/next-watch.ts'

/** The models that requests of a random run ask for; the slot's file names the first. */
export const MODELS = ['m', 'n', 'o'] as const

/** What may happen to a slot. `pick` chooses among those there are at that moment; nothing happens when there is none. */
export type Step =
  | {
      readonly do: 'acquire'
      readonly modelId: string | undefined
      readonly waitMs: number
      readonly key?: string | undefined
      /** As the gateway does: a lease at once, where there is one. */
      readonly isQuick?: boolean
    }
  | { readonly do: 'release'; readonly pick: number; readonly isAnswered: boolean }
  | { readonly do: 'withdraw' | 'give_up'; readonly pick: number }
  | { readonly do: 'unload' | 'restart'; readonly drainMs: number }
  | { readonly do: 'swap'; readonly modelId: string | undefined; readonly drainMs: number }
  | { readonly do: 'advance' | 'jump_wall'; readonly ms: number }
  | { readonly do: 'exit'; readonly code: number }
  | { readonly do: 'toggle_broken' | 'toggle_unregistered' | 'toggle_missing'; readonly modelId: string }
  | { readonly do: 'say'; readonly kind: 'ready' | 'no_model' | 'loading' | 'stranger' }
  | { readonly do: 'judge'; readonly kind: SanityVerdict['kind'] }
  | { readonly do: 'live'; readonly look: Look }
  | { readonly do: 'claim'; readonly untilReady: boolean; readonly reason: EvictionReason }
  | { readonly do: 'pull'; readonly how: 'progress' | 'done' | 'failed' }
  | { readonly do: 'desk'; readonly how: 'admit' | 'insufficient' | 'loading' }
  | { readonly do: 'configure'; readonly keys: Readonly<Record<string, unknown>> }
  | { readonly do: 'close'; readonly drainMs: number; readonly keepEngine: boolean }
  | { readonly do: 'load'; readonly by: 'person' | 'daemon' }
  | { readonly do: (typeof PLAIN_STEPS)[number] }

const PLAIN_STEPS = [
  'settle',
  'settle',
  'settle',
  'settle',
  'look',
  'files_wrong',
  'files_changed',
  'files_same',
  'hold_files',
  'close_if_down',
  'fail_start',
  'evict',
  'evict',
  'toggle_desk',
  'toggle_refusal',
  'toggle_lane',
  'new_build',
] as const

const model = fc.constantFrom(...MODELS)
const anyModel = fc.option(model, { nil: undefined })
const drainMs = fc.constantFrom(0, 50, 30_000)
const pick = fc.nat(7)

function step<Name extends Step['do']>(...names: Name[]) {
  return fc.constantFrom(...names)
}

/** Any step, those that lead somewhere more often than those that end everything. */
export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      do: step('acquire'),
      modelId: anyModel,
      waitMs: fc.constantFrom(10, 60_000),
      key: fc.constantFrom(undefined, 'a', 'b'),
      isQuick: fc.boolean(),
    }),
  },
  { weight: 9, arbitrary: fc.record({ do: step('release'), pick, isAnswered: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ do: step('withdraw'), pick }) },
  { weight: 3, arbitrary: fc.record({ do: step('unload', 'restart'), drainMs }) },
  { weight: 3, arbitrary: fc.record({ do: step('swap'), modelId: anyModel, drainMs }) },
  { weight: 4, arbitrary: fc.record({ do: step('load'), by: fc.constantFrom('person' as const, 'daemon' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: step('close'), drainMs, keepEngine: fc.boolean() }) },
  {
    weight: 7,
    arbitrary: fc.record({
      do: step('advance'),
      ms: fc.constantFrom(1, 60, 1_000, 5_000, 10_000, 31_000, 61_000, 301_000, 901_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: step('jump_wall'), ms: fc.constantFrom(-3_600_000, 20_000, 3_600_000) }) },
  { weight: 6, arbitrary: fc.record({ do: step('exit'), code: fc.constantFrom(0, 1, 1, 98) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: step('toggle_broken', 'toggle_unregistered', 'toggle_missing'), modelId: model }),
  },
  {
    weight: 16,
    arbitrary: fc.record({
      do: step('say'),
      kind: fc.constantFrom(
        'ready' as const,
        'ready' as const,
        'ready' as const,
        'no_model' as const,
        'loading' as const,
        'stranger' as const,
      ),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      do: step('judge'),
      kind: fc.constantFrom(
        'passed' as const,
        'passed' as const,
        'passed' as const,
        'unsupported' as const,
        'failed' as const,
        'ambiguous' as const,
      ),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: step('live'),
      look: fc.constantFrom('alive' as const, 'silent' as const, 'refused' as const),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: step('claim'),
      untilReady: fc.boolean(),
      reason: fc.constantFrom('preload' as const, 'arbiter' as const, 'group' as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: step('give_up'), pick }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: step('pull'),
      how: fc.constantFrom('progress' as const, 'done' as const, 'done' as const, 'failed' as const),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: step('desk'),
      how: fc.constantFrom('admit' as const, 'admit' as const, 'insufficient' as const, 'loading' as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: step('configure'),
      keys: fc.constantFrom<Readonly<Record<string, unknown>>[]>(
        {},
        { pinned: true },
        { unload_after_s: 30 },
        { pinned: true, unload_after_s: 30 },
        { idle_timeout_s: 10 },
        { idle_timeout_s: 0, unload_after_s: 1 },
      ),
    }),
  },
  { weight: 16, arbitrary: fc.record({ do: step(...PLAIN_STEPS) }) },
)

/** Nobody but requests and the daemon wants anything of a slot whose engines do not live long. */
export const crashStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: step('acquire'), modelId: anyModel, waitMs: fc.constant(60_000) }) },
  { weight: 1, arbitrary: fc.record({ do: step('load'), by: fc.constant('daemon' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: step('release'), pick, isAnswered: fc.constant(false) }) },
  { weight: 6, arbitrary: fc.record({ do: step('exit'), code: fc.constant(1) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: step('say'), kind: fc.constantFrom('ready' as const, 'no_model' as const) }),
  },
  { weight: 1, arbitrary: fc.record({ do: step('judge'), kind: fc.constant('failed' as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: step('advance'), ms: fc.constantFrom(1_000, 4_990, 5_000, 9_990, 20_000, 290_000) }),
  },
  { weight: 4, arbitrary: fc.record({ do: step('settle', 'fail_start', 'settle') }) },
)

/** A slot in use that others want the memory of. */
export const claimStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: step('acquire'), modelId: fc.constant(undefined), waitMs: fc.constant(60_000) }),
  },
  { weight: 1, arbitrary: fc.record({ do: step('acquire'), modelId: model, waitMs: fc.constant(60_000) }) },
  { weight: 3, arbitrary: fc.record({ do: step('release'), pick, isAnswered: fc.constant(true) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: step('claim'), untilReady: fc.boolean(), reason: fc.constant('preload' as const) }),
  },
  { weight: 2, arbitrary: fc.record({ do: step('give_up'), pick }) },
  { weight: 4, arbitrary: fc.record({ do: step('say'), kind: fc.constant('ready' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: step('judge'), kind: fc.constant('passed' as const) }) },
  { weight: 5, arbitrary: fc.record({ do: step('settle', 'settle', 'settle', 'evict', 'close_if_down') }) },
  { weight: 1, arbitrary: fc.record({ do: step('unload', 'restart'), drainMs }) },
)
