import { randomInt } from 'node:crypto'
import { type Clock, sleep } from '../../kernel/clock.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { SECOND_MS } from '../../kernel/units.ts'
import { createComfyClient } from '../../runners/comfy/comfy-client.ts'
import type { RenderSignals } from '../../runners/comfy/render.ts'
import { buildWorkflow } from '../../runners/comfy/rules/build-workflow.ts'
import type { Lease } from '../../slots/slots.ts'
import { noteFailure, sendJson } from '../answer.ts'
import { watchClient } from '../answers/watch-client.ts'
import type { Coalescer } from '../coalesce.ts'
import { CLIENT_GONE, type Exchange } from '../exchange.ts'
import { DEATH_NEWS_MS, type RelayOutcome } from '../relay-ports.ts'
import { type ImageRequest, type ImageSize, parseImageSize } from '../rules/read-image-request.ts'
import type { GatewaySettings } from '../settings.ts'
import { findCheckpoint } from './find-checkpoint.ts'

/** What an image slot paints with where a request does not say; undefined = hal0's own default. Source: SPEC 3 "[image]". */
export interface ImageDefaults {
  /** WIDTHxHEIGHT. */
  readonly size?: string | undefined
  readonly steps?: number | undefined
  /** The slot's model: a name as ComfyUI lists it, or its file name without folder; undefined = the first that is listed. */
  readonly checkpoint?: string | undefined
}

export interface PaintDeps {
  readonly settings: GatewaySettings
  readonly clock: Clock
  /** Asked when the slot is leased, for each request anew. */
  readonly imageDefaults: (slot: string) => ImageDefaults
  /** Aborts, with the Hal0Error for clients, when the gateway closes: renders are not followed any more. */
  readonly stopped: AbortSignal
  /** One question for the checkpoints of an engine at a time; absent = each request asks for itself. */
  readonly checkpoints?: Coalescer
}

const DEFAULT_SIZE: ImageSize = { width: 1_024, height: 1_024 }
/** Enough for the samplers that are in use. */
const DEFAULT_STEPS = 20
/** ComfyUI's own defaults. */
const DEFAULT_CFG = 8
const DEFAULT_SAMPLER = 'euler'
/** What `randomInt` can draw. */
const SEED_LIMIT = 2 ** 48 - 1

/**
 * One request at a leased ComfyUI, from its graph to the answer. Resolves when ComfyUI works on it no more, also when its client
 * left long before, and releases the lease. Rejects with the Hal0Error for the client, or with CLIENT_GONE. Source: SPEC 8.
 */
export async function paint(
  exchange: Exchange,
  lease: Lease,
  wish: ImageRequest,
  mayComeAgain: boolean,
  deps: PaintDeps,
): Promise<RelayOutcome> {
  const { signals, forget } = renderSignals(exchange, lease.revoked, deps.stopped)
  const { origin, engineKey } = lease.endpoint
  const onHeard = (): void => lease.moved()
  const comfy = createComfyClient({ origin, engineKey, slot: lease.slot, clock: deps.clock, onHeard })
  let outcome: 'answered' | undefined
  try {
    const defaults = deps.imageDefaults(lease.slot)
    const size = wish.size ?? parseImageSize(defaults.size ?? '') ?? DEFAULT_SIZE
    const ask = (cut: AbortSignal) => comfy.checkpoints(cut)
    const listed = await (deps.checkpoints?.share(lease.attemptId, ask, signals.cut) ?? ask(signals.cut))
    const found = findCheckpoint(listed, lease.slot, defaults.checkpoint)
    const end =
      'error' in found
        ? found
        : await comfy.generate(
            buildWorkflow({
              checkpoint: found.checkpoint,
              prompt: wish.prompt,
              negative: wish.negative,
              ...size,
              steps: wish.steps ?? defaults.steps ?? DEFAULT_STEPS,
              cfg: DEFAULT_CFG,
              seed: wish.seed ?? randomInt(SEED_LIMIT),
              sampler: DEFAULT_SAMPLER,
              batch: wish.count,
            }),
            signals,
          )
    if (end.kind === 'unread' && mayComeAgain && !exchange.signal.aborted) {
      // The slot must know of the death before it is asked for another lease.
      await sleep(deps.clock, DEATH_NEWS_MS, signals.cut)
      return 'unread'
    }
    if (end.kind === 'lost' || end.kind === 'unread') throw noteLost(exchange, end.error)
    if (end.kind !== 'images') throw end.error
    outcome = 'answered'
    sendImages(exchange, end.images, size, deps)
    return 'over'
  } catch (thrown) {
    const isDeath = thrown instanceof Hal0Error && thrown === lease.revoked.reason && thrown.code === LOST
    throw isDeath ? noteLost(exchange, thrown) : thrown
  } finally {
    forget()
    lease.release(outcome)
  }
}

/** The code of an engine that died. */
const LOST = 'dispatch.upstream_unavailable'

/** The operator hears of it, whether or not the client still does. */
function noteLost(exchange: Exchange, error: Hal0Error): Hal0Error {
  noteFailure(exchange, error)
  exchange.facts.engineLost = true
  return error
}

/** A client that leaves only takes its wish back; everything else that ends the exchange or the lease ends the wait at once. */
function renderSignals(
  { signal }: Exchange,
  revoked: AbortSignal,
  stopped: AbortSignal,
): { readonly signals: RenderSignals; readonly forget: () => void } {
  const left = new AbortController()
  const cut = new AbortController()
  const onEnding = (): void => (signal.reason === CLIENT_GONE ? left : cut).abort(signal.reason)
  const onRevoked = (): void => cut.abort(revoked.reason)
  const onStopped = (): void => cut.abort(stopped.reason)
  const all = [
    [signal, onEnding],
    [revoked, onRevoked],
    [stopped, onStopped],
  ] as const
  for (const [source, listener] of all) {
    if (source.aborted) listener()
    else source.addEventListener('abort', listener)
  }
  const forget = (): void => {
    for (const [source, listener] of all) source.removeEventListener('abort', listener)
  }
  return { signals: { left: left.signal, cut: cut.signal }, forget }
}

function sendImages(
  exchange: Exchange,
  images: readonly Buffer[],
  { width, height }: ImageSize,
  { settings, clock }: PaintDeps,
): void {
  sendJson(exchange, 200, {
    created: Math.floor(clock.nowMs() / SECOND_MS),
    output_format: 'png',
    size: `${width}x${height}`,
    data: images.map((image) => ({ b64_json: image.toString('base64') })),
  })
  if (exchange.res.writableLength === 0) return
  // A client that takes nothing must not keep the images in memory for ever.
  watchClient(exchange, settings.clientStallS * SECOND_MS).watch()
}
