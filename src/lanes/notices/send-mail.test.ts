import tls from 'node:tls'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type MailReceiver, startMailReceiver, startSilentServer } from '../../../test/support/notice-receivers.ts'
import {
  bookingOf,
  type NoticesWorld,
  noticeOf,
  noticesWorld,
  person,
  until,
} from '../../../test/support/notices-world.ts'
import { UNKNOWN_END } from './delivery-table.ts'
import { ATTEMPT_MS } from './delivery-worker.ts'
import { type MailSettings, sendMail } from './send-mail.ts'

const open: (() => Promise<void>)[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const close of open.splice(0)) await close()
})

async function receiver(...options: Parameters<typeof startMailReceiver>): Promise<MailReceiver> {
  const server = await startMailReceiver(...options)
  open.push(server.close)
  return server
}

const settingsFor = (port: number, more: Partial<MailSettings> = {}): MailSettings => ({
  host: '127.0.0.1',
  port,
  from: 'hal0 <gpu@example.org>',
  tls: 'off',
  ...more,
})
const mail = { to: 'alice@example.org', subject: 'Ready', text: 'It is ready.\n', id: 'msg_1' }
const send = (settings: MailSettings, more: Partial<typeof mail> = {}, signal = new AbortController().signal) =>
  sendMail(settings, { ...mail, ...more }, { signal, timeoutMs: ATTEMPT_MS })

/** Header lines and text, unfolded. */
function parse(source: string): { readonly headers: readonly string[]; readonly text: string } {
  const [head = '', ...text] = source.split('\r\n\r\n')
  return { headers: head.replace(/\r\n[ \t]+/g, ' ').split('\r\n'), text: text.join('\r\n\r\n') }
}

describe('sendMail', () => {
  it('sends a plain text under its id', async () => {
    const server = await receiver()
    expect(await send(settingsFor(server.port))).toEqual({ kind: 'sent' })
    expect(server.got).toMatchObject([{ from: 'gpu@example.org', to: ['alice@example.org'], isEncrypted: false }])
    const { headers, text } = parse(server.got[0]?.source ?? '')
    for (const line of [
      'From: hal0 <gpu@example.org>',
      'To: alice@example.org',
      'Subject: Ready',
      'Message-ID: <msg_1@example.org>',
      'Auto-Submitted: auto-generated',
    ]) {
      expect(headers).toContain(line)
    }
    expect(headers.find((line) => line.startsWith('Content-Type'))).toMatch(/text\/plain/)
    expect(text).toBe('It is ready.\r\n')
  })

  it.each([
    ['in the subject', { subject: 'x\r\nBcc: eve@example.org\r\n\r\nbody' }],
    ['in the address', { to: 'alice@example.org\r\nBcc: eve@example.org' }],
    ['as a second address', { to: 'alice@example.org, eve@example.org' }],
  ])('takes no header from a text: %s', async (_, more) => {
    const server = await receiver()
    await send(settingsFor(server.port), more)
    for (const { to, source } of server.got) {
      expect(to).toHaveLength(1)
      expect(parse(source).headers.filter((line) => /^b?cc:/i.test(line))).toEqual([])
    }
    expect(server.got.flatMap(({ to }) => to)).not.toContain('eve@example.org')
  })

  it('signs in', async () => {
    const server = await receiver({
      authMethods: ['PLAIN', 'LOGIN'],
      allowInsecureAuth: true,
      authOptional: false,
      onAuth: ({ username, password }, _session, done) =>
        password === 'pa55word' ? done(null, { user: username ?? '' }) : done(new Error('no such user or pa55word')),
    })
    expect(await send(settingsFor(server.port, { user: 'hal0', password: 'pa55word' }))).toEqual({ kind: 'sent' })
    expect(server.got[0]?.user).toBe('hal0')
    const wrong = await send(settingsFor(server.port, { user: 'hal0', password: 'no such' }))
    expect(wrong).toMatchObject({ kind: 'failed', reason: expect.stringContaining('535') as string })
    expect(JSON.stringify(wrong)).not.toContain('no such')
  })

  it.each([
    ['starttls', { disabledCommands: [] }],
    ['tls', { secure: true }],
  ] as const)('encrypts with %s, and refuses a certificate that nobody vouches for', async (mode, options) => {
    const server = await receiver({ ...options, disabledCommands: [] })
    expect(await send(settingsFor(server.port, { tls: mode }))).toMatchObject({ kind: 'failed' })
    expect(server.got).toEqual([])
    const connect = tls.connect
    vi.spyOn(tls, 'connect').mockImplementation(((given: tls.ConnectionOptions, then?: () => void) =>
      connect({ ...given, rejectUnauthorized: false }, then)) as typeof tls.connect)
    expect(await send(settingsFor(server.port, { tls: mode }))).toEqual({ kind: 'sent' })
    expect(server.got).toMatchObject([{ isEncrypted: true }])
  })

  it('sends nothing in the clear where encryption is asked for and not offered', async () => {
    const server = await receiver()
    expect(await send(settingsFor(server.port, { tls: 'starttls' }))).toMatchObject({ kind: 'failed' })
    expect(server.got).toEqual([])
  })

  it('stays in the clear when told so, although encryption is offered', async () => {
    const server = await receiver({ disabledCommands: [] })
    expect(await send(settingsFor(server.port))).toEqual({ kind: 'sent' })
    expect(server.got).toMatchObject([{ isEncrypted: false }])
  })

  it.each([
    [550, 'refused'],
    [503, 'failed'],
    [451, 'failed'],
  ])('a receiver that is answered with %i is %s', async (responseCode, kind) => {
    const server = await receiver({
      onRcptTo: (_address, _session, done) => done(Object.assign(new Error('not here'), { responseCode })),
    })
    expect(await send(settingsFor(server.port))).toMatchObject({ kind })
  })

  it('ends with its signal', async () => {
    const server = await startSilentServer()
    open.push(server.close)
    const controller = new AbortController()
    const sent = send(settingsFor(server.port), {}, controller.signal)
    controller.abort(new Error('it took too long'))
    expect(await sent).toEqual({ kind: 'failed', reason: 'it took too long' })
  })
})

describe('notices by mail', () => {
  let world: NoticesWorld
  let server: MailReceiver
  beforeEach(async () => {
    world = noticesWorld()
    open.push(() => world.remove())
    server = await receiver()
    world.settings = { smtp: settingsFor(server.port) }
    world.people.set('alice', person('alice', { email: 'alice@example.org' }))
  })
  const isOver = () =>
    world.deliveries().every(({ done_at_ms, last_error }) => done_at_ms !== null || last_error !== UNKNOWN_END)

  it('go to those who have an address, and not again in another life', async () => {
    const first = world.start()
    first.notices.tell(noticeOf({ event: 'started' }))
    await world.place.clock.advance(0)
    await until(() => server.got.length > 0 && isOver())
    first.store.close()
    world.start().notices.tell(noticeOf({ event: 'started' }))
    await world.place.clock.advance(ATTEMPT_MS)
    expect(server.got.map(({ to }) => to)).toEqual([['alice@example.org']])
    const { headers, text } = parse(server.got[0]?.source ?? '')
    const plain = text.replace(/=\r\n/g, '')
    expect(headers).toContain('Subject: Started: gpu0, Tue 1 Dec 2026, 18:00 to 20:00 (UTC)')
    expect(plain).toContain('Your booking of gpu0')
    expect(plain).toContain('hal0, http://gpu.example:8080')
  })

  it('keep their Message-ID when they are tried again', async () => {
    const { port } = server
    await open.pop()?.()
    world.start().notices.tell(noticeOf({ booking: bookingOf({ memberIds: [] }) }))
    await world.place.clock.advance(0)
    await until(isOver)
    expect(world.deliveries()).toMatchObject([{ channel: 'smtp', attempts: 1, done_at_ms: null }])
    const again = await receiver()
    expect(again.port).not.toBe(port)
    world.settings = { smtp: settingsFor(again.port) }
    await world.place.clock.advance(ATTEMPT_MS)
    await until(() => again.got.length > 0 && isOver())
    const ids = parse(again.got[0]?.source ?? '').headers.filter((line) => line.startsWith('Message-ID'))
    expect(ids).toEqual([expect.stringMatching(/^Message-ID: <msg_[0-9a-f]{32}@example\.org>$/)])
  })
})
