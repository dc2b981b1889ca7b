import type { RequestRecord } from '../../src/contract/request-record.ts'

/** A chat with slot `agent` that went well, 200 ms long, ended at the beginning of 2026. */
export function requestRecord(more: Partial<RequestRecord> = {}): RequestRecord {
  return {
    requestId: 'req_1',
    method: 'POST',
    path: '/v1/chat/completions',
    route: '/v1/chat/completions',
    slot: 'agent',
    keyId: null,
    userId: null,
    reservationId: null,
    status: 200,
    bytesSent: 512,
    endedMs: Date.UTC(2026, 0, 1),
    elapsedMs: 200.4,
    firstByteMs: 30.6,
    reason: 'slot_name',
    failure: undefined,
    detail: undefined,
    usage: () => null,
    ...more,
  }
}
