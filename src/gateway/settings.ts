import type { DaemonSettings } from '../config/settings/daemon-settings.ts'

/** What an operator may change about the gateway. Source: SPEC 11. */
export interface GatewaySettings {
  /** How long a request waits for a cold slot, s ≥ 0; a request may lower it with `X-Hal0-Wait`. */
  readonly loadWaitS: number
  /** Longest JSON body, bytes. */
  readonly jsonLimitBytes: number
  /** Longest multipart form, bytes. */
  readonly formLimitBytes: number
  /** Memory for all bodies that are held at once, bytes. */
  readonly bodyMemoryBytes: number
  /** Disk for all forms that wait there for their model, bytes. */
  readonly spillLimitBytes: number
  /** Longest silence of an engine, counted after the first byte of its answer, s; 0 = none. */
  readonly stallS: number
  /** Longest time of an answer in all, from the moment its engine has the request, s; 0 = none. */
  readonly totalS: number
  /** Longest time in which a client takes no byte although data waits, s; 0 = none. */
  readonly clientStallS: number
  /** How long an event stream may be silent before its client gets a sign of life, s; 0 = never. A request may ask for it with `X-Hal0-Heartbeat`. */
  readonly heartbeatS: number
  /** What happens to a model name that nobody knows: slot `agent` answers, or 404. */
  readonly unknownModel: 'agent' | 'reject'
  /** The slot into which registered models are loaded that no slot binds; '' = they are refused. */
  readonly onDemandSlot: string
}

/** The gateway's part of hal0.toml; defaults live in its schema. */
export function gatewaySettingsOf({ dispatcher, server }: DaemonSettings): GatewaySettings {
  return {
    loadWaitS: dispatcher.load_wait_s,
    jsonLimitBytes: server.json_limit_bytes,
    formLimitBytes: server.form_limit_bytes,
    bodyMemoryBytes: server.body_memory_bytes,
    spillLimitBytes: server.spill_limit_bytes,
    stallS: dispatcher.stall_s,
    totalS: dispatcher.total_s,
    clientStallS: dispatcher.client_stall_s,
    heartbeatS: dispatcher.heartbeat_s,
    unknownModel: dispatcher.unknown_model,
    onDemandSlot: dispatcher.on_demand_slot,
  }
}
