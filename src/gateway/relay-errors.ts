import { Hal0Error } from '../kernel/errors.ts'

/** How far a request had come when its connection ended. */
export type LostWhen = 'refused' | 'sent' | 'in_answer'

const LOST: Readonly<Record<LostWhen, string>> = {
  refused: 'cannot be reached',
  sent: 'closed the connection without a proper answer',
  in_answer: 'broke off in the middle of its answer',
}

/** The connection to the engine ended before the answer did. */
export function lostError(slot: string, when: LostWhen, cause: Error): Hal0Error {
  return Hal0Error.of('dispatch.upstream_unavailable', `The engine of slot "${slot}" ${LOST[when]}`, {
    details: { slot },
    cause,
  })
}

/** There was no file or port left here to reach the engine with; nothing was sent. `cause`: `isOwnShortage`. */
export function shortageError(slot: string, cause: Error): Hal0Error {
  return Hal0Error.of('dispatch.queue_full', `hal0 has no connection left to reach slot "${slot}" with`, {
    retryAfterS: 1,
    details: {
      slot,
      remedy:
        'Wait for Retry-After; if it comes often, raise the limit of open files (LimitNOFILE= of the service, ulimit -n).',
    },
    cause,
  })
}

/** The engine ended its answer in good order, but it is none. `sample`: how it begins. */
export function brokenAnswerError(slot: string, end: { readonly why: string; readonly sample?: string }): Hal0Error {
  const sample = end.sample === undefined ? {} : { sample: end.sample }
  return Hal0Error.of('dispatch.upstream_unavailable', `The engine of slot "${slot}" answered ${end.why}`, {
    details: { slot, ...sample },
  })
}

/** The answer took longer than the operator lets any answer take. */
export function overtimeError(slot: string, totalS: number): Hal0Error {
  return Hal0Error.of('dispatch.stalled', `The answer of slot "${slot}" took longer than ${totalS} s in all`, {
    details: {
      slot,
      total_s: totalS,
      remedy: 'Ask for less, or raise [dispatcher] total_s in hal0.toml (0 = no limit).',
    },
  })
}

/** The engine fell silent in the middle of its answer. */
export function stalledError(slot: string, stallS: number): Hal0Error {
  return Hal0Error.of(
    'dispatch.stalled',
    `The engine of slot "${slot}" sent nothing for ${stallS} s in the middle of its answer`,
    {
      details: { slot, stall_s: stallS },
    },
  )
}
