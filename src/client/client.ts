import { type Capacity, capacitySchema } from '../contract/capacity.ts'
import { type ConfigReport, configReportSchema } from '../contract/config-report.ts'
import { type Hal0Event, hal0EventSchema } from '../contract/events.ts'
import { type Hardware, hardwareSchema } from '../contract/hardware.ts'
import { type Health, healthSchema } from '../contract/health.ts'
import { eventListSchema } from '../contract/lists.ts'
import { type Operation, operationSchema } from '../contract/operation.ts'
import { type Resync, resyncSchema } from '../contract/resync.ts'
import type { RouteExplanation } from '../contract/route-explanation.ts'
import { type RunnerRow, runnerListSchema } from '../contract/runner.ts'
import { type SettingsView, settingsViewSchema } from '../contract/settings.ts'
import { type Status, statusSchema } from '../contract/status.ts'
import type { UsageReport } from '../contract/usage.ts'
import { parseJson } from '../kernel/read-json.ts'
import { type ChatRequest, streamChat } from './chat.ts'
import { type ComfyuiClient, comfyuiClient } from './comfyui.ts'
import { explainRoute, type RouteQuestion } from './dispatch.ts'
import { createHttp, type HttpOptions } from './http.ts'
import { type LanesClient, lanesClient } from './lanes.ts'
import { type ModelsClient, modelsClient } from './models.ts'
import { type NotificationsClient, notificationsClient } from './notifications.ts'
import { type PeopleClient, peopleClient } from './people.ts'
import { type ProfilesClient, profilesClient } from './profiles.ts'
import { type ReservationsClient, reservationsClient } from './reservations.ts'
import { type SlotsClient, slotsClient } from './slots.ts'
import { readUsage, type UsageOptions } from './usage.ts'

/** What an event stream says: an event (an id seen before = that row changed), or that something was missed. */
export type EventStreamItem =
  | { readonly kind: 'event'; readonly event: Hal0Event }
  | { readonly kind: 'resync'; readonly reason: Resync['reason'] }

/** The daemon as its clients see it. Errors of every call: ClientError, UnreachableError. Source: SPEC 16, 18. */
export interface Hal0Client {
  readonly baseUrl: string
  readonly slots: SlotsClient
  readonly profiles: ProfilesClient
  readonly models: ModelsClient
  readonly comfyui: ComfyuiClient
  readonly lanes: LanesClient
  readonly reservations: ReservationsClient
  readonly people: PeopleClient
  readonly notifications: NotificationsClient
  health(): Promise<Health>
  status(): Promise<Status>
  operation(id: string): Promise<Operation>
  /** Memory: what there is, what is promised, who holds it. */
  capacity(): Promise<Capacity>
  /** Requests, tokens and time, summed by the hour. */
  usage(wish?: UsageOptions): Promise<UsageReport>
  /** Which slot would answer a request now, and why. */
  explainRoute(question: RouteQuestion): Promise<RouteExplanation>
  /** In the daemon's order. */
  runners(): Promise<readonly RunnerRow[]>
  /** What the machine of the daemon has, and how much of it is free now. */
  hardware(): Promise<Hardware>
  settings(): Promise<SettingsView>
  /** What the daemon finds in the files of its home now. */
  validateConfig(): Promise<ConfigReport>
  /** Newest last; `limit` 1–1000, default 100. */
  events(options?: { readonly limit?: number }): Promise<readonly Hal0Event[]>
  /** What is kept after `afterId` (absent: nothing old), then each new event until the daemon ends or the loop is left. */
  followEvents(options?: {
    readonly afterId?: number
    readonly signal?: AbortSignal
  }): AsyncGenerator<EventStreamItem, void, void>
  /** Yields the answer's text as it comes. */
  chat(request: ChatRequest): AsyncGenerator<string, void, void>
}

export interface ClientOptions extends HttpOptions {
  /** `http://HOST:PORT`; a trailing slash does not matter. */
  readonly baseUrl: string
}

export function createClient(options: ClientOptions): Hal0Client {
  const http = createHttp(options.baseUrl, options)
  return {
    baseUrl: options.baseUrl.replace(/\/+$/, ''),
    slots: slotsClient(http),
    profiles: profilesClient(http),
    models: modelsClient(http),
    comfyui: comfyuiClient(http),
    lanes: lanesClient(http),
    reservations: reservationsClient(http),
    people: peopleClient(http),
    notifications: notificationsClient(http),
    health: () => http.json(healthSchema, '/api/health'),
    status: () => http.json(statusSchema, '/api/status'),
    operation: (id) => http.json(operationSchema, `/api/operations/${encodeURIComponent(id)}`),
    capacity: () => http.json(capacitySchema, '/api/capacity'),
    usage: (wish = {}) => readUsage(http, wish),
    explainRoute: (question) => explainRoute(http, question),
    runners: async () => (await http.json(runnerListSchema, '/api/runners')).runners,
    hardware: () => http.json(hardwareSchema, '/api/hardware'),
    settings: () => http.json(settingsViewSchema, '/api/settings'),
    validateConfig: () => http.json(configReportSchema, '/api/config/validate'),
    events: async ({ limit } = {}) => (await http.json(eventListSchema, '/api/events', { query: { limit } })).events,
    async *followEvents({ afterId, signal } = {}) {
      const headers = afterId === undefined ? {} : { 'last-event-id': String(afterId) }
      for await (const message of http.events('/api/events', { headers, signal })) {
        const body = parseJson(message.data)
        if (message.event === 'resync') {
          const resync = resyncSchema.safeParse(body)
          if (resync.success) yield { kind: 'resync', reason: resync.data.reason }
          continue
        }
        const event = hal0EventSchema.safeParse(body)
        if (event.success) yield { kind: 'event', event: event.data }
      }
    },
    chat: (request) => streamChat(http, request),
  }
}
