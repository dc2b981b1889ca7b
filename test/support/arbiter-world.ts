import { openArbiter } from '../../src/arbiter/arbiter.ts'
import type { Arbiter, ArbiterSlots, ComfyClient } from '../../src/arbiter/ports.ts'
import type { ArbiterSetting } from '../../src/arbiter/rules/choose-groups.ts'
import type { ArbiterStore, StoredState } from '../../src/arbiter/state-file.ts'
import type { ArbiterState } from '../../src/contract/arbiter.ts'
import type { NewEvent } from '../../src/contract/events.ts'
import type { SlotRow } from '../../src/contract/slot-row.ts'
import type { Clock } from '../../src/kernel/clock.ts'
import { Hal0Error } from '../../src/kernel/errors.ts'
import { silentLog } from '../../src/kernel/log.ts'
import { type Deferred, deferred } from '../../src/slots/actor/deferred.ts'
import { BASE_ROW } from './base-row.ts'
import { ManualClock } from './manual-clock.ts'

type Slot = { -readonly [Key in keyof SlotRow]: SlotRow[Key] }

/** What one request came to: `done`, or the code of its error. */
export interface Outcome {
  readonly slot: string
  readonly result: string
  /** Monotonic ms from its arrival to the beginning of its work, or to its refusal. */
  readonly waitedMs: number
  readonly retryAfterS: number | undefined
}

/** How long things take, ms. */
const LOAD_MS = 4_000
const STOP_MS = 500

/**
 * A card that slots share, on a manual clock: slots that load and stop, an image slot whose ComfyUI holds memory from its first render until
 * it is freed, and requests that come through the arbiter. It writes down every moment at which both groups hold memory, and every render cut.
 */
export class ArbiterWorld {
  readonly clock = new ManualClock()
  readonly events: NewEvent[] = []
  /** What must never happen, and did. */
  readonly violations: string[] = []
  readonly slots = new Map<string, Slot>()
  /** Loads that were asked for, in order. */
  readonly loads: string[] = []
  readonly failing = new Set<string>()
  /** Loads of these never end. */
  readonly hanging = new Set<string>()
  stored: StoredState = { kind: 'none' }
  setting: ArbiterSetting = 'auto'
  /** Renders that somebody began in ComfyUI itself. */
  ownRenders = 0
  isQueueReadable = true
  refusesFree = false
  freed = 0
  /** Happens while ComfyUI frees its memory. */
  onFree: (() => void) | undefined
  /** Loaded diffusion models. */
  imagesHeld = false
  #renders = 0
  /** Its disk and its calls end with the daemon. */
  #life = { isDead: false }
  readonly #claims = new Map<string, Deferred<'evicted' | 'refused'>[]>()
  readonly #loading = new Map<string, Deferred<SlotRow>>()
  /** Loads that a stop ended. */
  readonly #cut = new Set<Deferred<SlotRow>>()
  readonly #order: string[] = []

  add(name: string, row: Partial<SlotRow> = {}): this {
    this.slots.set(name, { ...BASE_ROW, name, device: 'gpu-vulkan', runner: 'llama-server', ...row })
    return this
  }

  get mode(): string {
    return this.stored.kind === 'found' ? this.stored.state.mode : 'llm'
  }

  state(name: string): string {
    return this.slots.get(name)?.state ?? 'none'
  }

  /** Types of the arbiter's events, in order. */
  get told(): readonly string[] {
    return this.events.map((event) => event.type)
  }

  /** A daemon begins with what the last one left. The last one is gone as by SIGKILL: nothing of it acts any more. */
  open(): Promise<Arbiter> {
    this.#life.isDead = true
    const life = { isDead: false }
    this.#life = life
    const { clock } = this
    const lifeClock: Clock = {
      nowMs: () => clock.nowMs(),
      monotonicMs: () => clock.monotonicMs(),
      setTimer: (delayMs, fire) => clock.setTimer(delayMs, () => !life.isDead && fire()),
    }
    const never = <T>() => new Promise<T>(() => {})
    const store: ArbiterStore = {
      read: async () => this.stored,
      write: async (state) => {
        if (life.isDead) return never()
        this.#writes?.(state)
        this.stored = { kind: 'found', state: structuredClone(state) }
      },
    }
    const slots: ArbiterSlots = {
      rows: () => [...this.slots.values()].map((slot) => ({ ...slot })),
      load: (name) => (life.isDead ? never() : this.load(name)),
      claim: (name) => (life.isDead ? { gone: never(), giveUp: () => {} } : this.#claim(name)),
      stop: (name) => (life.isDead ? never() : this.#stop(name)),
    }
    const comfy: ComfyClient = {
      queue: async () => {
        if (!this.isQueueReadable) throw new Error('connection refused')
        return { running: this.#renders + this.ownRenders, pending: 0 }
      },
      free: async () => {
        if (life.isDead) return never()
        if (this.refusesFree) throw new Error('500')
        this.freed++
        this.onFree?.()
        this.imagesHeld = false
      },
      stats: async () => ({ system: { os: 'posix' } }),
    }
    return openArbiter({
      slots,
      comfyOf: () => comfy,
      clock: lifeClock,
      log: silentLog,
      bus: { publish: (event) => void this.events.push(event) },
      settings: () => ({ arbiter: this.setting }),
      store,
    })
  }

  #writes: ((state: ArbiterState) => void) | undefined
  /** Called at each write of the state. */
  onWrite(listener: (state: ArbiterState) => void): void {
    this.#writes = listener
  }

  /** The daemon dies at once. */
  crash(): void {
    this.#life.isDead = true
  }

  /** A load as the slot's actor does it: others join. */
  load(name: string): Promise<SlotRow> {
    this.loads.push(name)
    const slot = this.slots.get(name)
    if (slot === undefined) return Promise.reject(Hal0Error.of('slot.not_found', `no slot ${name}`))
    if (['ready', 'serving', 'idle'].includes(slot.state)) return Promise.resolve(slot)
    const running = this.#loading.get(name)
    if (running !== undefined) return running.promise
    const answer = deferred<SlotRow>()
    this.#loading.set(name, answer)
    this.#set(slot, 'starting')
    if (this.hanging.has(name)) return answer.promise
    this.clock.setTimer(LOAD_MS, () => {
      if (this.#cut.has(answer)) return
      this.#loading.delete(name)
      if (this.failing.has(name)) {
        this.#set(slot, 'error')
        answer.reject(Hal0Error.of('slot.spawn_failed', `${name} failed`))
        return
      }
      this.#set(slot, 'ready')
      answer.resolve(slot)
      this.#stopIfClaimed(slot)
    })
    return answer.promise
  }

  /** One request, as the gateway sends it: it enters, loads its slot where need be, works for so long, and leaves. */
  async request(
    arbiter: Arbiter,
    name: string,
    workMs: number,
    signal = new AbortController().signal,
  ): Promise<Outcome> {
    const cameMs = this.clock.monotonicMs()
    const waited = () => this.clock.monotonicMs() - cameMs
    try {
      const pass = await arbiter.enter(name, { signal })
      try {
        await this.load(name)
        const slot = this.slots.get(name)
        if (slot === undefined) throw new Error('gone')
        if ((this.#claims.get(name)?.length ?? 0) > 0) this.violations.push(`${name} is claimed and gets a request`)
        const waitedMs = waited()
        this.#order.push(name)
        slot.in_flight++
        const isImage = slot.type === 'image'
        if (isImage) {
          this.#renders++
          this.imagesHeld = true
        }
        this.#set(slot, 'serving')
        await new Promise<void>((resolve) => void this.clock.setTimer(workMs, resolve))
        if (slot.state !== 'serving') this.violations.push(`a request of ${name} was cut: it is ${slot.state}`)
        if (isImage) this.#renders--
        slot.in_flight--
        if (slot.in_flight === 0) this.#set(slot, 'ready')
        this.#stopIfClaimed(slot)
        return { slot: name, result: 'done', waitedMs, retryAfterS: undefined }
      } finally {
        pass.leave()
      }
    } catch (cause) {
      const error = cause instanceof Hal0Error ? cause : undefined
      return { slot: name, result: error?.code ?? String(cause), waitedMs: waited(), retryAfterS: error?.retryAfterS }
    }
  }

  /** Slots in the order in which their requests began to work. */
  get order(): readonly string[] {
    return this.#order
  }

  #claim(name: string) {
    const answer = deferred<'evicted' | 'refused'>()
    const slot = this.slots.get(name)
    if (slot === undefined || slot.state === 'offline' || slot.state === 'error') answer.resolve('refused')
    else {
      this.#claims.set(name, [...(this.#claims.get(name) ?? []), answer])
      this.#stopIfClaimed(slot)
    }
    const giveUp = () => {
      const open = this.#claims.get(name)?.filter((one) => one !== answer) ?? []
      if (slot?.state === 'unloading') return
      this.#claims.set(name, open)
      answer.resolve('refused')
    }
    return { gone: answer.promise, giveUp }
  }

  #stopIfClaimed(slot: Slot): void {
    if ((this.#claims.get(slot.name)?.length ?? 0) === 0 || slot.in_flight > 0) return
    const isHanging = slot.state === 'starting' && this.hanging.has(slot.name)
    if (!isHanging && slot.state !== 'ready' && slot.state !== 'idle') return
    this.#end(slot)
  }

  /** As an unload that drains nothing: it cuts what runs, and a load under way ends. */
  async #stop(name: string): Promise<void> {
    const slot = this.slots.get(name)
    if (slot === undefined || slot.state === 'offline' || slot.state === 'error') return
    const gone = deferred<'evicted' | 'refused'>()
    this.#claims.set(name, [...(this.#claims.get(name) ?? []), gone])
    const load = this.#loading.get(name)
    if (load !== undefined) this.#cut.add(load)
    load?.reject(Hal0Error.of('slot.unloading', `${name} is being unloaded`, { retryAfterS: 1 }))
    this.#loading.delete(name)
    if (slot.state !== 'unloading') this.#end(slot)
    await gone.promise
  }

  #end(slot: Slot): void {
    this.#set(slot, 'unloading')
    this.clock.setTimer(STOP_MS, () => {
      this.#set(slot, 'offline')
      this.#loading.delete(slot.name)
      if (slot.type === 'image') this.imagesHeld = false
      for (const answer of this.#claims.get(slot.name) ?? []) answer.resolve('evicted')
      this.#claims.delete(slot.name)
    })
  }

  #set(slot: Slot, state: SlotRow['state']): void {
    slot.state = state
    this.#check()
  }

  /** Language slots of the shared card are in memory, and so are images. */
  #check(): void {
    if (this.setting === 'off') return
    const isUp = ({ state }: SlotRow) => state !== 'offline' && state !== 'error'
    const llm = [...this.slots.values()].filter(
      (slot) => slot.type !== 'image' && slot.device.startsWith('gpu') && isUp(slot),
    )
    if (llm.length > 0 && (this.imagesHeld || this.#renders > 0)) {
      this.violations.push(`${llm.map((slot) => `${slot.name} ${slot.state}`).join(', ')} beside images`)
    }
  }
}
