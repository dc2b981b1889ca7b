// The engine as a whole: argv, identity, its life and death.
import { spawn } from 'node:child_process'
import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { knobMistake } from './knobs.mjs'
import { Sequences } from './sequences.mjs'
import { EngineState, viewOf } from './state.mjs'

/** Of every flag its last value (a flag followed by a flag is a switch). @param {string[]} argv */
export function parseArgv(argv) {
  /** @type {Record<string, string | true>} */
  const flags = {}
  for (let i = 0; i < argv.length; i++) {
    const [name, inline] = argv[i].split(/=(.*)/s)
    if (!name.startsWith('-')) continue
    const next = argv[i + 1]
    const takesNext = inline === undefined && next !== undefined && !/^--?[a-z]/i.test(next)
    flags[name] = inline ?? (takesNext ? next : true)
    if (takesNext) i++
  }
  return flags
}

/** @param {Record<string, string | true>} flags @param {string[]} names @param {string} fallback */
function flagOf(flags, names, fallback) {
  const found = names.map((n) => flags[n]).find((v) => typeof v === 'string')
  return typeof found === 'string' ? found : fallback
}

export class Engine {
  state = new EngineState()
  /** Told when a knob changed. @type {Set<() => void>} */
  gates = new Set()
  loaded = false
  startedS = Math.floor(Date.now() / 1000)
  /** @type {number[]} */
  grandchildren = []
  /** @type {Buffer | undefined} */
  ballast
  boundPort = 0
  /** Stops listening for so many ms (-1 = for good), while it lives on. @type {(ms: number) => void} */
  unlisten = () => {}
  #errorsGiven = 0
  #answeredCount = 0
  #readCount = 0
  /** @type {NodeJS.Timeout | undefined} */
  #exitTimer

  /** @param {string[]} argv @param {Record<string, string | undefined>} env @param {import('./knobs.mjs').Knobs} knobs */
  constructor(argv, env, knobs) {
    this.argv = argv
    this.envNames = Object.keys(env).toSorted()
    this.knobs = knobs
    const flags = parseArgv(argv)
    this.host = flagOf(flags, ['--host'], '127.0.0.1')
    this.port = Number(flagOf(flags, ['--port'], '8080'))
    this.modelPath = flagOf(flags, ['--model', '-m'], '')
    this.alias = flagOf(flags, ['--alias', '-a'], this.modelPath)
    this.ctxTokens = Number(flagOf(flags, ['--ctx-size', '-c'], '4096')) || 4096
    this.parallel = Number(flagOf(flags, ['--parallel', '-np'], '4'))
    this.givenKey = flagOf(flags, ['--api-key'], env.LLAMA_API_KEY ?? '')
    this.sequences = new Sequences(this.state, () => this.totalSlots())
  }

  totalSlots() {
    return this.knobs.total_slots > 0 ? this.knobs.total_slots : this.parallel
  }

  modelAlias() {
    return this.knobs.alias ?? this.alias
  }

  /** The `model` of an answer. */
  answerModel() {
    return this.knobs.model_name === 'path' ? this.modelPath : (this.knobs.model_name ?? this.modelAlias())
  }

  /** @param {import('node:http').IncomingMessage} req */
  isAllowed(req) {
    const key = this.knobs.accept_key ?? this.givenKey
    if (key === '') return true
    return req.headers.authorization === `Bearer ${key}` || req.headers['x-api-key'] === key
  }

  takeError() {
    if (this.knobs.error_count >= 0 && this.#errorsGiven >= this.knobs.error_count) return false
    this.#errorsGiven += 1
    return true
  }

  /** One inference request was read; nothing of it is answered yet. */
  tookRequest() {
    this.#readCount += 1
    const limit = this.knobs.exit_before_answer
    if (limit > 0 && this.#readCount >= limit) this.die('request limit')
  }

  /** One inference request was answered in full. @param {import('node:http').ServerResponse} res */
  answered(res) {
    this.#answeredCount += 1
    this.state.add('answered')
    const limit = this.knobs.exit_after_requests
    if (limit > 0 && this.#answeredCount >= limit) {
      if (res.writableFinished) this.die('request limit')
      else res.once('finish', () => this.die('request limit'))
    }
  }

  /** @param {import('./state.mjs').Seen} seen */
  echoOf(seen) {
    const { headers, body_sha256, body_bytes } = viewOf(seen)
    return JSON.stringify({ argv: this.argv, headers, body_sha256, body_bytes })
  }

  /** @param {Record<string, unknown>} changes @returns {string | undefined} a mistake */
  setKnobs(changes) {
    const mistake = knobMistake(changes)
    if (mistake !== undefined) return mistake
    this.knobs = { ...this.knobs, ...changes }
    if ('error_status' in changes || 'error_count' in changes) this.#errorsGiven = 0
    if ('exit_after_requests' in changes) this.#answeredCount = 0
    if ('exit_before_answer' in changes) this.#readCount = 0
    this.applyKnobs(changes)
    const waiting = [...this.gates]
    this.gates.clear()
    for (const wake of waiting) wake()
    this.sequences.refill()
    return undefined
  }

  /** What a knob does the moment it is set. @param {Record<string, unknown>} changes */
  applyKnobs(changes) {
    const k = this.knobs
    if ('say' in changes && k.say !== null) for (const line of [k.say].flat()) writeSync(2, `${line}\n`)
    if ('grandchild' in changes && k.grandchild !== null) this.#fork(k.grandchild === 'setsid')
    if ('allocate_mb' in changes)
      this.ballast = k.allocate_mb > 0 ? Buffer.alloc(k.allocate_mb * 1024 * 1024, 1) : undefined
    if ('unlisten_ms' in changes && k.unlisten_ms !== 0) this.unlisten(k.unlisten_ms)
    if ('exit_after_ms' in changes) {
      clearTimeout(this.#exitTimer)
      if (k.exit_after_ms !== null) this.#exitTimer = setTimeout(() => this.die('exit_after_ms'), k.exit_after_ms)
    }
  }

  /** The grandchild keeps our stdout and stderr open; it ends by itself after ten minutes. @param {boolean} leavesGroup */
  #fork(leavesGroup) {
    const script = `${this.knobs.grandchild_ignores_sigterm ? "trap '' TERM; " : ''}exec sleep 600`
    const child = spawn('/bin/sh', ['-c', script], { stdio: ['ignore', 'inherit', 'inherit'], detached: leavesGroup })
    if (child.pid === undefined) return
    this.grandchildren.push(child.pid)
    writeSync(2, `fake-engine: grandchild ${child.pid}\n`)
    child.unref()
  }

  /** A reason why the model cannot be loaded, in llama.cpp's words. */
  modelMistake() {
    if (!this.knobs.check_model) return undefined
    const head = Buffer.alloc(4)
    try {
      const fd = openSync(this.modelPath, 'r')
      readSync(fd, head)
      closeSync(fd)
    } catch (error) {
      return `gguf_init_from_file: failed to open GGUF file '${this.modelPath}' (${error instanceof Error ? error.message : String(error)})`
    }
    if (head.toString('latin1') === 'GGUF') return undefined
    return `gguf_init_from_file_impl: invalid magic characters: '${head.toString('latin1')}', expected 'GGUF'`
  }

  /** Ends as the knobs say; exits are never graceful here. @param {string} _why @returns {never} */
  die(_why) {
    this.lastWords()
    if (this.knobs.exit_signal !== null) {
      process.kill(process.pid, this.knobs.exit_signal)
      // The signal may take a moment; nothing else may run until then.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000)
    }
    process.exit(this.knobs.exit_code)
  }

  lastWords() {
    if (this.knobs.last_words === null) return
    for (const line of [this.knobs.last_words].flat()) writeSync(2, `${line}\n`)
  }

  onSigterm() {
    this.state.add('sigterms')
    if (this.knobs.ignore_sigterm) return
    const leave = () => {
      this.lastWords()
      process.exit(0)
    }
    if (this.knobs.slow_stop_ms > 0) setTimeout(leave, this.knobs.slow_stop_ms)
    else leave()
  }

  view() {
    return {
      pid: process.pid,
      argv: this.argv,
      env_names: this.envNames,
      port: this.boundPort,
      loaded: this.loaded,
      grandchildren: this.grandchildren,
      knobs: this.knobs,
      ...this.state.view(),
    }
  }
}
