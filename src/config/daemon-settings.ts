import { join } from 'node:path'
import { z } from 'zod'
import type { Home } from '../files/home.ts'
import { MIB } from '../kernel/units.ts'
import { isLlamaServerKey, LLAMA_SERVER_KEYS } from '../runners/llama-server-keys.ts'
import { configError } from './mistake.ts'
import { readTomlFile } from './toml-file.ts'

const seconds = (fallback: number) => z.number().nonnegative().default(fallback)
const port = z.number().int().min(0).max(65_535)

const runnerSchema = z.strictObject({
  /** The llama-server to run; absent = the one on PATH. */
  binary: z.string().startsWith('/', 'expected an absolute path').optional(),
  /** What a client that leaves does to the engine; `drain` for one that does not survive a cut connection. */
  on_client_abort: z.enum(['abort', 'drain'], 'expected "abort" or "drain"').optional(),
})

const runnerKeySchema = z.string().refine(isLlamaServerKey, {
  error: ({ input }) => {
    const keys = `expected ${LLAMA_SERVER_KEYS.slice(0, -1).join(', ')} or ${LLAMA_SERVER_KEYS.at(-1)}`
    return input === 'embedded' ? `the embedded engine comes with hal0 and has no settings; ${keys}` : keys
  },
})

/** `etc/hal0/hal0.toml`. Every key is optional; the defaults are the contract's. Source: SPEC 2, 5, 10, 11. */
export const daemonSettingsSchema = z.strictObject({
  server: z
    .strictObject({
      host: z.string().min(1).default('127.0.0.1'),
      port: port.default(8080),
      /** Host names besides loopback that browsers and clients may use in open mode. */
      allowed_hosts: z.array(z.string().min(1)).default([]),
      /** JSON bodies over this are refused with 413. */
      json_limit_bytes: z
        .number()
        .int()
        .positive()
        .default(64 * MIB),
    })
    .prefault({}),
  slots: z
    .strictObject({
      /** Inclusive. */
      port_range: z
        .tuple([port, port], 'expected two ports, lowest first')
        .refine(([low, high]) => low > 0 && low <= high, 'expected two ports above 0, lowest first')
        .default([8081, 8999]),
      /** Requests that may wait at one slot; the next is refused with 429. */
      queue_limit: z.number().int().positive().default(1024),
      /** What happens to running engines when the daemon ends. */
      on_exit: z.enum(['stop', 'keep'], 'expected "stop" or "keep"').default('stop'),
      /** SIGTERM to SIGKILL. */
      stop_grace_s: seconds(20),
      /** The caller of an unload waits this long for the process to die; the stop goes on. */
      stop_wait_s: seconds(30),
      /** No verdict after so long: the slot says that it is still warming. */
      load_verdict_s: seconds(180),
      /** Still no verdict: unloaded and loaded once more; the second time is an error. */
      load_limit_s: seconds(900),
    })
    .prefault({}),
  dispatcher: z
    .strictObject({
      /** How long a request waits for a cold slot. */
      load_wait_s: seconds(60),
      /** A name nobody knows: the slot `agent` answers, or 404. */
      unknown_model: z.enum(['agent', 'reject'], 'expected "agent" or "reject"').default('agent'),
      /** Longest silence of an engine between two chunks. */
      // Longer than any pause between two tokens of a working engine, shorter than what a person waits for a dead one.
      stall_s: seconds(300),
      /** Longest time a client may take no byte while data waits. */
      client_stall_s: seconds(120),
    })
    .prefault({}),
  /** By runner key. What is absent is the runner's own choice. */
  runners: z.record(runnerKeySchema, runnerSchema).default({}),
})
export type DaemonSettings = z.output<typeof daemonSettingsSchema>

export function daemonSettingsPath(home: Home): string {
  return join(home.etc, 'hal0.toml')
}

/** The settings of a home; an absent file means the defaults. Errors: `config.invalid` with every mistake. */
export async function readDaemonSettings(home: Home): Promise<DaemonSettings> {
  const outcome = await readTomlFile(daemonSettingsPath(home), daemonSettingsSchema)
  if (outcome === 'absent') return daemonSettingsSchema.parse({})
  if (!outcome.ok) throw configError(outcome.error)
  return outcome.value
}
