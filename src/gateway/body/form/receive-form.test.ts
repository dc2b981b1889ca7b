import { once } from 'node:events'
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RecordingSink, taken } from '../../../../test/support/body-world.ts'
import { CountingBudget } from '../../../../test/support/counting-budget.ts'
import { heldBytes } from '../../../../test/support/held-memory.ts'
import { ManualClock } from '../../../../test/support/manual-clock.ts'
import type { Hal0Error } from '../../../kernel/errors.ts'
import { statusOfBodyError } from '../body-errors.ts'
import { ClientSilence } from '../client-silence.ts'
import type { LiveBody } from '../engine-body.ts'
import type { FormBody } from './form-body.ts'
import { type ReceiveFormOptions, receiveForm } from './receive-form.ts'

const MIB = 1024 * 1024
let folder: string
let client: Socket
let stop: () => void

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hal0-spool-'))
})
afterEach(() => {
  client.destroy()
  stop()
  // Whatever happened: no name, and no open file without a name.
  expect(readdirSync(folder)).toEqual([])
  rmSync(folder, { recursive: true, force: true })
})

/** Files of the folder that this process holds open. */
function openFiles(): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder)
    } catch {
      return false
    }
  }).length
}

const fileHead = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n'
const modelPart = '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper\r\n'

/** A real connection whose request is received as a form. */
async function receiving(
  framing: string,
  options: Partial<ReceiveFormOptions> = {},
): Promise<{ req: IncomingMessage; outcome: Promise<Hal0Error | FormBody>; cancel: () => void }> {
  const requests: IncomingMessage[] = []
  const server = createServer((req) => void requests.push(req))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  stop = () => server.close()
  client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.on('error', () => {})
  client.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\n${framing}\r\n\r\n`)
  await expect.poll(() => requests.length).toBe(1)
  const [req] = requests
  if (req === undefined) throw new Error('no request')
  req.on('error', () => {})
  let cancel = (): void => {}
  const outcome = new Promise<Hal0Error | FormBody>((resolve) => {
    const begun = receiveForm({ req }, { limitBytes: 100 * MIB, folder, ...options }, (error, form) =>
      resolve(error ?? form),
    )
    cancel = () => begun.cancel()
  })
  return { req, outcome, cancel }
}

function formOf(outcome: Hal0Error | FormBody): FormBody {
  if (outcome instanceof Error) throw outcome
  return outcome
}

function liveOf(form: FormBody): LiveBody {
  const body = form.engineBody('engine')
  if (body.kind !== 'live') throw new Error(`${body.kind}, not live`)
  return body.body
}

const length = (bytes: number): string => `Content-Length: ${bytes}`

describe('a form whose model is known early', () => {
  it('goes on when it is, while its file still comes; the client is held back until the engine takes it', async () => {
    const file = Buffer.alloc(25 * MIB, 'x')
    const tail = '\r\n--b--\r\n'
    const size = modelPart.length + fileHead.length + file.length + tail.length
    const { req, outcome } = await receiving(length(size))
    client.write(modelPart + fileHead)
    const form = formOf(await outcome)
    expect(form.asked).toMatchObject({ model: { value: 'whisper' } })
    client.write(file)
    client.write(tail)
    // The client's own 25 MB wait at the client: what came is bounded by what sockets hold.
    let unread = -1
    await expect
      .poll(() => {
        const was = unread
        unread = client.writableLength
        return was === unread
      })
      .toBe(true)
    expect(req.readableLength).toBeLessThan(MIB)
    const live = liveOf(form)
    expect(live.sizeBytes).toBe(size - 'whisper'.length + 'engine'.length)
    const before = await heldBytes()
    let mostBytes = 0
    let gotBytes = 0
    let sampledBytes = 0
    const goOn = async (): Promise<void> => {
      if (gotBytes - sampledBytes > 4 * MIB) {
        sampledBytes = gotBytes
        mostBytes = Math.max(mostBytes, (await heldBytes()) - before)
      }
      live.resume()
    }
    await new Promise<void>((resolve, reject) => {
      live.start({
        write(piece) {
          gotBytes += piece.length
          setImmediate(() => void goOn())
          return false
        },
        end: resolve,
        fail: reject,
      })
    })
    expect(gotBytes).toBe(live.sizeBytes)
    expect(mostBytes).toBeLessThan(file.length / 8)
    form.release()
    expect(openFiles()).toBe(0)
  })

  it.each([
    ['is cut off', `x\r\n--b\r\n`, /byte \d+: expected an empty line/],
    ['is malformed', `x\r\n--bc\r\n`, /byte \d+: expected a line break or "--"/],
  ])('fails the engine request when the rest %s', async (_name, rest, message) => {
    const { outcome } = await receiving('Transfer-Encoding: chunked')
    const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
    client.write(chunk(modelPart + fileHead))
    const form = formOf(await outcome)
    const live = liveOf(form)
    expect(live.sizeBytes).toBeUndefined()
    const sink = new RecordingSink()
    live.start(sink)
    client.write(`${chunk(rest)}0\r\n\r\n`)
    expect(await sink.over).toMatchObject({
      failed: { code: 'request.invalid', message: expect.stringMatching(message) as string },
    })
    form.release()
  })

  it('fails it when the form grows over the limit', async () => {
    const { outcome } = await receiving('Transfer-Encoding: chunked', { limitBytes: 1000 })
    const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
    client.write(chunk(modelPart + fileHead))
    const form = formOf(await outcome)
    const sink = new RecordingSink()
    liveOf(form).start(sink)
    client.write(chunk('x'.repeat(1000)))
    expect(await sink.over).toMatchObject({ failed: { code: 'request.too_large' } })
    form.release()
  })

  it('fails it when the client leaves in the middle of the file, started or not', async () => {
    for (const startsFirst of [true, false]) {
      const { req, outcome } = await receiving(length(5_000_000))
      client.write(modelPart + fileHead)
      const form = formOf(await outcome)
      const sink = new RecordingSink()
      const live = liveOf(form)
      if (startsFirst) live.start(sink)
      client.destroy()
      await expect.poll(() => req.destroyed).toBe(true)
      if (!startsFirst) live.start(sink)
      expect(await sink.over).toHaveProperty('failed')
      form.release()
      stop()
    }
  })

  it('throws away what still arrives when the engine wants no more, and the connection goes on', async () => {
    const file = 'x'.repeat(3_000_000)
    const { req, outcome } = await receiving(length(modelPart.length + fileHead.length + file.length + 7))
    client.write(modelPart + fileHead)
    const form = formOf(await outcome)
    const live = liveOf(form)
    const sink = new RecordingSink(() => {})
    live.start(sink)
    live.stop()
    live.stop()
    live.resume()
    client.write(`${file}\r\n--b--`.slice(0, file.length + 7))
    await expect.poll(() => req.readableEnded).toBe(true)
    expect(sink.pieces.length).toBeLessThanOrEqual(1)
    form.release()
    form.release()
  })
})

describe('a form whose model comes last, or never', () => {
  const file = 'y'.repeat(3 * MIB)

  it.each([
    ['last', modelPart],
    ['never', ''],
  ])('%s: waits in a file without a name, and comes whole', async (_name, model) => {
    const text = `${fileHead}${file}\r\n${model}--b--`
    const { outcome } = await receiving(length(text.length))
    client.write(text)
    const form = formOf(await outcome)
    expect(openFiles()).toBe(1)
    const body = form.engineBody('engine')
    const got = await taken(body, true)
    expect(got.outcome).toBe('ended')
    const want = model === '' ? `${fileHead}${file}\r\n${modelPart}--b--` : text
    expect(got.bytes.equals(Buffer.from(want.replace('whisper', 'engine')))).toBe(true)
    expect(body).toMatchObject({ body: { sizeBytes: got.bytes.length } })
    form.release()
    await expect.poll(openFiles).toBe(0)
  })

  it.each(['cancel', 'fault', 'limit', 'stop in the middle', 'release before it was sent'])(
    'the file is gone after: %s',
    async (how) => {
      const { outcome, cancel, req } = await receiving('Transfer-Encoding: chunked', { limitBytes: 4 * MIB })
      const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
      client.write(chunk(fileHead + file))
      await expect.poll(openFiles).toBe(1)
      if (how === 'cancel') cancel()
      else if (how === 'fault') {
        client.write(chunk('\r\n--bx'))
        expect(await outcome).toMatchObject({ code: 'request.invalid' })
      } else if (how === 'limit') {
        client.write(chunk(file))
        expect(await outcome).toMatchObject({ code: 'request.too_large' })
      } else {
        client.write(`${chunk(`\r\n${modelPart}--b--`)}0\r\n\r\n`)
        const form = formOf(await outcome)
        if (how === 'stop in the middle') {
          const live = liveOf(form)
          await new Promise<void>((resolve) => {
            let pieces = 0
            live.start({
              write() {
                // The memory's pieces first, then those of the file.
                if (++pieces < 40) return true
                live.stop()
                resolve()
                return true
              },
              end: resolve,
              fail: resolve,
            })
          })
        }
        form.release()
      }
      req.resume()
      await expect.poll(openFiles).toBe(0)
    },
  )

  it('says so when there is nowhere to keep it', async () => {
    const { outcome } = await receiving(length(5 * MIB), { folder: join(import.meta.filename, 'below a file') })
    client.write(fileHead + file)
    expect(await outcome).toMatchObject({
      code: 'internal',
      message: expect.stringMatching(/kept in .*below a file: E\w+/) as string,
    })
  })

  it('the folder is made where it is missing, also when it was taken away', async () => {
    const below = join(folder, 'a', 'b')
    for (let nth = 0; nth < 2; nth++) {
      const { outcome } = await receiving(length(fileHead.length + file.length + 9), { folder: below })
      client.write(`${fileHead}${file}\r\n--b--  `)
      formOf(await outcome).release()
      client.destroy()
      stop()
      rmSync(join(folder, 'a'), { recursive: true })
    }
    await expect.poll(openFiles).toBe(0)
  })

  it('a client that leaves while the file is being made leaves no file', async () => {
    const { req, outcome, cancel } = await receiving(length(5 * MIB))
    void outcome
    req.on('data', () => cancel())
    client.write(fileHead + file)
    await expect.poll(() => req.socket.bytesRead).toBeGreaterThan(2 * MIB)
    await expect.poll(() => [openFiles(), readdirSync(folder)]).toEqual([0, []])
  })

  it('all files together have a limit: 429 beside others, 413 alone; what ended gives its room back', async () => {
    const spill = new CountingBudget(() => 5 * MIB, 'spill_limit_bytes')
    const first = await receiving(length(50 * MIB), { spill })
    const [firstClient, firstStop] = [client, stop]
    client.write(fileHead + file)
    await expect.poll(() => spill.heldBytes).toBeGreaterThan(1.9 * MIB)
    const second = await receiving(length(50 * MIB), { spill })
    client.write(fileHead + file + file)
    const full = await second.outcome
    expect(full).toMatchObject({ code: 'dispatch.queue_full', retryAfterS: 5, details: { spill_limit_bytes: 5 * MIB } })
    client.destroy()
    stop()
    first.cancel()
    firstClient.destroy()
    firstStop()
    expect(spill.heldBytes).toBe(0)
    const alone = await receiving(length(50 * MIB), { spill })
    client.write(fileHead + file + file + file)
    const tooLong = await alone.outcome
    expect(tooLong).toMatchObject({ code: 'request.too_large', details: { limit_bytes: 5 * MIB } })
    expect(spill.heldBytes).toBe(0)
  })

  it('a client that drips is told so, although each byte is waited for at the disk', async () => {
    const clock = new ManualClock()
    const silence = new ClientSilence(clock, () => 8_000)
    const { req, outcome } = await receiving(length(5 * MIB), { silence, budget: new CountingBudget(() => 0) })
    let isOver = false
    void outcome.then(() => (isOver = true))
    const before = req.socket.bytesRead
    for (let nth = 1; nth <= 100 && !isOver; nth++) {
      client.write('x')
      await expect.poll(() => req.socket.bytesRead).toBe(before + nth)
      // Watched again once it is written.
      await expect.poll(() => clock.pendingTimers).toBe(1)
      await clock.advance(1_000)
    }
    const error = await outcome
    expect(error instanceof Error && statusOfBodyError(error)).toBe(408)
  })
})

describe('what is no form, or too much of one', () => {
  it.each([
    ['a form that is too long', length(2_000_000), { limitBytes: 1_999_999 }, 'request.too_large'],
    ['a compressed one', `Content-Encoding: gzip\r\n${length(10)}`, {}, 'request.invalid'],
    ['a body that is no form', length(10), {}, undefined],
  ])('%s', async (_name, framing, options, code) => {
    const { outcome } = await receiving(framing, options)
    if (code === undefined) client.write('{"a":1}   ')
    expect(await outcome).toMatchObject(code === undefined ? { code: 'request.invalid' } : { code })
  })
})

it('a client that falls silent is told so, before and after the model is known', async () => {
  const clock = new ManualClock()
  const silence = new ClientSilence(clock, () => 8_000)
  const early = await receiving(length(5_000_000), { silence })
  client.write(fileHead)
  await expect.poll(() => early.req.socket.bytesRead).toBeGreaterThan(fileHead.length)
  for (let looks = 0; looks < 10; looks++) await clock.advance(1_000)
  const error = await early.outcome
  expect(error).toMatchObject({ code: 'request.invalid' })
  expect(error instanceof Error && statusOfBodyError(error)).toBe(408)
  client.destroy()
  stop()

  const late = await receiving(length(5_000_000), { silence })
  client.write(modelPart + fileHead)
  const form = formOf(await late.outcome)
  // While nobody takes it, silence is no fault of the client's.
  for (let looks = 0; looks < 30; looks++) await clock.advance(1_000)
  const sink = new RecordingSink()
  liveOf(form).start(sink)
  for (let looks = 0; looks < 10; looks++) await clock.advance(1_000)
  expect(await sink.over).toMatchObject({ failed: { code: 'request.invalid' } })
  form.release()
})
