import { describe, expect, it } from 'vitest'
import { NOTICE_EVENTS } from '../../../contract/notification.ts'
import { planNoticeText } from './notice-text.ts'

const question = {
  event: 'approved',
  bookingId: 'r1',
  lane: 'gpu0',
  use: { kind: 'model', model: 'qwen', profile: 'chat' },
  status: 'approved',
  window: 'Tue 1 Dec 2026, 18:00 to 20:00 (UTC)',
  was: undefined,
  ownerName: 'alice',
  isOwner: true,
  detail: '',
} as const

describe('planNoticeText', () => {
  it('says what, where, when and what to do', () => {
    expect(planNoticeText(question)).toEqual({
      title: 'Approved: gpu0, Tue 1 Dec 2026, 18:00 to 20:00 (UTC)',
      body: 'Your booking of gpu0, Tue 1 Dec 2026, 18:00 to 20:00 (UTC), model qwen (profile chat), is approved. See `hal0 reservation show r1`.',
    })
  })

  it.each(NOTICE_EVENTS)('%s names lane, window, owner, use and a command, and keeps the detail', (event) => {
    const { title, body } = planNoticeText({ ...question, event, isOwner: false, detail: 'Not today.' })
    for (const part of ['gpu0', question.window]) expect(title).toContain(part)
    for (const part of ['gpu0', question.window, 'by alice', 'qwen (profile chat)', ' Not today. ', '`hal0 ', 'r1']) {
      expect(body).toContain(part)
    }
  })

  it.each(NOTICE_EVENTS)('%s of an exclusive one names no model', (event) => {
    const { body } = planNoticeText({ ...question, event, use: { kind: 'exclusive' } })
    expect(body).toContain('exclusive (no model is loaded)')
    expect(body).not.toContain('undefined')
  })

  it('of a fallback leaves to the detail what serves, and says it once', () => {
    const detail =
      'Out of memory. The default of the lane, hello (profile chat), serves in its place. hal0 keeps trying.'
    const { body } = planNoticeText({ ...question, event: 'fallback', detail })
    expect(body).toMatch(
      /^Your booking of gpu0, .* has started, and what it is for could not be loaded\. Out of memory\. /,
    )
    expect(body.match(/default/g)).toHaveLength(1)
  })

  it.each([
    ['the window', { window: 'then' }, {}, 'It was then before.'],
    ['the model', { use: { kind: 'exclusive' } }, {}, 'It was exclusive (no model is loaded) before.'],
    ['both', { window: 'then', use: { kind: 'exclusive' } }, {}, 'It was then, exclusive (no model is loaded) before.'],
    [
      'what was approved',
      { window: 'then' },
      { status: 'pending' },
      'It was then before. It waits for approval again.',
    ],
    ['what waits', { window: 'then', status: 'pending' }, { status: 'pending' }, 'before. It waits for approval.'],
  ] as const)('of a change of %s says what was before, and what is to be decided', (_, was, now, expected) => {
    const { window, use, status } = question
    const { body } = planNoticeText({ ...question, event: 'changed', was: { window, use, status, ...was }, ...now })
    expect(body).toContain(`${expected} See `)
  })

  it('tells an admin how to decide', () => {
    const { title, body } = planNoticeText({ ...question, event: 'requested', isOwner: false })
    expect(title).toMatch(/^alice asks for gpu0: /)
    expect(body).toContain('`hal0 reservation approve r1`')
    expect(body).toContain('`hal0 reservation reject r1`')
  })

  it('asks anew with what was before, and says once that it waits', () => {
    const { body } = planNoticeText({
      ...{ ...question, event: 'requested', status: 'pending', isOwner: false },
      was: { window: 'then', use: question.use, status: 'pending' },
    })
    expect(body).toContain('waits for approval. It was then before. Approve it with')
    expect(body.match(/waits for approval/g)).toHaveLength(1)
  })

  it.each([
    ['ended_early', 'Ended early: gpu0', 'has ended early. It was'],
    ['completed', 'Ended: gpu0', 'has ended. It was'],
  ] as const)('tells an end of one that is %s', (status, head, said) => {
    const { title, body } = planNoticeText({ ...question, event: 'ended', status, detail: 'It was.' })
    expect(title.startsWith(head)).toBe(true)
    expect(body).toContain(said)
  })

  it('is one line without control characters, whatever people wrote', () => {
    const odd = 'no\r\nBcc: x@y.z\u2028\u0000\u0085\t end'
    const { title, body } = planNoticeText({
      ...question,
      ownerName: odd,
      isOwner: false,
      event: 'requested',
      detail: odd,
    })
    expect(`${title}${body}`).not.toMatch(/[\p{Cc}\u2028\u2029]/u)
    expect(body).toContain('no Bcc: x@y.z end')
  })

  it('has an end', () => {
    const { title, body } = planNoticeText({
      ...question,
      ownerName: 'a'.repeat(9_999),
      event: 'requested',
      detail: 'b'.repeat(9_999),
    })
    expect(title.length).toBeLessThan(300)
    expect(body.match(/b{2,}/)?.[0]).toHaveLength(1_000)
  })
})
