import { slotListSchema } from '../contract/lists.ts'
import { type LoadRecord, loadListSchema } from '../contract/load-record.ts'
import { logLineSchema, slotLogsSchema } from '../contract/logs.ts'
import { type Operation, type OperationKind, operationSchema } from '../contract/operation.ts'
import { type SlotRow, slotRowSchema } from '../contract/slot-row.ts'
import { type SlotStateRecord, slotStateRecordSchema } from '../contract/slot-state.ts'
import { parseJson } from '../kernel/read-json.ts'
import { type Http, unexpected } from './http.ts'
import { type SlotAdminClient, slotAdminClient } from './slot-admin.ts'

export interface WaitOptions {
  /** Bounds the wait in seconds; 0 returns at once with the operation; absent waits for the end state. */
  readonly waitS?: number
  /** Ends the wait, not the operation. */
  readonly signal?: AbortSignal
}

export interface StopOptions extends WaitOptions {
  /** How long running requests may still take, seconds 0–3600; absent = the daemon's default (30). */
  readonly drainS?: number
}

/** `done: false` = the wait ended first; the operation goes on. Never false without `waitS`. */
export type SlotActionResult =
  | { readonly done: true; readonly slot: SlotRow }
  | { readonly done: false; readonly operation: Operation }

/** What a slot is to run from now on. */
export interface SwapRequest {
  readonly modelId: string
  /** Write the binding to the slot's file; else it holds until the slot is unloaded. */
  readonly persist?: boolean
}

export interface SlotsClient extends SlotAdminClient {
  /** In name order. */
  list(): Promise<readonly SlotRow[]>
  show(name: string): Promise<SlotRow>
  state(name: string): Promise<SlotStateRecord>
  /** The last loads that have ended, newest first; `limit` 1–200, default 20. */
  loads(name: string, options?: { readonly limit?: number }): Promise<readonly LoadRecord[]>
  load(name: string, options?: WaitOptions): Promise<SlotActionResult>
  /** `force`: also a pinned one. */
  unload(name: string, options?: StopOptions & { readonly force?: boolean }): Promise<SlotActionResult>
  restart(name: string, options?: StopOptions): Promise<SlotActionResult>
  swap(name: string, request: SwapRequest, options?: StopOptions): Promise<SlotActionResult>
  /** The last `lines` (1–10000, default 200) of the engine's own output, oldest first. */
  logs(name: string, options?: { readonly lines?: number }): Promise<readonly string[]>
  /** The last `lines` (0–10000, default 200), then every new one until the daemon ends or the loop is left. */
  followLogs(
    name: string,
    options?: { readonly lines?: number; readonly signal?: AbortSignal },
  ): AsyncGenerator<string, void, void>
  /** The state now, then each change. */
  followState(name: string, options?: { readonly signal?: AbortSignal }): AsyncGenerator<SlotStateRecord, void, void>
}

/** `/api/slots`, typed. Errors of every call: ClientError, UnreachableError. */
export function slotsClient(http: Http): SlotsClient {
  const at = (name: string, rest = '') => `/api/slots/${encodeURIComponent(name)}${rest}`

  async function act(
    kind: OperationKind,
    name: string,
    options: StopOptions = {},
    request?: unknown,
    force = false,
  ): Promise<SlotActionResult> {
    const response = await http.send(at(name, `/${kind}`), {
      method: 'POST',
      query: { wait: options.waitS, drain_s: options.drainS, ...(force ? { force: 'true' } : {}) },
      signal: options.signal,
      ...(request === undefined ? {} : { body: request }),
    })
    const body = parseJson(await response.text())
    if (response.status === 202) {
      const operation = operationSchema.safeParse(body)
      if (operation.success) return { done: false, operation: operation.data }
    } else {
      const slot = slotRowSchema.safeParse(body)
      if (slot.success) return { done: true, slot: slot.data }
    }
    throw unexpected(response.status, `the answer to ${kind} has another shape than this version expects`)
  }

  return {
    ...slotAdminClient(http),
    list: async () => (await http.json(slotListSchema, '/api/slots')).slots,
    show: (name) => http.json(slotRowSchema, at(name)),
    state: (name) => http.json(slotStateRecordSchema, at(name, '/state')),
    loads: async (name, { limit } = {}) =>
      (await http.json(loadListSchema, at(name, '/loads'), { query: { limit } })).loads,
    load: (name, options) => act('load', name, options),
    unload: (name, options) => act('unload', name, options, undefined, options?.force),
    restart: (name, options) => act('restart', name, options),
    swap: (name, { modelId, persist = false }, options) => act('swap', name, options, { model_id: modelId, persist }),
    logs: async (name, options = {}) =>
      (await http.json(slotLogsSchema, at(name, '/logs'), { query: { lines: options.lines } })).lines,
    async *followLogs(name, options = {}) {
      const query = { lines: options.lines }
      for await (const message of http.events(at(name, '/logs/stream'), { query, signal: options.signal })) {
        if (message.event !== 'line') continue
        const line = logLineSchema.safeParse(parseJson(message.data))
        if (line.success) yield line.data.line
      }
    },
    async *followState(name, options = {}) {
      for await (const message of http.events(at(name, '/state/stream'), { signal: options.signal })) {
        if (message.event !== 'state') continue
        const record = slotStateRecordSchema.safeParse(parseJson(message.data))
        if (record.success) yield record.data
      }
    },
  }
}
