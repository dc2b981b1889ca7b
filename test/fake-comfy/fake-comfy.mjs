#!/usr/bin/env node
// A look-alike of ComfyUI's HTTP side for tests: its queue, history, checkpoints and complaints, and knobs for what goes
// wrong with real ones (README.md). Needs nothing but Node.
import { createServer } from 'node:http'
import { Comfy, queueItem } from './lib/engine.mjs'
import { knobMistake, knobsFromEnv } from './lib/knobs.mjs'
import { refusalOf } from './lib/validate.mjs'

/** @param {string} name @param {string} fallback */
function option(name, fallback) {
  const at = process.argv.indexOf(name)
  return at < 0 ? fallback : (process.argv[at + 1] ?? fallback)
}

/** @returns {Comfy} */
function makeComfy() {
  try {
    return new Comfy(knobsFromEnv(process.env))
  } catch (error) {
    process.stderr.write(`fake-comfy: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(2)
  }
}

const comfy = makeComfy()

/** @typedef {import('node:http').ServerResponse} Res */

/** @param {Res} res @param {number} status @param {unknown} [value] */
function json(res, status, value) {
  const body = value === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(value))
  const type = value === undefined ? 'application/octet-stream' : 'application/json; charset=utf-8'
  res.writeHead(status, {
    'Content-Type': type,
    'Content-Length': String(body.length),
    Server: 'Python/3.12 aiohttp/3.11',
  })
  res.end(body)
}

/** The knobs that spoil an answer; their value is the beginning of a path. @param {Res} res @param {string} path */
function isSpoilt(res, path) {
  const { hang, garbage, error_path: failing, error_status: status } = comfy.knobs
  if (hang !== null && path.startsWith(hang)) return true
  if (failing !== null && path.startsWith(failing)) {
    res.writeHead(status, { 'Content-Type': 'text/plain' }).end('500 Internal Server Error')
    return true
  }
  if (garbage === null || !path.startsWith(garbage)) return false
  res.writeHead(200, { 'Content-Type': 'text/html' }).end('<html>It works!</html>')
  return true
}

function objectInfo() {
  const names = comfy.knobs.checkpoints
  const choices = comfy.knobs.new_object_info ? ['COMBO', { options: names }] : [names, { tooltip: 'The checkpoint' }]
  return { CheckpointLoaderSimple: { input: { required: { ckpt_name: choices } }, output: ['MODEL', 'CLIP', 'VAE'] } }
}

function systemStats() {
  const device = { name: 'cuda:0 Fake GPU', type: 'cuda', index: 0, vram_total: 17163091968, vram_free: 12000000000 }
  return { system: { os: 'posix', comfyui_version: '0.3.40', argv: process.argv.slice(1) }, devices: [device] }
}

/** @param {URL} url @param {string} key @param {any} body @param {Res} res */
function answer(url, key, body, res) {
  if (key.startsWith('GET /history/')) {
    const id = decodeURIComponent(url.pathname.slice('/history/'.length))
    return json(res, 200, comfy.history[id] === undefined ? {} : { [id]: comfy.history[id] })
  }
  switch (key) {
    case 'GET /system_stats':
      return json(res, 200, systemStats())
    case 'GET /object_info/CheckpointLoaderSimple':
      return json(res, 200, objectInfo())
    case 'GET /queue': {
      const running = comfy.running === undefined ? [] : [queueItem(comfy.running)]
      return json(res, 200, { queue_running: running, queue_pending: comfy.pending.map(queueItem) })
    }
    case 'POST /queue':
      if (body.clear) comfy.delete(comfy.pending.map((item) => item.id))
      comfy.delete(body.delete ?? [])
      return json(res, 200)
    case 'POST /interrupt':
      comfy.interrupt()
      return json(res, 200)
    case 'POST /free':
      if (comfy.knobs.refuse_free) return json(res, 500)
      comfy.freeBodies.push(body)
      comfy.hold(false)
      comfy.add('frees')
      return json(res, 200)
    case 'POST /prompt': {
      if (body.prompt === undefined) return json(res, 400, { error: 'no prompt', node_errors: [] })
      const refusal = refusalOf(body.prompt, comfy.knobs.checkpoints)
      if (refusal !== undefined) return json(res, 400, refusal)
      const { id, number } = comfy.put(body.prompt, body.client_id)
      const taken = () => json(res, 200, { prompt_id: id, number, node_errors: {} })
      return comfy.knobs.submit_ms === 0 ? taken() : void setTimeout(taken, comfy.knobs.submit_ms)
    }
    case 'GET /view': {
      const file = comfy.files.get(url.searchParams.get('filename') ?? '')
      comfy.add('views')
      if (file === undefined || url.searchParams.get('type') !== 'output') return json(res, 404)
      res.writeHead(200, { 'Content-Type': 'image/png', 'Content-Length': String(file.length) })
      return res.end(file)
    }
    default:
      res.writeHead(404, { 'Content-Type': 'text/plain; charset=utf-8' }).end('404: Not Found')
  }
}

/** Answers when `counter` has reached `min`, or 504 after 10 s. @param {URL} url @param {Res} res */
function waitFor(url, res) {
  const counter = /** @type {keyof Comfy['counters']} */ (url.searchParams.get('counter') ?? '')
  const min = Number(url.searchParams.get('min') ?? '1')
  if (!Object.hasOwn(comfy.counters, counter)) return json(res, 400, { error: `unknown counter "${counter}"` })
  /** @param {number} status */
  const finish = (status) => {
    clearTimeout(timer)
    comfy.waiters.delete(check)
    json(res, status, comfy.view())
  }
  const check = () => {
    if (comfy.counters[counter] >= min) finish(200)
  }
  const timer = setTimeout(() => finish(504), 10_000)
  comfy.waiters.add(check)
  check()
}

/** @param {URL} url @param {string} key @param {any} body @param {Res} res */
function control(url, key, body, res) {
  if (key === 'GET /fake/state') return json(res, 200, comfy.view())
  if (key === 'GET /fake/wait') return waitFor(url, res)
  if (key !== 'POST /fake/knobs') return json(res, 404, { error: 'GET /fake/state, GET /fake/wait, POST /fake/knobs' })
  const mistake = knobMistake(body)
  if (mistake !== undefined) return json(res, 400, { error: mistake })
  comfy.setKnobs(body)
  return json(res, 200, comfy.view())
}

const server = createServer((req, res) => {
  const url = new URL(req.url ?? '/', 'http://fake')
  /** @type {Buffer[]} */
  const parts = []
  req.on('data', (part) => parts.push(part))
  req.on('error', () => {})
  req.on('end', () => {
    const text = Buffer.concat(parts).toString('utf8')
    const key = `${req.method} ${url.pathname}`
    /** @type {unknown} */
    let body
    try {
      body = text === '' ? {} : JSON.parse(text)
    } catch {
      return json(res, 500)
    }
    if (url.pathname.startsWith('/fake/')) return control(url, key, body, res)
    comfy.add('requests')
    if (!isSpoilt(res, url.pathname)) answer(url, key, body, res)
  })
})
server.on('error', (error) => {
  process.stderr.write(`OSError: [Errno 98] error while attempting to bind on address: ${error.message}\n`)
  process.exit(1)
})
const stop = () => setTimeout(() => process.exit(0), comfy.knobs.slow_stop_ms)
process.on('SIGTERM', stop)
process.on('SIGINT', stop)
if (comfy.knobs.exit_on_stdin_end)
  process.stdin
    .on('end', () => process.exit(0))
    .on('error', () => process.exit(0))
    .resume()

const host = option('--listen', '127.0.0.1')
setTimeout(() => {
  server.listen({ host, port: Number(option('--port', '0')) }, () => {
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    process.stdout.write(`fake-comfy: listening on http://${host}:${port}\n`)
    process.stderr.write(`To see the GUI go to: http://${host}:${port}\n`)
  })
}, comfy.knobs.listen_delay_ms)
