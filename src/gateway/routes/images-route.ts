import { Hal0Error } from '../../kernel/errors.ts'
import { err, type Result } from '../../kernel/result.ts'
import { readAsked } from '../body/read-asked.ts'
import type { Exchange } from '../exchange.ts'
import { lanesFor } from '../lane-entry.ts'
import { checkRoute, type RouteAsk, unsupportedError } from '../rules/check-route.ts'
import { chooseImageSlot, type ImageRoute } from '../rules/choose-image-slot.ts'
import { findByName } from '../rules/find-slot.ts'
import { type ImageMistake, type ImageRequest, readImageRequest } from '../rules/read-image-request.ts'
import { IMAGES_PATH, IMAGES_ROUTE } from '../rules/route-table.ts'
import { sendToSlotAndWait } from '../send-to-slot.ts'
import { type InferenceDeps, routeError, sendJsonToEngine, type Target, waitOf } from './inference-route.ts'
import { type PaintDeps, paint } from './paint.ts'

export type ImageDeps = InferenceDeps & PaintDeps

/** What ComfyUI's slots are run by; any other runner of an image slot speaks OpenAI's own dialect. */
const COMFY_RUNNER = 'comfyui'

/**
 * `POST /v1/images/generations`: read it, find the image slot, wait for the GPU and for the slot, then paint with ComfyUI, or hand it over
 * to an engine that has this route itself. Nothing is committed to the client before there is a result. Rejects with the Hal0Error
 * for the client, or with CLIENT_GONE. Errors: `request.invalid`, `gpu.img_slot_missing`, those of `acquireArbitrated`, `dispatch.*`. Source: SPEC 8, 11.
 */
export async function serveImages(exchange: Exchange, deps: ImageDeps): Promise<void> {
  const { facts } = exchange
  const { settings, slots, runnersFor } = deps
  const waitMs = waitOf(exchange, settings.loadWaitS)
  const read = await readAsked(exchange, deps.bodies.json)
  const { body, asked } = read
  try {
    const model = asked.model.kind === 'string' && asked.model.value !== '' ? asked.model.value : undefined
    const wish = readWish(body)

    const { unknownModel, onDemandSlot } = settings
    const rows = slots.views()
    const registered = deps.registeredModels()
    const lanes = lanesFor(deps.lanes, exchange.caller)
    const chosen = chooseImageSlot({ model, rows, unknownModel, registered, onDemandSlot, lanes })
    facts.reason = chosen.reason
    const { slot, onDemandModel } = targetOf(chosen, { rows, runnersFor })
    facts.slot = slot
    if (chosen.kind === 'slot' && chosen.fallback) exchange.setHeader('X-Hal0-Route', 'fallback')
    const view = findByName(slot, rows)
    const refusal = view === undefined ? undefined : checkRoute({ slot: view, route: IMAGES_ROUTE, rows, runnersFor })
    if (refusal !== undefined) throw refusal
    // What it would refuse need not wait for it; another engine may take more than hal0 knows of.
    if (!wish.ok && view?.runner === COMFY_RUNNER) throw wishError(wish.error)

    const target: Target = { route: IMAGES_ROUTE, slot, onDemandModel, model, waitMs }
    await sendToSlotAndWait(exchange, target, deps, (lease, mayComeAgain, sent) => {
      if (lease.endpoint.protocol !== 'comfyui') {
        return sendJsonToEngine(
          exchange,
          lease,
          { target, pieces: [body], asked, holder: read },
          mayComeAgain,
          deps,
          sent,
        )
      }
      if (!wish.ok) {
        lease.release()
        return sent('over', wishError(wish.error))
      }
      paint(exchange, lease, wish.value, mayComeAgain, deps).then(sent, (failure: unknown) => sent('over', failure))
    })
  } finally {
    read.release()
  }
}

function wishError({ param, message }: ImageMistake): Hal0Error {
  return Hal0Error.of('request.invalid', message, { param })
}

function readWish(body: Buffer): Result<ImageRequest, ImageMistake> {
  try {
    return readImageRequest(JSON.parse(body.toString('utf8')))
  } catch {
    // The scan lets through what it need not understand, such as nesting beyond any reason.
    return err({ param: 'prompt', message: 'The request body cannot be read as JSON' })
  }
}

function targetOf(
  chosen: ImageRoute,
  among: Pick<RouteAsk, 'rows' | 'runnersFor'>,
): { readonly slot: string; readonly onDemandModel: string | undefined } {
  switch (chosen.kind) {
    case 'slot':
      return { slot: chosen.slot, onDemandModel: undefined }
    case 'on_demand':
      return { slot: chosen.slot, onDemandModel: chosen.modelId }
    case 'error':
      throw routeError(chosen)
    case 'wrong_type':
      throw unsupportedError({ slot: chosen.named, route: IMAGES_ROUTE, ...among })
    case 'no_image_slot':
      throw Hal0Error.of('gpu.img_slot_missing', `${chosen.message}, so nothing answers ${IMAGES_PATH}`, {
        details: { remedy: 'Bring back the slot "img": `hal0 slot reseed`. Or make one: `hal0 slot create`.' },
      })
  }
}
