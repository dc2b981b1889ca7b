import type { Hal0Client } from '../../src/client/client.ts'
import { ClientError } from '../../src/client/client-errors.ts'
import type { Daemon } from '../../src/daemon.ts'

/** Somebody who stops, swaps and kills slots while requests are under way, and somebody who starts those that failed. */
export interface Trouble {
  /** So many requests have ended; what is due by now is done, one after the other. Resolves when it is not far behind. */
  progress(done: number): Promise<void>
  /** Resolves when no slot waits for a person; a client that was told so waits for it. */
  healed(): Promise<void>
  /** Nothing more is done; resolves with what went wrong on the way. */
  end(): Promise<readonly string[]>
  /** What was done so far, in order. */
  readonly done: readonly string[]
}

type Act = readonly [name: string, act: () => Promise<unknown>]

/** What the API may answer to what is asked of a slot that somebody else is at, too. Source: SPEC 4, 6. */
const MAY_FAIL = new Set(['slot.not_found', 'slot.illegal_transition', 'slot.unloading', 'slot.loading'])
const LOOK_MS = 25
/** So many acts may be due and not done: else the requests would be over before them. */
const MAX_BEHIND = 2

const pause = () => new Promise((resolve) => setTimeout(resolve, LOOK_MS))

/** `every`: so many requests stand between two acts. */
export function startTrouble(daemon: Daemon, client: Hal0Client, every: number): Trouble {
  const { slots } = client
  const kill = (name: string) => async () => {
    const pid = daemon.slots.row(name)?.pid ?? null
    if (pid !== null) process.kill(pid, 'SIGKILL')
  }
  const acts: readonly Act[] = [
    ['unload agent', () => slots.unload('agent', { drainS: 0, force: true })],
    ['restart rude', () => slots.restart('rude', { drainS: 1 })],
    ['swap agent', () => slots.swap('agent', { modelId: 'twin' }, { drainS: 1 })],
    ['kill agent', kill('agent')],
    ['unload embed', () => slots.unload('embed', { drainS: 1 })],
    ['restart stt', () => slots.restart('stt', { drainS: 0 })],
    ['unload scratch', () => slots.unload('scratch', { drainS: 0 })],
    ['swap back', () => slots.swap('agent', { modelId: 'hello' }, { drainS: 0 })],
    ['kill embed', kill('embed')],
    ['unload rude', () => slots.unload('rude', { drainS: 2 })],
    ['load rude', () => slots.load('rude')],
  ]
  const done: string[] = []
  const mistakes: string[] = []
  let due = 0
  let isOver = false
  let wake: (() => void) | undefined
  let working: Promise<void> = Promise.resolve()

  async function attempt([name, act]: Act): Promise<void> {
    try {
      await act()
    } catch (error) {
      const isExpected = error instanceof ClientError && MAY_FAIL.has(error.code)
      if (!isExpected) mistakes.push(`${name}: ${String(error)}`)
    }
    done.push(name)
  }

  const failed = () => daemon.slots.rows().filter(({ state }) => state === 'error')

  async function heal(): Promise<void> {
    while (!isOver) {
      // One that is killed while it loads is loaded again with the next look.
      await Promise.all(failed().map(({ name }) => slots.load(name).catch(() => undefined)))
      await new Promise<void>((resolve) => {
        wake = resolve
        setTimeout(resolve, LOOK_MS)
      })
    }
  }
  const healing = heal()

  return {
    done,
    async progress(count) {
      while ((due + 1) * every <= count) {
        const act = acts[due++ % acts.length]
        if (act !== undefined) working = working.then(() => attempt(act))
      }
      while (due - done.length > MAX_BEHIND) await pause()
    },
    async healed() {
      while (!isOver && failed().length > 0) {
        wake?.()
        await pause()
      }
    },
    async end() {
      await working
      isOver = true
      wake?.()
      await healing
      return mistakes
    },
  }
}
