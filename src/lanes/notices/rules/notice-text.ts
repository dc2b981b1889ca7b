import type { NoticeEvent } from '../../../contract/notification.ts'
import { shortText } from '../../../kernel/short-text.ts'
import type { Booking } from '../../rules/booking.ts'

/** Words of people (why it was rejected) are told up to this length. */
const MAX_DETAIL_CHARS = 1_000
/** What mail programs and lists show in one line. */
const MAX_TITLE_CHARS = 200

export interface NoticeTextQuestion {
  readonly event: NoticeEvent
  readonly bookingId: string
  readonly lane: string
  readonly use: Booking['use']
  readonly status: Booking['status']
  /** When, in the reader's time zone. */
  readonly window: string
  /** Of a change: what it was before; undefined = it is no change. */
  readonly was: (Pick<Booking, 'use' | 'status'> & { readonly window: string }) | undefined
  readonly ownerName: string
  /** Does the reader own it? */
  readonly isOwner: boolean
  /** Sentences beyond what the event says; '' = none. */
  readonly detail: string
}

export interface NoticeText {
  /** One line. */
  readonly title: string
  /** Sentences, in one paragraph. */
  readonly body: string
}

/** What a person reads of it, and what they can do. No line breaks or control characters, whatever the question holds. Source: SPEC 13. */
export function planNoticeText(question: NoticeTextQuestion): NoticeText {
  const { event, lane, window, ownerName, isOwner, detail } = question
  const booking = `${isOwner ? 'Your booking' : `The booking by ${ownerName}`} of ${lane}, ${window}, ${useText(question.use)},`
  const words = wordsOf(question, booking)
  const title = event === 'requested' ? `${ownerName} asks for ${lane}: ${window}` : `${words.head}: ${lane}, ${window}`
  return {
    title: shortText(oneLine(title), MAX_TITLE_CHARS),
    body: oneLine(
      [words.said, changeText(question), shortText(oneLine(detail), MAX_DETAIL_CHARS), words.hint].join(' '),
    ),
  }
}

/** What was before a change, and whether it has to be decided on; '' = there is nothing to say. */
function changeText({ event, was, window, use, status }: NoticeTextQuestion): string {
  if (was === undefined) return ''
  const parts = [
    ...(was.window === window ? [] : [was.window]),
    ...(useText(was.use) === useText(use) ? [] : [useText(was.use)]),
  ]
  const before = parts.length === 0 ? [] : [`It was ${parts.join(', ')} before.`]
  // A request says so by itself.
  if (status !== 'pending' || event === 'requested') return before.join(' ')
  const again = was.status === 'pending' ? '' : ' again'
  return [...before, `It waits for approval${again}.`].join(' ')
}

function useText(use: Booking['use']): string {
  return use.kind === 'exclusive' ? 'exclusive (no model is loaded)' : `model ${use.model} (profile ${use.profile})`
}

interface Words {
  /** First words of the title. */
  readonly head: string
  readonly said: string
  readonly hint: string
}

function wordsOf({ event, bookingId, lane, use, status }: NoticeTextQuestion, booking: string): Words {
  const show = `See \`hal0 reservation show ${bookingId}\`.`
  const what = use.kind === 'exclusive' ? 'the lane' : `${use.model} (profile ${use.profile})`
  switch (event) {
    case 'requested':
      return {
        head: 'Requested',
        said: `${booking} waits for approval.`,
        hint: `Approve it with \`hal0 reservation approve ${bookingId}\`, or reject it with \`hal0 reservation reject ${bookingId}\`; undecided at its start it is rejected.`,
      }
    case 'approved':
      return { head: 'Approved', said: `${booking} is approved.`, hint: show }
    case 'rejected':
      return { head: 'Rejected', said: `${booking} is rejected.`, hint: `${show} Another window can be booked.` }
    case 'cancelled':
      return { head: 'Cancelled', said: `${booking} is cancelled.`, hint: show }
    case 'changed':
      return { head: 'Changed', said: `${booking} was changed; this is how it stands now.`, hint: show }
    case 'starting_soon':
      return { head: 'Starts soon', said: `${booking} starts soon.`, hint: show }
    case 'started':
      return { head: 'Started', said: `${booking} has started.`, hint: show }
    case 'fallback':
      return {
        head: 'Not loaded',
        // What serves instead, and whether it is tried again, is in the detail.
        said: `${booking} has started, and what it is for could not be loaded.`,
        hint: `${show} \`hal0 lane show ${lane}\` says when the next try is.`,
      }
    case 'recovered':
      return { head: 'Loaded again', said: `${booking} has what was reserved: ${what} is ready.`, hint: show }
    case 'memory_held':
      return {
        head: 'Memory is held',
        said: `${booking} finds memory of ${lane} that is not free.`,
        hint: `${show} End what holds the memory.`,
      }
    case 'ending_soon':
      return {
        head: 'Ends soon',
        said: `${booking} ends soon.`,
        hint: `Where the lane is free, \`hal0 reservation extend ${bookingId}\` makes it longer. ${show}`,
      }
    case 'ended':
      return status === 'ended_early'
        ? { head: 'Ended early', said: `${booking} has ended early.`, hint: show }
        : { head: 'Ended', said: `${booking} has ended.`, hint: show }
  }
}

/** Control characters and line breaks of all kinds become one space. */
function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}\u2028\u2029]+/gu, ' ').trim()
}
