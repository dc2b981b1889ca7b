// One large request body after the other: a JSON with an image in base64, or audio as multipart.
import { Errors, msBetween, nowNs, requestOf, Wire } from './wire.mjs'

const BOUNDARY = 'bench-8f1c02d7'

/** @param {number} sizeBytes */
function jsonBody(sizeBytes) {
  const front =
    '{"model":"bench","bench":"count","messages":[{"role":"user","content":[{"type":"text","text":"What is this?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,'
  const back = '"}}]}],"max_tokens":16}'
  return Buffer.from(front + 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB'.repeat(sizeBytes / 32) + back, 'latin1')
}

/** The model comes after the file, as many clients send it. @param {number} sizeBytes */
function multipartBody(sizeBytes) {
  const field = (/** @type {string} */ name, /** @type {string} */ value) =>
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const front = `${field('prompt', '"bench":"count"')}--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="speech.wav"\r\nContent-Type: audio/wav\r\n\r\n`
  const back = `\r\n${field('model', 'bench')}--${BOUNDARY}--\r\n`
  return Buffer.concat([Buffer.from(front), Buffer.alloc(sizeBytes, 0x5a), Buffer.from(back)])
}

/** @param {import('./wire.mjs').Job & { shape: 'json' | 'multipart', sizeBytes: number, times: number }} job */
export async function upload(job) {
  const errors = new Errors()
  const isJson = job.shape === 'json'
  const body = isJson ? jsonBody(job.sizeBytes) : multipartBody(job.sizeBytes)
  const type = isJson ? 'application/json' : `multipart/form-data; boundary=${BOUNDARY}`
  const head = Buffer.from(
    requestOf({ ...job, headers: { ...job.headers, 'content-type': type }, body: '' }, body.length),
  )
  /** @type {number[]} */
  const timesMs = []
  let wire = new Wire(job.origin)
  for (let i = 0; i < job.times; i++) {
    if (!wire.isOpen) wire = new Wire(job.origin)
    await new Promise((resolve) => {
      const startNs = nowNs()
      let text = ''
      wire.send(head, {
        onData: (payload) => {
          text += payload.toString('latin1')
        },
        onEnd: (status) => {
          timesMs.push(msBetween(startNs, nowNs()))
          const seen = Number(/"bytes":(\d+)/.exec(text)?.[1])
          if (status !== 200) errors.add(`status ${status}: ${text.slice(0, 200)}`)
          else if (seen !== body.length) errors.add(`the engine got ${seen} of ${body.length} bytes`)
          resolve(undefined)
        },
        onError: (why) => {
          errors.add(why)
          resolve(undefined)
        },
      })
      wire.socket.write(body)
    })
  }
  wire.close()
  return { timesMs, errors: errors.counts }
}
