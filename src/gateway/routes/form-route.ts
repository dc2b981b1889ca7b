import type { Lease } from '../../slots/slots.ts'
import type { FormBody } from '../body/form/form-body.ts'
import { receiveForm } from '../body/form/receive-form.ts'
import type { Exchange } from '../exchange.ts'
import { relay } from '../relay.ts'
import { engineRequestHeaders } from '../rules/headers.ts'
import { queryWithoutKey } from '../rules/match-route.ts'
import type { InferenceRoute } from '../rules/route-table.ts'
import { type Sent, type Served, sendToSlot } from '../send-to-slot.ts'
import { type InferenceDeps, resolveTarget, type Target, waitOf } from './inference-route.ts'
import { withBody } from './with-body.ts'

/**
 * A form that an engine answers: read until its model is known, find the slot, wait for it while the client is held back, then stream. It can
 * be sent once. `done` gets the Hal0Error for the client, or CLIENT_GONE. Source: SPEC 11 "Bodies".
 */
export function serveForm(exchange: Exchange, route: InferenceRoute, deps: InferenceDeps, done: Served): void {
  const { settings, bodies } = deps
  const waitMs = waitOf(exchange, settings.loadWaitS)
  const options = {
    limitBytes: settings.formLimitBytes,
    folder: bodies.spillFolder,
    budget: bodies.budget,
    spill: bodies.spill,
    silence: bodies.silence,
  }
  withBody<FormBody>(
    exchange,
    (take) => receiveForm(exchange, options, take),
    (form, end) => {
      const model = form.asked.model?.value
      const target = resolveTarget(exchange, route, model === '' ? undefined : model, waitMs, deps)
      sendToSlot(
        exchange,
        target,
        deps,
        (lease, mayComeAgain, sent) => sendForm(exchange, lease, { target, form }, mayComeAgain, deps, sent),
        end,
      )
    },
    done,
  )
}

function sendForm(
  exchange: Exchange,
  lease: Lease,
  { target, form }: { readonly target: Target; readonly form: FormBody },
  mayComeAgain: boolean,
  deps: InferenceDeps,
  sent: Sent,
): void {
  const { route, model } = target
  const { alias, engineKey, routes } = lease.endpoint
  if (!routes.includes(route.enginePath)) {
    lease.release()
    return sent('over', deps.refusalOf(lease.slot, route))
  }
  const { req } = exchange
  const body = form.engineBody(alias)
  relay(
    exchange,
    lease,
    {
      method: 'POST',
      path: route.enginePath + queryWithoutKey(req.url ?? ''),
      headers: engineRequestHeaders(req.rawHeaders, { engineKey, requestId: exchange.id, contentType: 'as_sent' }),
      body,
      stream: form.asked.stream,
      answer:
        route.answer === 'media'
          ? { kind: 'media', dialect: route.dialect, askedName: model ?? alias }
          : { kind: 'told', dialect: route.dialect, askedName: model ?? alias, dropsUsageChunk: false },
      route,
      mayComeAgain: mayComeAgain && body.kind === 'whole',
    },
    deps,
    sent,
  )
}
