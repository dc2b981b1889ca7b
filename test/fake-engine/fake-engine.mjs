#!/usr/bin/env node
// A look-alike of llama-server for tests and benches: same argv, routes and answers, and knobs for everything that goes
// wrong with real ones (README.md). Needs nothing but Node.
import { writeSync } from 'node:fs'
import { createServer } from 'node:http'
import { control } from './lib/control.mjs'
import { Engine } from './lib/engine.mjs'
import { helpText, VERSION_TEXT } from './lib/help.mjs'
import { knobsFromEnv } from './lib/knobs.mjs'
import { baseHeaders, sendError } from './lib/reply.mjs'
import { GET_ROUTES, POST_ROUTES } from './lib/routes.mjs'
import { takeBody } from './lib/take-body.mjs'

/** 1,000 streams are opened at once by the bench. */
const BACKLOG = 4096
const PUBLIC = new Set(['/health', '/v1/health', '/v1/models', '/models'])

// Answered before anything else, as the real one does.
for (const word of process.argv.slice(2)) {
  const answer = ['-h', '--help', '--usage'].includes(word)
    ? helpText()
    : word === '--version'
      ? VERSION_TEXT
      : undefined
  if (answer === undefined) continue
  writeSync(1, answer)
  process.exit(0)
}

/** @returns {Engine} */
function makeEngine() {
  try {
    return new Engine(process.argv.slice(2), process.env, knobsFromEnv(process.env))
  } catch (error) {
    process.stderr.write(`fake-engine: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(2)
  }
}

const engine = makeEngine()
let connectionCount = 0

const server = createServer(
  { keepAliveTimeout: engine.knobs.keep_alive_ms, keepAliveTimeoutBuffer: 0, requestTimeout: 0 },
  (req, res) => {
    const path = (req.url ?? '/').split('?', 1)[0] ?? '/'
    if (path.startsWith('/fake/')) {
      engine.state.leaveOutBytes(req.socket)
      return control(engine, req, res)
    }
    const seen = engine.state.see(req, path)
    if (engine.knobs.hang === 'accept') {
      seen.phase = 'before_first_byte'
      return res.once('close', () => engine.state.abort(seen))
    }
    if (req.method === 'OPTIONS') {
      seen.phase = 'done'
      const headers = { 'Access-Control-Allow-Credentials': 'true', 'Access-Control-Allow-Headers': '*' }
      res.writeHead(200, { ...baseHeaders(req, engine.knobs), ...headers, 'Content-Length': '0' })
      return res.end()
    }
    if (engine.knobs.health_hang && path.endsWith('/health')) {
      seen.phase = 'before_first_byte'
      return res.once('close', () => engine.state.abort(seen))
    }
    const isPublic = PUBLIC.has(path) && !(engine.knobs.models_need_key && path.endsWith('/models'))
    if (!isPublic && !engine.isAllowed(req)) {
      engine.state.add('unauthorized')
      return stop(401, 'authentication_error', 'Invalid API Key')
    }
    if (!engine.loaded && !(engine.knobs.models_early && path.endsWith('/models'))) {
      return stop(503, 'unavailable_error', 'Loading model')
    }
    if (req.method === 'GET' || req.method === 'HEAD') {
      const route = GET_ROUTES[path]
      if (route === undefined) return stop(404, 'not_found_error', 'File Not Found')
      seen.phase = 'done'
      return route(engine, req, res)
    }
    const missing = engine.knobs.missing_routes
    if (missing.includes('*') || missing.includes(path)) {
      return stop(engine.knobs.missing_status, 'not_found_error', 'File Not Found')
    }
    const route = POST_ROUTES[path]
    if (route === undefined || req.method !== 'POST') return stop(404, 'not_found_error', 'File Not Found')
    takeBody(engine, req, res, seen, route)

    /** @param {number} status @param {string} type @param {string} message */
    function stop(status, type, message) {
      seen.phase = 'done'
      seen.status = status
      req.resume()
      sendError(res, status, baseHeaders(req, engine.knobs), type, message)
    }
  },
)

server.headersTimeout = 0
server.on('connection', (socket) => {
  if (engine.knobs.refuse) return socket.destroy()
  socket.fakeId = ++connectionCount
  engine.state.add('connections')
  engine.state.add('connections_open')
  engine.state.watchBytes(socket)
  socket.once('close', () => engine.state.add('connections_open', -1))
  socket.on('error', () => {})
})
server.on('clientError', (_error, socket) => {
  engine.state.add('bad_requests')
  socket.destroy()
})
server.on('error', (error) => {
  process.stderr.write(
    `couldn't bind HTTP server socket, hostname: ${engine.host}, port: ${engine.port} (${error.message})\n`,
  )
  process.exit(1)
})
process.on('SIGTERM', () => engine.onSigterm())
process.on('SIGINT', () => engine.onSigterm())
if (engine.knobs.exit_on_stdin_end)
  process.stdin
    .on('end', () => process.exit(0))
    .on('error', () => process.exit(0))
    .resume()

const asked = Object.fromEntries(Object.entries(engine.knobs).filter(([, value]) => value !== null && value !== 0))
engine.applyKnobs(asked)

/** Loads as the knobs say. */
async function load() {
  const { load_ms, exit_during_load } = engine.knobs
  if (exit_during_load) setTimeout(() => engine.die('exit_during_load'), load_ms / 2)
  const mistake = engine.modelMistake()
  if (mistake !== undefined) {
    process.stderr.write(`${mistake}\nllama_model_load_from_file_impl: failed to load model\n`)
    process.exit(1)
  }
  if (load_ms > 0) await new Promise((resolve) => setTimeout(resolve, load_ms))
  while (engine.knobs.hold_load) await new Promise((resolve) => engine.gates.add(() => resolve(undefined)))
  if (exit_during_load) return
  engine.loaded = true
  process.stderr.write('srv  llama_server: model loaded\n')
}

engine.unlisten = (ms) => {
  if (!server.listening) return
  server.close()
  if (ms > 0) setTimeout(() => server.listen({ host: engine.host, port: engine.boundPort, backlog: BACKLOG }), ms)
}

function listen() {
  if (engine.knobs.hang === 'listen') return void setInterval(() => {}, 60_000)
  server.listen({ host: engine.host, port: engine.port, backlog: BACKLOG }, () => {
    const address = server.address()
    engine.boundPort = typeof address === 'object' && address !== null ? address.port : engine.port
    process.stdout.write(`fake-engine: listening on http://${engine.host}:${engine.boundPort}\n`)
    void load()
  })
}
if (engine.knobs.listen_delay_ms > 0) setTimeout(listen, engine.knobs.listen_delay_ms)
else listen()
