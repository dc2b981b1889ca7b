#!/usr/bin/env node
// The engine of the bench: answers at once, so that what is measured is the way to it. Raw sockets, because node:http here would
// be slower than the proxies. What it is to do rides in the first 512 bytes of the body: `"bench":"KIND A B"`.
//   node engine.mjs --port N --alias NAME     key: BENCH_ENGINE_KEY
import { createServer } from 'node:net'
import { parseArgs } from 'node:util'
import { chatAnswer, jsonAnswer } from './answers.mjs'
import { BodyEater } from './body-eater.mjs'
import { Control } from './control.mjs'
import { createKinds } from './kinds.mjs'

const { values } = parseArgs({ options: { port: { type: 'string' }, alias: { type: 'string', default: 'bench' } } })
const alias = values.alias
const key = process.env.BENCH_ENGINE_KEY ?? ''
/** Thousands of streams are opened within a second or two. */
const BACKLOG = 8192
const KNOB_BYTES = 512
const KNOB = /"bench":"([a-z]+)(?: (\d+))?(?: (\d+))?"/

const control = new Control()
const kinds = createKinds(alias, control)
const plain = Buffer.from(jsonAnswer(200, chatAnswer(alias)), 'latin1')
const models = jsonAnswer(200, JSON.stringify({ object: 'list', data: [{ id: alias, object: 'model' }] }))

/** @param {import('node:net').Socket} socket @param {string} head @param {string} path */
function answerGet(socket, head, path) {
  if (path.startsWith('/bench/')) return control.answer(socket, path)
  if (path === '/health') return socket.write(jsonAnswer(200, '{"status":"ok"}'))
  if (path === '/v1/models') return socket.write(models)
  if (path !== '/props') return socket.write(jsonAnswer(404, '{}'))
  const isKnown = key === '' || head.includes(`Bearer ${key}`)
  socket.write(isKnown ? jsonAnswer(200, '{"total_slots":8192}') : jsonAnswer(401, '{}'))
}

/** @param {import('node:net').Socket} socket */
function serve(socket) {
  socket.setNoDelay(true)
  /** Bytes of a head that has not ended yet. @type {Buffer | undefined} */
  let rest
  /** @type {BodyEater | undefined} */
  let eater
  let knobText = ''
  const active = { isBusy: false, hasSpoken: false }

  const answer = () => {
    const knob = knobText.includes('"bench":"') ? KNOB.exec(knobText) : null
    const bytes = eater?.bytes ?? 0
    eater = undefined
    knobText = ''
    if (knob === null) return socket.write(plain)
    active.isBusy = true
    active.hasSpoken = false
    control.active += 1
    kinds[knob[1]]?.(socket, active, Number(knob[2] ?? 0), Number(knob[3] ?? 0), bytes)
  }

  /** @param {Buffer} data */
  const take = (data) => {
    let at = 0
    while (at < data.length) {
      if (eater === undefined) {
        const end = data.indexOf('\r\n\r\n', at)
        if (end < 0) {
          rest = data.subarray(at)
          return
        }
        const head = data.toString('latin1', at, end)
        at = end + 4
        if (head.charCodeAt(0) !== 80) {
          answerGet(socket, head, head.slice(4, head.indexOf(' ', 4)))
          continue
        }
        if (/\r\nexpect: *100-continue/i.test(head)) socket.write('HTTP/1.1 100 Continue\r\n\r\n')
        eater = BodyEater.of(head)
      }
      const end = eater.eat(data, at)
      if (knobText.length < KNOB_BYTES) knobText += data.toString('latin1', at, Math.min(end, at + KNOB_BYTES))
      at = end
      if (eater.isDone) answer()
      else return
    }
  }
  socket.on('data', (data) => {
    if (rest === undefined) return take(data)
    const joined = Buffer.concat([rest, data])
    rest = undefined
    take(joined)
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    if (active.isBusy) control.left(active)
  })
}

const server = createServer({ allowHalfOpen: false, noDelay: true }, serve)
server.listen({ host: '127.0.0.1', port: Number(values.port), backlog: BACKLOG })
for (const name of ['SIGTERM', 'SIGINT']) process.on(name, () => process.exit(0))
