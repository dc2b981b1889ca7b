// Audio both ways and images: answers that are not a chat.
import { crc32, deflateSync } from 'node:zlib'
import { hashOf } from './answers.mjs'

/** @typedef {import('./complete.mjs').Kind} Kind */

const RATE_HZ = 8000
const SAMPLES_PER_TOKEN = 160

/** One token as sound: 16-bit mono samples that differ from token to token. @param {string} text @param {number} tokens */
function pcmOf(text, tokens) {
  const samples = new Int16Array(SAMPLES_PER_TOKEN * tokens)
  const step = (hashOf(text) % 997) + 1
  for (let i = 0; i < samples.length; i++) samples[i] = ((i * step * 64) % 20_000) - 10_000
  return Buffer.from(samples.buffer)
}

/** @param {number} dataBytes 0xffffffff = not known yet, as in a stream */
function wavHead(dataBytes) {
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(Math.min(0xffffffff, dataBytes + 36), 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(RATE_HZ, 24)
  head.writeUInt32LE(RATE_HZ * 2, 28)
  head.writeUInt16LE(2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36)
  head.writeUInt32LE(dataBytes, 40)
  return head
}

/** Streams sound as it is made, with `"stream": false` in one piece. @type {Kind} */
export const SPEECH = {
  ask: (body) =>
    typeof body.input === 'string' && body.input !== ''
      ? { prompt: '', last: body.input, says: body.input }
      : { mistake: "'input' is required" },
  streams: (body) => body.stream !== false,
  writer: () => ({
    streamType: 'audio/wav',
    wholeType: 'audio/wav',
    open: () => wavHead(0xffffffff),
    chunk: (text) => pcmOf(text, 1),
    close: () => '',
    whole: (text, t) => {
      const pcm = pcmOf(text, t.tokens)
      return Buffer.concat([wavHead(pcm.length), pcm])
    },
  }),
}

/** What it heard: the facts of the upload. @param {import('./form.mjs').Form} form */
function heardOf({ fields, files, order }) {
  const { filename, sizeBytes, sha256 } = files.file
  return `Heard ${filename}: ${sizeBytes} bytes, sha256 ${sha256}, model ${fields.model ?? '-'}, parts ${order.join(' ')}`
}

const SRT_TIME = '00:00:00,000 --> 00:00:01,000'

/** @type {Kind} */
export const TRANSCRIPTIONS = {
  ask: (form) =>
    form.files.file === undefined ? { mistake: "'file' is required" } : { prompt: '', last: '', says: heardOf(form) },
  streams: (form) => form.fields.stream === 'true',
  writer: ({ knobs, body: { fields } }) => {
    const eol = knobs.sse_crlf ? '\r\n' : '\n'
    let said = ''
    const isPlain = ['text', 'srt', 'vtt'].includes(fields.response_format)
    /** @param {object} value */
    const event = (value) => `data: ${JSON.stringify(value)}${eol}${eol}`
    return {
      ...(isPlain ? { wholeType: 'text/plain; charset=utf-8' } : {}),
      open: () => '',
      chunk: (text) => {
        said += text
        return event({ type: 'transcript.text.delta', delta: text })
      },
      close: () => event({ type: 'transcript.text.done', text: said }),
      whole: (text, t) => {
        if (fields.response_format === 'text') return `${text}\n`
        if (fields.response_format === 'srt') return `1\n${SRT_TIME}\n${text}\n\n`
        if (fields.response_format === 'vtt') return `WEBVTT\n\n${SRT_TIME.replaceAll(',', '.')}\n${text}\n\n`
        if (fields.response_format !== 'verbose_json') return JSON.stringify({ text })
        const segment = { id: 0, start: 0, end: 1, text }
        return JSON.stringify({
          task: 'transcribe',
          language: 'english',
          duration: t.tokens,
          text,
          segments: [segment],
        })
      },
    }
  },
}

/** @param {string} type @param {Buffer} data */
function pngChunk(type, data) {
  const body = Buffer.concat([Buffer.from(type), data])
  const chunk = Buffer.alloc(body.length + 8)
  chunk.writeUInt32BE(data.length, 0)
  body.copy(chunk, 4)
  chunk.writeUInt32BE(crc32(body), body.length + 4)
  return chunk
}

/** A PNG of one pixel, its colour from the text. @param {string} text */
function pngOf(text) {
  const header = Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0])
  const colour = hashOf(text)
  const row = Buffer.from([0, colour & 255, (colour >> 8) & 255, (colour >> 16) & 255])
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const end = pngChunk('IEND', Buffer.alloc(0))
  return Buffer.concat([signature, pngChunk('IHDR', header), pngChunk('IDAT', deflateSync(row)), end])
}

/** @type {Kind} */
export const IMAGES = {
  ask: (body) =>
    typeof body.prompt === 'string' ? { prompt: '', last: '', says: '' } : { mistake: "'prompt' is required" },
  streams: () => false,
  writer: ({ created, body }) => ({
    open: () => '',
    chunk: () => '',
    close: () => '',
    whole: () => {
      const images = Array.from({ length: body.n ?? 1 }, (_, i) => ({
        b64_json: pngOf(`${i}:${body.prompt}`).toString('base64'),
      }))
      return JSON.stringify({ created, data: images })
    },
  }),
}
