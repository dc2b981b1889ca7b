import { MIB } from '../kernel/units.ts'

/** What an operator may change about the gateway. Source: SPEC 11. */
export interface GatewaySettings {
  /** How long a request waits for a cold slot, s ≥ 0; a request may lower it with `X-Hal0-Wait`. */
  readonly loadWaitS: number
  /** Longest JSON body, bytes. */
  readonly jsonLimitBytes: number
  /** Longest silence of an engine, counted after the first byte of its answer, s; 0 = none. */
  readonly stallS: number
  /** Longest time in which a client takes no byte although data waits, s; 0 = none. */
  readonly clientStallS: number
  /** What happens to a model name that nobody knows: slot `agent` answers, or 404. */
  readonly unknownModel: 'agent' | 'reject'
}

export const defaultGatewaySettings: GatewaySettings = {
  loadWaitS: 60,
  jsonLimitBytes: 64 * MIB,
  // Longer than any pause between two tokens of a working engine, shorter than what a person waits for a dead one.
  stallS: 300,
  clientStallS: 120,
  unknownModel: 'agent',
}
