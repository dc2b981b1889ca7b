import type { Device, LoadPhases, SlotRow, SlotType } from '../contract/slot-row.ts'
import type { SlotState } from '../contract/slot-state.ts'
import type { Hal0Error } from '../kernel/errors.ts'
import type { EngineRoute } from '../runners/runner.ts'
import type { StartedBy } from './actor/start-gate.ts'

/** Where a leased engine answers. */
export interface EngineEndpoint {
  /** `http://127.0.0.1:PORT`, no trailing slash. */
  readonly origin: string
  /** Sent as `Authorization: Bearer …` by the gateway; undefined = the runner has no keys. Never logged. */
  readonly engineKey: string | undefined
  /** The name the engine knows its model by (the slot name). */
  readonly alias: string
  /** What a client that leaves does to the engine (runner option). */
  readonly onClientAbort: 'abort' | 'drain'
  /** What the engine answers; any other route is `dispatch.route_unsupported`. Source: SPEC 11. */
  readonly routes: readonly EngineRoute[]
  /** Its streams tell their usage only when asked to (`stream_options.include_usage`). Absent = they tell it anyway. Source: SPEC 11 "Usage". */
  readonly usageOnRequest?: true
  /** How it is spoken to where not as OpenAI's own API is: hal0 translates. Absent = requests are passed on. */
  readonly protocol?: 'comfyui'
  /** `chat_template_kwargs.enable_thinking` for chat requests that do not say; undefined = nothing is put in. Source: SPEC 3 "[tune]". */
  readonly enableThinking: boolean | undefined
}

/**
 * A request's hold on a slot, from before it is forwarded until its answer is drained or aborted. Source: SPEC 1, 7.
 * A leased slot is not stopped unless the lease was revoked first.
 */
export interface Lease {
  readonly slot: string
  /** The engine's generation: one per start. Connection pools are per generation. */
  readonly attemptId: string
  readonly endpoint: EngineEndpoint
  /** Set when the slot has to stop now (drain deadline passed, engine died): the error for the client. */
  readonly revokedFor: Hal0Error | undefined
  /** Called once when `revokedFor` is set, at once if it is already; one listener at a time, undefined takes it away. */
  onRevoked(listener: ((reason: Hal0Error) => void) | undefined): void
  /** The same as a signal, made when it is first asked for: `reason` is the error. */
  readonly revoked: AbortSignal
  /** The engine has sent something: it lives, whatever its health says. */
  moved(): void
  /** Call exactly when the engine no longer works on the request; `answered`: it was answered to its end. Idempotent. */
  release(outcome?: 'answered'): void
}

export interface AcquireOptions {
  /** The client left: the wait ends at once and leaves no trace. `acquire` rejects with `signal.reason`. */
  readonly signal: AbortSignal
  /** How long to wait for a load before `slot.loading`; ms ≥ 0. Waiting for a place at a loaded engine is not bounded by it. */
  readonly waitMs: number
  /**
   * Only for the on-demand slot: the model that must be loaded. When another one is, its leases may end by themselves (none is cut), then
   * this one is loaded; requests that come meanwhile for what is loaded wait behind it. Source: SPEC 11 "Resolution" 3.
   */
  readonly modelId?: string
  /** Whose request it is: waiting requests are served in turn by key, and in order within one. Absent = all such are one. Source: SPEC 11 "Queues". */
  readonly key?: string
}

/** What resolution looks at of a slot; reads what is so at the moment it is asked, and costs next to nothing. Source: SPEC 4 "Selection", 11. */
export interface SlotView {
  readonly name: string
  readonly aliases: readonly string[]
  readonly type: SlotType
  readonly default: boolean
  readonly state: SlotState
  readonly idle_reason: SlotRow['idle_reason']
  readonly model_id: string | null
  readonly device: Device
  readonly runner: string
  readonly in_flight: number
  /** Epoch ms; 0 = never in the life of this daemon. */
  readonly lastUsedMs: number
}

export interface StopRequest {
  /** Leases may end by themselves for so long, then they are revoked; 0 cuts at once. */
  readonly drainMs: number
}

export interface UnloadRequest extends StopRequest {
  /** Also a pinned one. Source: SPEC 4 `?force=true`. */
  readonly force?: boolean
}

/** The slots of this daemon. Every call is a message to the actor of one slot; nothing here reads state and then acts on it. */
export interface Slots {
  /** In name order. */
  rows(): readonly SlotRow[]
  row(name: string): SlotRow | undefined
  /** In name order; the same array until a slot is made or taken away. For the way of a request, where rows cost too much. */
  views(): readonly SlotView[]
  /** Phases of the last completed load; another object after each load. Null = none. */
  phases(name: string): LoadPhases | null
  /**
   * A lease, where it needs no wait: the slot is up, nobody waits, its engine has a place. Undefined = `acquire` has to be asked. The slot
   * decides as it would for `acquire`, and counts it the same.
   */
  leaseNow(name: string, modelId: string | undefined): Lease | undefined
  /**
   * The engine that is up, for a look at it: it has no place there, is no use, is counted nowhere, and no stop waits for it. Its release does
   * nothing; it is revoked when the engine ends. Undefined = nothing is up. Source: SPEC 7 "never count as use".
   */
  lookNow(name: string): Lease | undefined
  /**
   * Waits until the slot can serve (starting one load if needed, shared by all waiters) and until the engine has a place.
   * Errors: `slot.not_found`, `slot.not_ready` (no model bound), `slot.loading`, `slot.unloading`, `slot.crash_looping`,
   * `slot.preload_evict_insufficient`, `dispatch.queue_full`,
   * what is wrong with the slot's files (`config.invalid`, `slot.config_error`, `slot.llama_env_denied`, `slot.unconverted`,
   * `slot.profile_missing`, `slot.flag_unsupported`, `model.not_found`, `slot.model_missing`), and the failure of the load (`slot.port_in_use`, `slot.spawn_failed`, `slot.health_failed`).
   */
  acquire(name: string, options: AcquireOptions): Promise<Lease>
  /**
   * A load, a person's unless `by` says otherwise (only that resets the breaker): joins a running load; of a slot that serves, restarts it once when its launch has changed (leases may end first),
   * else does nothing. A mistake in its files rejects and leaves what runs alone. Resolves with the end state. Errors as `acquire`.
   */
  load(name: string, by?: StartedBy): Promise<SlotRow>
  /** Resolves when the process is dead and the slot offline (a failed one too). Errors: `slot.not_found`, `slot.pinned`, `slot.terminate_timeout`. */
  unload(name: string, request: UnloadRequest): Promise<SlotRow>
  /** unload + load; also from `error` and `offline`. A mistake in the files rejects before anything is stopped. */
  restart(name: string, request: StopRequest): Promise<SlotRow>
  /** Absolute path of the slot's engine log. Errors: `slot.not_found`. */
  logPath(name: string): string
  /** Calls back when an engine generation has ended, so that its connection pool can go. Returns the unsubscriber. */
  onEngineGone(listener: (attemptId: string) => void): () => void
}
