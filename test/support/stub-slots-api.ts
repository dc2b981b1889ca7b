import type { SlotRow } from '../../src/contract/slot-row.ts'
import { Hal0Error } from '../../src/kernel/errors.ts'
import type { Slots, StopRequest } from '../../src/slots/slots.ts'
import { BASE_ROW } from './base-row.ts'
import { viewOf } from './view-of-row.ts'

export interface StubCall {
  readonly kind: 'load' | 'unload' | 'restart'
  readonly name: string
  readonly request: StopRequest | undefined
  /** Ends the call. */
  readonly resolve: (row: SlotRow) => void
  readonly reject: (thrown: unknown) => void
}

/** Slots for tests of what stands above them: rows are set by the test, each operation ends when the test says so. */
export interface StubSlots extends Slots {
  readonly calls: StubCall[]
  set(row: SlotRow): void
  delete(name: string): void
}

export function stubRow(name: string, more: Partial<SlotRow> = {}): SlotRow {
  return { ...BASE_ROW, name, port: 8081, pid: 4711, runner: 'cpu', parallel: 4, ...more }
}

/** `logFolder` holds `<slot>.log`. */
export function stubSlots(logFolder: string, rows: readonly SlotRow[]): StubSlots {
  const byName = new Map(rows.map((row) => [row.name, row]))
  const calls: StubCall[] = []

  function begin(kind: StubCall['kind'], name: string, request?: StopRequest): Promise<SlotRow> {
    return new Promise((resolve, reject) => calls.push({ kind, name, request, resolve, reject }))
  }

  return {
    calls,
    set: (row) => void byName.set(row.name, row),
    delete: (name) => void byName.delete(name),
    rows: () => [...byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    row: (name) => byName.get(name),
    views: () => [...byName.keys()].toSorted().map((name) => viewOf(() => byName.get(name) ?? stubRow(name))),
    phases: (name) => byName.get(name)?.phases ?? null,
    leaseNow: () => undefined,
    lookNow: () => undefined,
    acquire: () => Promise.reject(Hal0Error.of('slot.not_ready', 'the stub serves nobody')),
    load: (name) => begin('load', name),
    unload: (name, request) => begin('unload', name, request),
    restart: (name, request) => begin('restart', name, request),
    logPath(name) {
      if (!byName.has(name)) throw Hal0Error.of('slot.not_found', `no slot ${name}`)
      return `${logFolder}/${name}.log`
    },
    onEngineGone: () => () => {},
  }
}
