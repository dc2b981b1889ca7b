import type { z } from 'zod'
import {
  type LaneExplanation,
  type LaneManualAnswer,
  type LaneManualRequest,
  type LaneRow,
  type LaneTimeline,
  laneExplanationSchema,
  laneListSchema,
  laneManualAnswerSchema,
  laneRowSchema,
  laneTimelineSchema,
} from '../contract/lane.ts'
import { laneConfigAnswerSchema, laneConfigWrittenSchema } from '../contract/lane-config.ts'
import { type SlotRow, slotRowSchema } from '../contract/slot-row.ts'
import type { Http } from './http.ts'

type LaneConfigAnswer = z.infer<typeof laneConfigAnswerSchema>
type LaneConfigWritten = z.infer<typeof laneConfigWrittenSchema>

/** Keys of a lane's file, tables within tables. */
type LaneKeys = Readonly<Record<string, unknown>>

/** `/api/lanes`, typed. Times are ISO 8601 with a zone. Errors of every call: ClientError, UnreachableError. Source: SPEC 12, 16. */
export interface LanesClient {
  /** In order of name. */
  list(): Promise<readonly LaneRow[]>
  show(name: string): Promise<LaneRow>
  /** `payload`: the keys of a lane file, `name` among them. */
  create(payload: LaneKeys): Promise<LaneConfigWritten>
  config(name: string): Promise<LaneConfigAnswer>
  /** Absent keys stay, null deletes one; tables are merged. */
  updateConfig(name: string, patch: LaneKeys): Promise<LaneConfigWritten>
  remove(name: string): Promise<void>
  setManual(name: string, request: LaneManualRequest): Promise<LaneManualAnswer>
  clearManual(name: string): Promise<LaneRow>
  /** Resolves when the lane's engine is ready again. */
  reload(name: string): Promise<SlotRow>
  /** Absent = as the daemon chooses. */
  timeline(name: string, window?: { readonly from?: string; readonly to?: string }): Promise<LaneTimeline>
  /** Absent `at` = now. */
  explain(name: string, options?: { readonly at?: string }): Promise<LaneExplanation>
  /** The bookings as iCalendar text, for whoever the token is of. */
  calendar(name: string, token: string): Promise<string>
}

/** The calls of `LanesClient` over one connection. */
export function lanesClient(http: Http): LanesClient {
  const at = (name: string, rest = '') => `/api/lanes/${encodeURIComponent(name)}${rest}`
  return {
    list: async () => (await http.json(laneListSchema, '/api/lanes')).lanes,
    show: (name) => http.json(laneRowSchema, at(name)),
    create: (body) => http.json(laneConfigWrittenSchema, '/api/lanes', { method: 'POST', body }),
    config: (name) => http.json(laneConfigAnswerSchema, at(name, '/config')),
    updateConfig: (name, body) => http.json(laneConfigWrittenSchema, at(name, '/config'), { method: 'PUT', body }),
    async remove(name) {
      await http.text(at(name), { method: 'DELETE' })
    },
    setManual: (name, body) => http.json(laneManualAnswerSchema, at(name, '/manual'), { method: 'POST', body }),
    clearManual: (name) => http.json(laneRowSchema, at(name, '/manual'), { method: 'DELETE' }),
    reload: (name) => http.json(slotRowSchema, at(name, '/reload'), { method: 'POST' }),
    timeline: (name, { from, to } = {}) =>
      http.json(laneTimelineSchema, at(name, '/timeline'), { query: { from, to } }),
    explain: (name, options = {}) =>
      http.json(laneExplanationSchema, at(name, '/explain'), { query: { at: options.at } }),
    calendar: (name, token) =>
      http.text(at(name, '/calendar.ics'), { query: { token }, headers: { accept: 'text/calendar' } }),
  }
}
