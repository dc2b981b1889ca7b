// One queue, one render at a time, and a history, as in ComfyUI.
import { randomUUID } from 'node:crypto'
import { blackPng } from './png.mjs'

/** @typedef {import('./validate.mjs').Graph} Graph */
/** @typedef {{ number: number, id: string, graph: Graph, clientId: string }} Item */

export class Comfy {
  counters = {
    requests: 0,
    prompts: 0,
    renders: 0,
    deleted: 0,
    frees: 0,
    interrupts: 0,
    running: 0,
    pending: 0,
    views: 0,
  }
  /** @type {Item[]} */
  pending = []
  /** @type {Item | undefined} */
  running
  /** @type {Record<string, unknown>} */
  history = {}
  /** @type {Map<string, Buffer>} */
  files = new Map()
  /** @type {Graph[]} */
  graphs = []
  /** @type {unknown[]} */
  freeBodies = []
  /** When diffusion models came into memory and left it. @type {{ at_ms: number, holds: boolean, renders: boolean }[]} */
  memoryLog = []
  /** @type {Set<() => void>} */
  waiters = new Set()
  /** @type {Set<() => void>} */
  gates = new Set()
  isInterrupted = false
  #number = 0

  /** @param {import('./knobs.mjs').Knobs} knobs */
  constructor(knobs) {
    this.knobs = knobs
  }

  /** @param {keyof Comfy['counters']} name @param {number} [by] */
  add(name, by = 1) {
    this.counters[name] += by
    for (const check of [...this.waiters]) check()
  }

  /** @param {Record<string, unknown>} changes */
  setKnobs(changes) {
    Object.assign(this.knobs, changes)
    for (const open of [...this.gates]) open()
  }

  /** @param {Graph} graph @param {string} clientId */
  put(graph, clientId) {
    const item = { number: this.#number++, id: randomUUID(), graph, clientId }
    this.graphs.push(graph)
    this.pending.push(item)
    this.add('prompts')
    this.add('pending')
    // Not in this turn: it is seen waiting at least once, as in the real one.
    setImmediate(() => void this.#next())
    return item
  }

  /** @param {string[]} ids */
  delete(ids) {
    const kept = this.pending.filter((item) => !ids.includes(item.id))
    const gone = this.pending.length - kept.length
    this.pending = kept
    this.add('pending', -gone)
    this.add('deleted', gone)
  }

  /** Models are loaded (a render needs them) or let go of. @param {boolean} holds */
  hold(holds) {
    if ((this.memoryLog.at(-1)?.holds ?? false) === holds) return
    this.memoryLog.push({ at_ms: Date.now(), holds, renders: this.running !== undefined })
  }

  interrupt() {
    this.add('interrupts')
    this.isInterrupted = this.running !== undefined
    for (const open of [...this.gates]) open()
  }

  async #next() {
    if (this.running !== undefined) return
    const item = this.pending.shift()
    if (item === undefined) return
    this.running = item
    this.isInterrupted = false
    this.add('pending', -1)
    this.add('running')
    this.hold(true)
    if (this.knobs.die_mid_render) {
      process.stderr.write('Fatal Python error: Segmentation fault\n')
      process.exit(this.knobs.exit_code)
    }
    if (this.knobs.render_ms > 0) await new Promise((resolve) => setTimeout(resolve, this.knobs.render_ms))
    while (this.knobs.hold_render && !this.isInterrupted) {
      await new Promise((resolve) => {
        const open = () => {
          this.gates.delete(open)
          resolve(undefined)
        }
        this.gates.add(open)
      })
    }
    if (!this.knobs.forget) this.history[item.id] = this.#end(item)
    this.running = undefined
    this.add('running', -1)
    this.add('renders')
    void this.#next()
  }

  /** @param {Item} item */
  #end({ number, id, graph, clientId }) {
    const prompt = [number, id, graph, { client_id: clientId }, ['7']]
    /** @type {[string, object][]} */
    const messages = [['execution_start', { prompt_id: id, timestamp: Date.now() }]]
    const failing = this.knobs.fail_node
    if (this.isInterrupted)
      messages.push(['execution_interrupted', { prompt_id: id, node_id: '5', node_type: 'KSampler', executed: [] }])
    else if (failing !== null) {
      const said = {
        exception_message: this.knobs.fail_message,
        exception_type: 'torch.OutOfMemoryError',
        traceback: [],
      }
      const type = graph[failing]?.class_type ?? 'Unknown'
      messages.push([
        'execution_error',
        { prompt_id: id, node_id: String(failing), node_type: type, executed: [], ...said },
      ])
    }
    const isWell = messages.length === 1
    const status = { status_str: isWell ? 'success' : 'error', completed: isWell, messages }
    const outputs = isWell && !this.knobs.no_images ? { 7: { images: this.#paint(graph, id) } } : {}
    return { prompt, outputs, ...(this.knobs.no_status ? {} : { status, meta: {} }) }
  }

  /** @param {Graph} graph @param {string} id */
  #paint(graph, id) {
    const {
      width,
      height,
      batch_size: count,
    } = Object.values(graph).find((node) => node.class_type === 'EmptyLatentImage')?.inputs ?? {}
    return Array.from({ length: count }, (_, at) => {
      const filename = `hal0_${id.slice(0, 8)}_0000${at + 1}_.png`
      this.files.set(filename, blackPng(width, height, `${graph[2]?.inputs.text} ${at + 1}`))
      return { filename, subfolder: '', type: 'output' }
    })
  }

  view() {
    const { pid, argv } = process
    const { counters, graphs, knobs, freeBodies, memoryLog } = this
    return {
      pid,
      argv: argv.slice(2),
      knobs,
      counters,
      graphs,
      free_bodies: freeBodies,
      memory_log: memoryLog,
      history_ids: Object.keys(this.history),
    }
  }
}

/** @param {Item} item */
export function queueItem({ number, id, graph, clientId }) {
  return [number, id, graph, { client_id: clientId }, ['7']]
}
