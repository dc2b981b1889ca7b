#!/usr/bin/env node
// Stands for FastFlowLM: `fake-flm.mjs serve TAG --host H --port P --ctx-len N [--asr 1] [--embed 1] …`. See README.md.
import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'

const TAGS = ['llama3.2:1b', 'qwen3:0.6b', 'gemma3:4b']
const [command, ...rest] = process.argv.slice(2)

function fail(message) {
  process.stdout.write(`[ERROR]  ${message}\n`)
  process.exit(1)
}

if (command === 'version' || command === '--version') {
  process.stdout.write('FLM v0.9.43\n')
  process.exit(0)
}
if (command !== 'serve') fail('Error: Command is required')

const NAMES = { '-p': '--port', '-c': '--ctx-len', '-a': '--asr', '-e': '--embed', '-s': '--socket', '-q': '--q-len' }
const KNOWN = [
  '--host',
  '--port',
  '--ctx-len',
  '--asr',
  '--embed',
  '--pmode',
  '--socket',
  '--q-len',
  '--cors',
  '--preemption',
]
const options = { '--host': '127.0.0.1', '--port': '52625', '--asr': '0', '--embed': '0', '--ctx-len': '-1' }
let tag = ''
for (let at = 0; at < rest.length; at++) {
  const word = rest[at]
  const name = NAMES[word] ?? word
  if (KNOWN.includes(name))
    options[name] = rest[++at] ?? fail(`Error parsing arguments: the required argument for option '${word}' is missing`)
  else if (word.startsWith('-')) fail(`Error parsing arguments: unrecognised option '${word}'`)
  else if (tag === '') tag = word
  else fail('Error parsing arguments: too many positional options have been specified on the command line')
}
if (!TAGS.includes(tag)) fail(`Model not found: ${tag}; Please check with \`flm list\` and try again.`)

/** The NPU: a file with the pid of who has it; FAKE_FLM_NPU names it. "missing" = this machine has none. */
const npu = process.env['FAKE_FLM_NPU']
if (npu === 'missing') fail('No NPU device found.')
function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
function takeNpu(path) {
  try {
    const file = openSync(path, 'wx')
    writeSync(file, String(process.pid))
    closeSync(file)
    process.on('exit', () => rmSync(path, { force: true }))
  } catch {
    const owner = Number(readFileSync(path, 'utf8'))
    if (isAlive(owner))
      fail(`DRM_IOCTL_AMDXDNA_CREATE_HWCTX IOCTL failed (err=-2): NPU is already in use by process ${owner}`)
    rmSync(path, { force: true })
    takeNpu(path)
  }
}
if (npu !== undefined) takeNpu(npu)
process.on('SIGTERM', () => process.exit(0))
process.on('SIGINT', () => process.exit(0))

function send(res, status, body) {
  res.writeHead(status, { 'content-type': 'application/json', 'access-control-allow-origin': '*' })
  res.end(JSON.stringify(body))
}

const refuse = (res, message) => send(res, 400, { error: { message, type: 'invalid_request_error', code: 400 } })

/** It would load another model than the one it was started with: hal0 must never ask for one. */
function isOther(res, model) {
  if (model === tag) return false
  refuse(res, `Model not found: ${model}`)
  return true
}

function chat(res, { model, messages, stream }) {
  if (isOther(res, model)) return
  const content = /capital of france/i.test(JSON.stringify(messages)) ? 'Paris' : 'hello from the NPU'
  const usage = { prompt_tokens: 5, completion_tokens: 4, total_tokens: 9 }
  if (stream !== true) {
    const message = { role: 'assistant', content }
    return send(res, 200, {
      id: 'fake',
      object: 'chat.completion',
      model,
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      usage,
    })
  }
  res.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const text of [content, '']) {
    const choice = { index: 0, delta: { content: text }, finish_reason: text === '' ? 'stop' : null }
    res.write(`data: ${JSON.stringify({ id: 'fake', object: 'chat.completion.chunk', model, choices: [choice] })}\n\n`)
  }
  res.end('data: [DONE]\n\n')
}

const posts = {
  '/v1/chat/completions': (res, body) => chat(res, JSON.parse(body)),
  '/v1/completions': (res, body) => {
    const { model, prompt } = JSON.parse(body)
    if (isOther(res, model)) return
    const text = /capital of france/i.test(prompt) ? ' Paris' : ' hello from the NPU'
    send(res, 200, {
      id: 'fake',
      object: 'text_completion',
      model,
      choices: [{ index: 0, text, finish_reason: 'stop' }],
    })
  },
  '/v1/embeddings': (res, body) => {
    if (options['--embed'] !== '1') return refuse(res, 'No embedding model is loaded')
    const inputs = [JSON.parse(body).input].flat()
    const data = inputs.map((_, index) => ({ object: 'embedding', index, embedding: [0.25, 0.5, 0.75] }))
    send(res, 200, { object: 'list', model: 'embed-gemma:300m', data, usage: { prompt_tokens: 3, total_tokens: 3 } })
  },
  '/v1/audio/transcriptions': (res, body) => {
    if (options['--asr'] !== '1') return refuse(res, 'No speech model is loaded')
    if (!/name="model"/.test(body) || !/name="file"/.test(body)) return refuse(res, 'model and file are needed')
    send(res, 200, { text: 'hello from the microphone', model: 'whisper-v3:turbo' })
  },
}
const gets = {
  '/health': { status: 'ok' },
  '/api/version': { version: '0.9.43' },
  '/api/ps': { models: [{ name: tag, model: tag }] },
  '/api/tags': { models: TAGS.map((name) => ({ name })) },
  '/v1/models': { object: 'list', data: TAGS.map((id) => ({ id, object: 'model', owned_by: 'flm' })) },
}

const server = createServer((req, res) => {
  const [path] = (req.url ?? '').split('?')
  const parts = []
  req.on('data', (part) => parts.push(part))
  req.on('end', () => {
    const answer = req.method === 'POST' ? posts[path] : undefined
    if (answer !== undefined) return answer(res, Buffer.concat(parts).toString('latin1'))
    const found = req.method === 'GET' ? gets[path] : undefined
    send(res, found === undefined ? 404 : 200, found ?? { error: 'Not Found' })
  })
})
server.on('error', (error) => fail(`bind: Address already in use (${error.message})`))
server.listen(Number(options['--port']), options['--host'], () => {
  const { port } = server.address()
  process.stdout.write(
    `[FLM]  Loading model: ${tag} with ${options['--ctx-len']} tokens\n[FLM]  WebServer started on port ${port}\n`,
  )
})
