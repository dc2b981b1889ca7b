import type { People } from '../../access/people.ts'
import type { DaemonSettings } from '../../config/settings/daemon-settings.ts'
import type { Clock } from '../../kernel/clock.ts'
import { isoTime } from '../../kernel/units.ts'
import type { Delivery } from './delivery-table.ts'
import { ATTEMPT_MS, type Route } from './delivery-worker.ts'
import { messageId } from './message-id.ts'
import { sendMail } from './send-mail.ts'
import { sendWebhook } from './send-webhook.ts'

export interface RoutesDeps {
  readonly clock: Clock
  readonly people: Pick<People, 'byId'>
  readonly settings: () => DaemonSettings['notify']
  readonly baseUrl: () => string
  readonly daemonName?: string
}

/** How a delivery goes out, by the settings and the people of this moment. */
export function createRoutes({ clock, people, settings, baseUrl, daemonName }: RoutesDeps): (one: Delivery) => Route {
  const off = (reason: string): Route => ({ kind: 'off', reason })

  function webhookRoute(delivery: Delivery, name: string): Route {
    const { webhook } = settings()
    if (webhook === undefined) return off('no webhook is set up any more')
    const id = messageId(delivery)
    return {
      kind: 'send',
      send: (signal) =>
        sendWebhook(webhook, { id, body: webhookBody(id, delivery, name) }, { nowMs: clock.nowMs(), signal }),
    }
  }

  function mailRoute(delivery: Delivery, to: string | undefined): Route {
    const { smtp } = settings()
    if (smtp === undefined) return off('no mail server is set up any more')
    if (to === undefined) return off('the person has no e-mail address any more')
    const name = daemonName === undefined ? 'hal0' : `hal0 ${daemonName}`
    const text = `${delivery.body}\n\n-- \n${name}, ${baseUrl()}\n`
    const mail = { to, subject: delivery.title, text, id: messageId(delivery) }
    return { kind: 'send', send: (signal) => sendMail(smtp, mail, { signal, timeoutMs: ATTEMPT_MS }) }
  }

  return (delivery) => {
    const person = people.byId(delivery.userId)
    if (person === undefined || person.isDisabled) return off('the person may not come in any more')
    return delivery.channel === 'webhook' ? webhookRoute(delivery, person.name) : mailRoute(delivery, person.email)
  }
}

/** The same at every attempt. */
function webhookBody(id: string, delivery: Delivery, name: string): string {
  const { event, lane, title, body, createdMs } = delivery
  return JSON.stringify({
    id,
    event,
    reservation: JSON.parse(delivery.reservation) as unknown,
    lane,
    recipient: { name },
    title,
    body,
    created_at: isoTime(createdMs),
  })
}
