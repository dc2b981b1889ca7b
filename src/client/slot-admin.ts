import { type ResolvedLaunch, resolvedLaunchSchema } from '../contract/resolved.ts'
import {
  type ReseedResult,
  reseedResultSchema,
  type SlotChange,
  type SlotConfigView,
  type SlotPayload,
  slotChangeSchema,
  slotConfigSchema,
} from '../contract/slot-config.ts'
import { type SlotRow, slotRowSchema } from '../contract/slot-row.ts'
import type { Http } from './http.ts'

/** What people do to slots besides running them. Errors of every call: ClientError, UnreachableError. Source: SPEC 3, 4, 16. */
export interface SlotAdminClient {
  /** `payload`: the keys of a slot file, `name` among them. */
  create(payload: SlotPayload): Promise<SlotRow>
  config(name: string): Promise<SlotConfigView>
  /** Absent keys stay, null deletes one. */
  updateConfig(name: string, patch: SlotPayload): Promise<SlotChange>
  updateDefaults(name: string, patch: SlotPayload): Promise<SlotChange>
  /** `drainS`: seconds 0–3600; absent = the daemon's default (30). */
  remove(name: string, options?: { readonly force?: boolean; readonly drainS?: number }): Promise<void>
  rename(name: string, to: string): Promise<SlotRow>
  resolved(name: string): Promise<ResolvedLaunch>
  /** Without names: every slot that hal0 brings. */
  reseed(names: readonly string[]): Promise<ReseedResult>
}

/** The calls of `SlotAdminClient` over one connection. */
export function slotAdminClient(http: Http): SlotAdminClient {
  const at = (name: string, rest = '') => `/api/slots/${encodeURIComponent(name)}${rest}`
  return {
    create: (body) => http.json(slotRowSchema, '/api/slots', { method: 'POST', body }),
    config: (name) => http.json(slotConfigSchema, at(name, '/config')),
    updateConfig: (name, body) => http.json(slotChangeSchema, at(name, '/config'), { method: 'PUT', body }),
    updateDefaults: (name, body) => http.json(slotChangeSchema, at(name, '/defaults'), { method: 'PATCH', body }),
    async remove(name, { force, drainS } = {}) {
      await http.text(at(name), { method: 'DELETE', query: { force, drain_s: drainS } })
    },
    rename: (name, to) => http.json(slotRowSchema, at(name, '/rename'), { method: 'POST', body: { to } }),
    resolved: (name) => http.json(resolvedLaunchSchema, at(name, '/resolved')),
    reseed: (names) =>
      http.json(reseedResultSchema, '/api/slots/reseed', { method: 'POST', body: names.length === 0 ? {} : { names } }),
  }
}
