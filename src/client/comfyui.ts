import { type ArbiterStatus, arbiterStatusSchema } from '../contract/arbiter.ts'
import type { Http } from './http.ts'

/** `/api/comfyui`, typed. Errors of every call: ClientError, UnreachableError. Source: SPEC 8. */
export interface ComfyuiClient {
  status(): Promise<ArbiterStatus>
  /** Keeps the mode that is on, or no longer. */
  pin(pinned: boolean): Promise<ArbiterStatus>
  /** Resolves once the mode is on. `force`: also against a pin; `pin`: what is pinned afterwards, absent = as before. */
  switchover(request: {
    readonly mode: ArbiterStatus['mode']
    readonly force?: boolean
    readonly pin?: boolean
  }): Promise<ArbiterStatus>
}

/** The calls of `ComfyuiClient` over one connection. */
export function comfyuiClient(http: Http): ComfyuiClient {
  const post = (verb: string, body: object) =>
    http.json(arbiterStatusSchema, `/api/comfyui/${verb}`, { method: 'POST', body })
  return {
    status: () => http.json(arbiterStatusSchema, '/api/comfyui/status'),
    pin: (pinned) => post('pin', { pinned }),
    switchover: (request) => post('switchover', request),
  }
}
