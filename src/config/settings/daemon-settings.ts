import { isIP } from 'node:net'
import { join } from 'node:path'
import { z } from 'zod'
import { nameSchema } from '../../contract/names.ts'
import { oneOf } from '../../contract/tune.ts'
import type { Home } from '../../files/home.ts'
import { MIB } from '../../kernel/units.ts'
import { configError } from '../toml/mistake.ts'
import { readTomlFile } from '../toml/toml-file.ts'
import { isPlainOrigin } from './public-url.ts'
import { runnersSchema } from './runner-settings.ts'

const AMOUNT = 'expected a number, 0 or more'
const seconds = (fallback: number) => z.number(AMOUNT).nonnegative(AMOUNT).default(fallback)
const port = z.number('expected a port, 0 to 65535').int().min(0).max(65_535)
const count = z.number('expected a whole number, 1 or more').int('expected a whole number').min(1, 'expected 1 or more')
const folder = z.string('expected an absolute path').startsWith('/', 'expected an absolute path')

const server = z.strictObject({
  host: z.string().min(1).default('127.0.0.1'),
  port: port.default(8080),
  /** Host names besides loopback that browsers and clients may use in open mode. */
  allowed_hosts: z.array(z.string().min(1)).default([]),
  /** Whose forwarded headers count. */
  trusted_proxies: z
    .array(z.string().refine(isAddressRange, 'expected an address, or a range such as 10.0.0.0/8'))
    .default([]),
  /** Where people reach this hal0, for links. Absent = the address it listens on. */
  public_url: z
    .string('expected an http or https URL without a path')
    .refine(isPlainOrigin, 'expected an http or https URL without a path, such as https://hal0.example.org')
    .optional(),
  /** JSON bodies over this are refused with 413. */
  json_limit_bytes: count.default(64 * MIB),
  /** The same for multipart forms, which are streamed. */
  form_limit_bytes: count.default(1024 * MIB),
  /** Memory for all bodies that are held at once; the next is refused with 429. */
  body_memory_bytes: count.default(1024 * MIB),
  /** Disk for what all forms hold whose `model` comes behind a file; the next is refused with 429. */
  spill_limit_bytes: count.default(4096 * MIB),
})

const slots = z.strictObject({
  /** Inclusive. */
  port_range: z
    .tuple([port, port], 'expected two ports, lowest first')
    .refine(([low, high]) => low > 0 && low <= high, 'expected two ports above 0, lowest first')
    .default([8081, 8999]),
  /** Requests that may wait at one slot; the next is refused with 429. */
  queue_limit: count.default(1024),
  /** What happens to running engines when the daemon ends. */
  on_exit: oneOf(['stop', 'keep']).default('stop'),
  /** SIGTERM to SIGKILL. */
  stop_grace_s: seconds(20),
  /** The caller of an unload waits this long for the process to die; the stop goes on. */
  stop_wait_s: seconds(30),
  /** No verdict after so long: the slot says that it is still warming. */
  load_verdict_s: seconds(180),
  /** Still no verdict: unloaded and loaded once more; the second time is an error. */
  load_limit_s: seconds(900),
  /** Ready without a request for so long: idle. */
  idle_timeout_s: seconds(300),
  /** After the last request; 0 = never. */
  unload_after_s: seconds(0),
  /** Free memory below the lower of the two evicts. */
  evict_pressure_mb: z.number(AMOUNT).nonnegative(AMOUNT).default(8192),
  evict_pressure_pct: z
    .number('expected 0 to 100')
    .min(0, 'expected 0 to 100')
    .max(100, 'expected 0 to 100')
    .default(10),
  arbiter: oneOf(['auto', 'on', 'off']).default('auto'),
  admission: oneOf(['enforce', 'warn', 'off']).default('enforce'),
  output_sanity: oneOf(['strict', 'lenient', 'off']).default('strict'),
  /** Slots of a group exclude each other. */
  groups: z
    .record(nameSchema, z.array(nameSchema, 'expected a list of slot names').min(2, 'expected at least two slots'))
    .default({}),
})

const dispatcher = z.strictObject({
  /** How long a request waits for a cold slot. */
  load_wait_s: seconds(60),
  /** A name nobody knows: the slot `agent` answers, or 404. */
  unknown_model: oneOf(['agent', 'reject']).default('agent'),
  /** The slot into which a registered model is loaded that no slot binds; '' = none. */
  on_demand_slot: z
    .union([z.literal(''), nameSchema], 'expected the name of a slot, or "" for none')
    .default('scratch'),
  /** Longest silence of an engine between two chunks. */
  // Longer than any pause between two tokens of a working engine, shorter than what a person waits for a dead one.
  stall_s: seconds(300),
  /** Longest time of an answer in all; 0 = none. */
  total_s: seconds(0),
  /** Longest time a client may take no byte while data waits. */
  client_stall_s: seconds(120),
  /** A sign of life in event streams that are silent so long; 0 = none. */
  heartbeat_s: seconds(0),
})

const models = z.strictObject({
  /** Where `model scan` looks besides the store. */
  scan: z.array(folder, 'expected a list of folders').default([]),
  /** Where pulled models go; absent = var-lib/hal0/models. */
  store: folder.optional(),
  /** Absent = the environment's HF_ENDPOINT, else the public hub. */
  hub_endpoint: z.url({ protocol: /^https?$/, error: 'expected an http or https URL' }).optional(),
})

/** Numbers of the lanes. Source: SPEC 12. */
const scheduler = z.strictObject({
  // Each look costs: less than this would be nothing but looking.
  tick_seconds: z.number('expected 0.1 or more').min(0.1, 'expected 0.1 or more').default(5),
  buffer_seconds: seconds(60),
  drain_seconds: seconds(30),
  stop_timeout_seconds: seconds(30),
  load_timeout_seconds: z.number(AMOUNT).positive('expected more than 0').default(600),
  disk_read_mbps: z.number(AMOUNT).positive('expected more than 0').default(150),
})

const security = z.strictObject({
  /** How long a sign-in to the dashboard lasts. */
  session_hours: z.number(AMOUNT).positive('expected more than 0').default(168),
  /** Wrong passwords of one address within the window; then it waits. */
  sign_in_attempts: count.default(10),
  sign_in_window_s: seconds(300),
})

const notify = z.strictObject({
  webhook: z
    .strictObject({
      url: z.url({ protocol: /^https?$/, error: 'expected an http or https URL' }),
      /** Signs each message. */
      secret: z.string().min(1).optional(),
    })
    .optional(),
  smtp: z
    .strictObject({
      host: z.string('expected a host name').min(1, 'expected a host name'),
      port: port.default(587),
      user: z.string().min(1).optional(),
      password: z.string().min(1).optional(),
      from: z.string('expected an address').min(1, 'expected an address'),
      tls: oneOf(['starttls', 'tls', 'off']).default('starttls'),
    })
    .optional(),
})

/** `etc/hal0/hal0.toml`. Every key is optional; the defaults are the contract's. Source: SPEC 2, 5, 7, 10, 11, 12. */
export const daemonSettingsSchema = z.strictObject({
  server: server.prefault({}),
  slots: slots.prefault({}),
  dispatcher: dispatcher.prefault({}),
  models: models.prefault({}),
  scheduler: scheduler.prefault({}),
  security: security.prefault({}),
  notify: notify.prefault({}),
  /** By runner key. What is absent is the runner's own choice. */
  runners: runnersSchema.default({}),
})
export type DaemonSettings = z.output<typeof daemonSettingsSchema>

/** An address, or an address with the length of its network. */
function isAddressRange(text: string): boolean {
  const [address = '', length, ...more] = text.split('/')
  const version = isIP(address)
  if (version === 0 || more.length > 0) return false
  return length === undefined || (/^\d{1,3}$/.test(length) && Number(length) <= (version === 4 ? 32 : 128))
}

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

/** The settings as people may see them: what is secret is told only to be set. */
export function redactSettings(settings: DaemonSettings): DaemonSettings {
  const { webhook, smtp } = settings.notify
  const hidden = (value: string | undefined) => (value === undefined ? undefined : 'set')
  return {
    ...settings,
    notify: {
      ...(webhook === undefined ? {} : { webhook: { url: redactUrl(webhook.url), secret: hidden(webhook.secret) } }),
      ...(smtp === undefined ? {} : { smtp: { ...smtp, password: hidden(smtp.password) } }),
    },
  }
}

/** Of an address everything but a password and a query: services hand out addresses that are keys. */
function redactUrl(text: string): string {
  const url = new URL(text)
  if (url.password === '' && url.search === '') return text
  if (url.password !== '') url.password = 'set'
  if (url.search !== '') url.search = 'set'
  return url.href
}
