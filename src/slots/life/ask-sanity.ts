import { Client } from 'undici'
import type { Clock } from '../../kernel/clock.ts'
import { errnoOf, messageOf } from '../../kernel/errors.ts'
import { SECOND_MS } from '../../kernel/units.ts'
import { isHopeless, judgeSanity, namesParis, showSample } from '../rules/judge-sanity.ts'
import { type SaidSoFar, SanityAnswer } from '../rules/sanity-answer.ts'
import { type SanityRoute, sanityQuestion } from '../rules/sanity-question.ts'
import type { SanityAsk, SanityVerdict } from './sanity.ts'

/** Source: SPEC 5 "output-sanity gate". */
const COMPLETION_LIMIT_MS = 20 * SECOND_MS
const CHAT_LIMIT_MS = 45 * SECOND_MS
/** For both together. */
const CPU_LIMIT_MS = 180 * SECOND_MS

/** An engine that says more than this does not mind the limit of tokens; what it said so far is judged. */
const MAX_ANSWER_CHARS = 256 * 1024

/** A name that began in one piece ends in the next; longer than any spelling of it. */
const NAME_CHARS = 32

/** What came of asking one route. */
type Outcome =
  | { readonly kind: 'passed' }
  | { readonly kind: 'wrong'; readonly sample: string; readonly why: string }
  /** There is no such route. */
  | { readonly kind: 'absent' }
  /** This route does not serve this model, or not this question. */
  | { readonly kind: 'refused'; readonly why: string }
  /** Says nothing about the engine's output. */
  | { readonly kind: 'unclear'; readonly why: string }

/** There is no such route, whoever asks. */
const ABSENT_STATUS = new Set([404, 405, 501])

/** Busy, not up yet or not to be reached, or the key is not the right one: another route would say the same. */
const UNCLEAR_STATUS = new Set([401, 403, 408, 429, 502, 503, 504])

/**
 * Does this engine answer its known question? First as a completion; empty, wrong or refused: once more through chat. Never rejects; when
 * it resolves no connection is left. An aborted signal makes it ambiguous. Source: SPEC 5 "output-sanity gate".
 */
export async function askSanity(ask: SanityAsk, { clock }: { readonly clock: Clock }): Promise<SanityVerdict> {
  const client = new Client(ask.origin, { headersTimeout: 0, bodyTimeout: 0 })
  const begunMs = clock.monotonicMs()
  const put = async (route: SanityRoute, form: 'full' | 'plain', endMs: number): Promise<Outcome> =>
    ask.routes.includes(route) ? askOnce(client, ask, route, form, { clock, endMs }) : { kind: 'absent' }
  try {
    const completion = await put('/v1/completions', 'full', begunMs + (ask.isCpu ? CPU_LIMIT_MS : COMPLETION_LIMIT_MS))
    if (completion.kind === 'passed') return { kind: 'passed' }
    if (completion.kind === 'unclear') return { kind: 'ambiguous', why: completion.why }
    const chatEndMs = ask.isCpu ? begunMs + CPU_LIMIT_MS : clock.monotonicMs() + CHAT_LIMIT_MS
    const first = await put('/v1/chat/completions', 'full', chatEndMs)
    const chat = first.kind === 'refused' ? await put('/v1/chat/completions', 'plain', chatEndMs) : first
    return decide(completion, chat)
  } finally {
    await client.destroy()
  }
}

/** What both routes together say; the completion has not passed. */
function decide(completion: Outcome, chat: Outcome): SanityVerdict {
  if (chat.kind === 'passed') return { kind: 'passed' }
  if (chat.kind === 'unclear') return { kind: 'ambiguous', why: chat.why }
  const wrong = [chat, completion].filter((each) => each.kind === 'wrong')
  const [told] = [...wrong.filter(({ sample }) => sample !== ''), ...wrong]
  if (told !== undefined) return { kind: 'failed', sample: told.sample, why: told.why }
  const refused = [completion, chat].find((each) => each.kind === 'refused')
  return refused === undefined ? { kind: 'unsupported' } : { kind: 'ambiguous', why: refused.why }
}

async function askOnce(
  client: Client,
  ask: SanityAsk,
  route: SanityRoute,
  form: 'full' | 'plain',
  { clock, endMs }: { readonly clock: Clock; readonly endMs: number },
): Promise<Outcome> {
  const limit = new AbortController()
  const cancel = clock.setTimer(endMs - clock.monotonicMs(), () => limit.abort())
  const signal = AbortSignal.any([ask.signal, limit.signal])
  const answer = new SanityAnswer()
  try {
    const { statusCode, body } = await client.request({
      path: route,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(ask.engineKey === undefined ? {} : { authorization: `Bearer ${ask.engineKey}` }),
      },
      body: JSON.stringify(sanityQuestion(route, ask.alias, form)),
      reset: true,
      signal,
    })
    let chars = 0
    let isHeard = false
    for await (const piece of textOf(body)) {
      answer.push(piece)
      chars += piece.length
      isHeard = chars > MAX_ANSWER_CHARS
      // An engine that does not bear a cut has few tokens left to say.
      const mayCut = statusCode === 200 && ask.onClientAbort !== 'drain'
      const { text } = answer.said
      if (mayCut && namesParis(text.slice(-piece.length - NAME_CHARS))) break
      if (mayCut && isHopeless(text)) isHeard = true
      if (isHeard) break
    }
    if (!isHeard) answer.end()
    const said = { ...answer.said, isComplete: answer.said.isComplete || isHeard }
    return statusCode === 200 ? judge(said, ask.mode, route) : judgeStatus(statusCode, said, route)
  } catch (cause) {
    // What was said before it broke off is said.
    if (namesParis(answer.said.text)) return { kind: 'passed' }
    if (ask.signal.aborted) return { kind: 'unclear', why: 'nobody asks any more' }
    if (limit.signal.aborted) return { kind: 'unclear', why: `no answer from ${route} in time` }
    return {
      kind: 'unclear',
      why: `the connection to ${route} broke: ${errnoOf(cause) ?? showSample(messageOf(cause))}`,
    }
  } finally {
    cancel()
  }
}

/** Never half a character. */
async function* textOf(body: AsyncIterable<unknown>): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder()
  for await (const part of body) {
    if (part instanceof Uint8Array) yield decoder.decode(part, { stream: true })
  }
  yield decoder.decode()
}

function judge(said: SaidSoFar, mode: SanityAsk['mode'], route: SanityRoute): Outcome {
  const judgement = judgeSanity(said.text, mode)
  if (judgement.isSane && namesParis(said.text)) return { kind: 'passed' }
  if (said.error !== undefined) {
    return { kind: 'unclear', why: `${route} answered with an error: ${showSample(said.error)}` }
  }
  if (!said.isComplete) return { kind: 'unclear', why: `the answer from ${route} broke off` }
  if (judgement.isSane) return { kind: 'passed' }
  if (said.unread !== '') {
    return { kind: 'wrong', sample: showSample(said.unread), why: `${route} gave no answer of the expected form` }
  }
  return { kind: 'wrong', sample: showSample(said.text), why: judgement.why }
}

function judgeStatus(status: number, { error, unread }: SaidSoFar, route: SanityRoute): Outcome {
  const words = error ?? ''
  const why = `${route} answered ${status}${words === '' ? '' : `: ${showSample(words)}`}`
  if (UNCLEAR_STATUS.has(status)) return { kind: 'unclear', why }
  // Engines also say 404 of a model they do not know: then the route is there.
  const isAboutModel = status === 404 && /\bmodel\b/i.test(words === '' ? unread : words)
  return ABSENT_STATUS.has(status) && !isAboutModel ? { kind: 'absent' } : { kind: 'refused', why }
}
