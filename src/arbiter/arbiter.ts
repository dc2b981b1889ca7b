import { arbiterStatePath, type Home } from '../files/home.ts'
import { isoTime } from '../kernel/units.ts'
import { readQueues, readStats } from './comfy-view.ts'
import { closedError } from './errors.ts'
import { imageProblemOf, refusalOf } from './gate.ts'
import type { Arbiter, ArbiterPass, EnterOptions } from './ports.ts'
import { FREE_PASS } from './request-book.ts'
import { chooseGroups } from './rules/choose-groups.ts'
import { MODE_TIMING, WAIT_MS } from './rules/timing.ts'
import { startStateOf } from './start-state.ts'
import { type ArbiterStore, createStateFile } from './state-file.ts'
import { createStateKeeper } from './state-keeper.ts'
import type { ArbiterDeps } from './switch-host.ts'
import { pin, switchover } from './switchover.ts'
import { TurnLoop } from './turn-loop.ts'

/** The arbiter of one home; its state is in `gpu_arbiter.json`. Made once the slots know what of them runs. Source: SPEC 8 "Arbiter". */
export function createArbiter({ home, ...deps }: ArbiterDeps & { readonly home: Home }): Promise<Arbiter> {
  return openArbiter({ ...deps, store: createStateFile(arbiterStatePath(home)) })
}

/** The same with its state wherever the caller says. */
export async function openArbiter({
  store,
  ...deps
}: ArbiterDeps & { readonly store: ArbiterStore }): Promise<Arbiter> {
  const { slots, clock, log, bus, settings, comfyOf } = deps
  const stored = await store.read()
  const rows = slots.rows()
  const { keepMs } = deps.timing ?? MODE_TIMING
  const world = { nowMs: clock.nowMs(), log, bus, keepMs }
  const start = startStateOf(stored, rows, chooseGroups(rows, settings().arbiter), world)
  const state = createStateKeeper(start.state, { store, log, bus })
  if (stored.kind !== 'none') await state.keep({})
  const loop = new TurnLoop(deps, state, start)
  loop.wake()

  return {
    enter: (slot, options) => enter(loop, slot, options),
    enterNow: (slot) => (loop.isClosed ? undefined : passNow(loop, slot)),
    refusal: (slot) => refusalOf(loop, slot),
    isSaved: (slot) => loop.isSaved(slot),
    async status() {
      const { groups, book } = loop
      const now = slots.rows()
      const images = now.filter((row) => groups.img.includes(row.name))
      const [queue, stats] = await Promise.all([
        readQueues(images, comfyOf, clock),
        readStats(
          images.find((row) => row.name === groups.imageSlot),
          comfyOf,
          clock,
        ),
      ])
      return {
        active: groups.offBecause === undefined,
        mode: state.now.mode,
        switching_to: state.now.switching_to,
        pinned: state.now.pinned,
        since: isoTime(state.now.since_ms),
        image_slot: groups.imageSlot ?? null,
        llm_slots: [...groups.llm],
        saved_slots: [...state.now.saved_slots],
        waiting: { llm: book.countWaiting('llm'), img: book.countWaiting('img') },
        rendering: book.running('img'),
        queue: queue.kind === 'read' ? { running: queue.running, pending: queue.pending } : null,
        system_stats: stats,
      }
    },
    pin: (pinned) => pin(loop, deps, pinned),
    switchover: (request) => switchover(loop, deps, request),
    look: () => loop.wake(),
    close: () => loop.close(),
  }
}

/** Undefined = its group has not the memory, or it is not its turn. */
function passNow(loop: TurnLoop, slot: string): ArbiterPass | undefined {
  const group = loop.groupOf(slot)
  if (group === undefined) return FREE_PASS
  return loop.mayPass(group) ? loop.book.begin(slot, group) : undefined
}

function enter(loop: TurnLoop, slot: string, { signal, maxWaitMs = WAIT_MS }: EnterOptions): Promise<ArbiterPass> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    if (loop.isClosed) return reject(closedError(slot))
    const pass = passNow(loop, slot)
    if (pass !== undefined) return resolve(pass)
    const group = loop.groupOf(slot)
    if (group === undefined) return resolve(FREE_PASS)
    const hopeless = group === 'img' ? imageProblemOf(loop.readRows().find((row) => row.name === slot)) : undefined
    if (hopeless !== undefined) return reject(hopeless)
    const leave = () => {
      if (loop.book.withdraw(waiter)) reject(signal.reason)
      loop.wake()
    }
    const settle =
      <T>(end: (value: T) => void) =>
      (value: T) => {
        signal.removeEventListener('abort', leave)
        end(value)
      }
    const waiter = {
      slot,
      group,
      untilMs: loop.nowMs + Math.min(maxWaitMs, WAIT_MS),
      resolve: settle(resolve),
      reject: settle(reject),
    }
    signal.addEventListener('abort', leave, { once: true })
    loop.book.add(waiter)
    loop.wake()
  })
}
