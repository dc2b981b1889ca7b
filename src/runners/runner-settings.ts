import type { StopSignal } from '../contract/launch-plan.ts'
import type { SlotType } from '../contract/slot-row.ts'
import type { EngineRoute, Runner } from './runner.ts'

/** `[runners.<key>]` of hal0.toml, keys as in the file; undefined = the runner's own choice. Source: SPEC 10. */
export interface RunnerSettings {
  /** Absolute path, or a name on PATH. With a template: the program, and the template is all that follows it. */
  readonly binary?: string | undefined
  /** Image of the quadlet runtime. */
  readonly image?: string | undefined
  readonly on_client_abort?: Runner['onClientAbort'] | undefined
  /** Of a key of hal0's that is a service runner: how it is started. Else makes the key a runner of the user's own. Argv with ${PORT} ${MODEL} ${ALIAS} ${CTX} ${HOST}; without `binary` its first word is the program. */
  readonly template?: readonly string[] | undefined
  /** GET paths of such an engine; `models_path` '' = it has no list; `identity_path` needs the key, and without it nobody is asked who he is. */
  readonly health_path?: string | undefined
  readonly models_path?: string | undefined
  readonly identity_path?: string | undefined
  readonly stop_signal?: StopSignal | undefined
  /** Name of the environment variable from which a template's engine takes its key; without it the engine has no key. */
  readonly key_env?: string | undefined
  /** Of a template's engine: its streams tell their usage only when asked to. */
  readonly usage_on_request?: boolean | undefined
  readonly types?: readonly SlotType[] | undefined
  readonly routes?: readonly EngineRoute[] | undefined
}

/** By runner key. */
export type RunnersSettings = Readonly<Record<string, RunnerSettings | undefined>>
