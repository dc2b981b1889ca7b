import { Counter, Histogram, type Registry } from 'prom-client'
import { countable, isErrorStatus, type RequestRecord, type TokenUsage } from '../contract/request-record.ts'
import type { SlotRow } from '../contract/slot-row.ts'
import type { RequestReader } from '../contract/usage.ts'
import { SECOND_MS } from '../kernel/units.ts'
import { MAIN_ROUTE } from './rules/main-route.ts'

/** What is counted of requests that are over. Source: SPEC 17. */
export interface RequestMetrics {
  readonly onRequests: RequestReader
  /** These slots are there: the series of new ones begin at zero, those of others go. */
  look(rows: readonly NamedSlot[]): void
}

type NamedSlot = Pick<SlotRow, 'name' | 'type'>

/** Label `slot` of requests for which no slot was found, or whose slot is gone. */
const NO_SLOT = ''
/** Label `route` of what no route of the contract answers. */
const NO_ROUTE = 'other'

const TOKEN_KINDS = ['prompt', 'completion', 'cached'] as const
type Tokens = Record<(typeof TOKEN_KINDS)[number], number>

/** Seconds: a small embedding takes milliseconds, a long answer minutes. */
const DURATION_BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]
/** Seconds: a prompt in the cache is answered at once; one of a hundred thousand tokens, or a load, takes a minute or two. */
const TTFT_BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]

/** `rows`: asked when a name is new, so that a label is always the name of a slot that is or was there. */
export function createRequestMetrics(registry: Registry, rows: () => readonly NamedSlot[]): RequestMetrics {
  const registers = [registry]
  const requests = new Counter({
    name: 'hal0_requests_total',
    help: 'Requests to /v1 and /upstream that are over, by slot, route and HTTP status (499: the client left before there was an answer).',
    labelNames: ['slot', 'route', 'code'],
    registers,
  })
  const durations = new Histogram({
    name: 'hal0_request_duration_seconds',
    help: 'From the first byte of a request to the end of its answer, waiting included.',
    labelNames: ['slot', 'route'],
    buckets: DURATION_BUCKETS_S,
    registers,
  })
  const firstBytes = new Histogram({
    name: 'hal0_ttft_seconds',
    help: 'From the first byte of a request to the first byte of an answer that is no error, waiting included.',
    labelNames: ['slot'],
    buckets: TTFT_BUCKETS_S,
    registers,
  })
  const tokens = new Counter({
    name: 'hal0_tokens_total',
    help: 'Tokens as engines counted them: of prompts, of answers, and of prompts found in the cache.',
    labelNames: ['slot', 'kind'],
    registers,
  })
  requests.inc({ slot: NO_SLOT, route: NO_ROUTE, code: 404 }, 0)
  durations.zero({ slot: NO_SLOT, route: NO_ROUTE })

  /** Routes and codes that each slot has series of: what there is to remove when it goes. */
  const seen = new Map<string, Map<string, Set<number>>>()

  function begin({ name: slot, type }: NamedSlot): void {
    if (seen.has(slot)) return
    const route = MAIN_ROUTE[type]
    requests.inc({ slot, route, code: 200 }, 0)
    durations.zero({ slot, route })
    firstBytes.zero({ slot })
    for (const kind of TOKEN_KINDS) tokens.inc({ slot, kind }, 0)
    remember(slot, route, 200)
  }

  function drop(slot: string): void {
    for (const [route, codes] of seen.get(slot) ?? []) {
      for (const code of codes) requests.remove({ slot, route, code })
      durations.remove({ slot, route })
    }
    seen.delete(slot)
    firstBytes.remove({ slot })
    for (const kind of TOKEN_KINDS) tokens.remove({ slot, kind })
  }

  function remember(slot: string, route: string, code: number): void {
    let routes = seen.get(slot)
    if (routes === undefined) seen.set(slot, (routes = new Map()))
    const codes = routes.get(route)
    if (codes === undefined) routes.set(route, new Set([code]))
    else codes.add(code)
  }

  function labelOf(slot: string | undefined): string {
    if (slot === undefined) return NO_SLOT
    if (seen.has(slot)) return slot
    const row = rows().find(({ name }) => name === slot)
    if (row === undefined) return NO_SLOT
    begin(row)
    return slot
  }

  function count(record: RequestRecord, slot: string): void {
    const { route, status: code, firstByteMs } = record
    requests.inc({ slot, route, code })
    durations.observe({ slot, route }, seconds(record.elapsedMs))
    if (firstByteMs !== undefined && !isErrorStatus(code)) firstBytes.observe({ slot }, seconds(firstByteMs))
    if (slot !== NO_SLOT) remember(slot, route, code)
  }

  return {
    look(now) {
      const names = new Set(now.map(({ name }) => name))
      for (const slot of [...seen.keys()]) if (!names.has(slot)) drop(slot)
      for (const row of now) begin(row)
    },
    onRequests(records, usages) {
      const sums = new Map<string, Tokens>()
      records.forEach((record, n) => {
        const slot = labelOf(record.slot)
        count(record, slot)
        const usage = usages[n]
        if (usage !== null && usage !== undefined) addTokens(sums, slot, usage)
      })
      for (const [slot, sum] of sums) for (const kind of TOKEN_KINDS) tokens.inc({ slot, kind }, sum[kind])
    },
  }
}

/** A clock that was set back, and what no number can hold, count as no time. */
function seconds(ms: number): number {
  return Number.isFinite(ms) && ms > 0 ? ms / SECOND_MS : 0
}

function addTokens(sums: Map<string, Tokens>, slot: string, usage: TokenUsage): void {
  let sum = sums.get(slot)
  if (sum === undefined) sums.set(slot, (sum = { prompt: 0, completion: 0, cached: 0 }))
  sum.prompt += countable(usage.promptTokens)
  sum.completion += countable(usage.completionTokens)
  sum.cached += countable(usage.cachedTokens)
}
