import {
  type BookingCheck,
  bookingCheckSchema,
  type ReservationChange,
  type ReservationMade,
  type ReservationRequest,
  type ReservationRow,
  type ReservationStatus,
  reservationListSchema,
  reservationMadeSchema,
  reservationRowSchema,
} from '../contract/reservation.ts'
import type { CallOptions, Http } from './http.ts'

interface ReservationQuery {
  readonly lane?: string | undefined
  /** Owner or member. */
  readonly mine?: boolean | undefined
  /** Absent = all. */
  readonly status?: readonly ReservationStatus[] | undefined
  /** Those that touch the window; ISO 8601 with a zone. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  /** 1–5000; absent = the daemon's default. */
  readonly limit?: number | undefined
}

interface SeriesOption {
  /** Also the others of its series, as far as they are still to come. */
  readonly series?: boolean | undefined
}

/** `/api/reservations`, typed. Errors of every call: ClientError, UnreachableError. Source: SPEC 13, 16. */
export interface ReservationsClient {
  /** In order of their start. */
  list(query?: ReservationQuery): Promise<readonly ReservationRow[]>
  show(id: string): Promise<ReservationRow>
  /** What a booking would meet; makes none. */
  check(request: ReservationRequest): Promise<BookingCheck>
  create(request: ReservationRequest): Promise<ReservationMade>
  /** Absent keys stay. */
  change(id: string, change: ReservationChange): Promise<ReservationRow>
  cancel(id: string, options?: SeriesOption): Promise<ReservationRow>
  end(id: string): Promise<ReservationRow>
  extend(id: string, minutes: number): Promise<ReservationRow>
  approve(id: string, options?: SeriesOption): Promise<ReservationRow>
  /** `reason` '' = none. */
  reject(id: string, options: SeriesOption & { readonly reason: string }): Promise<ReservationRow>
}

/** The calls of `ReservationsClient` over one connection. */
export function reservationsClient(http: Http): ReservationsClient {
  const at = (id: string, rest = '') => `/api/reservations/${encodeURIComponent(id)}${rest}`
  const post = (id: string, verb: string, options: Pick<CallOptions, 'body' | 'query'> = {}) =>
    http.json(reservationRowSchema, at(id, `/${verb}`), { method: 'POST', ...options })
  const also = ({ series }: SeriesOption = {}) => (series === true ? { series } : {})
  return {
    list: async ({ status, mine, ...query } = {}) => {
      const words = { status: status?.join(','), mine: mine === true ? true : undefined }
      return (await http.json(reservationListSchema, '/api/reservations', { query: { ...query, ...words } }))
        .reservations
    },
    show: (id) => http.json(reservationRowSchema, at(id)),
    check: (body) => http.json(bookingCheckSchema, '/api/reservations/check', { method: 'POST', body }),
    create: (body) => http.json(reservationMadeSchema, '/api/reservations', { method: 'POST', body }),
    change: (id, body) => http.json(reservationRowSchema, at(id), { method: 'PATCH', body }),
    cancel: (id, options) => http.json(reservationRowSchema, at(id), { method: 'DELETE', query: also(options) }),
    end: (id) => post(id, 'end'),
    extend: (id, minutes) => post(id, 'extend', { body: { minutes } }),
    approve: (id, options) => post(id, 'approve', { query: also(options) }),
    reject: (id, { reason, series }) =>
      post(id, 'reject', { body: reason === '' ? {} : { reason }, query: also({ series }) }),
  }
}
